package intake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/drain"
	"amends.dev/amends/stages/run"
)

const (
	// deliverBatch bounds the pending deliveries looked at in one Step, of one source partition.
	deliverBatch = 200
	// deliverIdle is the pause where no decision is due.
	deliverIdle = 100 * time.Millisecond
)

// deliverer publishes the worker's decisions to the topics that senders named, at least once (R33). Step is used by one
// goroutine.
type deliverer struct {
	intake *Intake
	// targets are the topics that publications failed to.
	targets targets
	// failing are the source partitions whose last reading failed.
	failing map[int32]struct{}
	// next is the source partition to look at.
	next int32
	// idle counts the partitions in a row without anything to deliver.
	idle int32
	// held counts, by partition, the deliveries to topics that are not configured or wait after a failure: those behind them
	// are looked at too.
	held map[int32]int
}

// Report is a delivered decision: the value of a record whose key is the request's ID.
type Report struct {
	Namespace string      `json:"namespace"`
	RequestID string      `json:"request_id"`
	Author    string      `json:"author"`
	Topic     string      `json:"source_topic"`
	TopicID   string      `json:"source_topic_id"`
	Source    Coordinates `json:"source"`
	Decision  *Decision   `json:"decision"`
}

// due is a delivery whose decision is there.
type due struct {
	pending owner.Pending
	topic   string
	source  *Coordinates
	message broker.Message
}

// newDeliverer returns that of an intake.
func newDeliverer(i *Intake) *deliverer {
	return &deliverer{intake: i, held: map[int32]int{}, failing: map[int32]struct{}{}}
}

// task runs it.
func (d *deliverer) task() run.Task {
	return run.Task{
		Stage: stageDeliver, Step: d.Step, Resume: func(int32) { d.targets.resume() },
		Status: func() []run.Status { return []run.Status{{Stage: stageDeliver, Stall: d.targets.stall()}} },
	}
}

// Step delivers what is due of one source partition. Deliveries are found in the order of acceptance; those of a
// partition whose worker stands still hold up no other partition, and those to a topic that is away no other topic. A
// partition that was read does not say that another one can be, whose reading failed.
func (d *deliverer) Step(ctx context.Context) (progress bool, wake time.Time, err error) {
	i := d.intake
	if !i.trusted() { // another intake delivers, or nobody knows
		return false, i.options.Clock.Now().Add(standbyEvery), i.gate.unknown()
	}
	partitions := i.options.Config.Namespace().Spec.Source.Partitions
	partition := d.next
	d.next = (d.next + 1) % partitions
	progress, wake, err = d.one(ctx, partition, partitions)
	if err != nil {
		d.failing[partition] = struct{}{}
		return false, time.Time{}, fmt.Errorf("deliver decisions of %s, source partition %d: %w", i.options.Config.Namespace().Name, partition, err)
	}
	delete(d.failing, partition)
	if len(d.failing) > 0 {
		return progress, wake, fmt.Errorf("source partition %d is in order: %w", partition, fault.ErrUntried)
	}
	return progress, wake, nil
}

// one delivers what is due of one source partition.
func (d *deliverer) one(ctx context.Context, partition, partitions int32) (progress bool, wake time.Time, err error) {
	i := d.intake
	pending, err := i.options.Store.Pending(ctx, deliverPrefix(i.options.Config.Namespace().Name, partition), d.held[partition]+deliverBatch)
	if err != nil {
		return false, time.Time{}, err
	}
	var ready []due
	d.held[partition] = 0
	for _, p := range pending {
		one, err := d.resolve(ctx, p)
		if errors.Is(err, errNoTarget) {
			d.held[partition]++
			continue
		}
		if err != nil {
			return false, time.Time{}, fmt.Errorf("delivery %s: %w", p.ID, err)
		}
		if one != nil {
			ready = append(ready, *one)
		}
	}
	if len(ready) == 0 {
		if d.idle++; d.idle < partitions {
			return true, time.Time{}, nil
		}
		d.idle = 0
		return false, i.options.Clock.Now().Add(deliverIdle), nil
	}
	d.idle = 0
	return true, time.Time{}, d.deliver(ctx, ready)
}

