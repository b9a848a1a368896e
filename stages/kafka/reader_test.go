package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/kafka"
)

func open(t *testing.T, c *kafkatest.Cluster, topic kafka.Topic, partition int32, from int64) broker.Reader {
	t.Helper()
	opener := kafka.NewOpener(kafka.Config{Brokers: c.Seeds}, topic)
	r, err := opener.Open(within(t, bound), partition, from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// readTo polls until the frontier is end and returns the records.
func readTo(t *testing.T, r broker.Reader, max int, end int64) []broker.Record {
	t.Helper()
	ctx := within(t, bound)
	var records []broker.Record
	for {
		fetch, err := r.Poll(ctx, max)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, fetch.Records...)
		if fetch.Next == end {
			return records
		}
		if ctx.Err() != nil || fetch.Next > end {
			t.Fatalf("frontier %d, want %d", fetch.Next, end)
		}
	}
}

// failure polls until there is an error.
func failure(t *testing.T, r broker.Reader) error {
	t.Helper()
	ctx := within(t, bound)
	for ctx.Err() == nil {
		if _, err := r.Poll(ctx, 10); err != nil {
			return err
		}
	}
	t.Fatal("no error")
	return nil
}

func offsets(records []broker.Record) []int64 {
	var all []int64
	for _, record := range records {
		all = append(all, record.Offset)
	}
	return all
}

func TestR08FrontierComesFromControlRecords(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, 1)
		producer := c.Producer(t)
		producer.Transaction(true, kafkatest.Values(topic, 0, "a", "b", "c")...)
		producer.Transaction(false, kafkatest.Values(topic, 0, "x", "x")...)
		producer.Transaction(true, kafkatest.Values(topic, 0, "d", "e")...)
		producer.Transaction(false, kafkatest.Values(topic, 0, "x", "x", "x", "x")...)
		c.AwaitEnd(t, topic, 0, 15)
		for _, max := range []int{1, 2, 100} {
			got := readTo(t, open(t, c, identity(t, c, topic), 0, 0), max, 15)
			if diff := cmp.Diff([]int64{0, 1, 2, 7, 8}, offsets(got)); diff != "" {
				t.Fatalf("max %d: offsets (-want +got):\n%s", max, diff)
			}
		}
	})
}

func TestR08NothingSkippedOverCrashes(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, 1)
		var want []string
		for i := range 1000 {
			want = append(want, fmt.Sprint(i))
		}
		c.Produce(t, kafkatest.Values(topic, 0, want...)...)
		id := identity(t, c, topic)
		var got []string
		for frontier := int64(0); frontier < 1000; {
			// Every poll is a life of its own: what a reader had fetched ahead dies with it.
			r := open(t, c, id, 0, frontier)
			fetch, err := r.Poll(within(t, bound), 10)
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
			for _, record := range fetch.Records {
				got = append(got, string(record.Value))
			}
			frontier = fetch.Next
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("records (-want +got):\n%s", diff)
		}
	})
}

func TestB001TrailingMarker(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, 1)
		c.Producer(t).Transaction(true, kafkatest.Values(topic, 0, "a", "b", "c")...)
		c.AwaitEnd(t, topic, 0, 4)
		r := open(t, c, identity(t, c, topic), 0, 0)
		if got := len(readTo(t, r, 3, 4)); got != 3 {
			t.Fatalf("%d records, want 3", got)
		}
	})
}

func TestB004Gaps(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, 1)
		producer := c.Producer(t)
		end := int64(0)
		for _, commit := range []bool{true, false, true, false, true, false, true, false, true, true} {
			producer.Transaction(commit, kafkatest.Values(topic, 0, "v")...)
			end += 2
		}
		c.AwaitEnd(t, topic, 0, end)
		got := readTo(t, open(t, c, identity(t, c, topic), 0, 0), 10, end)
		if diff := cmp.Diff([]int64{0, 4, 8, 12, 16, 18}, offsets(got)); diff != "" {
			t.Fatalf("offsets (-want +got):\n%s", diff)
		}
	})
}

