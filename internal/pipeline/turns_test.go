package pipeline

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestTurns: a turn is followed by a pause while requests wait to be kept, unless publication is behind; a turn that did
// nothing, or failed, says itself when the next one is due.
func TestTurns(t *testing.T) {
	own, failure := time.Unix(1, 0), errors.New("it failed")
	for _, c := range []struct {
		progress, busy, behind bool
		err                    error
		pauses                 bool
	}{
		{progress: true},
		{progress: true, behind: true},
		{progress: true, busy: true, pauses: true},
		{progress: true, busy: true, behind: true},
		{busy: true},
		{busy: true, err: failure},
		{progress: true, busy: true, err: failure},
	} {
		turns := turns{
			step: func(context.Context) (bool, time.Time, error) { return c.progress, own, c.err },
			busy: func() bool { return c.busy }, behind: func() bool { return c.behind }, pause: time.Hour,
		}
		progress, wake, err := turns.take(t.Context())
		if pauses := !progress && wake.After(time.Now().Add(time.Minute)); pauses != c.pauses || !errors.Is(err, c.err) ||
			!c.pauses && (progress != c.progress || !wake.Equal(own)) {
			t.Errorf("%+v: progress %t, wake %s, %v", c, progress, wake, err)
		}
	}
}
