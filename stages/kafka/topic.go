package kafka

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

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
func (t Topic) check(ctx context.Context, admin *kadm.Client) error {
	detail, err := lookUp(ctx, admin, t.Name)
	if err != nil {
		return err
	}
	if detail == nil {
		return fmt.Errorf("%w: topic %s with ID %s no longer exists", broker.ErrTopicChanged, t.Name, t.ID)
	}
	if err := t.checkID(detail.ID); err != nil {
		return err
	}
	if got := len(detail.Partitions); got != int(t.Partitions) {
		return fmt.Errorf("%w: topic %s has %d partitions, the namespace was applied with %d",
			broker.ErrTopicChanged, t.Name, got, t.Partitions)
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

// lookUp returns the broker's metadata of one topic, nil where it does not exist.
func lookUp(ctx context.Context, admin *kadm.Client, name string) (*kadm.TopicDetail, error) {
	details, err := admin.ListTopicsWithInternal(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("look up topic %s: %w", name, err)
	}
	detail, ok := details[name]
	switch {
	case !ok || errors.Is(detail.Err, kerr.UnknownTopicOrPartition):
		return nil, nil
	case detail.Err != nil:
		return nil, fmt.Errorf("look up topic %s: %w", name, detail.Err)
	case detail.ID == kadm.TopicID{}:
		return nil, fmt.Errorf("topic %s has no topic ID: the broker is older than Kafka 3.1, the oldest supported", name)
	}
	return &detail, nil
}
