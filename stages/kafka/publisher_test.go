package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/kafka"
)

func publisher(t *testing.T, c *kafkatest.Cluster, topic kafka.Topic, timeout time.Duration) *kafka.Publisher {
	t.Helper()
	p, err := kafka.NewPublisher(within(t, bound), kafka.Config{Brokers: c.Seeds}, topic, timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestPublishInOrderToNamedPartitions(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := identity(t, c, c.Topic(t, 2))
		p := publisher(t, c, topic, bound)
		var messages []broker.Message
		for i := range 2000 {
			messages = append(messages, broker.Message{Partition: int32(i % 2), Key: []byte("k"), Value: fmt.Append(nil, i)})
		}
		for i, ack := range p.Publish(within(t, bound), messages) {
			if ack.Err != nil || ack.Offset != int64(i/2) {
				t.Fatalf("ack %d = %d, %v; want %d", i, ack.Offset, ack.Err, i/2)
			}
		}
		for partition := range int32(2) {
			for i, record := range readTo(t, open(t, c, topic, partition, 0), 500, 1000) {
				if want := fmt.Sprint(2*i + int(partition)); string(record.Value) != want {
					t.Fatalf("partition %d offset %d holds %s, want %s", partition, i, record.Value, want)
				}
			}
		}
	})
}

func TestPublishKeepsNullAndEmpty(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := identity(t, c, c.Topic(t, 1))
		acks := publisher(t, c, topic, bound).Publish(within(t, bound), []broker.Message{{}, {Key: []byte{}, Value: []byte{}}})
		if err := errors.Join(acks[0].Err, acks[1].Err); err != nil {
			t.Fatal(err)
		}
		got := readTo(t, open(t, c, topic, 0, 0), 10, 2)
		if got[0].Key != nil || got[0].Value != nil || got[1].Key == nil || got[1].Value == nil {
			t.Fatalf("null and empty came back as %v", got)
		}
	})
}

// TestR34HeadersArriveInOrder: headers come back as they were sent, repeated keys and null values too.
func TestR34HeadersArriveInOrder(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := identity(t, c, c.Topic(t, 1))
		want := []broker.Header{{Key: "a", Value: []byte("1")}, {Key: "a", Value: []byte{}}, {Key: "", Value: []byte("é")}}
		acks := publisher(t, c, topic, bound).Publish(within(t, bound), []broker.Message{{Value: []byte("v"), Headers: want}, {}})
		if err := errors.Join(acks[0].Err, acks[1].Err); err != nil {
			t.Fatal(err)
		}
		got := readTo(t, open(t, c, topic, 0, 0), 10, 2)
		if diff := cmp.Diff([][]broker.Header{want, nil}, [][]broker.Header{got[0].Headers, got[1].Headers}); diff != "" {
			t.Errorf("headers (-sent +read):\n%s", diff)
		}
	})
}

func TestPublishNothing(t *testing.T) {
	c := kafkatest.Fake(t)
	if acks := publisher(t, c, identity(t, c, c.Topic(t, 1)), bound).Publish(within(t, bound), nil); len(acks) != 0 {
		t.Fatalf("acks = %v", acks)
	}
}

func TestPublishToUnknownPartitionFailsAlone(t *testing.T) {
	c := kafkatest.Fake(t)
	topic := identity(t, c, c.Topic(t, 1))
	acks := publisher(t, c, topic, bound).Publish(within(t, bound), []broker.Message{
		{Partition: 0, Value: []byte("good")}, {Partition: 7, Value: []byte("bad")}})
	if acks[0].Err != nil || acks[1].Err == nil {
		t.Fatalf("acks = %v; want only the second to fail", acks)
	}
}

func TestPublishToRecreatedTopic(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		was := identity(t, c, c.Topic(t, 1))
		used, unused := publisher(t, c, was, bound), publisher(t, c, was, bound)
		one := []broker.Message{{Value: []byte("v")}}
		if acks := used.Publish(within(t, bound), one); acks[0].Err != nil {
			t.Fatal(acks[0].Err)
		}
		c.DeleteTopic(t, was.Name)
		c.CreateTopic(t, was.Name, 1, nil)
		for name, p := range map[string]*kafka.Publisher{"used before": used, "not used before": unused} {
			acks := p.Publish(within(t, bound), one)
			if !errors.Is(acks[0].Err, broker.ErrTopicChanged) || !strings.Contains(acks[0].Err.Error(), was.ID) {
				t.Errorf("%s: %v, want ErrTopicChanged naming %s", name, acks[0].Err, was.ID)
			}
		}
		if _, err := kafka.NewPublisher(within(t, bound), kafka.Config{Brokers: c.Seeds}, was, bound); !errors.Is(err, broker.ErrTopicChanged) {
			t.Errorf("new publisher: %v, want ErrTopicChanged", err)
		}
	})
}

