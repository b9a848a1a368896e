// Package sim is `amendsctl sim`: the deterministic simulator, for whoever wants to see the pipeline fail.
package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/version"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/sim"
)

// New returns the sim command.
func New(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sim --seeds A:B | --seed N",
		Short: "Run the pipeline under seeded faults, in memory, and check the contract after every step",
		Long: "sim steps the production worker, relay and view over an in-memory broker and database, in an order and with faults\n" +
			"that follow from a seed alone: crashes around commits, lost answers, late and repeated messages, rebalances, frozen\n" +
			"processes, refused statements. Checkers look at what is durable after every step; at the end the pipeline must\n" +
			"drain, and the verifier's verdict must be the one that the history deserves. Nothing is connected to.\n\n" +
			"With --seeds, seeds A to B are run and summed up. What is found is shortened and printed as a trace, and the exit\n" +
			"code is 1. With --seed, the trace of one seed is printed; the same build gives the same trace each time.",
		Example: "  amendsctl sim --seeds 1:500\n" +
			"  amendsctl sim --seed 17",
		Args: cobra.NoArgs,
	}
	seeds := cmd.Flags().String("seeds", "", "range of seeds, A:B, both included")
	seed := cmd.Flags().Uint64("seed", 0, "one seed, with its trace")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		one := cmd.Flags().Changed("seed")
		asJSON := false
		if output := cmd.Flags().Lookup("output"); output != nil { // the root's, absent where the verb runs alone
			asJSON = output.Value.String() == "json"
		}
		switch {
		case one == (*seeds != ""):
			return exit.With(exit.Usage, errors.New("name the seeds with --seeds A:B, or one with --seed N"))
		case one:
			return trace(cmd.Context(), a, *seed, asJSON)
		}
		first, count, err := parse(*seeds)
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		return sweep(cmd.Context(), a, first, count, asJSON)
	}
	return cmd
}

// parse reads a range of seeds.
func parse(text string) (first, count uint64, err error) {
	from, to, found := strings.Cut(text, ":")
	if !found {
		to = from
	}
	first, err = strconv.ParseUint(from, 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("--seeds: want A:B, got %q", text)
	}
	last, err := strconv.ParseUint(to, 10, 64)
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("--seeds: want A:B, got %q", text)
	case last < first:
		return 0, 0, fmt.Errorf("--seeds: %d is before %d", last, first)
	case last-first > math.MaxInt32:
		return 0, 0, fmt.Errorf("--seeds: more than %d", math.MaxInt32)
	}
	return first, last - first + 1, nil
}

// trace runs one seed and prints everything that happened.
func trace(ctx context.Context, a *app.App, seed uint64, asJSON bool) error {
	r, err := sim.Run(ctx, seed)
	if err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	if asJSON {
		if err := writeJSON(a.Stdout, newTraced(r)); err != nil {
			return err
		}
		return finding(r)
	}
	for _, line := range r.Trace {
		fmt.Fprintln(a.Stdout, line)
	}
	if _, err := fmt.Fprintf(a.Stdout, "\nseed %d, code %s: %d records, %d actions, %d steps, %d faults; verdict %s; trace %s\n",
		r.Seed, version.Current(), r.Records, r.Actions, r.Steps, r.Faults, verdict(r), r.Digest); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return finding(r)
}

// finding is the error of a run that found something.
func finding(r *sim.Result) error {
	if r.Failure == nil {
		return nil
	}
	return exit.With(exit.Error, fmt.Errorf("seed %d: %s: %s", r.Seed, r.Failure.Checker, r.Failure.Detail))
}

// verdict is the verifier's, or why there is none.
func verdict(r *sim.Result) string {
	if r.Verdict == "" {
		return "none"
	}
	return string(r.Verdict)
}
