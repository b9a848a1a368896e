package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/stages/broker"
)

const (
	// visibleTimeout bounds the wait until a created topic can be used.
	visibleTimeout = 30 * time.Second
	// visiblePoll is the pause between two looks.
	visiblePoll = 50 * time.Millisecond
	// metadataMinAge bounds the age of the answers that kadm takes from the client's cache; by default 5 s, in which a
	// topic that was just created is still unknown and one that was just deleted still known.
	metadataMinAge = 10 * time.Millisecond
)

// ErrTopicExists is wrapped by Create where the topic already exists.
var ErrTopicExists = errors.New("topic already exists")

// Admin implements broker.Admin. It is safe for concurrent use.
type Admin struct {
	client *kgo.Client
	admin  *kadm.Client
}

// NewAdmin makes an administration client. It does not connect; Ping does.
func NewAdmin(config Config) (*Admin, error) {
	client, err := config.client(kgo.MetadataMinAge(metadataMinAge))
	if err != nil {
		return nil, err
	}
	return &Admin{client: client, admin: kadm.NewClient(client)}, nil
}

// Close drops the connections.
func (a *Admin) Close() { a.client.Close() }

// Ping proves that a broker answers and takes the credentials. The error says what is wrong: it wraps ErrCredentials
// or ErrUnreachable.
func (a *Admin) Ping(ctx context.Context) error { return explain(a.client.Ping(ctx)) }

// CheckTopic proves that a topic still is the one recorded (S2); the error wraps broker.ErrTopicChanged where it was
// deleted, recreated or repartitioned.
func (a *Admin) CheckTopic(ctx context.Context, topic Topic) error { return topic.check(ctx, a.client) }

// Describe implements broker.Admin.
func (a *Admin) Describe(ctx context.Context, topic string) (*broker.TopicInfo, error) {
	found, err := lookUp(ctx, a.client, topic)
	if err != nil || found == nil {
		return nil, err
	}
	info := &broker.TopicInfo{Name: topic, ID: formatID(found.id), Partitions: found.partitions}
	if info.Configs, err = a.configs(ctx, topic); err != nil {
		return nil, err
	}
	// The last stable offset is read before the high watermark, so that it is not seen above it.
	for _, list := range []struct {
		into *[]int64
		read func(context.Context, ...string) (kadm.ListedOffsets, error)
	}{
		{&info.Starts, a.admin.ListStartOffsets},
		{&info.Stables, a.admin.ListCommittedOffsets},
		{&info.Ends, a.admin.ListEndOffsets},
	} {
		if *list.into, err = offsets(ctx, topic, info.Partitions, list.read); err != nil {
			return nil, err
		}
	}
	return info, nil
}

// Create implements broker.Admin. Where the topic already exists the error wraps ErrTopicExists.
func (a *Admin) Create(ctx context.Context, topic string, partitions int32) (*broker.TopicInfo, error) {
	configs, size := unlimited(), strconv.Itoa(createdMessageBytes)
	configs[messageSizeConfig] = &size
	response, err := a.admin.CreateTopic(ctx, partitions, -1, configs, topic)
	switch {
	case errors.Is(err, kerr.TopicAlreadyExists):
		return nil, fmt.Errorf("create topic %s: %w", topic, ErrTopicExists)
	case err != nil && response.ErrMessage != "":
		return nil, fmt.Errorf("create topic %s: %w: %s", topic, err, response.ErrMessage)
	case err != nil:
		return nil, fmt.Errorf("create topic %s: %w", topic, err)
	}
	ctx, cancel := context.WithTimeout(ctx, visibleTimeout)
	defer cancel()
	for {
		// Right after creation brokers may not know the topic yet, or a leader may be missing.
		info, err := a.Describe(ctx, topic)
		if err == nil && info != nil && info.Partitions == partitions {
			return info, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait until topic %s is visible: %w", topic, errors.Join(ctx.Err(), err))
		case <-time.After(visiblePoll):
		}
	}
}

// unlimited are the configs under which a topic keeps its whole history (S10).
func unlimited() map[string]*string {
	minusOne, remove := "-1", "delete"
	return map[string]*string{"retention.ms": &minusOne, "retention.bytes": &minusOne, "cleanup.policy": &remove}
}

// configs reads the three configs that decide whether history is kept.
func (a *Admin) configs(ctx context.Context, topic string) (map[string]string, error) {
	described, err := a.admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("read configs of topic %s: %w", topic, err)
	}
	found := map[string]string{}
	for _, resource := range described {
		if resource.Err != nil {
			return nil, fmt.Errorf("read configs of topic %s: %w", topic, resource.Err)
		}
		for _, config := range resource.Configs {
			if _, wanted := unlimited()[config.Key]; wanted {
				found[config.Key] = config.MaybeValue()
			}
		}
	}
	for key := range unlimited() {
		if found[key] == "" {
			return nil, fmt.Errorf("read configs of topic %s: the broker does not tell %s", topic, key)
		}
	}
	return found, nil
}

// offsets reads one kind of offset of every partition.
func offsets(ctx context.Context, topic string, partitions int32,
	read func(context.Context, ...string) (kadm.ListedOffsets, error),
) ([]int64, error) {
	listed, err := read(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("read offsets of topic %s: %w", topic, err)
	}
	all := make([]int64, partitions)
	for partition := range partitions {
		offset, ok := listed.Lookup(topic, partition)
		if !ok {
			return nil, fmt.Errorf("read offsets of topic %s: no answer for partition %d", topic, partition)
		}
		if offset.Err != nil {
			return nil, fmt.Errorf("read offsets of topic %s, partition %d: %w", topic, partition, offset.Err)
		}
		all[partition] = offset.Offset
	}
	return all, nil
}
