package rebuild

import (
	"context"
	"fmt"
	"iter"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/ledger"
)

// content turns the facts of one partition into the rows that are loaded.
type content struct {
	loader    *Loader
	partition int32
	// reasons are the reason sets of BLOCKED keys.
	reasons map[int32][]ledger.ConflictRef
}

// conflicts are the conflict rows without what the dataset says about them.
func (c content) conflicts(ctx context.Context) iter.Seq2[ledger.ConflictRow, error] {
	return mapped(c.loader.dataset.Conflicts(ctx, c.partition), func(row Conflict) (ledger.ConflictRow, error) { return row.ConflictRow, nil })
}

// days are the day rows. A BLOCKED key has none: nothing of it is certified, and the refold that resolves it states them
// all (S4).
func (c content) days(ctx context.Context) iter.Seq2[ledger.DayRow, error] {
	return mapped(c.loader.dataset.Days(ctx, c.partition), func(row Day) (ledger.DayRow, error) {
		if len(c.reasons[row.KeyID]) > 0 {
			return row.DayRow, fmt.Errorf("%w: a day of stock key %d, which is BLOCKED", ErrDataset, row.KeyID)
		}
		return row.DayRow, nil
	})
}

// keys are the status rows, each at its first version (R10).
func (c content) keys(ctx context.Context) iter.Seq2[ledger.KeyRow, error] {
	return mapped(c.loader.dataset.Statuses(ctx, c.partition), func(row Status) (ledger.KeyRow, error) { return c.key(row), nil })
}

func (c content) key(row Status) ledger.KeyRow {
	if len(c.reasons[row.KeyID]) > 0 {
		mark.Hit("R26 blocked key loaded")
	}
	return ledger.KeyRow{KeyID: row.KeyID, StatusVersion: 1, Conflicts: c.reasons[row.KeyID]}
}

// envelopes are what the worker would publish: of each key its days in order, a balance before the alert of its day, then
// the status (R12).
func (c content) envelopes(ctx context.Context) iter.Seq2[ledger.Envelope, error] {
	return func(yield func(ledger.Envelope, error) bool) {
		renderer := ledger.NewRenderer(c.loader.config)
		nextDay, stop := iter.Pull2(c.loader.dataset.Days(ctx, c.partition))
		defer stop()
		day, dayErr, more := nextDay()
		for status, err := range c.loader.dataset.Statuses(ctx, c.partition) {
			for ; err == nil && dayErr == nil && more && day.KeyID == status.KeyID; day, dayErr, more = nextDay() {
				if !c.day(renderer, day, yield) {
					return
				}
			}
			if err == nil {
				err = dayErr
			}
			if err == nil && more && day.KeyID < status.KeyID {
				err = fmt.Errorf("%w: a day of stock key %d, which has no status", ErrDataset, day.KeyID)
			}
			if err != nil {
				yield(ledger.Envelope{}, err)
				return
			}
			if !yield(renderer.Status(c.key(status), status.Cause), nil) {
				return
			}
		}
		if dayErr == nil && more {
			dayErr = fmt.Errorf("%w: a day of stock key %d, which has no status", ErrDataset, day.KeyID)
		}
		if dayErr != nil {
			yield(ledger.Envelope{}, dayErr)
		}
	}
}

// day yields the envelopes of one day.
func (c content) day(renderer *ledger.Renderer, day Day, yield func(ledger.Envelope, error) bool) bool {
	return yield(renderer.Balance(day.DayRow, day.Cause), nil) && (!day.AlertPresent || yield(renderer.Alert(day.DayRow, day.Cause), nil))
}

// mapped applies f to every element of a sequence.
func mapped[A, B any](seq iter.Seq2[A, error], f func(A) (B, error)) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		for a, err := range seq {
			var b B
			if err == nil {
				b, err = f(a)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}
