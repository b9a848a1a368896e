package kafka

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"amends.dev/amends/stages/broker"
)

// Topic is the identity of a topic as a namespace recorded it (S2).
type Topic struct {
	Name string
	// ID is the topic ID in Kafka's textual form: 16 bytes, base64url without padding.
	ID string
	// Partitions is the partition count.
	Partitions int32
}

// formatID renders a topic ID in Kafka's textual form.
func formatID(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// check asks the broker whether the topic still is the one recorded; if not the error wraps broker.ErrTopicChanged.
func (t Topic) check(ctx context.Context, client *kgo.Client) error {
	found, err := lookUp(ctx, client, t.Name)
	if err != nil {
		return err
	}
	if found == nil {
		return fmt.Errorf("%w: topic %s with ID %s no longer exists", broker.ErrTopicChanged, t.Name, t.ID)
	}
	if err := t.checkID(found.id); err != nil {
		return err
	}
	if found.partitions != t.Partitions {
		return fmt.Errorf("%w: topic %s has %d partitions, the namespace was applied with %d",
			broker.ErrTopicChanged, t.Name, found.partitions, t.Partitions)
	}
	return nil
}

func (t Topic) checkID(id [16]byte) error {
	if got := formatID(id); got != t.ID {
		return fmt.Errorf("%w: topic %s was recreated: its ID is %s, the namespace was applied to %s",
			broker.ErrTopicChanged, t.Name, got, t.ID)
	}
	return nil
}

// metadata is what a lookup says of an existing topic.
type metadata struct {
	id         [16]byte
	partitions int32
}

// lookUp asks a broker for one topic, nil where it does not exist. It does not use kadm, which answers from a cache that
// may be seconds old: a topic recreated meanwhile would look unchanged.
func lookUp(ctx context.Context, client *kgo.Client, name string) (*metadata, error) {
	request := kmsg.NewPtrMetadataRequest()
	request.AllowAutoTopicCreation = false
	wanted := kmsg.NewMetadataRequestTopic()
	wanted.Topic = kmsg.StringPtr(name)
	request.Topics = append(request.Topics, wanted)
	response, err := request.RequestWith(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("look up topic %s: %w", name, err)
	}
	if len(response.Topics) != 1 {
		return nil, fmt.Errorf("look up topic %s: the answer has %d topics", name, len(response.Topics))
	}
	topic := response.Topics[0]
	switch err := kerr.ErrorForCode(topic.ErrorCode); {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look up topic %s: %w", name, err)
	case topic.TopicID == [16]byte{}:
		return nil, fmt.Errorf("topic %s has no topic ID: the broker is older than Kafka 3.1, the oldest supported", name)
	}
	return &metadata{id: topic.TopicID, partitions: int32(len(topic.Partitions))}, nil
}
