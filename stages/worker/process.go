package worker

import (
	"context"
	"errors"
	"fmt"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
)

// decoded is a record with what decoding said about it.
type decoded struct {
	record ledger.Record
	tx     ledger.Transaction
	reason ledger.Reason
}

// process decides what was polled, as far as one unit of work may go, and commits it (S8).
func (w *Worker) process(ctx context.Context, p *partition) error {
	records := p.rest.Records[:withinBytes(p.rest.Records, w.options.MaxInputBytes)]
	decodings, txs := w.decode(records)
	batch := ledger.NewBatch(w.options.Config, p.frontier)
	p.cache.Checkout(batch, txs)
	unit, err := w.options.Store.Begin(ctx, p.id, p.epoch, p.frontier)
	if err != nil {
		return err
	}
	defer unit.Rollback(ctx)
	if err := load(ctx, unit, batch, txs); err != nil {
		return fmt.Errorf("load the state of partition %d: %w", p.id, err)
	}
	done, stop, err := w.decide(batch, decodings)
	if err != nil {
		return err
	}
	switch {
	case stop != nil:
		batch.Advance(stop.Offset)
	default:
		if len(decodings) == 0 {
			mark.Hit("R08 advanced without a record")
		}
		batch.Advance(p.rest.NextAfter(done))
	}
	if batch.NextOffset() > p.frontier {
		if err := unit.Commit(ctx, batch.Changes()); err != nil {
			return err
		}
		w.committed(p, batch, done)
	}
	if stop != nil {
		p.stop, p.phase = stop, stopping
	}
	return nil
}

// committed takes over the results of a unit of work that is known to be durable.
func (w *Worker) committed(p *partition, batch *ledger.Batch, done int) {
	if done > 0 {
		p.recordMillis = p.rest.Records[done-1].TimestampMillis
	}
	p.frontier = batch.NextOffset()
	w.tellLarge(p, batch.Envelopes())
	p.cache.Return(batch)
	p.rest.Records = p.rest.Records[done:]
	if p.rest.Next <= p.frontier {
		p.rest, p.hasRest = broker.Fetch{}, false
	}
	w.recovered(p)
	w.lag[p.id] = p.frontier
}

// tellLarge says in good time that an envelope comes near to what the output topic takes, where its partition would stall
// until the topic takes more; again whenever it has grown by half.
func (w *Worker) tellLarge(p *partition, envelopes []ledger.Envelope) {
	for i := range envelopes {
		e := &envelopes[i]
		if len(e.Value) >= max(w.options.LargeOutput, p.told+p.told/2) {
			p.told = len(e.Value)
			w.options.Log.Warn("an envelope grows large: the source contradicts itself at very many revisions of one key; "+
				"correct it, or see to it that max.message.bytes of the output topic stays above",
				"partition", p.id, "key", string(e.Key), "bytes", len(e.Value))
		}
	}
}

// withinBytes counts the records whose keys and values fit into limit; the first always does.
func withinBytes(records []broker.Record, limit int) int {
	size := 0
	for i := range records {
		size += len(records[i].Key) + len(records[i].Value)
		if size > limit && i > 0 {
			return i
		}
	}
	return len(records)
}

func (w *Worker) decode(records []broker.Record) ([]decoded, []ledger.Transaction) {
	all, txs := make([]decoded, len(records)), make([]ledger.Transaction, 0, len(records))
	for i := range records {
		r := &records[i]
		d := decoded{record: ledger.Record{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value}}
		d.tx, d.reason = w.options.Config.Decode(d.record)
		if d.reason == ledger.ReasonNone {
			txs = append(txs, d.tx)
		}
		all[i] = d
	}
	return all, txs
}

// load reads what deciding the transactions takes and the cache does not hold, in at most five set-based statements.
func load(ctx context.Context, unit Unit, batch *ledger.Batch, txs []ledger.Transaction) error {
	if ids := batch.KeysNeeded(txs); len(ids) > 0 {
		keys, days, err := unit.Keys(ctx, ids)
		if err != nil {
			return err
		}
		batch.AddKeys(ids, keys, days)
	}
	if ids := batch.KeyAuthorityNeeded(txs); len(ids) > 0 {
		rows, err := unit.KeyAuthority(ctx, ids)
		if err != nil {
			return err
		}
		batch.AddKeyAuthority(ids, rows)
	}
	if refs := batch.AuthorityNeeded(txs); len(refs) > 0 {
		rows, err := unit.Authority(ctx, refs)
		if err != nil {
			return err
		}
		batch.AddAuthority(refs, rows)
	}
	if refs := batch.EvidenceNeeded(txs); len(refs) > 0 {
		mark.Hit("R20 evidence read")
		rows, err := unit.Evidence(ctx, refs)
		if err != nil {
			return err
		}
		batch.AddEvidence(refs, rows)
	}
	return nil
}

// decide decides records in offset order and returns how many it did. It ends early where the output grew large or a key
// has to be loaded completely, and with a stop where a record cannot be decided at all.
func (w *Worker) decide(batch *ledger.Batch, decodings []decoded) (done int, stop *Stop, err error) {
	size, counted := 0, 0
	for i := range decodings {
		d := &decodings[i]
		err := decideOne(batch, d)
		var overflow *ledger.OverflowError
		switch {
		case err == nil:
		case errors.As(err, &overflow):
			mark.Hit("R09 record cannot be decided")
			return i, &Stop{Reason: overflow.Reason, Offset: d.record.Offset, Detail: overflow.Detail}, nil
		case errors.Is(err, ledger.ErrIncomplete) && i > 0:
			mark.Hit("S4 key has to be loaded completely")
			return i, nil, nil
		default:
			return i, nil, fault.Mark(fault.Stop, &undecidable{partition: d.record.Partition, offset: d.record.Offset, err: err})
		}
		for _, e := range batch.Envelopes()[counted:] {
			size += len(e.Key) + len(e.Value)
		}
		counted = len(batch.Envelopes())
		if size > w.options.MaxOutputBytes {
			mark.Hit("B043 large output ends the unit of work")
			return i + 1, nil, nil
		}
	}
	return len(decodings), nil, nil
}

// undecidable is a bug that showed at one record.
type undecidable struct {
	partition int32
	offset    int64
	err       error
}

func (u *undecidable) Error() string {
	return fmt.Sprintf("decide partition %d, offset %d: %v", u.partition, u.offset, u.err)
}

func (u *undecidable) Unwrap() error { return u.err }

// decideOne decides one record; a panic of the core is a bug that stops this partition alone.
func decideOne(batch *ledger.Batch, d *decoded) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = invariant.Violated("panic: %v", cause)
		}
	}()
	return batch.Decide(d.record, d.tx, d.reason)
}
