package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/explain"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/report"
)

// findings are the outcome of scan and comparison.
type findings struct {
	records int64
	// visible counts the records by partition.
	visible    []int64
	projection *projection.Projection
	// rejections are the first ones, as many as are listed.
	rejections []report.Rejection
	// payloads are the contradicting payloads of each conflict.
	payloads  map[projection.Conflict][]report.Payload
	collector *compare.Collector
	// explanations derive the keys that differ or are BLOCKED; notExplained says why there are none.
	explanations []explain.Key
	notExplained string
}

// judgeHistory recomputes the source through H and compares; false ends the run, for the reason then in the report.
func (v *run) judgeHistory(ctx context.Context) bool {
	v.enter(boundary.PhaseScan, "")
	if !v.snapshotFits() {
		return false
	}
	found, err := v.scan(ctx)
	if err != nil {
		v.failed(boundary.PhaseScan, err)
		return false
	}
	if !v.handledAll(found) {
		return false
	}
	v.enter(boundary.PhaseCompare, fmt.Sprintf("%d records read", found.records))
	v.found = found
	if err := v.compare(ctx, found); err != nil {
		v.failed(boundary.PhaseCompare, err)
		return false
	}
	if len(v.report.Incomplete) > 0 {
		return false
	}
	v.explain(ctx, found)
	return true
}

// snapshotFits says whether a snapshot that is to be judged holds exactly the history of the boundary (R22).
func (v *run) snapshotFits() bool {
	s, result := v.snapshot, v.machine.Result()
	if s == nil {
		return true
	}
	for _, differs := range []struct {
		what       string
		have, want any
		equal      bool
	}{
		{"topic ID", s.TopicID, result.SourceID, s.TopicID == result.SourceID},
		{"starts", s.Starts, result.SourceStarts, slices.Equal(s.Starts, result.SourceStarts)},
		{"ends", s.Ends, result.H, slices.Equal(s.Ends, result.H)},
	} {
		if !differs.equal {
			mark.Hit("R22 snapshot of another history")
			v.incomplete(boundary.PhaseScan, false, fmt.Sprintf("snapshot %s does not hold the history of the boundary: its %s: %v, the boundary's: %v; export it anew",
				s.Name, differs.what, differs.have, differs.want))
		}
	}
	return len(v.report.Incomplete) == 0
}

// handledAll says whether the topic still has every record that the worker has decided. A retained start of 0 does not
// prove that: a topic that was compacted for a while has lost records in between (S10).
func (v *run) handledAll(found *findings) bool {
	for p, handled := range v.handled {
		if seen := found.visible[p]; handled > seen {
			mark.Hit("S10 history destroyed in between")
			v.incomplete(boundary.PhaseScan, false, fmt.Sprintf(
				"partition %d: the worker has decided %d records and the topic has %d of them: history was destroyed", p, handled, seen))
		}
	}
	return len(v.report.Incomplete) == 0
}

// failed sorts why a phase ended: a history that is not there, or an answer that did not come in time, makes the boundary
// incomplete; anything else is a failure.
func (v *run) failed(phase boundary.Phase, err error) {
	changed := errors.Is(err, boundary.ErrTopicChanged) || errors.Is(err, boundary.ErrHistoryLost)
	if changed || errors.Is(err, boundary.ErrStalled) || errors.Is(err, ErrLate) {
		v.incomplete(phase, !changed, oneLine(err))
		return
	}
	v.fail(phase, err)
}

// compare compares stable snapshots of view and evidence with the projection.
func (v *run) compare(ctx context.Context, found *findings) error {
	c := compare.NewCollector(v.options.Limit, compare.Uncertified(found.projection))
	for _, k := range v.scope {
		c.Follow(k)
	}
	found.collector = c
	waiting, p := v.patient(ctx, "a snapshot of the view")
	defer p.end()
	err := v.deps.View.Snapshot(waiting, v.applied, func(view ViewSnapshot) error {
		return v.compareView(waiting, p, found, view)
	})
	if err != nil || len(v.report.Incomplete) > 0 {
		return cause(waiting, err)
	}
	p.await("a snapshot of the evidence")
	return cause(waiting, v.deps.State.Evidence(waiting, v.applied, func(evidence Evidence) error {
		return errors.Join(
			c.Quarantine(v.rejected(waiting, p, found), awaited(p, "the quarantine", evidence.Quarantine(waiting))),
			c.Conflicts(compare.Slice(allConflicts(found.projection)), awaited(p, "the conflict evidence", evidence.Conflicts(waiting))),
			v.comparePayloads(waiting, p, found, evidence))
	}))
}

