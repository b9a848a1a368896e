package rebuild

import (
	"context"
	"time"
)

// clock is real time.
type clock struct{}

// Now implements rebuilding.Clock.
func (clock) Now() time.Time { return time.Now() }

// Sleep implements rebuilding.Clock.
func (clock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
