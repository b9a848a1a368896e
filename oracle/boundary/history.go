package boundary

import (
	"errors"
	"fmt"
)

// Range is a finite part of one topic incarnation.
type Range struct {
	Topic   string
	TopicID string
	// From and To are per partition: [From, To). To is at most the last stable offset.
	From, To []int64
}

// The ways in which a range may turn out not to be there; a reader of histories wraps them.
var (
	// ErrTopicChanged: the topic is gone, was recreated or repartitioned (S2, SC28).
	ErrTopicChanged = errors.New("topic changed")
	// ErrHistoryLost: the log no longer holds the start of the range.
	ErrHistoryLost = errors.New("history lost")
	// ErrStalled: reading made no progress for as long as it may.
	ErrStalled = errors.New("no progress")
)

// Limits lists the configs under which the topic may lose history, each as name=value instead of the right value (S10).
func (t *Topic) Limits() []string {
	var limits []string
	for _, u := range []struct{ config, want string }{
		{"cleanup.policy", "delete"}, {"retention.ms", "-1"}, {"retention.bytes", "-1"},
	} {
		if got := t.Configs[u.config]; got != u.want {
			limits = append(limits, fmt.Sprintf("%s=%s instead of %s", u.config, got, u.want))
		}
	}
	return limits
}
