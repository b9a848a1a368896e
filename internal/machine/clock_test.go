package machine

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestSleep: it lasts as long as it was asked to, unless nobody waits any more.
func TestSleep(t *testing.T) {
	before := Clock{}.Now()
	if err := (Clock{}).Sleep(t.Context(), 2*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if passed := (Clock{}).Now().Sub(before); passed < 2*time.Millisecond {
		t.Errorf("slept for %v", passed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Clock{}).Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