// errNoTarget says that a topic was configured when the request was accepted, and is not now, or that a publication to it
// failed a short while ago: the delivery waits.
var errNoTarget = errors.New("the topic is not configured, or away")

// resolve finds out what the worker decided; nil while it has not. The error is errNoTarget where nobody would get it.
func (d *deliverer) resolve(ctx context.Context, p owner.Pending) (*due, error) {
	i := d.intake
	var what delivery
	if err := decode(p.Payload, &what); err != nil {
		return nil, err
	}
	target, known := i.options.Targets[what.Topic]
	if !known || d.targets.waits(what.Topic, i.options.Clock.Now()) {
		return nil, errNoTarget
	}
	if what.Source == nil {
		image, err := i.options.Store.Image(ctx, p.OwnerID)
		if err != nil || image == nil {
			return nil, orGone(p.OwnerID, err)
		}
		entry, err := entryOf(image)
		if err != nil || entry.Source == nil {
			return nil, err
		}
		what.Source = entry.Source
	}
	decision, err := i.options.Decisions.Decision(ctx, *what.Source, what.Value)
	if err != nil || decision == nil {
		return nil, err
	}
	ns := i.options.Config.Namespace()
	value, err := json.Marshal(Report{
		Namespace: ns.Name, RequestID: what.RequestID, Author: what.Author, Topic: ns.Spec.Source.Topic,
		TopicID: i.options.Config.SourceTopicID(), Source: *what.Source, Decision: decision,
	})
	if err != nil {
		return nil, fmt.Errorf("encode a decision: %w", err)
	}
	key := []byte(what.RequestID)
	return &due{pending: p, topic: what.Topic, source: what.Source, message: broker.Message{
		Partition: ledger.PartitionOf(key, target.Partitions), Key: key, Value: value,
		Headers: []broker.Header{{Key: drain.EffectHeader, Value: []byte(p.ID)}},
	}}, nil
}

// orGone is the error of an owner that is not there although its effect is.
func orGone(ownerID string, err error) error {
	if err == nil {
		return invariant.Violated("owner %s does not exist", ownerID)
	}
	return err
}

// deliver publishes to each topic what is due there, and records the acknowledgements. A topic that does not take it waits
// by itself; the error is one of the owner store, or a bug.
func (d *deliverer) deliver(ctx context.Context, ready []due) error {
	byTopic := map[string][]due{}
	for _, one := range ready {
		byTopic[one.topic] = append(byTopic[one.topic], one)
	}
	ctx = context.WithoutCancel(ctx)
	for topic, list := range byTopic {
		messages := make([]broker.Message, len(list))
		for n, one := range list {
			messages[n] = one.message
		}
		acks := d.intake.options.Targets[topic].Publisher.Publish(ctx, messages)
		failure, err := d.settle(ctx, list, acks)
		if err != nil {
			return fmt.Errorf("topic %s: %w", topic, err)
		}
		d.targets.tried(topic, failure, d.intake.options.Clock.Now(), d.intake.options.Log)
	}
	return nil
}

// settle records the receipts of what was acknowledged, and returns the failure of what was not. A unit that is refused,
// because the owner moved on meanwhile, is delivered again.
func (d *deliverer) settle(ctx context.Context, list []due, acks []broker.Ack) (failure, err error) {
	if len(acks) != len(list) {
		return nil, invariant.Violated("publisher answered %d of %d messages", len(acks), len(list))
	}
	var units []owner.Commit
	for n, ack := range acks {
		if ack.Err != nil {
			failure = ack.Err
			continue
		}
		at := Coordinates{Partition: list[n].message.Partition, Offset: ack.Offset}
		event := Event{Event: eventDelivered, At: d.intake.options.Clock.Now().UTC()}
		unit, err := settled(list[n].pending, deliveredInbox, event, at)
		if err == nil {
			err = d.intake.notify(&unit, durability.Published, list[n].source, true)
		}
		if err != nil {
			return nil, err
		}
		units = append(units, unit)
	}
	if len(units) > 0 {
		if _, err := d.intake.options.Store.Commit(ctx, units...); err != nil {
			return nil, fmt.Errorf("record deliveries: %w", err)
		}
		d.intake.counts.Delivered.Add(int64(len(units)))
	}
	return failure, nil
}
