package verify

import (
	"context"
	"fmt"
	"iter"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/report"
)

// scan has the engine compute the history through H, from typed columns where there are some that it takes, and reads the
// payloads behind its conflicts.
func (v *run) scan(ctx context.Context) (*findings, error) {
	whole := v.whole()
	if err := v.spool(ctx, whole); err != nil {
		return nil, err
	}
	found := &findings{visible: make([]int64, len(whole.To))}
	typed, err := v.computeColumns(ctx, found)
	if err == nil && !typed {
		err = v.computeRecords(ctx, whole, found)
	}
	if err != nil {
		return nil, err
	}
	return found, v.readPayloads(ctx, whole, found, typed)
}

// spool keeps a history of the topic on disk where it is too large for memory.
func (v *run) spool(ctx context.Context, whole boundary.Range) error {
	if v.snapshot != nil || v.deps.Spool == nil {
		return nil
	}
	progress := v.scanning(whole)
	snapshot, remove, err := v.deps.Spool.Keep(ctx, v.judge, v.applied, whole, progress.of(v.history(whole)))
	if progress.broken != nil { // whatever the disk makes of it
		err = progress.broken
	}
	if err != nil || snapshot == nil {
		return err
	}
	v.snapshot, v.unspool = snapshot, remove
	return nil
}

// computeColumns has the engine compute from typed columns; false where it does not.
func (v *run) computeColumns(ctx context.Context, found *findings) (bool, error) {
	if v.snapshot == nil || v.snapshot.Typed == nil {
		return false, nil
	}
	projection, rows, err := v.snapshot.Typed.Compute(ctx, v.judge, v.applied.Namespace)
	if err != nil || projection == nil {
		return false, err
	}
	if v.deps.Snapshot != nil {
		v.report.JudgedFrom += report.TypedColumns
	}
	found.take(projection, rows)
	return true, nil
}

// take keeps a result that comes with the numbers of its records.
func (f *findings) take(projection *projection.Projection, rows []int64) {
	f.projection = projection
	for p := range f.visible {
		f.visible[p] = rows[p]
		f.records += rows[p]
	}
}

// computeRecords has the engine compute from records: those of a snapshot as it likes to read them, where it can.
func (v *run) computeRecords(ctx context.Context, whole boundary.Range, found *findings) error {
	if v.snapshot != nil && v.snapshot.Records != nil {
		projection, rows, err := v.snapshot.Records(ctx, v.judge, v.applied.Namespace)
		if err == nil && projection != nil {
			found.take(projection, rows)
		}
		if err != nil || projection != nil {
			return err
		}
	}
	progress := v.scanning(whole)
	projection, err := v.judge.Compute(ctx, v.applied.Namespace, progress.of(v.history(whole)))
	if progress.broken != nil { // whatever the engine makes of it
		return progress.broken
	}
	found.projection, found.records, found.visible = projection, progress.records, progress.visible
	return err
}

// history reads a part of the source: of the snapshot where one is judged, else of the topic.
func (v *run) history(r boundary.Range) engine.History {
	if v.snapshot != nil {
		return v.snapshot.History(r)
	}
	return v.deps.Topics.History(r)
}

// progressEvery is the number of records between two progress events of a scan.
const progressEvery = 100_000

// scanning counts the records of a pass over the history, and tells how it gets on.
type scanning struct {
	v     *run
	whole boundary.Range
	// records and visible count those read, all and by partition; next are the positions behind them.
	records int64
	visible []int64
	next    []int64
	// broken is the history's own error.
	broken error
}

// scanning begins to count.
func (v *run) scanning(whole boundary.Range) *scanning { return &scanning{v: v, whole: whole} }

// of passes a history on.
func (s *scanning) of(history engine.History) engine.History {
	return func(ctx context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			s.records, s.broken = 0, nil
			s.visible, s.next = make([]int64, len(s.whole.To)), append([]int64{}, s.whole.From...)
			began := s.v.elapsed()
			for record, err := range history(ctx) {
				if err != nil {
					s.broken = err
				} else if p := int(record.Partition); p < len(s.visible) {
					s.visible[p]++
					s.next[p] = record.Offset + 1
					if s.records++; s.records%progressEvery == 0 {
						s.v.tell(s.text((s.v.elapsed() - began).Seconds()))
					}
				}
				if !yield(record, err) {
					return
				}
			}
		}
	}
}

// text says how far the pass is, how fast, and how long the rest takes. Positions are not records, as markers and aborted
// records have some too; but how many there are up to H is known exactly, and so is what is left.
func (s *scanning) text(seconds float64) string {
	text := fmt.Sprintf("%d records read", s.records)
	if seconds <= 0 {
		return text
	}
	var done, total int64
	for p := range s.next {
		done, total = done+s.next[p]-s.whole.From[p], total+s.whole.To[p]-s.whole.From[p]
	}
	left := seconds * float64(total-done) / float64(done)
	return text + fmt.Sprintf(", %.0f/s, %.0f s left", float64(s.records)/seconds, left)
}
