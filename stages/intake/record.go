package intake

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/relay"
)

// The versions of the payloads that the intake writes: JSON, but for publications.
const (
	schemaVersion = 1
	codecVersion  = 1
	// publicationCodec is publication's own: there are as many as requests, and each is written, read and sent.
	publicationCodec = 2
)

// The identities inside one owner.
const (
	// requestInbox is the input "the request", which is completed by its acceptance: a second request of the same ID is an
	// identity conflict (B134).
	requestInbox = "request"
	// publishedInbox is the input "the broker's acknowledgement".
	publishedInbox = "published"
	// deliveredInbox is the input "the acknowledgement of the delivered decision".
	deliveredInbox = "delivered"
)

// Event is one event of an accepted request's history: accepted, published or delivered.
type Event struct {
	Event string    `json:"event"`
	At    time.Time `json:"at"`
	// The rest but Source is of the event accepted.
	RequestID string `json:"request_id,omitempty"`
	Author    string `json:"author,omitempty"`
	// Attempt tells the HTTP request that was accepted from every other: a commit repeated after an unknown outcome is
	// the same one, a second request is not.
	Attempt string `json:"attempt,omitempty"`
	// Requested is the level asked for, Level the one to be provided.
	Requested durability.Level `json:"requested,omitempty"`
	Level     durability.Level `json:"level,omitempty"`
	DeliverTo string           `json:"deliver_to,omitempty"`
	// Transaction are the bytes as sent.
	Transaction []byte `json:"transaction,omitempty"`
	// Source is where the record is, of the event published and of a delivery's acceptance.
	Source *Coordinates `json:"source,omitempty"`
}

// The events.
const (
	eventAccepted  = "accepted"
	eventPublished = "published"
	eventDelivered = "delivered"
)

// publication encodes what an effect publishes to the source topic, under publicationCodec: the partition, the key's length
// and one, or 0 for the null key, each an unsigned varint; then the key, and the value as the rest.
func publication(r Record) owner.Payload {
	text := make([]byte, 0, 2*binary.MaxVarintLen32+len(r.Key)+len(r.Value))
	text = binary.AppendUvarint(text, uint64(r.Partition))
	if r.Key == nil {
		text = binary.AppendUvarint(text, 0)
	} else {
		text = append(binary.AppendUvarint(text, uint64(len(r.Key))+1), r.Key...)
	}
	return owner.Payload{SchemaVersion: schemaVersion, CodecVersion: publicationCodec, Bytes: append(text, r.Value...)}
}

// published is the inverse of publication.
func published(p owner.Payload) (Record, error) {
	if err := known(p, publicationCodec); err != nil {
		return Record{}, err
	}
	partition, n := binary.Uvarint(p.Bytes)
	if n <= 0 || partition > math.MaxInt32 {
		return Record{}, errors.New("a publication without a partition")
	}
	rest := p.Bytes[n:]
	length, n := binary.Uvarint(rest)
	if n <= 0 || length > uint64(len(rest)-n)+1 {
		return Record{}, errors.New("a publication without its key")
	}
	r := Record{Partition: int32(partition), Value: rest[n:]}
	if length > 0 {
		r.Key, r.Value = r.Value[:length-1:length-1], r.Value[length-1:]
	}
	return r, nil
}

// delivery is what an effect of deliver_to has to deliver.
type delivery struct {
	RequestID string `json:"request_id"`
	Author    string `json:"author"`
	Topic     string `json:"topic"`
	// Value is the transaction.
	Value []byte `json:"value"`
	// Source is where the record is; nil where the owner's publication tells.
	Source *Coordinates `json:"source,omitempty"`
}

// payload encodes a value of this package. The values hold nothing that JSON cannot.
func payload(value any) (owner.Payload, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return owner.Payload{}, fmt.Errorf("encode a payload: %w", err)
	}
	return owner.Payload{SchemaVersion: schemaVersion, CodecVersion: codecVersion, Bytes: text}, nil
}

// decode reads a payload of this package, its versions first.
func decode(p owner.Payload, into any) error {
	if err := known(p, codecVersion); err != nil {
		return err
	}
	if err := json.Unmarshal(p.Bytes, into); err != nil {
		return fmt.Errorf("decode a payload: %w", err)
	}
	return nil
}

