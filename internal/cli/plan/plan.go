// Package plan is `amendsctl plan`: it prints what apply would do and changes nothing.
package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/apply"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/manifests"
)

// options are what one invocation of plan asks for.
type options struct {
	detailed, json bool
}

// New returns the plan command.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan [FILE]",
		Short: "Print what apply would do, and change nothing",
		Long: "plan compares a namespace manifest with the brokers and databases and prints what apply would create, what is as it\n" +
			"must be, and what it would refuse, with the reason and the remedy. A refusal ends with exit code 5. With\n" +
			"--detailed-exitcode pending changes end with 3.",
		Example: "  amendsctl plan demo.yaml\n  amendsctl plan -f demo.yaml --detailed-exitcode -o json",
		Args:    cobra.MaximumNArgs(1),
	}
	manifest, connection := load.AddFlags(cmd), connect.Register(cmd)
	var o options
	cmd.Flags().BoolVar(&o.detailed, "detailed-exitcode", false, "exit with 3 where apply would change something")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return fmt.Errorf("read the output format: %w", err)
		}
		o.json = output == "json"
		ns, deps, closeAll, err := apply.Prepare(cmd.Context(), a, manifest, connection, args)
		if err != nil {
			return err
		}
		defer closeAll()
		return run(cmd.Context(), a.Stdout, deps, ns, o)
	}
	return cmd
}

// run plans and prints. What the plan says is the answer; its exit code needs no further line.
func run(ctx context.Context, w io.Writer, deps apply.Deps, ns *manifests.Namespace, o options) error {
	p, err := apply.Plan(ctx, deps, ns)
	if err != nil {
		return connect.Refuse(err)
	}
	if err := write(w, p, o.json); err != nil {
		return errors.Join(errors.New("print the plan"), err)
	}
	switch {
	case p.Refused > 0:
		return exit.Quiet(exit.Refused)
	case p.Pending() && o.detailed:
		return exit.Quiet(exit.ChangesPending)
	}
	return nil
}

func write(w io.Writer, p manifests.Plan, asJSON bool) error {
	if !asJSON {
		_, err := io.WriteString(w, p.Text())
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(p)
}