func TestB003OpenTransactionHoldsTheReader(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, 1)
		c.Produce(t, kafkatest.Values(topic, 0, "a")...)
		producer := c.Producer(t)
		producer.Begin(kafkatest.Values(topic, 0, "x", "y")...)
		info := describe(t, c, topic)
		if info.Stables[0] != 1 || info.Ends[0] != 3 {
			t.Fatalf("last stable offset %d, high watermark %d; want 1, 3", info.Stables[0], info.Ends[0])
		}
		r := open(t, c, identity(t, c, topic), 0, 0)
		readTo(t, r, 10, 1)
		fetch, err := r.Poll(within(t, 500*time.Millisecond), 10)
		if err != nil || fetch.Next != 1 || len(fetch.Records) != 0 {
			t.Fatalf("poll into an open transaction = %v, %v; want nothing at 1", fetch, err)
		}
		producer.End(false)
		if got := readTo(t, r, 10, 4); len(got) != 0 {
			t.Fatalf("aborted records delivered: %v", got)
		}
	})
}

func TestB010TopicRecreated(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, 1)
		c.Produce(t, kafkatest.Values(topic, 0, "a", "b")...)
		was := identity(t, c, topic)
		r := open(t, c, was, 0, 0)
		readTo(t, r, 10, 2)
		c.DeleteTopic(t, topic)
		now := c.CreateTopic(t, topic, 1, nil)
		c.Produce(t, kafkatest.Values(topic, 0, "1", "2", "3", "4", "5")...)
		mentionsBoth := func(err error) {
			t.Helper()
			if !errors.Is(err, broker.ErrTopicChanged) {
				t.Fatalf("error = %v, want ErrTopicChanged", err)
			}
			for _, part := range []string{topic, was.ID, identity(t, c, topic).ID} {
				if !strings.Contains(err.Error(), part) {
					t.Fatalf("error %q does not name %s", err, part)
				}
			}
		}
		mentionsBoth(failure(t, r))
		_, again := r.Poll(within(t, bound), 10)
		mentionsBoth(again)
		_, err := kafka.NewOpener(kafka.Config{Brokers: c.Seeds}, was).Open(within(t, bound), 0, 2)
		mentionsBoth(err)
		if now.String() == was.ID {
			t.Fatal("the broker reused the topic ID")
		}
	})
}

func TestTopicDeletedOrRepartitioned(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, 1)
		was := identity(t, c, topic)
		opener := kafka.NewOpener(kafka.Config{Brokers: c.Seeds}, was)
		c.AddPartitions(t, topic, 2)
		kafkatest.Eventually(t, "the new partition to be noticed", func() bool {
			_, err := opener.Open(within(t, bound), 0, 0)
			return errors.Is(err, broker.ErrTopicChanged)
		})
		c.DeleteTopic(t, topic)
		if _, err := opener.Open(within(t, bound), 0, 0); !errors.Is(err, broker.ErrTopicChanged) {
			t.Fatalf("open a deleted topic: %v, want ErrTopicChanged", err)
		}
	})
}

func TestB008OutOfRangeAtStart(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, 1)
		c.Produce(t, kafkatest.Values(topic, 0, strings.Split("0123456789", "")...)...)
		c.DeleteRecords(t, topic, 0, 8)
		id := identity(t, c, topic)
		if got := readTo(t, open(t, c, id, 0, 8), 10, 10); len(got) != 2 {
			t.Fatalf("%d records from 8, want 2", len(got))
		}
		for _, from := range []int64{3, 11} {
			r := open(t, c, id, 0, from)
			for range 2 {
				if err := failure(t, r); !errors.Is(err, broker.ErrOffsetOutOfRange) {
					t.Fatalf("read from %d: %v, want ErrOffsetOutOfRange", from, err)
				}
			}
		}
	})
}

