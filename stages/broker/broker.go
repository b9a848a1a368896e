// Package broker holds the ports through which every stage sees the log broker: readers, publisher, membership
// and topic identity. stages/kafka implements them with franz-go; simulations implement them in memory.
package broker

import (
	"context"
	"errors"
)

// ErrTopicChanged is returned when a topic was deleted, recreated or repartitioned under a reader or publisher
// (S2, SC28). It never clears by itself: the namespace needs a new one.
var ErrTopicChanged = errors.New("topic changed")

// ErrOffsetOutOfRange is returned when a reader's position is no longer, or not yet, in the log. Readers never
// reset their position (B008, B009).
var ErrOffsetOutOfRange = errors.New("offset out of range")

// Record is one visible data record.
type Record struct {
	Partition int32
	Offset    int64
	// TimestampMillis is the broker's record timestamp, milliseconds since the Unix epoch.
	TimestampMillis int64
	// Key and Value are raw bytes; nil is null and distinct from empty.
	Key, Value []byte
	// Headers are in the order in which they were sent; nil where there are none. No decision reads them (S3).
	Headers []Header
}

// Header is one record header. A record may have several of the same key.
type Header struct {
	Key string
	// Value is raw bytes; nil is null.
	Value []byte
}

// Fetch is what one poll of one partition returned.
type Fetch struct {
	// Records are visible (read_committed) data records in offset order, possibly none.
	Records []Record
	// Next is the exclusive frontier after this fetch: offset + 1 of the last delivered data or control record,
	// or the position polled from where nothing was delivered (R08). Next may exceed the last record's offset + 1.
	Next int64
}

// NextAfter is the frontier after consuming the first n records of the fetch: Next when all are consumed, else
// the offset of the first unconsumed record is not assumed contiguous and the frontier is offset + 1 of record n-1.
func (f Fetch) NextAfter(n int) int64 {
	if n >= len(f.Records) {
		return f.Next
	}
	if n <= 0 {
		return f.Records[0].Offset
	}
	return f.Records[n-1].Offset + 1
}

// Reader reads one partition in order from a given position under read_committed. It is used by one goroutine.
type Reader interface {
	// Poll returns up to max records. It waits until something is delivered or ctx ends; a ctx that ends first
	// gives an empty Fetch and no error. Errors are ErrTopicChanged, ErrOffsetOutOfRange, or transient faults.
	Poll(ctx context.Context, max int) (Fetch, error)
	// Close releases the reader's resources.
	Close()
}

// Opener opens readers of one topic whose identity was checked.
type Opener interface {
	// Open starts reading partition at the exclusive frontier from.
	Open(ctx context.Context, partition int32, from int64) (Reader, error)
}

// Message is one record to publish.
type Message struct {
	Partition  int32
	Key, Value []byte
	// Headers are sent in this order; nil for none (R19, R34).
	Headers []Header
}

// Ack is the outcome of publishing one message: Offset is valid when Err is nil.
type Ack struct {
	Offset int64
	Err    error
}

// Publisher publishes with an idempotent producer and acks=all.
type Publisher interface {
	// Publish sends the messages in order within each partition and waits for every outcome, at most until the
	// delivery timeout has passed. The result has one Ack for each message, in order.
	Publish(ctx context.Context, messages []Message) []Ack
}

// Assignment is one change of what this member owns, as the consumer group decided it (R16).
type Assignment struct {
	// Member and Generation identify the assignment; Generation rises with each rebalance of one group.
	Member     string
	Generation int32
	// Partitions is the complete set now owned; empty after a revocation or loss of everything.
	Partitions []int32
}

// Membership is the consumer group seen as a stream of complete assignments.
type Membership interface {
	// Current returns the newest assignment and a channel that is closed when it is superseded. Before the first
	// assignment it returns an empty one. Safe for concurrent use.
	Current() (Assignment, <-chan struct{})
	// CommitLag tells the broker the committed frontier as a lag signal only; it is never read back (design 6).
	CommitLag(ctx context.Context, frontiers map[int32]int64) error
	// Fault returns why this member has no place in the group, nil while it has one or is about to get its first. It is for
	// people (R36). Safe for concurrent use.
	Fault() error
	// Close leaves the group.
	Close()
}

// TopicInfo is what the broker says about one topic.
type TopicInfo struct {
	Name string
	// ID is the topic ID in Kafka's textual form: 16 bytes, base64url without padding.
	ID         string
	Partitions int32
	// Configs holds the values of cleanup.policy, retention.ms and retention.bytes.
	Configs map[string]string
	// Starts, Stables and Ends are per partition: log start offset, last stable offset, high watermark.
	Starts, Stables, Ends []int64
}

// Admin is topic administration for apply, start checks and status.
type Admin interface {
	// Describe returns nil without an error where the topic does not exist.
	Describe(ctx context.Context, topic string) (*TopicInfo, error)
	// Create creates a topic with unlimited retention and cleanup.policy=delete and waits until it is visible.
	Create(ctx context.Context, topic string, partitions int32) (*TopicInfo, error)
}
