package source_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/source"
)

// open returns a client of the cluster.
func open(t *testing.T, c *kafkatest.Cluster, stall time.Duration) *source.Client {
	t.Helper()
	client, err := source.Open(source.Config{Brokers: c.Seeds, Stall: stall})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// describe returns the topic as the client sees it.
func describe(t *testing.T, client *source.Client, topic string) *boundary.Topic {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d, err := client.Describe(ctx, topic)
	if err != nil || d == nil {
		t.Fatalf("describe %s: %v, %v", topic, d, err)
	}
	return d
}

// read returns the records of a range as partition/offset=value, and the error that ended it.
func read(client *source.Client, r boundary.Range) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var got []string
	for record, err := range client.History(r)(ctx) {
		if err != nil {
			return got, err
		}
		got = append(got, fmt.Sprintf("%d/%d=%s", record.Partition, record.Offset, record.Value))
	}
	slices.Sort(got)
	return got, nil
}

// TestB001B004Transactions: gaps and a marker at the log's tail are read through; aborted records are no records.
func TestB001B004Transactions(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, 1)
		p := c.Producer(t)
		p.Transaction(true, kafkatest.Values(topic, 0, "a", "b", "c")...)  // 0 1 2, marker 3
		p.Transaction(false, kafkatest.Values(topic, 0, "x", "x")...)      // 4 5, marker 6
		p.Transaction(true, kafkatest.Values(topic, 0, "d", "e")...)       // 7 8, marker 9
		p.Transaction(false, kafkatest.Values(topic, 0, "x", "x", "x")...) // 10 11 12, marker 13
		c.AwaitEnd(t, topic, 0, 14)
		client := open(t, c, time.Minute)
		d := describe(t, client, topic)
		if !slices.Equal(d.Ends, []int64{14}) || !slices.Equal(d.Stables, d.Ends) || !slices.Equal(d.Starts, []int64{0}) {
			t.Fatalf("%+v", d)
		}
		got, err := read(client, boundary.Range{Topic: topic, TopicID: d.ID, From: d.Starts, To: d.Ends})
		if want := []string{"0/0=a", "0/1=b", "0/2=c", "0/7=d", "0/8=e"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("read %v, error %v; want %v", got, err, want)
		}
	})
}

func TestB003OpenTransactionPinsTheStableOffset(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, 1)
		p := c.Producer(t)
		p.Begin(kafkatest.Values(topic, 0, "a", "b")...)
		client := open(t, c, time.Minute)
		if d := describe(t, client, topic); d.Stables[0] != 0 || d.Ends[0] != 2 {
			t.Errorf("open: %+v", d)
		}
		p.End(false)
		c.AwaitEnd(t, topic, 0, 3)
		if d := describe(t, client, topic); d.Stables[0] != 3 {
			t.Errorf("ended: %+v", d)
		}
	})
}

func TestNullAndEmptyAreDistinct(t *testing.T) {
	c := kafkatest.Fake(t)
	topic := c.Topic(t, 1)
	c.Produce(t, &kgo.Record{Topic: topic}, &kgo.Record{Topic: topic, Key: []byte{}, Value: []byte{}})
	client := open(t, c, time.Minute)
	d := describe(t, client, topic)
	n := 0
	for record, err := range client.History(boundary.Range{Topic: topic, TopicID: d.ID, From: d.Starts, To: d.Ends})(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if null := record.Offset == 0; (record.Key == nil) != null || (record.Value == nil) != null {
			t.Errorf("offset %d: key %#v, value %#v", record.Offset, record.Key, record.Value)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d records, want 2", n)
	}
}

func TestRangesOfSeveralPartitions(t *testing.T) {
	c := kafkatest.Fake(t)
	topic := c.Topic(t, 3)
	for p := range int32(3) {
		c.Produce(t, kafkatest.Values(topic, p, "a", "b", "c", "d")...)
	}
	client := open(t, c, time.Minute)
	d := describe(t, client, topic)
	r := boundary.Range{Topic: topic, TopicID: d.ID, From: []int64{1, 4, 0}, To: []int64{3, 4, 1}}
	got, err := read(client, r)
	if want := []string{"0/1=b", "0/2=c", "2/0=a"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("read %v, error %v; want %v", got, err, want)
	}
	t.Run("empty", func(t *testing.T) {
		if got, err := read(client, boundary.Range{Topic: topic, TopicID: d.ID, From: d.Ends, To: d.Ends}); err != nil || len(got) != 0 {
			t.Errorf("read %v, error %v", got, err)
		}
	})
	t.Run("left early", func(t *testing.T) {
		for _, err := range client.History(r)(context.Background()) {
			if err != nil {
				t.Error(err)
			}
			break
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		for _, err := range client.History(r)(ctx) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want context.Canceled", err)
			}
		}
	})
}

