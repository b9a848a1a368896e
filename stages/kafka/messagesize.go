package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/stages/broker"
)

// messageSizeConfig is the topic config that bounds a batch of records, and so a single record.
const messageSizeConfig = "max.message.bytes"

const (
	// createdMessageBytes is messageSizeConfig of the topics that Create makes. The status of a key names all its ambiguous
	// revisions (R10), and a source that repeats a whole key by mistake makes tens of thousands of them at once.
	createdMessageBytes = 32 << 20
	// defaultMessageBytes is what a publisher assumes where the broker does not tell: Kafka's oldest default.
	defaultMessageBytes = 1_000_012
	// leastMessageBytes is the least that the client can be set to.
	leastMessageBytes = 1024
)

// messageLimit reads the largest batch that a topic takes, in bytes. A user without the right to read configs gets the
// default.
func messageLimit(ctx context.Context, client *kgo.Client, topic string) int32 {
	described, err := kadm.NewClient(client).DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return defaultMessageBytes
	}
	for _, resource := range described {
		for _, config := range resource.Configs {
			if config.Key != messageSizeConfig {
				continue
			}
			if limit, err := strconv.ParseInt(config.MaybeValue(), 10, 32); err == nil {
				return int32(min(max(limit, leastMessageBytes), createdMessageBytes))
			}
		}
	}
	return defaultMessageBytes
}

// tooLarge finds messages that the topic does not take, and says in their acknowledgements what helps.
func tooLarge(acks []broker.Ack) bool {
	found := false
	for i := range acks {
		if errors.Is(acks[i].Err, kerr.MessageTooLarge) {
			found = true
			acks[i].Err = fmt.Errorf("%w; raise %s of the topic", acks[i].Err, messageSizeConfig)
		}
	}
	return found
}
