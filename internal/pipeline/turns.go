package pipeline

import (
	"context"
	"time"
)

// turns are those of the publication of kept requests. While other requests wait to be kept, each partition has its turn once
// in a while: more is published at once then, and every transaction of the publication costs them theirs. But where what was
// accepted piles up, it comes first: under a lasting load the lag settles, and senders wait for their answers instead.
type turns struct {
	// step takes one.
	step func(ctx context.Context) (progress bool, wake time.Time, err error)
	// busy reports whether requests wait to be kept, behind whether more waits to be published than a turn publishes.
	busy, behind func() bool
	// pause follows a turn while requests wait.
	pause time.Duration
}

// take is the step of the task.
func (t *turns) take(ctx context.Context) (progress bool, wake time.Time, err error) {
	progress, wake, err = t.step(ctx)
	if progress && err == nil && t.busy() && !t.behind() {
		return false, time.Now().Add(t.pause), nil
	}
	return progress, wake, err
}
