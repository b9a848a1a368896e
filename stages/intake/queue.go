package intake

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"amends.dev/amends/internal/invariant"
)

// errUntouched is the outcome of an item that was certainly not begun.
var errUntouched = errors.New("not begun")

// errPanicked is the outcome of items whose work panicked.
var errPanicked = invariant.Violated("it panicked")

// queue batches the work of concurrent requests: whatever waits when a batch ends becomes the next batch, so that the
// group grows with the load and nobody waits for company. It is bounded; a full queue refuses (R29).
type queue[In, Out any] struct {
	items chan *item[In, Out]
	// batch bounds one call of do.
	batch int
	// do works on a batch and returns one outcome for each, or an error that leaves every outcome open.
	do func(ctx context.Context, batch []In) ([]Out, error)
	// failing is set while the last call of do failed: nothing new is taken then.
	failing atomic.Bool
	// gather, where set, may let others run until have returns more, before a batch is taken.
	gather func(have func() int)
	// probe finds out whether do would work again; where it is nil, only the next batch does.
	probe func(ctx context.Context) error
}

// item is one request's work with its outcome.
type item[In, Out any] struct {
	in   In
	done chan outcome[Out]
}

// outcome is what became of an item.
type outcome[Out any] struct {
	out Out
	err error
}

func newQueue[In, Out any](bound, batch int, do func(context.Context, []In) ([]Out, error), probe func(context.Context) error) *queue[In, Out] {
	return &queue[In, Out]{items: make(chan *item[In, Out], bound), batch: batch, do: do, probe: probe}
}

// put queues work and waits for its outcome, whatever happens to the caller's client meanwhile: what was taken is
// finished. errUntouched says that it was refused; any other error leaves it open whether the work was done.
func (q *queue[In, Out]) put(in In) (Out, error) {
	var none Out
	it := &item[In, Out]{in: in, done: make(chan outcome[Out], 1)}
	select {
	case q.items <- it:
	default:
		return none, errUntouched
	}
	if q.failing.Load() { // looked at after it was queued: the step that refused what waited may be the last for long
		q.refuse()
	}
	got := <-it.done
	return got.out, got.err
}

// length is how many items wait.
func (q *queue[In, Out]) length() int { return len(q.items) }

// Step works on one batch, or waits for one. When ctx ends it works on what waits and returns once nothing does.
func (q *queue[In, Out]) Step(ctx context.Context) (progress bool, wake time.Time, err error) {
	if q.failing.Load() {
		q.refuse()
		if q.probe != nil {
			if err := q.probe(ctx); err != nil {
				return false, time.Time{}, err
			}
			q.failing.Store(false)
			return true, time.Time{}, nil // that it works again shows at once, not with the next request
		}
		q.failing.Store(false)
	}
	batch := q.take(ctx)
	if len(batch) == 0 {
		return false, time.Time{}, nil
	}
	if err := q.work(context.WithoutCancel(ctx), batch); err != nil {
		return false, time.Time{}, fmt.Errorf("%d requests: %w", len(batch), err)
	}
	return true, time.Time{}, nil
}

// work works on a batch and answers each of its items, also where do panics: whoever put them waits for nothing else.
func (q *queue[In, Out]) work(ctx context.Context, batch []*item[In, Out]) (err error) {
	in := make([]In, len(batch))
	for i, it := range batch {
		in[i] = it.in
	}
	var out []Out
	err = errPanicked
	defer func() {
		if err != nil {
			q.failing.Store(true)
			q.refuse()
		}
		for i, it := range batch {
			if err != nil {
				it.done <- outcome[Out]{err: err}
				continue
			}
			it.done <- outcome[Out]{out: out[i]}
		}
	}()
	out, err = q.do(ctx, in)
	if err == nil && len(out) != len(batch) {
		err = invariant.Violated("%d outcomes of %d", len(out), len(batch))
	}
	return err
}

// take waits for an item and adds what else waits.
func (q *queue[In, Out]) take(ctx context.Context) []*item[In, Out] {
	var batch []*item[In, Out]
	select {
	case it := <-q.items:
		batch = append(batch, it)
		if q.gather != nil {
			q.gather(func() int { return 1 + len(q.items) })
		}
	case <-ctx.Done():
	}
	for len(batch) < q.batch {
		select {
		case it := <-q.items:
			batch = append(batch, it)
			continue
		default:
		}
		break
	}
	return batch
}

// refuse answers everything that waits: none of it was begun.
func (q *queue[In, Out]) refuse() {
	for {
		select {
		case it := <-q.items:
			it.done <- outcome[Out]{err: errUntouched}
		default:
			return
		}
	}
}