// TestB058PublishIsBounded loses every answer of the broker: Publish must return, must not claim success, and what it
// gave up must not be sent again behind its back.
func TestB058PublishIsBounded(t *testing.T) {
	c := kafkatest.Fake(t)
	topic := identity(t, c, c.Topic(t, 1))
	p := publisher(t, c, topic, time.Second)
	one := []broker.Message{{Value: []byte("v")}}
	if acks := p.Publish(within(t, bound), one); acks[0].Err != nil {
		t.Fatalf("undamaged twin: %v", acks[0].Err)
	}
	var cut atomic.Bool
	cut.Store(true)
	c.Fake.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.Fake.KeepControl()
		return nil, errors.New("cut"), cut.Load()
	})
	started := time.Now()
	acks := p.Publish(context.Background(), one)
	if took := time.Since(started); took > 5*time.Second {
		t.Fatalf("publish took %v with a timeout of 1 s", took)
	}
	if acks[0].Err == nil {
		t.Fatal("published although no answer came")
	}
	cut.Store(false)
	if acks := p.Publish(within(t, bound), []broker.Message{{Value: []byte("w")}}); acks[0].Err != nil {
		t.Fatalf("after the broker came back: %v", acks[0].Err)
	}
	end := describe(t, c, topic.Name).Ends[0]
	var values []string
	for _, record := range readTo(t, open(t, c, topic, 0, 0), 10, end) {
		values = append(values, string(record.Value))
	}
	if diff := cmp.Diff([]string{"v", "w"}, values); diff != "" {
		t.Fatalf("log (-want +got):\n%s", diff)
	}
}

func TestPublishOverBrokerKill(t *testing.T) {
	server := kafkatest.StartServer(t)
	topic := identity(t, &server.Cluster, server.Topic(t, 1))
	p := publisher(t, &server.Cluster, topic, 2*time.Second)
	one := []broker.Message{{Value: []byte("v")}}
	if acks := p.Publish(within(t, bound), one); acks[0].Err != nil {
		t.Fatal(acks[0].Err)
	}
	server.Kill(t)
	if acks := p.Publish(within(t, bound), one); acks[0].Err == nil {
		t.Fatal("published to a killed broker")
	}
	server.Restart(t)
	kafkatest.Eventually(t, "publishing to work again", func() bool {
		return p.Publish(within(t, bound), one)[0].Err == nil
	})
}

// TestPublishLargeMessages: a topic that Create made takes the status of a key with tens of thousands of ambiguous
// revisions (R10), and readers get it. Where a topic takes less, batches of small messages fit all the same, a message that
// does not says what to do, and goes through once the limit was raised.
func TestPublishLargeMessages(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		info, err := admin(t, c).Create(within(t, bound), kafkatest.UniqueName(t, "large"), 1)
		if err != nil {
			t.Fatal(err)
		}
		large := make([]byte, 6<<20) // random bytes do not compress
		random := rand.NewChaCha8([32]byte{1})
		_, _ = random.Read(large)
		topic := kafka.Topic{Name: info.Name, ID: info.ID, Partitions: 1}
		acks := publisher(t, c, topic, bound).Publish(within(t, bound), []broker.Message{{Value: large}, {Value: []byte("next")}})
		if err := errors.Join(acks[0].Err, acks[1].Err); err != nil {
			t.Fatal(err)
		}
		got := readTo(t, open(t, c, topic, 0, 0), 10, 2)
		if !bytes.Equal(got[0].Value, large) || string(got[1].Value) != "next" {
			t.Fatalf("read %d and %d bytes", len(got[0].Value), len(got[1].Value))
		}

		name := kafkatest.UniqueName(t, "small")
		c.CreateTopic(t, name, 1, map[string]string{"max.message.bytes": "20000"})
		p := publisher(t, c, identity(t, c, name), bound)
		many := make([]broker.Message, 100)
		for i := range many {
			many[i] = broker.Message{Value: large[i*1000 : (i+1)*1000]}
		}
		for i, ack := range p.Publish(within(t, bound), many) {
			if ack.Err != nil || ack.Offset != int64(i) {
				t.Fatalf("message %d of 1,000 bytes: %+v", i, ack)
			}
		}
		message := []broker.Message{{Value: large[:50_000]}}
		if err := p.Publish(within(t, bound), message)[0].Err; err == nil || !strings.Contains(err.Error(), "raise max.message.bytes") {
			t.Fatalf("message above the limit: %v", err)
		}
		c.SetConfigs(t, name, map[string]string{"max.message.bytes": "100000"})
		kafkatest.Eventually(t, "the message to fit", func() bool { return p.Publish(within(t, bound), message)[0].Err == nil })
	})
}
