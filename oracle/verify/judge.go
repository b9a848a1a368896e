package verify

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/report"
)

// progressEvery is the number of records between two progress events of a scan.
const progressEvery = 100_000

// findings are the outcome of scan and comparison.
type findings struct {
	records    int64
	projection *projection.Projection
	rejected   []compare.Rejected
	rejections []report.Rejection
	collector  *compare.Collector
}

// judgeHistory recomputes the source through H and compares; false ends the run, for the reason then in the report.
func (v *run) judgeHistory(ctx context.Context) bool {
	v.enter(boundary.PhaseScan, "")
	found, err := v.scan(ctx)
	if err != nil {
		v.failed(boundary.PhaseScan, err)
		return false
	}
	v.enter(boundary.PhaseCompare, fmt.Sprintf("%d records read", found.records))
	v.found = found
	if err := v.compare(ctx, found); err != nil {
		v.fail(boundary.PhaseCompare, err)
		return false
	}
	return len(v.report.Incomplete) == 0
}

// scan has the engine compute the history through H, and identifies the rejected records.
func (v *run) scan(ctx context.Context) (*findings, error) {
	result := v.machine.Result()
	whole := boundary.Range{
		Topic: v.applied.Namespace.Spec.Source.Topic, TopicID: result.SourceID, From: result.SourceStarts, To: result.H,
	}
	found := &findings{}
	var broken error
	history := func(ctx context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			found.records, broken = 0, nil
			for record, err := range v.deps.Topics.History(whole)(ctx) {
				if err != nil {
					broken = err
				} else if found.records++; found.records%progressEvery == 0 {
					v.tell(fmt.Sprintf("%d records read", found.records))
				}
				if !yield(record, err) {
					return
				}
			}
		}
	}
	var err error
	found.projection, err = v.judge.Compute(ctx, v.applied.Namespace, history)
	if broken != nil { // whatever the engine makes of it
		return nil, broken
	}
	if err != nil {
		return nil, err
	}
	return found, v.identifyRejected(ctx, whole, found)
}

// identifyRejected reads the rejected records once more, from the first to the last of each partition: only now is it
// known which they are, and their bytes are compared with the quarantine's.
func (v *run) identifyRejected(ctx context.Context, whole boundary.Range, found *findings) error {
	rejections := found.projection.Rejections
	if len(rejections) == 0 {
		return nil
	}
	part := whole
	part.From, part.To = slices.Clone(whole.To), slices.Clone(whole.To) // empty in partitions without a rejection
	reasons := make(map[boundary.Coordinates]string, len(rejections))
	for _, r := range rejections {
		p := r.Partition
		reasons[boundary.Coordinates{Partition: p, Offset: r.Offset}] = r.Reason
		part.From[p], part.To[p] = min(part.From[p], r.Offset), r.Offset+1
	}
	for record, err := range v.deps.Topics.History(part)(ctx) {
		if err != nil {
			return err
		}
		reason, ok := reasons[boundary.Coordinates{Partition: record.Partition, Offset: record.Offset}]
		if !ok {
			continue
		}
		found.rejected = append(found.rejected, compare.Rejected{
			Partition: record.Partition, Offset: record.Offset, TopicID: whole.TopicID, Reason: reason,
			Key: Blob(record.Key), Value: Blob(record.Value),
		})
		found.rejections = append(found.rejections, report.Rejection{
			Partition: record.Partition, Offset: record.Offset, Reason: reason,
			Fingerprint: report.Fingerprint(record.Key, record.Value),
		})
	}
	if len(found.rejected) != len(rejections) {
		return fmt.Errorf("%d records were rejected, %d of them were found again", len(rejections), len(found.rejected))
	}
	slices.SortFunc(found.rejected, compare.OrderRejected)
	slices.SortFunc(found.rejections, func(a, b report.Rejection) int {
		return compare.OrderCoordinates(a.Partition, a.Offset, b.Partition, b.Offset)
	})
	return nil
}

// Blob identifies raw bytes by length and digest; nil is null.
func Blob(b []byte) compare.Blob {
	if b == nil {
		return compare.Blob{Length: -1}
	}
	return compare.Blob{Length: int64(len(b)), SHA256: digestHex(b)}
}

// failed sorts why a phase ended: a history that is not there makes the boundary incomplete, anything else is a failure.
func (v *run) failed(phase boundary.Phase, err error) {
	changed := errors.Is(err, boundary.ErrTopicChanged) || errors.Is(err, boundary.ErrHistoryLost)
	if changed || errors.Is(err, boundary.ErrStalled) {
		v.incomplete(phase, !changed, oneLine(err))
		return
	}
	v.fail(phase, err)
}

// compare compares stable snapshots of view and evidence with the projection.
func (v *run) compare(ctx context.Context, found *findings) error {
	p := found.projection
	c := compare.NewCollector(v.options.Limit, compare.Uncertified(p))
	found.collector = c
	err := v.deps.View.Snapshot(ctx, v.applied, func(view ViewSnapshot) error {
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
		return errors.Join(
			c.Balances(compare.Slice(p.Balances), view.Balances(ctx)),
			c.Alerts(compare.Slice(p.Alerts), view.Alerts(ctx)),
			c.Statuses(compare.Slice(p.Statuses), view.Statuses(ctx)))
	})
	if err != nil || len(v.report.Incomplete) > 0 {
		return err
	}
	return v.deps.State.Evidence(ctx, v.applied, func(evidence Evidence) error {
		return errors.Join(
			c.Quarantine(compare.Slice(found.rejected), evidence.Quarantine(ctx)),
			c.Conflicts(compare.Slice(allConflicts(p)), evidence.Conflicts(ctx)))
	})
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
	c := &r.Counts
	c.Records, c.Rejections, c.Differences = f.records, int64(len(f.rejections)), f.collector.Differences()
	c.Balances, c.Alerts = f.collector.Tally(compare.FamilyBalance), f.collector.Tally(compare.FamilyAlert)
	c.Statuses, c.Quarantine = f.collector.Tally(compare.FamilyStatus), f.collector.Tally(compare.FamilyQuarantine)
	c.ConflictRows = f.collector.Tally(compare.FamilyConflict)
}

// fillConflicts enters the oracle's conflicts into the report.
func (f *findings) fillConflicts(r *report.Report) {
	addConflicts(r, ambiguous(f.projection), report.Ambiguous)
	addConflicts(r, f.projection.SupersededConflicts, report.Superseded)
}

// addConflicts lists and counts conflicts of one state.
func addConflicts(r *report.Report, conflicts []projection.Conflict, state string) {
	blocked := map[compare.Key]bool{}
	for _, c := range conflicts {
		r.Conflicts = append(r.Conflicts, report.Conflict{Item: c.Item, Location: c.Location, TxnID: c.TxnID, Revision: c.Revision, State: state})
		blocked[compare.Key{Item: c.Item, Location: c.Location}] = true
	}
	if state == report.Ambiguous {
		r.Counts.AmbiguousConflicts, r.Counts.BlockedKeys = int64(len(conflicts)), int64(len(blocked))
		return
	}
	r.Counts.SupersededConflicts = int64(len(conflicts))
}