// known refuses versions but those given, before anything is decoded.
func known(p owner.Payload, codec uint64) error {
	if p.SchemaVersion != schemaVersion || p.CodecVersion != codec {
		return fmt.Errorf("payload of schema version %d and codec version %d; this build knows %d and %d here",
			p.SchemaVersion, p.CodecVersion, schemaVersion, codec)
	}
	return nil
}

// Message is the record that an effect of PublishPrefix publishes: the same bytes each time (R34). The drain adds the
// effect's identity in a header.
func Message(effect owner.Effect) (broker.Message, error) {
	r, err := published(effect.Payload)
	if err != nil {
		return broker.Message{}, fmt.Errorf("effect %s: %w", effect.ID, err)
	}
	return broker.Message{Partition: r.Partition, Key: r.Key, Value: r.Value}, nil
}

// acknowledged is the unit of work that records where the broker put the record of a pending publication (R29): the event
// published, and the effect's receipt.
func acknowledged(p owner.Pending, at relay.Receipt, now time.Time) (owner.Commit, error) {
	place := Coordinates{Partition: at.Partition, Offset: at.Offset}
	return settled(p, publishedInbox, Event{Event: eventPublished, At: now.UTC(), Source: &place}, place)
}

// settled completes a pending effect of the owner as it stands, with an event and a receipt.
func settled(p owner.Pending, inbox string, event Event, receipt any) (owner.Commit, error) {
	happened, err := payload(event)
	if err != nil {
		return owner.Commit{}, err
	}
	outcome, err := payload(receipt)
	if err != nil {
		return owner.Commit{}, err
	}
	return owner.Commit{
		OwnerID: p.OwnerID, ExpectedPosition: p.Position, Fence: p.Fence, Inbox: input(inbox, happened),
		Append:   []owner.Payload{happened},
		Receipts: []owner.Receipt{{ID: inbox, EffectID: p.ID, Outcome: "acknowledged", Payload: outcome}},
	}, nil
}

// input names an input by its identity and a fingerprint of what it consists of.
func input(id string, p owner.Payload) owner.Inbox {
	sum := sha256.Sum256(p.Bytes)
	return owner.Inbox{ID: id, Fingerprint: sum[:]}
}

// acceptance is the unit of work that keeps a request: created with its event, publication and delivery, all or nothing,
// under the term of the writer lease as its fence.
func acceptance(namespace string, fence uint64, event Event, record Record) (owner.Commit, error) {
	event.Event = eventAccepted
	happened, err := payload(event)
	if err != nil {
		return owner.Commit{}, err
	}
	c := owner.Commit{
		OwnerID: OwnerID(namespace, event.Author, event.RequestID), Create: &owner.Config{Mode: owner.EventHistory, Fence: fence},
		Fence: fence, Inbox: input(requestInbox, happened), Append: []owner.Payload{happened},
		Effects: []owner.Effect{{ID: publishID(namespace, record.Partition, event.Author, event.RequestID), Payload: publication(record)}},
	}
	if event.DeliverTo == "" {
		return c, nil
	}
	deliver, err := payload(delivery{
		RequestID: event.RequestID, Author: event.Author, Topic: event.DeliverTo, Value: record.Value,
	})
	if err != nil {
		return owner.Commit{}, err
	}
	id := deliverPrefix(namespace, record.Partition) + Escape(event.Author) + "/" + Escape(event.RequestID)
	c.Effects = append(c.Effects, owner.Effect{ID: id, Payload: deliver})
	return c, nil
}

// obligation is the unit of work that keeps the delivery of a request that itself is not kept, once its record is in the
// source topic: the request's ID is not unique, the record's place is.
func obligation(namespace, topicID string, event Event, record Record) (owner.Commit, error) {
	event.Event, event.Transaction = eventAccepted, nil
	happened, err := payload(event)
	if err != nil {
		return owner.Commit{}, err
	}
	deliver, err := payload(delivery{
		RequestID: event.RequestID, Author: event.Author, Topic: event.DeliverTo, Value: record.Value, Source: event.Source,
	})
	if err != nil {
		return owner.Commit{}, err
	}
	place := fmt.Sprintf("%s/%d/%d", Escape(topicID), event.Source.Partition, event.Source.Offset)
	return owner.Commit{
		OwnerID: identity(directKind, namespace) + "/" + place, Create: &owner.Config{Mode: owner.EventHistory},
		Inbox: input(requestInbox, happened), Append: []owner.Payload{happened},
		Effects: []owner.Effect{{ID: deliverPrefix(namespace, record.Partition) + "direct/" + place, Payload: deliver}},
	}, nil
}
