package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/egress"
	"amends.dev/amends/stages/run"
)

const (
	// stageStatus is the name of the task that sends statuses.
	stageStatus = "intake-status"
	// statusBatch bounds the statuses sent in one Step.
	statusBatch = 200
	// statusIdle is the pause where none is pending.
	statusIdle = 100 * time.Millisecond
)

// Status is what a kept request's handle says of its durability, as of one commit (R28).
type Status struct {
	Namespace string `json:"namespace"`
	RequestID string `json:"request_id"`
	Author    string `json:"author"`
	// Handle is where the author finds the rest.
	Handle string `json:"handle"`
	// Level is what was physically in place with that commit.
	Level durability.Level `json:"level"`
	// Topic and TopicID name the source topic, Source where the record is there; nil before it is published.
	Topic   string       `json:"source_topic"`
	TopicID string       `json:"source_topic_id"`
	Source  *Coordinates `json:"source,omitempty"`
	// Delivered says that the topic of deliver_to has the decision.
	Delivered bool `json:"delivered,omitempty"`
}

// Notification is the value of a record of the status topic; the record's key is the request's identity, OwnerID.
type Notification struct {
	// Capability is always latest_state_only: statuses that were superseded before they were sent never are.
	Capability owner.Capability `json:"capability"`
	// Position is the request's after the commit: of two notifications of one key the later one has the higher position,
	// and a copy has the same.
	Position owner.Mark `json:"position"`
	// SchemaVersion and CodecVersion are those of Status.
	SchemaVersion uint64 `json:"schema_version"`
	CodecVersion  uint64 `json:"codec_version"`
	// Status is a Status as it was kept.
	Status json.RawMessage `json:"status"`
}

// notify lets a unit of work replace the pending status of its request. It does nothing where there is no topic for it,
// so that nothing piles up, and to a request that has no handle.
func (i *Intake) notify(unit *owner.Commit, level durability.Level, source *Coordinates, delivered bool) error {
	ns := i.options.Config.Namespace()
	author, requestID, kept := requestOf(ns.Name, unit.OwnerID)
	if i.options.Status == nil || !kept {
		return nil
	}
	latest, err := payload(Status{
		Namespace: ns.Name, RequestID: requestID, Author: author, Handle: Handle(ns.Name, requestID), Level: level,
		Topic: ns.Spec.Source.Topic, TopicID: i.options.Config.SourceTopicID(), Source: source, Delivered: delivered,
	})
	unit.Latest = &latest
	return err
}

// notifier sends the pending statuses to the status topic, at least once. It is used by one goroutine.
type notifier struct {
	intake *Intake
	egress *egress.Egress
}

// newNotifier returns that of an intake that has a status topic.
func newNotifier(i *Intake) *notifier {
	n := &notifier{intake: i}
	n.egress = egress.New(i.options.Store, n, n, egress.Config{
		Prefix: requestPrefix(i.options.Config.Namespace().Name), Batch: statusBatch, Idle: statusIdle,
	})
	return n
}

// task runs it.
func (n *notifier) task() run.Task { return run.Task{Stage: stageStatus, Step: n.Step} }

// Step sends what is pending. Of several intakes the one with the writer lease does; what was begun is finished also when
// ctx ends.
func (n *notifier) Step(ctx context.Context) (progress bool, wake time.Time, err error) {
	if !n.intake.trusted() {
		return false, n.Now().Add(standbyEvery), n.intake.gate.unknown()
	}
	progress, wake, err = n.egress.Step(context.WithoutCancel(ctx))
	n.intake.counts.Statuses.Store(n.egress.Published())
	return progress, wake, err
}

// Now implements egress.Clock.
func (n *notifier) Now() time.Time { return n.intake.options.Clock.Now() }

// Publish implements egress.Publisher.
func (n *notifier) Publish(ctx context.Context, values []owner.LatestDurableProjection) []error {
	target, outcomes := n.intake.options.Status, make([]error, len(values))
	messages, places := make([]broker.Message, 0, len(values)), make([]int, 0, len(values))
	for at, value := range values {
		message, err := notification(value, target.Partitions)
		if outcomes[at] = err; err == nil {
			messages, places = append(messages, message), append(places, at)
		}
	}
	acks := target.Publisher.Publish(ctx, messages)
	for at, place := range places {
		if at >= len(acks) {
			outcomes[place] = fmt.Errorf("publisher answered %d of %d messages", len(acks), len(messages))
			continue
		}
		outcomes[place] = acks[at].Err
	}
	return outcomes
}

// notification is the record of a value.
func notification(value owner.LatestDurableProjection, partitions int32) (broker.Message, error) {
	status, key := value.Value(), []byte(value.OwnerID())
	text, err := json.Marshal(Notification{
		Capability: value.Capability(), Position: value.At(), SchemaVersion: status.SchemaVersion, CodecVersion: status.CodecVersion,
		Status: status.Bytes,
	})
	if err != nil {
		return broker.Message{}, fmt.Errorf("encode a notification: %w", err)
	}
	return broker.Message{Partition: ledger.PartitionOf(key, partitions), Key: key, Value: text}, nil
}
