package intake

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/generate"
	"amends.dev/amends/stages/run"
)

// Stage is the intake's name in status and log.
const Stage = "intake"

// The keeper's pace.
const (
	// keepEvery is how often the holder looks whether it is asked to stop.
	keepEvery = 250 * time.Millisecond
	// standbyEvery is how often a standby looks whether the lease is free.
	standbyEvery = 500 * time.Millisecond
	// courtesy is how long a holder that was asked to stop leaves the lease alone, so that whoever asked can take it.
	courtesy = 3 * time.Second
	// countEvery is how often the holder counts what it has not published yet.
	countEvery = time.Second
)

// keeper holds the writer lease: it opens the gate while it has it, closes it and drains when it is asked to stop, and
// stands by until the lease is free again. All but status is used by one goroutine.
type keeper struct {
	options *Options
	gate    *gate
	// held says that the lease is this process's; asked, that somebody wants it back.
	held, asked bool
	until       time.Time
	// standing says that somebody else's lease was logged.
	standing bool
	// counted is when it was counted last what is not published.
	counted time.Time
	// notBefore is when it may be asked for again.
	notBefore time.Time

	mu     sync.Mutex
	holder bool // guarded by mu, for status
}

// Step takes, renews, drains or gives up the lease, whatever is due. What failed is asked for again by the next step, so
// that one without error says that the database answers.
func (k *keeper) Step(ctx context.Context) (progress bool, wake time.Time, err error) {
	progress, wake, err = k.step(ctx)
	if ctx.Err() == nil {
		k.gate.answered(err == nil, k.options.Clock.Now())
	}
	return progress, wake, err
}

func (k *keeper) step(ctx context.Context) (progress bool, wake time.Time, err error) {
	defer k.show()
	now := k.options.Clock.Now()
	if !k.held {
		return k.take(ctx, now)
	}
	if err := k.renew(ctx, now); err != nil {
		return false, now.Add(standbyEvery), k.failed(err)
	}
	if err := k.count(ctx, now); err != nil {
		return false, time.Time{}, err
	}
	if !k.asked {
		if k.asked, err = k.options.Lease.StopRequested(ctx); err != nil {
			return false, now.Add(standbyEvery), k.failed(err)
		}
	}
	if !k.asked {
		k.gate.held(k.options.Lease.Term(), k.until, true)
		return false, now.Add(keepEvery), nil
	}
	mark.Hit("R22 intake asked to stop")
	k.gate.close("another process wants to write, or a verification is under way")
	drained, err := k.drained(ctx)
	if err != nil || !drained {
		return false, now.Add(keepEvery / 5), err
	}
	if err := k.release(ctx); err != nil {
		return false, time.Time{}, err
	}
	k.notBefore = now.Add(courtesy)
	return false, now.Add(courtesy), nil
}

// take asks for the lease.
func (k *keeper) take(ctx context.Context, now time.Time) (bool, time.Time, error) {
	if now.Before(k.notBefore) {
		return false, k.notBefore, nil
	}
	err := k.options.Lease.Acquire(ctx, k.options.LeaseTTL)
	switch {
	case errors.Is(err, generate.ErrLeaseHeld):
		if !k.standing {
			k.standing = true
			k.options.Log.Info("standing by, another has the writer lease", "reason", err)
		}
		k.gate.lost("another process writes to the source topic, or a verification is under way")
		return false, now.Add(standbyEvery), nil
	case err != nil:
		k.gate.lost("the database does not answer")
		return false, time.Time{}, err
	}
	k.held, k.asked, k.standing, k.until = true, false, false, now.Add(k.options.LeaseTTL)
	k.options.Log.Info("has the writer lease", "term", k.options.Lease.Term())
	k.gate.held(k.options.Lease.Term(), k.until, true)
	return true, time.Time{}, nil
}

// renew extends the lease once less than three quarters of it are left.
func (k *keeper) renew(ctx context.Context, now time.Time) error {
	if k.until.Sub(now) > k.options.LeaseTTL*3/4 {
		return nil
	}
	if err := k.options.Lease.Renew(ctx, k.options.LeaseTTL); err != nil {
		return err
	}
	k.until = now.Add(k.options.LeaseTTL)
	k.gate.held(k.options.Lease.Term(), k.until, !k.asked)
	return nil
}

// count finds out how many kept requests are not published, whichever process kept them.
func (k *keeper) count(ctx context.Context, now time.Time) error {
	if now.Sub(k.counted) < countEvery {
		return nil
	}
	n, err := k.options.Store.CountPending(ctx, PublishPrefix(k.options.Config.Namespace().Name), k.options.Backlog)
	if err != nil {
		return fmt.Errorf("publications of namespace %s: %w", k.options.Config.Namespace().Name, err)
	}
	k.gate.counted(n)
	k.counted = now
	return nil
}

// failed notes a lost lease, which is no fault: the keeper stands by.
func (k *keeper) failed(err error) error {
	if !errors.Is(err, generate.ErrLeaseLost) {
		return err
	}
	mark.Hit("R22 intake lost its lease")
	k.held = false
	k.gate.lost("the writer lease was lost")
	return nil
}

// drained reports whether nothing that was accepted is on its way to the source topic any more.
func (k *keeper) drained(ctx context.Context) (bool, error) {
	if _, inside, _, _ := k.gate.state(); inside > 0 {
		return false, nil
	}
	pending, err := k.options.Store.Pending(ctx, PublishPrefix(k.options.Config.Namespace().Name), 1)
	if err != nil {
		return false, fmt.Errorf("publications of namespace %s: %w", k.options.Config.Namespace().Name, err)
	}
	return len(pending) == 0, nil
}

// release gives the lease up. Where messages may still be on their way it is left to expire, so that a verification waits
// for them.
func (k *keeper) release(ctx context.Context) error {
	if _, _, unsettled, _ := k.gate.state(); !unsettled {
		if err := k.options.Lease.Release(ctx); err != nil {
			return err
		}
	}
	k.held, k.asked = false, false
	k.gate.lost("the writer lease was given back")
	return nil
}

// close drains what was accepted, at most until ctx ends, and gives the lease up. What is not published by then is
// published by the next intake.
func (k *keeper) close(ctx context.Context) error {
	defer k.show()
	k.gate.close("the intake ends")
	for k.held {
		drained, err := k.drained(ctx)
		if err == nil && drained {
			return k.release(ctx)
		}
		if sleepErr := k.options.Clock.Sleep(ctx, keepEvery/10); sleepErr != nil {
			return errors.Join(err, fmt.Errorf("publications of namespace %s are left pending: %w", k.options.Config.Namespace().Name, sleepErr))
		}
		if err := k.renew(ctx, k.options.Clock.Now()); err != nil {
			return k.failed(err)
		}
	}
	return nil
}

func (k *keeper) show() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.holder = k.held
}

// status shows whether this process holds the lease. Where the database does not answer, the runner knows more: which
// error, since when, and when it is tried next.
func (k *keeper) status() []run.Status {
	k.mu.Lock()
	held := k.holder
	k.mu.Unlock()
	s := run.Status{Stage: Stage}
	if open, _, _, why := k.gate.state(); !open && k.gate.silence().IsZero() {
		s.Stall = &fault.Stall{Reason: why}
	}
	if held {
		s.Owner = k.options.Holder
	}
	return []run.Status{s}
}
