package sim

import (
	"fmt"
	"time"

	"amends.dev/amends/stages/worker"
)

// outcome is what a gate lets a call do.
type outcome struct {
	// before refuses the call; after is returned although the call took effect.
	before, after error
	// lag is how long the answer takes.
	lag time.Duration
	// fault is one that the call itself has to play: those of publisher and readers.
	fault *injection
}

// enter is passed by every call of every port. It plays the fault of the step where it is placed at this call.
func (l *life) enter(o op) outcome {
	w := l.world
	if l.dead || w.failure != nil {
		return outcome{before: errDead}
	}
	nth := l.calls[o]
	l.calls[o]++
	f := l.fault
	if f == nil || f.op != o || f.nth > nth && f.mode < rejected {
		return outcome{}
	}
	l.fault = nil
	w.struck[f.mode]++
	w.log(l.name, "%s", f)
	switch f.mode {
	case failed:
		return outcome{before: &databaseError{code: f.code}}
	case lostUndone:
		return outcome{before: l.lost(o)}
	case lostDone:
		return outcome{after: l.lost(o)}
	case crashBefore:
		l.dead = true
		return outcome{before: errDead}
	case crashAfter:
		return outcome{after: errDead}
	case frozen, cut:
		return l.freeze(f)
	case slow:
		w.clock = w.clock.Add(f.delay / 2) // half of it before the effect, half before the answer
		return outcome{lag: f.delay / 2}
	default:
		return outcome{fault: f}
	}
}

// lost is the error of an answer that never came.
func (l *life) lost(o op) error {
	if o == opCommit {
		return fmt.Errorf("%w: %w", worker.ErrUnknownOutcome, errLost)
	}
	return errLost
}

// freeze stands still while others act.
func (l *life) freeze(f *injection) outcome {
	w := l.world
	out := outcome{}
	if f.mode == cut {
		w.release(l)
	}
	l.frozen = true
	w.clock = w.clock.Add(f.delay)
	for range f.span {
		if !w.act() {
			break
		}
	}
	l.frozen = false
	w.log(l.name, "wakes")
	if l.dead || w.failure != nil {
		out.before = errDead
	}
	return out
}

// call passes the gate and does the effect as the gate permits.
func (l *life) call(o op, effect func() error) error {
	out := l.enter(o)
	if out.before != nil {
		return out.before
	}
	if err := effect(); err != nil {
		return err
	}
	return l.leave(out)
}

// leave ends a call whose effect happened.
func (l *life) leave(out outcome) error {
	l.world.clock = l.world.clock.Add(out.lag)
	if out.after != nil && out.after == errDead { //nolint:errorlint // exactly the marker that enter returned
		l.dead = true
	}
	return out.after
}

// lock is one row lock: of a source partition's state or of an output partition's progress.
type lock struct {
	view      bool
	partition int32
}

// held is an open transaction that holds a lock.
type held struct {
	life *life
	end  func()
}

// release ends the transactions of a life, as a server does for a connection that is gone or idle for too long.
func (w *world) release(l *life) {
	for key, h := range w.locks {
		if h.life == l {
			h.end()
			delete(w.locks, key)
		}
	}
}

// blocked reports whether somebody else's open transaction holds a lock. In a run without goroutines it cannot be waited
// for: the server's lock_timeout strikes.
func (w *world) blocked(key lock) error {
	if _, ok := w.locks[key]; ok {
		return lockTimeout
	}
	return nil
}
