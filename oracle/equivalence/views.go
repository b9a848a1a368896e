package equivalence

import (
	"context"
	"errors"
	"iter"
	"slices"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/verify"
)

// errMoved says that a view was not at the boundary any more when its snapshot was taken.
var errMoved = errors.New("the view moved")

// compare merges the two views, each in one stable snapshot, and reports whether they differ. Statuses come first: they say
// which keys are BLOCKED on either side and have no certified values to compare (R21).
func (c *comparison) compare(ctx context.Context) (differ bool, err error) {
	uncertified := map[compare.Key]bool{}
	collector := compare.NewCollector(c.options.Limit, uncertified)
	err = c.snapshots(ctx, func(a, b verify.ViewSnapshot) error {
		if err := collector.Statuses(noting(uncertified, a.Statuses(ctx)), noting(uncertified, b.Statuses(ctx))); err != nil {
			return err
		}
		if err := collector.Balances(a.Balances(ctx), b.Balances(ctx)); err != nil {
			return err
		}
		return collector.Alerts(a.Alerts(ctx), b.Alerts(ctx))
	})
	if err != nil {
		return false, err
	}
	r := c.report
	r.BlockedKeys = int64(len(uncertified))
	r.Counts = Counts{
		Balances: tallyOf(collector.Tally(compare.FamilyBalance)), Alerts: tallyOf(collector.Tally(compare.FamilyAlert)),
		Statuses: tallyOf(collector.Tally(compare.FamilyStatus)),
	}
	r.Differences = differences(collector.Listed())
	return collector.Differences() > 0, nil
}

// snapshots calls read with a snapshot of either view, both taken at the boundary.
func (c *comparison) snapshots(ctx context.Context, read func(a, b verify.ViewSnapshot) error) error {
	at := func(i int, s verify.ViewSnapshot) error {
		frontiers, err := s.Frontiers(ctx)
		if err == nil && !slices.Equal(frontiers, c.last[i].view) {
			err = errMoved
		}
		return err
	}
	return c.deps.View.Snapshot(ctx, c.sides[0], func(a verify.ViewSnapshot) error {
		return c.deps.View.Snapshot(ctx, c.sides[1], func(b verify.ViewSnapshot) error {
			if err := errors.Join(at(0, a), at(1, b)); err != nil {
				return err
			}
			return read(a, b)
		})
	})
}

// noting passes statuses through and notes the BLOCKED keys.
func noting(blocked map[compare.Key]bool, statuses iter.Seq2[projection.Status, error]) iter.Seq2[projection.Status, error] {
	return func(yield func(projection.Status, error) bool) {
		for s, err := range statuses {
			if err == nil && len(s.Conflicts) > 0 {
				mark.Hit("R26 compare: blocked key left out")
				blocked[compare.Key{Item: s.Item, Location: s.Location}] = true
			}
			if !yield(s, err) {
				return
			}
		}
	}
}