func TestB009OutOfRangeWhileReading(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, 1)
		// Together larger than what a reader fetches ahead, also compressed: what is deleted was not fetched yet.
		big := make([]byte, 900_000)
		rand.NewChaCha8([32]byte{}).Read(big)
		for range 12 {
			c.Produce(t, &kgo.Record{Topic: topic, Value: big})
		}
		r := open(t, c, identity(t, c, topic), 0, 0)
		if fetch, err := r.Poll(within(t, bound), 1); err != nil || fetch.Next != 1 {
			t.Fatalf("poll = next %d, %v; want 1", fetch.Next, err)
		}
		c.DeleteRecords(t, topic, 0, 12)
		c.Produce(t, kafkatest.Values(topic, 0, "tail")...)
		ctx := within(t, bound)
		for frontier := int64(1); ; {
			fetch, err := r.Poll(ctx, 10)
			if errors.Is(err, broker.ErrOffsetOutOfRange) {
				return
			}
			if err != nil || ctx.Err() != nil {
				t.Fatalf("poll = %v; want ErrOffsetOutOfRange", err)
			}
			for _, record := range fetch.Records {
				if record.Offset != frontier {
					t.Fatalf("offset %d delivered after frontier %d", record.Offset, frontier)
				}
				frontier++
			}
		}
	})
}

func TestB019B020NullIsNotEmpty(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, 1)
		c.Produce(t,
			&kgo.Record{Topic: topic, Key: nil, Value: nil},
			&kgo.Record{Topic: topic, Key: []byte{}, Value: []byte{}},
			&kgo.Record{Topic: topic, Key: []byte("null"), Value: []byte("null")})
		got := readTo(t, open(t, c, identity(t, c, topic), 0, 0), 10, 3)
		if got[0].Key != nil || got[0].Value != nil {
			t.Errorf("null arrived as %q, %q", got[0].Key, got[0].Value)
		}
		if got[1].Key == nil || got[1].Value == nil || len(got[1].Key)+len(got[1].Value) != 0 {
			t.Errorf("empty arrived as %v, %v", got[1].Key, got[1].Value)
		}
		if string(got[2].Key) != "null" || string(got[2].Value) != "null" {
			t.Errorf("text arrived as %q, %q", got[2].Key, got[2].Value)
		}
	})
}

func TestPollEndsWithItsContext(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, 1)
		c.Produce(t, kafkatest.Values(topic, 0, "a")...)
		r := open(t, c, identity(t, c, topic), 0, 1)
		fetch, err := r.Poll(within(t, 100*time.Millisecond), 10)
		if err != nil || fetch.Next != 1 || len(fetch.Records) != 0 {
			t.Fatalf("poll at the end = %v, %v; want nothing at 1", fetch, err)
		}
		c.Produce(t, kafkatest.Values(topic, 0, "b")...)
		if got := readTo(t, r, 10, 2); len(got) != 1 || string(got[0].Value) != "b" {
			t.Fatalf("records = %v, want b", got)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := r.Poll(ctx, 10); err != nil {
			t.Fatalf("poll under an ended context: %v", err)
		}
	})
}

func TestRecordsStayValid(t *testing.T) {
	c := kafkatest.Fake(t)
	topic := c.Topic(t, 1)
	c.Produce(t, kafkatest.Values(topic, 0, "first")...)
	r := open(t, c, identity(t, c, topic), 0, 0)
	first := readTo(t, r, 10, 1)
	var more []string
	for i := range 5000 {
		more = append(more, fmt.Sprintf("other %d", i))
	}
	c.Produce(t, kafkatest.Values(topic, 0, more...)...)
	readTo(t, r, 100, 5001)
	if string(first[0].Value) != "first" {
		t.Fatalf("an earlier record became %q", first[0].Value)
	}
}

// TestR36SilentBrokerIsSaid: the client looks for a broker that is gone for ever and says nothing; a reader does.
func TestR36SilentBrokerIsSaid(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t)
	topic := identity(t, c, c.Topic(t, 1))
	c.Produce(t, kafkatest.Values(topic.Name, 0, "a")...)
	r := open(t, c, topic, 0, 0)
	readTo(t, r, 10, 1)
	// A quiet partition is not a silent broker: it answers every fetch, with nothing.
	if fetch, err := r.Poll(within(t, 12*time.Second), 10); err != nil || fetch.Next != 1 {
		t.Fatalf("quiet partition: %+v, %v", fetch, err)
	}
	c.Fake.Close()
	begin := time.Now()
	fetch, err := r.Poll(within(t, bound), 10)
	if !errors.Is(err, kafka.ErrUnreachable) || fetch.Next != 1 || len(fetch.Records) != 0 {
		t.Fatalf("after %v: %+v, %v", time.Since(begin), fetch, err)
	}
	t.Logf("said after %v: %v", time.Since(begin), err)
}
