// Package verify is `amendsctl verify`: it brings a namespace to a stopped-input boundary and judges its view against
// an independent recomputation of the source (S10).
package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/cli/version"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
)

// New returns the verify command.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "verify [FILE] --quiesce",
		Short: "Judge a namespace's view against an independent recomputation of its source",
		Long: "verify stops the namespace's writer, waits until worker, relay and view are drained, recomputes the whole source\n" +
			"history with an engine that shares no code with the worker, and compares the view's balances, alerts and trust\n" +
			"statuses, the quarantine and the conflict evidence. It reads nothing that the worker computed.\n\n" +
			"The first line is the verdict: PASS, PASS_WITH_EXCLUSIONS, BLOCKED, DRIFT, INCOMPLETE or ERROR; the exit code\n" +
			"follows from it under every output format. Reading rights are enough, unless a writer has to be stopped.",
		Example: "  amendsctl verify --quiesce -n demo\n" +
			"  amendsctl verify demo.yaml --quiesce --engine reference -o json > report.json",
		Args: cobra.MaximumNArgs(1),
	}
	f := &flags{}
	f.add(cmd)
	manifest, servers := load.AddFlags(cmd), connect.Register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return fmt.Errorf("read the output format: %w", err)
		}
		options, err := f.options(a, manifest, args)
		if err != nil {
			return err
		}
		connections, err := servers.Resolve(a)
		if err != nil {
			return err
		}
		return run(cmd.Context(), a, connections, options, f, output == "json")
	}
	return cmd
}

// run verifies and prints the report.
func run(ctx context.Context, a *app.App, c connect.Connections, options verify.Options, f *flags, asJSON bool) error {
	deps, done, err := Connect(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	if a.StderrTTY || f.verbose {
		deps.Progress = progressTo(a)
	}
	r, err := verify.Run(ctx, deps, options)
	if err != nil && ctx.Err() != nil {
		return errors.New("no verdict was reached; run it again")
	}
	if err != nil {
		return Coded(err)
	}
	return write(a, r, f.limit, asJSON)
}

// flags are the flags of the verb beside those of connections and manifest.
type flags struct {
	quiesce, verbose  bool
	namespace, engine string
	timeout           time.Duration
	limit             int
}

// add declares the flags.
func (f *flags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.quiesce, "quiesce", false, "stop the writer and wait until all stages are drained (required: the only boundary there is)")
	cmd.Flags().StringVarP(&f.namespace, "namespace", "n", "", "applied namespace; needed where there is more than one")
	cmd.Flags().StringVar(&f.engine, "engine", verify.EngineAuto, "engine that recomputes the source: auto, arrow or reference")
	cmd.Flags().DurationVar(&f.timeout, "timeout", verify.DefaultTimeout, "how long each phase may wait; then the verdict is INCOMPLETE")
	cmd.Flags().IntVar(&f.limit, "limit", verify.DefaultLimit, "differences listed of each family, 0 for all; counts are always full")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "progress on stderr, also where it is not a terminal")
}

// check finds wrong combinations; its error has exit code 2.
func (f *flags) check() error {
	switch {
	case !f.quiesce:
		return exit.With(exit.Usage, errors.New("verify needs --quiesce: it stops the namespace's writer and waits until the stages are drained"))
	case f.timeout <= 0:
		return exit.With(exit.Usage, fmt.Errorf("--timeout %s is not positive", f.timeout))
	case f.limit < 0:
		return exit.With(exit.Usage, fmt.Errorf("--limit %d is negative; 0 lists all", f.limit))
	case f.engine != verify.EngineAuto && !isEngine(f.engine):
		return exit.With(exit.Usage, fmt.Errorf("--engine %s; want auto, arrow or reference", f.engine))
	}
	return nil
}

// isEngine says whether this build has the engine.
func isEngine(name string) bool {
	for _, e := range Engines() {
		if e.Name() == name {
			return true
		}
	}
	return false
}

// options turns the flags into those of a run. A manifest names its namespace, and must be what was applied.
func (f *flags) options(a *app.App, manifest *load.Flags, args []string) (verify.Options, error) {
	o := verify.Options{Namespace: f.namespace, Engine: f.engine, Timeout: f.timeout, Limit: f.limit, Code: version.Current().String()}
	if f.limit == 0 {
		o.Limit = -1
	}
	if !manifest.Given(args) {
		return o, nil
	}
	path, err := manifest.Path(args)
	if err != nil {
		return o, err
	}
	if o.Manifest, err = load.Manifest(a, path); err != nil {
		return o, err
	}
	if o.Namespace != "" && o.Namespace != o.Manifest.Name {
		return o, exit.With(exit.Usage, fmt.Errorf("-n %s, and the manifest is of %s", o.Namespace, o.Manifest.Name))
	}
	o.Namespace = o.Manifest.Name
	return o, nil
}

// write prints the report and returns the exit code of its status, the same under every format.
func write(a *app.App, r *report.Report, limit int, asJSON bool) error {
	var err error
	if asJSON {
		err = report.JSON(a.Stdout, r)
	} else {
		err = report.Text(a.Stdout, r, limit)
	}
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return exit.Quiet(r.ExitCode)
}

// Coded gives errors of oracle/verify.Run their exit codes.
func Coded(err error) error {
	switch {
	case errors.Is(err, manifests.ErrSemanticsVersion): // R03
		return exit.With(exit.Refused, fmt.Errorf("%w; use the amendsctl that applied it", err))
	case errors.Is(err, verify.ErrRefused):
		return exit.With(exit.Refused, err)
	case errors.Is(err, verify.ErrAmbiguousName):
		return exit.With(exit.Usage, fmt.Errorf("%w (-n)", err))
	case errors.Is(err, verify.ErrNotApplied):
		return fmt.Errorf("%w; begin with amendsctl apply", err)
	default:
		return err
	}
}

// progressTo returns a callback that writes one line for each step.
func progressTo(a *app.App) func(verify.Event) {
	return func(e verify.Event) {
		line := fmt.Sprintf("%6.1fs %s", e.Elapsed.Seconds(), e.Phase)
		if e.Detail != "" {
			line += ": " + e.Detail
		}
		// Progress that cannot be shown changes no verdict.
		_, _ = fmt.Fprintln(a.Stderr, line)
	}
}
