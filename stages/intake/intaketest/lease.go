package intaketest

import (
	"context"
	"sync"
	"time"

	"amends.dev/amends/stages/generate"
)

// Lease is a writer lease in memory that somebody else can ask for and take. It implements intake.Lease.
type Lease struct {
	mu sync.Mutex
	// held is set while the intake has it, foreign while somebody else does.
	held, foreign, asked bool
	releases             int
	down                 bool
	term                 int64
}

// Ask asks the holder to stop.
func (l *Lease) Ask() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = true
}

// Take gives it to somebody else, or frees it.
func (l *Lease) Take(foreign bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.foreign, l.held = foreign, l.held && !foreign
}

// Down makes every acquisition and renewal fail, or not.
func (l *Lease) Down(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
}

// Held reports whether the intake has it.
func (l *Lease) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held
}

// Releases counts how often it was given back.
func (l *Lease) Releases() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.releases
}

// Acquire implements generate.Lease.
func (l *Lease) Acquire(context.Context, time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.down:
		return ErrDown
	case l.foreign:
		return generate.ErrLeaseHeld
	}
	l.held, l.asked = true, false
	l.term++
	return nil
}

// Term implements intake.Lease.
func (l *Lease) Term() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.term
}

// Renew implements generate.Lease.
func (l *Lease) Renew(context.Context, time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.down:
		return ErrDown
	case !l.held:
		return generate.ErrLeaseLost
	}
	return nil
}

// StopRequested implements generate.Lease.
func (l *Lease) StopRequested(context.Context) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.held {
		return false, generate.ErrLeaseLost
	}
	return l.asked, nil
}

// Release implements generate.Lease.
func (l *Lease) Release(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		l.held = false
		l.releases++
	}
	return nil
}
