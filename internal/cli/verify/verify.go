// Package verify is `amendsctl verify`: it brings a namespace to a stopped-input boundary and judges its view against
// an independent recomputation of the source (S10).
package verify

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/cli/load"
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
		Long: "verify stops the namespace's writers and keeps them out, waits until worker, relay and view are drained,\n" +
			"recomputes the whole source history with an engine that shares no code with the worker, and compares the view's\n" +
			"balances, alerts and trust statuses, its stock keys and guards, the quarantine and the conflict evidence. It reads\n" +
			"nothing that the worker computed.\n\n" +
			"The first line is the verdict: PASS, PASS_WITH_EXCLUSIONS, BLOCKED, DRIFT, INCOMPLETE or ERROR; the exit code\n" +
			"follows from it under every output format. Reading rights are enough where no writer runs; the writer lease then\n" +
			"has to be readable, or the operator says --writers-stopped.\n\n" +
			"--write-diagnostics keeps the rejections and conflicts that were found as a file. With --expect-diagnostics exactly\n" +
			"those turn the exit code of PASS_WITH_EXCLUSIONS into 0; one more or one fewer is 10, with the entries listed.\n\n" +
			"The report is kept in the database where this role may write there: amendsctl get verifications lists them.",
		Example: "  amendsctl verify --quiesce -n demo\n" +
			"  amendsctl verify demo.yaml --quiesce --engine reference -o json > report.json\n" +
			"  amendsctl verify --quiesce -n demo --report report.html --report comment.md --report junit.xml\n" +
			"  amendsctl verify --quiesce -n demo --expect-diagnostics drill.yaml\n" +
			"  amendsctl verify --quiesce -n demo --from ./snapshot --scope key=widget,berlin",
		Args: cobra.MaximumNArgs(1),
	}
	f := &flags{}
	f.add(cmd)
	manifest, servers := load.AddFlags(cmd), connect.Register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(); err != nil {
			return err
		}
		options, err := f.options(a, manifest, args)
		if err != nil {
			return err
		}
		expected, err := readExpected(f.expect)
		if err != nil {
			return err
		}
		connections, err := servers.Resolve(a)
		if err != nil {
			return err
		}
		return run(cmd.Context(), a, connections, options, f, expected)
	}
	return cmd
}

// run verifies and prints the report.
func run(ctx context.Context, a *app.App, c connect.Connections, options verify.Options, f *flags, expected *expectation) error {
	deps, done, err := connectFor(ctx, c, options.Timeout)
	if err != nil {
		return err
	}
	defer done()
	if f.from != "" {
		if deps.Snapshot, err = openSnapshot(f.from, f.fromRaw, f.bytes); err != nil {
			return err
		}
	}
	shown := newProgress(a, f)
	deps.Progress, deps.Spool = shown.event, spool{f.bytes, shown.note}
	r, err := verify.Run(ctx, deps, options)
	shown.end()
	if err != nil && ctx.Err() != nil {
		return errors.New("no verdict was reached; run it again")
	}
	if err != nil {
		return Coded(err)
	}
	expected.apply(r)
	if !f.unkept {
		Keep(ctx, deps, r)
	}
	if err := f.writeDiagnostics(a, r); err != nil {
		return err
	}
	if err := writeReports(f.reports, r, f.limit); err != nil {
		return err
	}
	return write(a, r, f.limit, f.format)
}

// write prints the report and returns its exit code, the same under every format.
func write(a *app.App, r *report.Report, limit int, format report.Format) error {
	if err := report.Render(a.Stdout, r, format, limit); err != nil {
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
	case errors.Is(err, verify.ErrScope):
		return exit.With(exit.Usage, fmt.Errorf("--scope: %w", err))
	case errors.Is(err, verify.ErrLate):
		return exit.With(exit.Incomplete, err)
	case errors.Is(err, verify.ErrNotApplied):
		return connect.NotApplied(err)
	default:
		return err
	}
}
