package intake

import (
	"log/slog"
	"sync"
	"time"

	"amends.dev/amends/stages/fault"
)

// targets are the topics for decisions that did not take the last publication: each waits by itself before it is tried
// again (R36). Safe for concurrent use.
type targets struct {
	mu     sync.Mutex
	stalls map[string]*fault.Stall
}

// waits reports whether a topic is not to be tried yet.
func (t *targets) waits(topic string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	stall := t.stalls[topic]
	return stall != nil && stall.NextTry.After(now)
}

// tried notes how a publication to a topic ended, with a line in the log where that is news.
func (t *targets) tried(topic string, failure error, now time.Time, log *slog.Logger) {
	t.mu.Lock()
	defer t.mu.Unlock()
	former := t.stalls[topic]
	if failure == nil {
		delete(t.stalls, topic)
		if former != nil {
			log.Info("delivery succeeded again", "topic", topic, "attempts", former.Attempts, "since", former.Since)
		}
		return
	}
	stall := fault.DefaultPolicy.Failed(former, "deliver to topic "+topic+": "+failure.Error(), now, func(n int64) int64 { return n - 1 })
	if t.stalls == nil {
		t.stalls = map[string]*fault.Stall{}
	}
	t.stalls[topic] = stall
	log.Warn("delivery failed", "topic", topic, "error", failure, "attempts", stall.Attempts, "nextTry", stall.NextTry)
}

// resume has every topic tried at once.
func (t *targets) resume() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for topic, stall := range t.stalls {
		now := *stall // what was shown does not change
		now.NextTry = time.Time{}
		t.stalls[topic] = &now
	}
}

// stall is that of the topic that has failed for longest, nil where none does.
func (t *targets) stall() *fault.Stall {
	t.mu.Lock()
	defer t.mu.Unlock()
	var first *fault.Stall
	for _, stall := range t.stalls {
		if first == nil || stall.Since.Before(first.Since) {
			first = stall
		}
	}
	return first
}
