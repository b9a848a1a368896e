package replay

import (
	"errors"
	"fmt"
	"strings"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/worker"
)

// ErrRefused is wrapped where a replay may not be done; nothing was changed then (S11).
var ErrRefused = errors.New("replay refused")

// Range is what is to be read again: the offsets from From up to, and without, To of one source partition.
type Range struct {
	Partition int32 `json:"partition"`
	From      int64 `json:"from"`
	To        int64 `json:"to"`
}

// String returns the range as people write it.
func (r Range) String() string {
	return fmt.Sprintf("[%d, %d) of partition %d", r.From, r.To, r.Partition)
}

// Facts are what decides whether a range can be replayed.
type Facts struct {
	// Topic, TopicID and Partitions are the source topic's as the namespace recorded them.
	Topic, TopicID string
	Partitions     int32
	// Found is the topic as the broker has it, nil where it does not exist.
	Found *broker.TopicInfo
	// State is the partition's durable row; the zero row where there is no such partition.
	State worker.PartitionState
	// Unfinished says why the namespace has no state to be compared with yet, empty where it has.
	Unfinished string
}

// Check refuses what is no retained range of processed records (S11, R25): nil, or an error that wraps ErrRefused and
// says why and what to do. It is pure.
func Check(r Range, f Facts) error {
	if reason := refusal(r, f); reason != "" {
		return fmt.Errorf("%w: %s: %s", ErrRefused, r, reason)
	}
	return nil
}

// refusal is why the range cannot be replayed, empty where it can.
func refusal(r Range, f Facts) string {
	switch {
	case f.Unfinished != "":
		return f.Unfinished
	case r.Partition < 0 || r.Partition >= f.Partitions:
		return fmt.Sprintf("topic %s has partitions 0 to %d", f.Topic, f.Partitions-1)
	case r.From < 0 || r.From >= r.To:
		return "the range holds no offset"
	case f.State.NextOffset == 0:
		return "the frontier is 0: nothing of the partition was ever processed"
	case r.To > f.State.NextOffset:
		return fmt.Sprintf("the frontier is %d: records from there on were never processed, and a replay never skips ahead; end at %d or below",
			f.State.NextOffset, f.State.NextOffset)
	case foreign(f.State):
		return fmt.Sprintf("the partition is held by %s, an administrative operation that is no replay; let it end first", f.State.Member)
	}
	return lost(r, f)
}

// lost says what the source topic no longer holds of the range, empty where it holds all of it.
func lost(r Range, f Facts) string {
	t := f.Found
	switch {
	case t == nil:
		return fmt.Sprintf("topic %s with ID %s does not exist", f.Topic, f.TopicID)
	case t.ID != f.TopicID:
		return fmt.Sprintf("topic %s was recreated: its ID is %s, the namespace was applied to %s; its records are of another history", f.Topic, t.ID, f.TopicID)
	case t.Partitions != f.Partitions:
		return fmt.Sprintf("topic %s has %d partitions, the namespace was applied with %d", f.Topic, t.Partitions, f.Partitions)
	case int(r.Partition) >= len(t.Starts) || int(r.Partition) >= len(t.Ends):
		return fmt.Sprintf("the broker does not tell what partition %d of topic %s holds", r.Partition, f.Topic)
	case r.From < t.Starts[r.Partition]:
		return fmt.Sprintf("topic %s holds partition %d from offset %d on: the records before it are lost, and only what is retained can be read again",
			f.Topic, r.Partition, t.Starts[r.Partition])
	case r.To > t.Ends[r.Partition]:
		return fmt.Sprintf("partition %d of topic %s ends at %d: the records from there on are lost", r.Partition, f.Topic, t.Ends[r.Partition])
	case strings.Contains(t.Configs["cleanup.policy"], "compact"):
		return fmt.Sprintf("topic %s is compacted (cleanup.policy=%s): records of the range may be missing without a trace", f.Topic, t.Configs["cleanup.policy"])
	}
	return ""
}
