// Package conformance is `amendsctl conformance`: it runs the corpora of scenarios and says at which levels they hold.
package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	corpus "amends.dev/amends/conformance"
	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/conformance"
	"amends.dev/amends/internal/exit"
)

// parallel is how many variants run at a time: they mostly wait for servers.
const parallel = 4

// New returns the conformance command.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Run the scenarios of the contract and show where they hold",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAmends(a), newDurableOwner(a), newDurability(a))
	return cmd
}

// newAmends returns the command for the semantic scenarios.
func newAmends(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "amends [DIR]",
		Short: "Run the semantic scenarios SC01 to SC28",
		Long: "amends runs the semantic scenarios at every level that this machine allows: the pure core and the oracle's engines\n" +
			"always; the stages over Postgres, and the whole pipeline over a broker, where a Postgres is installed or given.\n" +
			"DIR is a folder with one folder for each scenario; without it the corpus in this program is run.\n\n" +
			"The servers are private and gone afterwards, unless --database-url or --brokers name others: there the namespaces\n" +
			"and topics of the run stay, so name empty ones. A cell is ok, FAIL, or - where nothing was run; \"ok 3/4\" says that\n" +
			"one variant was not run there. The exit code is 1 where anything fails.",
		Example: "  amendsctl conformance amends\n" +
			"  amendsctl conformance amends ./my-scenarios --levels core,oracle -o json",
		Args: cobra.MaximumNArgs(1),
	}
	connections := connect.Register(cmd)
	var names []string
	for _, level := range conformance.Levels() {
		names = append(names, string(level))
	}
	chosen := cmd.Flags().StringSlice("levels", names, "levels to run")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		levels, err := levelsOf(*chosen)
		if err != nil {
			return err
		}
		output, err := cmd.Flags().GetString("output")
		if err != nil {
			return fmt.Errorf("read the output format: %w", err)
		}
		given, err := connections.Resolve(a)
		if err != nil {
			return err
		}
		return run(cmd.Context(), a, args, levels, given, output == "json")
	}
	return cmd
}

// levelsOf are the chosen levels, in their own order.
func levelsOf(chosen []string) ([]conformance.Level, error) {
	var levels []conformance.Level
	for _, level := range conformance.Levels() {
		if slices.Contains(chosen, string(level)) {
			levels = append(levels, level)
		}
	}
	for _, name := range chosen {
		if !slices.Contains(levels, conformance.Level(name)) {
			return nil, exit.With(exit.Usage, fmt.Errorf("there is no level %q; want some of %v", name, conformance.Levels()))
		}
	}
	if len(levels) == 0 {
		return nil, exit.With(exit.Usage, errors.New("no level given"))
	}
	return levels, nil
}

// run runs a corpus and prints the outcomes.
func run(ctx context.Context, a *app.App, args []string, levels []conformance.Level, given connect.Connections, asJSON bool) (err error) {
	folder, err := corpus.Amends()
	if len(args) > 0 {
		folder, err = folderAt(args[0])
	}
	if err != nil {
		return err
	}
	scenarios, err := conformance.Load(folder)
	if err != nil {
		return fmt.Errorf("read the scenarios: %w", err)
	}
	r := &rig{}
	if slices.Contains(levels, conformance.Store) || slices.Contains(levels, conformance.Pipeline) {
		if r, err = start(ctx, a, given, slices.Contains(levels, conformance.Pipeline)); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.stop()) }()
	}
	show := newProgress(a, len(levels)*variants(scenarios))
	outcomes := conformance.RunAll(ctx, scenarios, levels, r.servers, parallel, show.done)
	show.clear()
	if err := ctx.Err(); err != nil {
		return err
	}
	s := summarize(scenarios, levels, outcomes)
	write := s.text
	if asJSON {
		write = s.json
	}
	if err := write(a.Stdout); err != nil {
		return fmt.Errorf("write the outcomes: %w", err)
	}
	if !s.Passed {
		return exit.Quiet(exit.Error)
	}
	return nil
}

// variants counts those of all scenarios.
func variants(scenarios []*conformance.Scenario) int {
	n := 0
	for _, s := range scenarios {
		n += len(s.Variants)
	}
	return n
}
