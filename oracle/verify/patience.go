package verify

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"amends.dev/amends/internal/mark"
)

// ErrLate is wrapped where an answer took longer than a phase may wait: the boundary is then not reached (S10, exit code
// 13), which is no failure of the infrastructure. Run returns it where the catalog, which says what there is to verify,
// did not answer.
var ErrLate = errors.New("timed out")

// ask puts one question to a database, bounded by the phase's timeout.
func (v *run) ask(ctx context.Context, what string, question func(ctx context.Context) error) error {
	return within(ctx, v.options.Timeout, what, question)
}

// within bounds a question.
func within(ctx context.Context, limit time.Duration, what string, question func(ctx context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := question(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return late(what, limit)
	}
	return err
}

// late says what was waited for.
func late(what string, limit time.Duration) error {
	mark.Hit("S10 a phase timed out")
	return fmt.Errorf("%w: no answer for %s while waiting for %s", ErrLate, limit, what)
}

// patience ends a context once nothing has arrived for as long as a phase may wait, or up to a looks-th more. A long answer
// that keeps arriving is no wait: it takes the time that it takes.
type patience struct {
	limit  time.Duration
	cancel context.CancelCauseFunc
	// silent counts the looks since something arrived.
	silent atomic.Int32

	mu   sync.Mutex
	what string // guarded by mu: what is waited for
	// alarm is nil where the clock cannot wake, and at the end; guarded by mu.
	alarm Alarm
}

// looks is how often it is looked, in the time that a phase may wait, whether something arrived: to put an alarm off at each
// of a million rows would take longer than to compare them.
const looks = 16

// patient returns a context that the patience ends. The caller calls end.
func (v *run) patient(ctx context.Context, what string) (context.Context, *patience) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &patience{limit: v.options.Timeout, cancel: cancel, what: what}
	if clock, ok := v.deps.Clock.(Alarms); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.alarm = clock.AfterFunc(p.limit/looks, p.look)
	}
	return ctx, p
}

// look ends the context where nothing has arrived for long enough.
func (p *patience) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.alarm == nil:
	case p.silent.Add(1) > looks:
		p.cancel(late(p.what, p.limit))
	default:
		p.alarm.Reset(p.limit / looks)
	}
}

// await says what is waited for from now on.
func (p *patience) await(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = what
	p.arrived()
}

// arrived says that something came.
func (p *patience) arrived() {
	if p.silent.Load() > 0 {
		p.silent.Store(0)
	}
}

// end stops it.
func (p *patience) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alarm != nil {
		p.alarm.Stop()
		p.alarm = nil
	}
	p.cancel(nil)
}

// cause is the error that ended a piece of work under the patience's context: that it was late, where it was.
func cause(ctx context.Context, err error) error {
	if reason := context.Cause(ctx); err != nil && errors.Is(reason, ErrLate) {
		return reason
	}
	return err
}

// awaited passes a sequence on, and tells the patience of each element.
func awaited[T any](p *patience, what string, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		p.await(what)
		for element, err := range seq {
			p.arrived()
			if !yield(element, err) {
				return
			}
		}
	}
}
