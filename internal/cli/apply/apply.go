package apply

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/postgres"
)

// options are what one invocation of apply asks for.
type options struct {
	dryRun, yes, json bool
}

// New returns the apply command.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply [FILE]",
		Short: "Create what a namespace manifest declares, or find it unchanged",
		Long: "apply reads a namespace manifest, compares it with what exists, prints the plan and does it: topics with unlimited\n" +
			"retention, a schema for the view, and a schema of processing state together with the record of the namespace. What\n" +
			"exists already must be equal. A namespace is immutable once applied: a changed manifest is refused with exit code 5,\n" +
			"before anything is touched. An interrupted apply is completed by the next one.",
		Example: "  amendsctl apply demo.yaml\n  amendsctl apply -f demo.yaml --dry-run\n  amendsctl apply --yes -f - < demo.yaml",
		Args:    cobra.MaximumNArgs(1),
	}
	manifest, connection := load.AddFlags(cmd), connect.Register(cmd)
	var o options
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the plan and change nothing")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask before doing the plan")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return fmt.Errorf("read the output format: %w", err)
		}
		o.json = output == "json"
		ns, deps, closeAll, err := Prepare(cmd.Context(), a, manifest, connection, args)
		if err != nil {
			return err
		}
		defer closeAll()
		return run(cmd.Context(), a, deps, ns, o)
	}
	return cmd
}

// Prepare reads the manifest of a verb, before anything is connected to, and opens what it is to be applied to. The
// caller calls the returned function when done. Errors carry their exit codes.
func Prepare(ctx context.Context, a *app.App, manifest *load.Flags, connection *connect.Flags, args []string) (*manifests.Namespace, Deps, func(), error) {
	fail := func(err error) (*manifests.Namespace, Deps, func(), error) { return nil, Deps{}, nil, err }
	path, err := manifest.Path(args)
	if err != nil {
		return fail(err)
	}
	ns, err := load.Manifest(a, path)
	if err != nil {
		return fail(err)
	}
	connections, err := connection.Resolve(a)
	if err != nil {
		return fail(err)
	}
	deps, closeAll, err := Open(ctx, connections)
	if err != nil {
		return fail(err)
	}
	return ns, deps, closeAll, nil
}

// Open connects to everything that apply needs. The caller calls the returned function when done.
func Open(ctx context.Context, c connect.Connections) (Deps, func(), error) {
	if err := c.Check(); err != nil {
		return Deps{}, nil, err
	}
	state, err := c.Catalog(ctx)
	if err != nil {
		return Deps{}, nil, err
	}
	views, err := c.Views(ctx)
	if err != nil {
		state.Close()
		return Deps{}, nil, err
	}
	topics, err := c.Admin(ctx)
	if err != nil {
		views.Close()
		state.Close()
		return Deps{}, nil, err
	}
	deps := Deps{Topics: topics, Catalog: postgres.NewCatalog(state), Views: postgres.NewViews(views)}
	return deps, func() { topics.Close(); views.Close(); state.Close() }, nil
}

// run plans, prints, asks and does.
func run(ctx context.Context, a *app.App, deps Deps, ns *manifests.Namespace, o options) error {
	plan, err := Plan(ctx, deps, ns)
	if err != nil {
		return connect.Refuse(err)
	}
	if !o.json {
		if _, err := io.WriteString(a.Stdout, plan.Text()); err != nil {
			return fmt.Errorf("print the plan: %w", err)
		}
	}
	applied := false
	switch {
	case plan.Refused > 0:
		err = exit.With(exit.Refused, refused(plan))
	case o.dryRun:
	case !plan.Pending():
		applied = true
	default:
		if err = confirm(ctx, a, o); err == nil {
			err = connect.Refuse(execute(ctx, deps, ns, plan))
			applied = err == nil
		}
	}
	return errors.Join(err, conclude(a.Stdout, plan, o, applied))
}

// conclude says what was done.
func conclude(w io.Writer, plan manifests.Plan, o options, applied bool) error {
	if o.json {
		return writeJSON(w, result{Plan: plan, Applied: applied, DryRun: o.dryRun})
	}
	line := ""
	switch {
	case plan.Refused > 0:
	case o.dryRun:
		line = "dry run: nothing was changed\n"
	case applied && plan.Pending():
		line = "applied " + plan.Namespace + "\n"
	case applied:
		line = "unchanged " + plan.Namespace + "\n"
	}
	if _, err := io.WriteString(w, line); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// result is the answer as JSON: the plan, and whether the namespace is applied now.
type result struct {
	manifests.Plan
	Applied bool `json:"applied"`
	DryRun  bool `json:"dryRun"`
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// confirm asks on the terminal. Without one, or where the answer is not yes, nothing is done.
func confirm(ctx context.Context, a *app.App, o options) error {
	if o.yes {
		return nil
	}
	if !a.StdinTTY {
		return exit.With(exit.Usage, errors.New("apply asks before it changes anything and stdin is no terminal; give --yes to do the plan, or --dry-run to only see it"))
	}
	if _, err := io.WriteString(a.Stderr, "do this? [y/N] "); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	answer := make(chan string, 1)
	go func() {
		// A failed read gives what was read so far, which is not a yes.
		line, _ := bufio.NewReader(a.Stdin).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return fmt.Errorf("nothing was changed: %w", ctx.Err())
	case line := <-answer:
		if line == "y" || line == "yes" {
			return nil
		}
		return errors.New("not confirmed; nothing was changed")
	}
}
