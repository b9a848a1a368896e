// Package compare is `amendsctl compare`: whether the views of two namespaces over one history show the same (SC24).
package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/cli/verify"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/oracle/equivalence"
	judge "amends.dev/amends/oracle/verify"
)

// New returns the compare command.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Compare what the views of two namespaces show of one source history",
		Long: "compare waits until both namespaces are drained to the same offsets of their source topic, and merges their views:\n" +
			"balances, alerts, and trust statuses with their reasons. Transport does not count: versions, output topics and\n" +
			"attribution may differ. Of BLOCKED keys only the status is compared.\n\n" +
			"The first line is the outcome: EQUAL (exit code 0), DRIFT (12), INCOMPLETE (13), or ERROR (1) where a stage has\n" +
			"stopped for good. Namespaces of different source topics, or of different configurations where neither is an\n" +
			"experiment of the other, are refused (5). Reading rights are enough.",
		Example: "  amendsctl compare demo demo2\n  amendsctl compare demo demo2 -o json > comparison.json",
		Args:    cobra.ExactArgs(2),
	}
	var o equivalence.Options
	cmd.Flags().DurationVar(&o.Timeout, "timeout", judge.DefaultTimeout, "how long to wait until both are drained; then the outcome is INCOMPLETE")
	cmd.Flags().IntVar(&o.Limit, "limit", judge.DefaultLimit, "differences listed of each family, 0 for all; counts are always full")
	servers := connect.Register(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.Old, o.New, o.Poll = args[0], args[1], judge.DefaultPoll
		if err := check(o); err != nil {
			return exit.With(exit.Usage, err)
		}
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return fmt.Errorf("read the output format: %w", err)
		}
		connections, err := servers.Resolve(a)
		if err != nil {
			return err
		}
		return run(cmd.Context(), a, connections, o, output == "json")
	}
	return cmd
}

// check finds what cannot be meant.
func check(o equivalence.Options) error {
	switch {
	case o.Old == o.New:
		return fmt.Errorf("%s is compared with itself; name two namespaces", o.Old)
	case o.Timeout < 0:
		return fmt.Errorf("--timeout %s is negative", o.Timeout)
	case o.Limit < 0:
		return fmt.Errorf("--limit %d is negative; 0 lists all", o.Limit)
	}
	return nil
}

// run compares and prints the outcome.
func run(ctx context.Context, a *app.App, c connect.Connections, o equivalence.Options, asJSON bool) error {
	deps, done, err := verify.Connect(ctx, c)
	if err != nil {
		return err
	}
	defer done()
	r, err := equivalence.Run(ctx, equivalence.Deps{State: deps.State, View: deps.View, Topics: deps.Topics, Clock: deps.Clock}, o)
	if err != nil && ctx.Err() != nil {
		return errors.New("nothing was compared; run it again")
	}
	if err != nil {
		return verify.Coded(err)
	}
	if asJSON {
		encoder := json.NewEncoder(a.Stdout)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(r)
	} else {
		err = equivalence.Text(a.Stdout, r)
	}
	if err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	return exit.Quiet(exit.Code(r.ExitCode))
}