// TestHistoryThatIsNotThere: no range is read otherwise than whole and of the topic asked for.
func TestHistoryThatIsNotThere(t *testing.T) {
	c := kafkatest.Fake(t)
	topic := c.Topic(t, 1)
	c.Produce(t, kafkatest.Values(topic, 0, "a", "b", "c")...)
	client := open(t, c, 2*time.Second)
	d := describe(t, client, topic)
	whole := boundary.Range{Topic: topic, TopicID: d.ID, From: d.Starts, To: d.Ends}
	if _, err := read(client, whole); err != nil {
		t.Fatalf("undamaged: %v", err)
	}
	beyond := whole
	beyond.To = []int64{5}
	if _, err := read(client, beyond); !errors.Is(err, boundary.ErrStalled) {
		t.Errorf("beyond the end: %v", err)
	}
	c.DeleteRecords(t, topic, 0, 2)
	if _, err := read(client, whole); !errors.Is(err, boundary.ErrHistoryLost) { // B006
		t.Errorf("start deleted: %v", err)
	}
	c.DeleteTopic(t, topic)
	if _, err := read(client, whole); !errors.Is(err, boundary.ErrTopicChanged) {
		t.Errorf("deleted: %v", err)
	}
	if d, err := client.Describe(context.Background(), topic); d != nil || err != nil {
		t.Errorf("describe a deleted topic: %+v, %v", d, err)
	}
	c.CreateTopic(t, topic, 1, nil)
	c.Produce(t, kafkatest.Values(topic, 0, "x", "x", "x")...)
	if got, err := read(client, whole); !errors.Is(err, boundary.ErrTopicChanged) || len(got) > 0 { // B010
		t.Errorf("recreated: %v, %v", got, err)
	}
}

// TestSC25RangeThatGoesAway: what is destroyed between the first look and the reading is named as such, not as a fault
// of the broker.
func TestSC25RangeThatGoesAway(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(*kafkatest.Cluster, string)
		want   error
	}{
		{"start deleted", func(c *kafkatest.Cluster, topic string) { c.DeleteRecords(t, topic, 0, 2) }, boundary.ErrHistoryLost},
		{"recreated", func(c *kafkatest.Cluster, topic string) {
			c.DeleteTopic(t, topic)
			c.CreateTopic(t, topic, 1, nil)
		}, boundary.ErrTopicChanged},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := kafkatest.Fake(t)
			topic := cluster.Topic(t, 1)
			cluster.Produce(t, kafkatest.Values(topic, 0, "a", "b", "c")...)
			client := open(t, cluster, time.Minute)
			d := describe(t, client, topic)
			whole := boundary.Range{Topic: topic, TopicID: d.ID, From: d.Starts, To: d.Ends}
			if _, err := read(client, whole); err != nil {
				t.Fatalf("undamaged: %v", err)
			}
			var damaged atomic.Bool
			cluster.Fake.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
				if !damaged.Swap(true) {
					cluster.Fake.SleepControl(func() { c.damage(cluster, topic) })
				}
				return nil, nil, false
			})
			if got, err := read(client, whole); !errors.Is(err, c.want) || len(got) > 0 {
				t.Errorf("%v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestDescribeIdentityAndConfigs(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		name := kafkatest.UniqueName(t, "topic")
		id := c.CreateTopic(t, name, 2, map[string]string{"cleanup.policy": "compact", "retention.ms": "60000"})
		d := describe(t, open(t, c, time.Minute), name)
		if d.ID != base64.RawURLEncoding.EncodeToString(id[:]) || len(d.Ends) != 2 {
			t.Errorf("%+v", d)
		}
		if d.Configs["cleanup.policy"] != "compact" || d.Configs["retention.ms"] != "60000" || d.Configs["retention.bytes"] != "-1" {
			t.Errorf("configs %v", d.Configs)
		}
	})
}

func TestUnusableConfigs(t *testing.T) {
	for name, c := range map[string]source.Config{
		"no broker": {},
		"mechanism": {Brokers: []string{"localhost:1"}, SASL: &source.SASL{Mechanism: "GSSAPI"}},
		"no file":   {Brokers: []string{"localhost:1"}, TLS: &source.TLS{CAFile: "/nonexistent"}},
	} {
		if _, err := source.Open(c); !errors.Is(err, source.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
