package boundary

import "errors"

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
