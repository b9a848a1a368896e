package kafkatest

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestProduceAndTransactions(t *testing.T) {
	Each(t, func(t *testing.T, c *Cluster) {
		topic := c.Topic(t, 2)
		got := c.Produce(t, Values(topic, 1, "a", "b")...)
		if diff := cmp.Diff([]int64{0, 1}, got); diff != "" {
			t.Fatalf("offsets (-want +got):\n%s", diff)
		}
		producer := c.Producer(t)
		producer.Transaction(true, Values(topic, 0, "c", "d")...)
		producer.Transaction(false, Values(topic, 0, "e")...)
		c.AwaitEnd(t, topic, 0, 5)
	})
}

func TestTopicAdministration(t *testing.T) {
	Each(t, func(t *testing.T, c *Cluster) {
		name := UniqueName(t, "topic")
		first := c.CreateTopic(t, name, 1, map[string]string{"retention.ms": "1000000"})
		c.Produce(t, Values(name, 0, "a", "b", "c")...)
		c.DeleteRecords(t, name, 0, 2)
		starts, err := c.Admin(t).ListStartOffsets(within(t), name)
		if start, _ := starts.Lookup(name, 0); err != nil || start.Offset != 2 {
			t.Fatalf("start = %v, %v; want 2", start.Offset, err)
		}
		c.SetConfigs(t, name, map[string]string{"retention.ms": "-1"})
		c.AddPartitions(t, name, 3)
		c.DeleteTopic(t, name)
		if second := c.CreateTopic(t, name, 1, nil); second == first {
			t.Fatalf("a recreated topic kept its ID %s", first)
		}
	})
}

func TestServerKeepsRecordsOverKill(t *testing.T) {
	server := StartServer(t)
	topic := server.Topic(t, 1)
	server.Produce(t, Values(topic, 0, "a", "b", "c")...)
	server.Kill(t)
	server.Restart(t)
	server.AwaitEnd(t, topic, 0, 3)
}
