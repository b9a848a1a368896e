package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
)

// read polls once and judges what came of the range.
func (r *Replay) read(ctx context.Context) (progress bool, wake time.Time, err error) {
	now := r.options.Now()
	if r.cursor >= r.options.Range.To {
		r.phase = releasing
		return true, now, nil
	}
	fetch, err := r.poll(ctx)
	switch {
	case errors.Is(err, broker.ErrOffsetOutOfRange) || errors.Is(err, broker.ErrTopicChanged):
		return false, now, fmt.Errorf("%w: the history was lost while it was read: %w", ErrRefused, err)
	case err != nil:
		r.closeReader()
		return false, now, err
	case fetch.Next == r.cursor && now.Sub(r.heard) > r.options.Silence:
		r.closeReader()
		r.heard = now
		return false, now, fmt.Errorf("source partition %d delivered nothing from %d on for %v", r.options.Range.Partition, r.cursor, r.options.Silence)
	case fetch.Next == r.cursor:
		return false, now, nil
	}
	r.heard = now
	if err := r.judge(ctx, fetch); err != nil {
		r.closeReader() // what was polled comes again
		return false, now, err
	}
	if r.report.Fault != nil {
		r.phase = releasing
	}
	return true, now, nil
}

// poll fetches the records after the cursor.
func (r *Replay) poll(ctx context.Context) (broker.Fetch, error) {
	partition := r.options.Range.Partition
	if r.reader == nil {
		reader, err := r.options.Opener.Open(ctx, partition, r.cursor)
		if err != nil {
			return broker.Fetch{}, err
		}
		r.reader = reader
	}
	wait, cancel := context.WithTimeout(ctx, r.options.PollWait)
	defer cancel()
	fetch, err := r.reader.Poll(wait, r.options.MaxBatch)
	if err != nil {
		return broker.Fetch{}, err
	}
	next := r.cursor
	for i := range fetch.Records {
		record := &fetch.Records[i]
		if record.Partition != partition || record.Offset < next {
			return broker.Fetch{}, fault.Mark(fault.Stop, invariant.Violated("reader of partition %d at %d delivered partition %d, offset %d",
				partition, next, record.Partition, record.Offset))
		}
		next = record.Offset + 1
	}
	return fetch, nil
}

// judge compares the records of one fetch with the state, and moves the cursor over those that it confirms.
func (r *Replay) judge(ctx context.Context, fetch broker.Fetch) error {
	next := min(fetch.Next, r.options.Range.To)
	records, entries, err := r.decode(fetch.Records, next)
	if err != nil {
		return err
	}
	want := wanted(records)
	want.From, want.To = r.cursor, next
	fence := Fence{Partition: r.options.Range.Partition, Epoch: r.held.Epoch, Frontier: r.held.NextOffset}
	found, err := r.options.Store.Read(ctx, fence, want)
	if err != nil {
		return fmt.Errorf("look into partition %d from %d to %d: %w", r.options.Range.Partition, want.From, want.To, err)
	}
	r.compare(records, entries, newIndex(found))
	if r.report.Fault != nil {
		return nil
	}
	r.cursor = next
	return r.record(ctx)
}

// compare judges records in order, and then looks for quarantine entries that no record made.
func (r *Replay) compare(records []decoded, entries map[int64]*ledger.QuarantineRow, found *index) {
	for i := range records {
		offset := records[i].record.Offset
		r.report.Reread++
		kind, fault := judge(&records[i], entries[offset], found)
		delete(found.quarantine, offset)
		if fault != "" {
			mark.Hit("R25 state is not intact")
			r.report.Fault = &Fault{Offset: offset, Detail: fault}
			r.cursor = offset
			return
		}
		r.report.Kinds.add(kind)
	}
	for offset, row := range found.quarantine {
		if r.report.Fault == nil || offset < r.report.Fault.Offset {
			r.report.Fault = &Fault{Offset: offset, Detail: fmt.Sprintf("quarantine has an entry (%s) of an offset that holds no record", row.Reason)}
		}
	}
}

// decode decodes the records below next, and makes the quarantine entries of those that are rejected.
func (r *Replay) decode(records []broker.Record, next int64) ([]decoded, map[int64]*ledger.QuarantineRow, error) {
	config := r.options.Config
	all := make([]decoded, 0, len(records))
	batch := ledger.NewBatch(config, r.cursor) // it decides rejections alone, and is never committed
	for i := range records {
		if records[i].Offset >= next {
			break
		}
		d := decoded{record: ledger.Record{
			Partition: records[i].Partition, Offset: records[i].Offset, Key: records[i].Key, Value: records[i].Value,
		}}
		if d.tx, d.reason = config.Decode(d.record); d.reason != ledger.ReasonNone {
			if err := batch.Decide(d.record, d.tx, d.reason); err != nil {
				return nil, nil, fault.Mark(fault.Stop, err)
			}
		}
		all = append(all, d)
	}
	entries := map[int64]*ledger.QuarantineRow{}
	rows := batch.Changes().Quarantine
	for i := range rows {
		entries[rows[i].Offset] = &rows[i]
	}
	return all, entries, nil
}

// wanted are the rows that judging accepted records takes.
func wanted(records []decoded) Want {
	identities, revisions, keys := map[ledger.IdentityRef]bool{}, map[ledger.RevisionRef]bool{}, map[int32]bool{}
	var want Want
	for i := range records {
		if records[i].reason != ledger.ReasonNone {
			continue
		}
		tx := &records[i].tx
		if ref := (ledger.IdentityRef{KeyID: tx.KeyID, TxnID: tx.TxnID}); !identities[ref] {
			identities[ref] = true
			want.Identities = append(want.Identities, ref)
		}
		if ref := (ledger.RevisionRef{KeyID: tx.KeyID, TxnID: tx.TxnID, Revision: tx.Payload.Revision}); !revisions[ref] {
			revisions[ref] = true
			want.Revisions = append(want.Revisions, ref)
		}
		if !keys[tx.KeyID] {
			keys[tx.KeyID] = true
			want.Keys = append(want.Keys, tx.KeyID)
		}
	}
	return want
}
