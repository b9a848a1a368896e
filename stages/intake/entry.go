package intake

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/owner"
)

// Entry is a kept request as its author finds it at its handle.
type Entry struct {
	Namespace  string    `json:"namespace"`
	RequestID  string    `json:"request_id"`
	Author     string    `json:"author"`
	AcceptedAt time.Time `json:"accepted_at"`
	// Requested is the level asked for, Level what is physically in place now.
	Requested durability.Level `json:"requested"`
	Level     durability.Level `json:"level"`
	// Transaction is the JSON value as sent.
	Transaction json.RawMessage `json:"transaction"`
	// Topic and TopicID name the source topic.
	Topic   string `json:"source_topic"`
	TopicID string `json:"source_topic_id"`
	// Source is where the record is, from the moment that it is published.
	Source *Coordinates `json:"source,omitempty"`
	// Decision is what the worker made of it, once it has.
	Decision *Decision `json:"decision,omitempty"`
	// DeliverTo is the topic that receives the decision, and Delivered whether it has it.
	DeliverTo string `json:"deliver_to,omitempty"`
	Delivered *bool  `json:"delivered,omitempty"`
}

// Find returns a kept request of an author, nil where there is none. With a positive wait it returns once the worker has
// decided, or the time is up.
func (i *Intake) Find(ctx context.Context, author, requestID string, wait time.Duration) (*Entry, error) {
	entry, err := i.find(ctx, author, requestID)
	if err != nil || entry == nil || wait <= 0 {
		return entry, err
	}
	i.until(ctx, wait, func(ctx context.Context) (bool, error) {
		later, err := i.find(ctx, author, requestID)
		if err != nil || later == nil {
			return false, err
		}
		entry = later
		return entry.Decision != nil && (entry.Delivered == nil || *entry.Delivered), nil
	})
	return entry, nil
}

// find reads a request and what became of it.
func (i *Intake) find(ctx context.Context, author, requestID string) (*Entry, error) {
	ns := i.options.Config.Namespace()
	image, err := i.options.Store.Image(ctx, OwnerID(ns.Name, author, requestID))
	if err != nil {
		return nil, fmt.Errorf("read request %s: %w", requestID, err)
	}
	if image == nil {
		return nil, nil
	}
	entry, err := entryOf(image)
	if err != nil {
		return nil, fmt.Errorf("read request %s: %w", requestID, err)
	}
	entry.Namespace, entry.Topic, entry.TopicID = ns.Name, ns.Spec.Source.Topic, i.options.Config.SourceTopicID()
	if entry.Source != nil {
		entry.Decision, err = i.options.Decisions.Decision(ctx, *entry.Source, entry.Transaction)
		if err != nil {
			return nil, fmt.Errorf("read what became of request %s: %w", requestID, err)
		}
	}
	return entry, nil
}

// entryOf reads an owner's history.
func entryOf(image *owner.Image) (*Entry, error) {
	if image.Mode != owner.EventHistory || len(image.History) == 0 {
		return nil, invariant.Violated("owner %s holds no accepted request", image.OwnerID)
	}
	entry := &Entry{Level: durability.Stored}
	for _, at := range image.History {
		var event Event
		if err := decode(at.Payload, &event); err != nil {
			return nil, fmt.Errorf("event %d: %w", at.Position, err)
		}
		switch event.Event {
		case eventAccepted:
			entry.RequestID, entry.Author, entry.AcceptedAt = event.RequestID, event.Author, event.At
			entry.Requested, entry.Transaction, entry.DeliverTo = event.Requested, event.Transaction, event.DeliverTo
			if event.DeliverTo != "" {
				entry.Delivered = new(bool)
			}
		case eventPublished:
			entry.Level, entry.Source = durability.Published, event.Source
		case eventDelivered:
			*entry.Delivered = true
		default:
			return nil, invariant.Violated("event %d of owner %s is %q", at.Position, image.OwnerID, event.Event)
		}
	}
	return entry, nil
}
