package kafka_test

import (
	"slices"
	"testing"
	"time"

	"amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/kafka"
)

func join(t *testing.T, c *kafkatest.Cluster, group, topic string) *kafka.Membership {
	t.Helper()
	m, err := kafka.Join(kafka.Config{Brokers: c.Seeds}, group, topic,
		kafka.GroupOptions{SessionTimeout: 6 * time.Second, HeartbeatInterval: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// await waits until a member owns n partitions, by the channel that says when to look again.
func await(t *testing.T, m *kafka.Membership, n int) broker.Assignment {
	t.Helper()
	ctx := within(t, bound)
	for {
		assignment, superseded := m.Current()
		if len(assignment.Partitions) == n {
			return assignment
		}
		select {
		case <-superseded:
		case <-ctx.Done():
			t.Fatalf("member owns %v, want %d partitions; fault: %v", assignment.Partitions, n, m.Fault())
		}
	}
}

func TestMembersShareAndHandOver(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic, group := c.Topic(t, 4), kafkatest.UniqueName(t, "group")
		first := join(t, c, group, topic)
		alone := await(t, first, 4)
		if alone.Member == "" || alone.Generation < 1 {
			t.Fatalf("assignment %+v names no member or generation", alone)
		}
		second := join(t, c, group, topic)
		half, other := await(t, first, 2), await(t, second, 2)
		if other.Generation <= alone.Generation || other.Member == alone.Member {
			t.Fatalf("after a rebalance %+v, before it %+v", other, alone)
		}
		all := slices.Sorted(slices.Values(append(half.Partitions, other.Partitions...)))
		if !slices.Equal(all, []int32{0, 1, 2, 3}) {
			t.Fatalf("members own %v and %v", half.Partitions, other.Partitions)
		}
		second.Close()
		if closed, _ := second.Current(); len(closed.Partitions) != 0 {
			t.Fatalf("a closed member owns %v", closed.Partitions)
		}
		again := await(t, first, 4)
		if again.Generation <= other.Generation || again.Member != alone.Member {
			t.Fatalf("after the hand-over %+v, before it %+v", again, other)
		}
	})
}

// TestB014LagIsOnlyASignal commits frontiers, sees them in the group, and shows that a member starts where its reader
// is opened, whatever the group's offsets say.
func TestB014LagIsOnlyASignal(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		topic, group := c.Topic(t, 2), kafkatest.UniqueName(t, "group")
		c.Produce(t, kafkatest.Values(topic, 1, "a", "b", "c")...)
		m := join(t, c, group, topic)
		await(t, m, 2)
		if err := m.CommitLag(within(t, bound), map[int32]int64{1: 3}); err != nil {
			t.Fatal(err)
		}
		committed, err := c.Admin(t).FetchOffsets(within(t, bound), group)
		if at, ok := committed.Lookup(topic, 1); err != nil || !ok || at.At != 3 {
			t.Fatalf("committed = %v, %v; want 3", at.At, err)
		}
		if _, ok := committed.Lookup(topic, 0); ok {
			t.Fatal("a partition that was not named has a commit")
		}
		if got := readTo(t, open(t, c, identity(t, c, topic), 1, 0), 10, 3); len(got) != 3 {
			t.Fatalf("%d records, want 3", len(got))
		}
	})
}

func TestCommitLagOfALostAssignmentIsQuiet(t *testing.T) {
	c := kafkatest.Fake(t)
	topic, group := c.Topic(t, 1), kafkatest.UniqueName(t, "group")
	m := join(t, c, group, topic)
	await(t, m, 1)
	m.Close()
	ctx := within(t, 5*time.Second)
	done := make(chan struct{})
	go func() { defer close(done); _ = m.CommitLag(ctx, map[int32]int64{0: 0}) }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("commit on a closed member does not return")
	}
}

// TestR36LostPlaceIsSaid: a member whose broker is gone owns nothing any more and knows why.
func TestR36LostPlaceIsSaid(t *testing.T) {
	c := kafkatest.Fake(t)
	m := join(t, c, kafkatest.UniqueName(t, "group"), c.Topic(t, 1))
	await(t, m, 1)
	if err := m.Fault(); err != nil {
		t.Fatalf("fault with a place: %v", err)
	}
	c.Fake.Close()
	await(t, m, 0)
	kafkatest.Eventually(t, "the reason", func() bool { return m.Fault() != nil })
}