// compareView compares one snapshot of the view.
func (v *run) compareView(ctx context.Context, p *patience, found *findings, view ViewSnapshot) error {
	frontiers, err := view.Frontiers(ctx)
	if err != nil {
		return err
	}
	for i, o := range v.machine.Result().O {
		if frontiers[i] < o {
			v.incomplete(boundary.PhaseCompare, true,
				fmt.Sprintf("the view frontier of partition %d went back to %d, below O %d", i, frontiers[i], o))
			return nil
		}
	}
	c, want := found.collector, found.projection
	err = errors.Join(v.compareFacts(ctx, p, found, view),
		c.Statuses(compare.Slice(want.Statuses), awaited(p, "the view's statuses", view.Statuses(ctx))))
	inside, ok := view.(Internals)
	if err != nil || !ok {
		return err
	}
	if err := c.Keys(compare.Slice(v.configured()), awaited(p, "the view's stock keys", inside.Keys(ctx))); err != nil {
		return err
	}
	p.await("the view's guards")
	rows, damaged, err := inside.Guards(ctx)
	if err != nil {
		return err
	}
	return c.Guards(rows, awaited(p, "the view's guards", damaged))
}

// compareFacts compares the balances and alerts of a view, in any order where it has one of its own.
func (v *run) compareFacts(ctx context.Context, p *patience, found *findings, view ViewSnapshot) error {
	c, want := found.collector, found.projection
	const balances, alerts = "the view's balances", "the view's alerts"
	unordered, ok := view.(Unordered)
	if !ok {
		return errors.Join(c.Balances(compare.Slice(want.Balances), awaited(p, balances, view.Balances(ctx))),
			c.Alerts(compare.Slice(want.Alerts), awaited(p, alerts, view.Alerts(ctx))))
	}
	keys := v.configured()
	return errors.Join(c.MatchBalances(keys, want.Balances, awaited(p, balances, unordered.AllBalances(ctx))),
		c.MatchAlerts(keys, want.Alerts, awaited(p, alerts, unordered.AllAlerts(ctx))))
}

// configured are the configured stock keys, sorted by bytes, as manifests.Spec holds them.
func (v *run) configured() []compare.Key {
	keys := make([]compare.Key, 0, len(v.applied.Namespace.Spec.StockKeys))
	for _, k := range v.applied.Namespace.Spec.StockKeys {
		keys = append(keys, compare.Key{Item: k.Item, Location: k.Location})
	}
	return keys
}

// allConflicts is every conflict of a projection, ambiguous and superseded, sorted.
func allConflicts(p *projection.Projection) []projection.Conflict {
	all := append(ambiguous(p), p.SupersededConflicts...)
	slices.SortFunc(all, compare.OrderConflict)
	return all
}

// ambiguous is every conflict at a highest revision.
func ambiguous(p *projection.Projection) []projection.Conflict {
	var all []projection.Conflict
	for _, s := range p.Statuses {
		for _, c := range s.Conflicts {
			all = append(all, projection.Conflict{Item: s.Item, Location: s.Location, TxnID: c.TxnID, Revision: c.Revision})
		}
	}
	return all
}

// fill enters the findings of a complete boundary into the report.
func (f *findings) fill(r *report.Report) {
	f.fillConflicts(r)
	r.OutOfDomain = append(r.OutOfDomain, f.projection.OutOfDomain...)
	r.Rejections = append(r.Rejections, f.rejections...)
	r.Differences = append(r.Differences, f.collector.Listed()...)
	r.Explanations, r.NotExplained = append(r.Explanations, f.explanations...), f.notExplained
	c := &r.Counts
	c.Records, c.Rejections, c.Differences = f.records, int64(len(f.projection.Rejections)), f.collector.Differences()
	c.Balances, c.Alerts = f.collector.Tally(compare.FamilyBalance), f.collector.Tally(compare.FamilyAlert)
	c.Statuses, c.Quarantine = f.collector.Tally(compare.FamilyStatus), f.collector.Tally(compare.FamilyQuarantine)
	c.ConflictRows = f.collector.Tally(compare.FamilyConflict)
	c.Keys, c.Guards = f.collector.Tally(compare.FamilyKey), f.collector.Tally(compare.FamilyGuard)
}

// fillConflicts enters the oracle's conflicts into the report.
func (f *findings) fillConflicts(r *report.Report) {
	addConflicts(r, ambiguous(f.projection), report.Ambiguous, f.payloads)
	addConflicts(r, f.projection.SupersededConflicts, report.Superseded, f.payloads)
}

// addConflicts lists and counts conflicts of one state, with their payloads where these are known.
func addConflicts(r *report.Report, conflicts []projection.Conflict, state string, payloads map[projection.Conflict][]report.Payload) {
	blocked := map[compare.Key]bool{}
	for _, c := range conflicts {
		known := payloads[c]
		if known == nil {
			known = []report.Payload{}
		}
		r.Conflicts = append(r.Conflicts, report.Conflict{
			Item: c.Item, Location: c.Location, TxnID: c.TxnID, Revision: c.Revision, State: state, Payloads: known,
		})
		blocked[compare.Key{Item: c.Item, Location: c.Location}] = true
	}
	if state == report.Ambiguous {
		r.Counts.AmbiguousConflicts, r.Counts.BlockedKeys = int64(len(conflicts)), int64(len(blocked))
		return
	}
	r.Counts.SupersededConflicts = int64(len(conflicts))
}
