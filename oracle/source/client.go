package source

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"amends.dev/amends/oracle/boundary"
)

// Client looks topics up and reads their histories. It is safe for concurrent use.
type Client struct {
	opts  []kgo.Opt
	stall time.Duration
	kafka *kgo.Client
	admin *kadm.Client
}

// Open makes a client; no connection is tried before the first request.
func Open(c Config) (*Client, error) {
	opts, err := c.options()
	if err != nil {
		return nil, err
	}
	kafka, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	stall := c.Stall
	if stall == 0 {
		stall = DefaultStall
	}
	return &Client{opts: opts, stall: stall, kafka: kafka, admin: kadm.NewClient(kafka)}, nil
}

// Close releases the connections.
func (c *Client) Close() { c.kafka.Close() }

// Describe says what the broker knows of one topic; nil without an error where it does not exist. The positions are
// read one after the other: Ends last, so that an end is never older than the last stable offset below it.
func (c *Client) Describe(ctx context.Context, topic string) (*boundary.Topic, error) {
	found, err := c.lookUp(ctx, topic)
	if err != nil || found == nil {
		return nil, err
	}
	t := &boundary.Topic{ID: found.id, Configs: map[string]string{}}
	for _, list := range []struct {
		name string
		call func(context.Context, ...string) (kadm.ListedOffsets, error)
		into *[]int64
	}{
		{"start offsets", c.admin.ListStartOffsets, &t.Starts},
		{"last stable offsets", c.admin.ListCommittedOffsets, &t.Stables},
		{"end offsets", c.admin.ListEndOffsets, &t.Ends},
	} {
		offsets, err := list.call(ctx, topic)
		if err != nil {
			return nil, fmt.Errorf("list %s of topic %s: %w", list.name, topic, err)
		}
		if *list.into, err = vector(offsets, topic, found.partitions); err != nil {
			return nil, fmt.Errorf("list %s of topic %s: %w", list.name, topic, err)
		}
	}
	if err := c.configs(ctx, topic, t.Configs); err != nil {
		return nil, fmt.Errorf("describe the configs of topic %s: %w", topic, err)
	}
	return t, nil
}

// configs reads the configs that decide whether history is kept.
func (c *Client) configs(ctx context.Context, topic string, into map[string]string) error {
	resources, err := c.admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return err
	}
	resource, err := resources.On(topic, nil)
	if err = errors.Join(err, resource.Err); err != nil {
		return err
	}
	for _, config := range resource.Configs {
		switch config.Key {
		case "cleanup.policy", "retention.ms", "retention.bytes":
			into[config.Key] = config.MaybeValue()
		}
	}
	return nil
}

// identity is what the broker's metadata says of one topic.
type identity struct {
	// id is the topic ID in Kafka's textual form: 16 bytes, base64url without padding.
	id         string
	partitions int
}

// lookUp asks a broker about one topic; nil where it does not exist. It does not go through kadm, which answers from a
// cache of some seconds and so would not see that a topic was recreated.
func (c *Client) lookUp(ctx context.Context, topic string) (*identity, error) {
	request := kmsg.NewPtrMetadataRequest()
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = kmsg.StringPtr(topic)
	request.Topics = append(request.Topics, asked)
	response, err := request.RequestWith(ctx, c.kafka)
	if err != nil {
		return nil, fmt.Errorf("look up topic %s: %w", topic, err)
	}
	if len(response.Topics) != 1 {
		return nil, fmt.Errorf("look up topic %s: the broker answers for %d topics", topic, len(response.Topics))
	}
	answer := response.Topics[0]
	err = kerr.ErrorForCode(answer.ErrorCode)
	switch {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look up topic %s: %w", topic, err)
	case answer.TopicID == [16]byte{}:
		return nil, fmt.Errorf("look up topic %s: the broker gives it no topic ID; Kafka 3.1 is the oldest supported", topic)
	}
	return &identity{id: base64.RawURLEncoding.EncodeToString(answer.TopicID[:]), partitions: len(answer.Partitions)}, nil
}

// vector arranges listed offsets by partition; each of them must be known.
func vector(listed kadm.ListedOffsets, topic string, partitions int) ([]int64, error) {
	out := make([]int64, partitions)
	for p := range out {
		o, ok := listed.Lookup(topic, int32(p))
		if !ok {
			return nil, fmt.Errorf("partition %d is missing in the broker's answer", p)
		}
		if o.Err != nil {
			return nil, fmt.Errorf("partition %d: %w", p, o.Err)
		}
		out[p] = o.Offset
	}
	return out, nil
}
