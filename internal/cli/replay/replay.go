// Package replay is `amendsctl replay`: it reads a range of processed source records again, and proves that the durable
// state holds what they must have left there (S11, R25).
package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/replay"
)

// options are the verb's flags.
type options struct {
	app      *app.App
	selector *connect.Selector
	span     replay.Range
	dryRun   bool
	asJSON   bool
}

// New returns the verb.
func New(a *app.App) *cobra.Command {
	o := &options{app: a}
	cmd := &cobra.Command{
		Use:   "replay --partition P --from A --to B",
		Short: "Read processed source records again and prove that state holds them",
		Long: "replay reads the offsets from A up to, and without, B of one source partition again, decides every record anew and\n" +
			"compares: its evidence, its authority, its conflict or its quarantine entry must be in the state as they were made.\n" +
			"It holds the partition meanwhile, so that its owner waits; it changes no balance, no version, no counter and not\n" +
			"the frontier, and it releases nothing from quarantine.\n\n" +
			"A range is refused, exit code 5, where it is not processed yet, not retained any more, or of another topic: nothing\n" +
			"is touched then. Where a record is missing from state, or state says otherwise, replay names the offset and ends\n" +
			"with exit code 1: state is not intact, and the way back is a rebuild.\n\n" +
			"Interrupted, it gives the partition back. Killed, it leaves it held, until the next replay of the partition, which\n" +
			"goes on where it was, or `amendsctl resume --stage worker`, or `amendsctl run --take-over`.",
		Example: "  amendsctl replay -n demo --partition 0 --from 0 --to 100\n" +
			"  amendsctl replay -n demo --partition 0 --from 0 --to 100 --dry-run",
		Args: cobra.NoArgs,
	}
	connections := connect.Register(cmd)
	o.selector = connect.RegisterSelector(cmd)
	f := cmd.Flags()
	f.Int32Var(&o.span.Partition, "partition", 0, "source partition")
	f.Int64Var(&o.span.From, "from", 0, "first offset to read")
	f.Int64Var(&o.span.To, "to", 0, "offset to stop before; at most the frontier")
	f.BoolVar(&o.dryRun, "dry-run", false, "show range, retention, owner and effect, and touch nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range []string{"partition", "from", "to"} {
			if !f.Changed(name) {
				return exit.With(exit.Usage, fmt.Errorf("--%s is required", name))
			}
		}
		if err := o.check(); err != nil {
			return exit.With(exit.Usage, err)
		}
		output, err := f.GetString("output")
		if err != nil {
			return err
		}
		o.asJSON = output == "json"
		c, err := connections.Resolve(a)
		if err != nil {
			return err
		}
		return o.run(cmd.Context(), c)
	}
	return cmd
}

// check finds numbers that name no range of any partition.
func (o *options) check() error {
	switch {
	case o.span.Partition < 0:
		return fmt.Errorf("--partition %d: want 0 or more", o.span.Partition)
	case o.span.From < 0:
		return fmt.Errorf("--from %d: want 0 or more", o.span.From)
	case o.span.To <= o.span.From:
		return fmt.Errorf("--to %d: want more than --from %d", o.span.To, o.span.From)
	}
	return nil
}

// run loads the namespace and replays.
func (o *options) run(ctx context.Context, c connect.Connections) error {
	if err := c.Check(); err != nil {
		return err
	}
	admin, err := c.Admin(ctx)
	if err != nil {
		return err
	}
	admin.Close()
	pool, err := c.Catalog(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	applied, err := o.selector.Applied(ctx, o.app, postgres.NewCatalog(pool), nil)
	if err != nil {
		return err
	}
	state, err := c.State(ctx, applied, postgres.ApplicationName(pipeline.ReplayName, applied.Name), 3)
	if err != nil {
		return err
	}
	defer state.Close()
	r := pipeline.Replaying{Applied: applied, State: state, Kafka: c.Kafka, Range: o.span, Progress: o.progress()}
	if o.dryRun {
		return o.look(ctx, r)
	}
	report, err := pipeline.Replay(ctx, r)
	if err != nil {
		return refuse(ctx, report, err)
	}
	if err := o.writeReport(report); err != nil {
		return err
	}
	return verdict(report)
}

// verdict is the error of a state that is not intact, nil where it is.
func verdict(report replay.Report) error {
	if report.Fault == nil {
		return nil
	}
	return fmt.Errorf("state is not intact: partition %d, offset %d: %s; nothing was changed; rebuild into a new namespace with amendsctl rebuild -n %s --into NEW",
		report.Partition, report.Fault.Offset, report.Fault.Detail, report.Namespace)
}

// look shows what a replay would do.
func (o *options) look(ctx context.Context, r pipeline.Replaying) error {
	facts, err := pipeline.LookReplay(ctx, r)
	if err != nil {
		return connect.Refuse(err)
	}
	if err := replay.Check(o.span, facts); err != nil {
		return exit.With(exit.Refused, err)
	}
	return o.writePreview(r.Applied.Name, facts)
}

// refuse gives an error its exit code.
func refuse(ctx context.Context, report replay.Report, err error) error {
	switch {
	case errors.Is(err, replay.ErrRefused):
		return exit.With(exit.Refused, err)
	case fault.ClassOf(err) == fault.Fenced:
		return exit.With(exit.Refused, fmt.Errorf("%w: somebody else took the partition over; replay again when that has ended", err))
	case ctx.Err() != nil:
		return fmt.Errorf("stopped after %d records; the same replay goes on from the last offset recorded", report.Confirmed)
	}
	return connect.Refuse(err)
}

// progressInterval is the least time between two lines of progress.
const progressInterval = 2 * time.Second

// progress writes a line now and then where stderr is a terminal; nil elsewhere.
func (o *options) progress() func(replay.Report) {
	if !o.app.StderrTTY {
		return nil
	}
	next := o.app.Now().Add(progressInterval)
	return func(r replay.Report) {
		if now := o.app.Now(); !now.Before(next) {
			next = now.Add(progressInterval)
			_, _ = fmt.Fprintf(o.app.Stderr, "confirmed %d records, at offset %d of [%d, %d)\n", r.Confirmed, r.Cursor, r.From, r.To)
		}
	}
}
