package worker

import (
	"context"
	"errors"
	"fmt"
	"math"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
)

// Resume makes the next Step try a partition at once, whatever backoff it is in; a stopped one is looked at again (R36).
// It may be called from any goroutine.
func (w *Worker) Resume(partition int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked == nil {
		w.asked = make(map[int32]struct{})
	}
	w.asked[partition] = struct{}{}
}

// resumed ends the waits of partitions that a person wants tried. A stall stays visible until the try succeeds.
func (w *Worker) resumed() {
	w.mu.Lock()
	asked := w.asked
	w.asked = nil
	w.mu.Unlock()
	for id := range asked {
		p := w.partitions[id]
		if p == nil {
			continue
		}
		mark.Hit("R36 try forced")
		p.idleUntil = w.options.Now()
		p.tryNow(p.idleUntil)
	}
}

// ErrCauseStands is wrapped where the cause of a persisted stop was looked into and still stands (R36).
var ErrCauseStands = errors.New("the cause stands")

// Prober opens units of work that can never commit.
type Prober interface {
	// Probe opens a unit of work as Store.Begin does, on a stopped partition too. Its Commit writes everything, rolls it
	// back and returns the error of writing.
	Probe(ctx context.Context, partition int32, epoch, frontier int64) (Unit, error)
}

// Recheck does again the unit of work in which a partition stopped, from the frontier through the record at which it did
// and what was delivered with it, and commits nothing. nil says that the cause is gone; an error that wraps ErrCauseStands, that it is not; any other, that it could not be
// found out.
func Recheck(ctx context.Context, config *ledger.Config, store Prober, opener broker.Opener, state PartitionState) error {
	if state.Stop == nil {
		return nil
	}
	records, err := through(ctx, opener, state)
	if err != nil {
		return err
	}
	w := New(Options{Config: config, MaxOutputBytes: math.MaxInt})
	decodings, txs := w.decode(records)
	batch := ledger.NewBatch(config, state.NextOffset)
	unit, err := store.Probe(ctx, state.Partition, state.Epoch, state.NextOffset)
	if err != nil {
		return err
	}
	defer unit.Rollback(ctx)
	if err := load(ctx, unit, batch, txs); err != nil {
		return fmt.Errorf("load the state of partition %d: %w", state.Partition, err)
	}
	_, stop, err := w.decide(batch, decodings)
	if stop != nil && stop.Offset == state.Stop.Offset {
		return fmt.Errorf("partition %d, offset %d: %s: %s: %w", state.Partition, stop.Offset, stop.Reason, stop.Detail, ErrCauseStands)
	}
	if err == nil {
		err = unit.Commit(ctx, batch.Changes())
	}
	if fault.ClassOf(err) == fault.Stop {
		return fmt.Errorf("partition %d: %w: %w", state.Partition, err, ErrCauseStands)
	}
	return err
}

// through reads records from the frontier on, until the one at which the partition stopped is among them: at most a unit
// of work. A stop of the whole unit names its first record, and any of them may be the cause.
func through(ctx context.Context, opener broker.Opener, state PartitionState) ([]broker.Record, error) {
	reader, err := opener.Open(ctx, state.Partition, state.NextOffset)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	var records []broker.Record
	for next := state.NextOffset; next <= state.Stop.Offset && len(records) < DefaultMaxBatch; {
		fetch, err := reader.Poll(ctx, DefaultMaxBatch-len(records))
		switch {
		case err != nil:
			return nil, err
		case fetch.Next == next:
			return nil, fmt.Errorf("source partition %d delivers nothing at %d; it stopped at offset %d", state.Partition, next, state.Stop.Offset)
		}
		next = fetch.Next
		records = append(records, fetch.Records...)
	}
	return records, nil
}
