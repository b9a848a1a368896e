package machine

import (
	"context"
	"time"
)

// Clock is real time, for the ports of everything that has its time injected. It is stateless and safe for concurrent use.
type Clock struct{}

// Now returns the time.
func (Clock) Now() time.Time { return time.Now() }

// Sleep waits for d, or returns ctx's error as soon as it ends.
func (Clock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
