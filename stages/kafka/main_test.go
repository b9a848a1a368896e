package kafka_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/kafka"
)

// TestMain fails where a client leaves a goroutine behind: the brokers are gone by then.
func TestMain(m *testing.M) {
	code := kafkatest.Main(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// bound is how long a test waits for anything.
const bound = 60 * time.Second

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func admin(t *testing.T, c *kafkatest.Cluster) *kafka.Admin {
	t.Helper()
	a, err := kafka.NewAdmin(kafka.Config{Brokers: c.Seeds})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

func describe(t *testing.T, c *kafkatest.Cluster, topic string) *broker.TopicInfo {
	t.Helper()
	info, err := admin(t, c).Describe(within(t, bound), topic)
	if err != nil || info == nil {
		t.Fatalf("describe %s = %v, %v", topic, info, err)
	}
	return info
}

// identity records a topic as apply does.
func identity(t *testing.T, c *kafkatest.Cluster, topic string) kafka.Topic {
	t.Helper()
	info := describe(t, c, topic)
	return kafka.Topic{Name: topic, ID: info.ID, Partitions: info.Partitions}
}
