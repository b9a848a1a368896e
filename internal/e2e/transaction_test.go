package e2e_test

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/report"
)

// TestTransactionalProducer: aborted data is no history, whatever it says, an open transaction holds the worker back, and
// markers at the tail of the log are no reason to wait for ever (B001, B003, B004, R08).
func TestTransactionalProducer(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, shape{partitions: 2, keys: []manifests.StockKey{
			{Item: "bolt", Location: "oslo", OpeningBalance: 10, ReorderThreshold: 5},
			{Item: "widget", Location: "berlin", OpeningBalance: 100, ReorderThreshold: 60},
		}})
		bolt := func(txn string, revision, qty int64) *kgo.Record {
			return b.record(transaction{"bolt", "oslo", txn, revision, "AMEND", "2026-01-05", qty})
		}
		widget := func(txn string, revision, qty int64) *kgo.Record {
			return b.record(transaction{"widget", "berlin", txn, revision, "AMEND", "2026-01-06", qty})
		}
		if bolt("b", 1, 0).Partition == widget("w", 1, 0).Partition {
			t.Fatal("the two keys share a partition")
		}
		b.start()
		producer := c.Producer(t)
		producer.Transaction(true, bolt("b1", 1, -3), widget("w1", 1, -30), widget("w2", 1, -20)) // offsets 0 | 0 1
		producer.Transaction(false, bolt("b1", 2, -9), widget("w1", 2, 7), widget("w3", 1, -99))  // 2 | 3 4
		c.Produce(t, bolt("b2", 1, -4), widget("w1", 2, -35))                                     // 4 | 6
		producer.Begin(bolt("b3", 1, 8), widget("w4", 1, 1))                                      // 5 | 7, open
		c.Produce(t, bolt("b4", 1, -1), widget("w5", 1, 2))                                       // 6 | 8, behind it
		boltAt, widgetAt := bolt("", 1, 0).Partition, widget("", 1, 0).Partition
		frontiers := func() []int64 {
			return []int64{
				b.number(b.state, `SELECT next_offset FROM partition_state WHERE partition = $1`, boltAt),
				b.number(b.state, `SELECT next_offset FROM partition_state WHERE partition = $1`, widgetAt),
			}
		}
		b.eventually("the worker to come to the open transaction", func() bool { return slices.Equal(frontiers(), []int64{5, 7}) })
		producer.End(false)                                              // 7 | 9
		producer.Transaction(true, widget("w6", 1, -1))                  // | 10, commit marker 11
		producer.Transaction(false, bolt("b1", 3, -9), bolt("b9", 1, 1)) // 8 9, abort marker 10
		c.AwaitEnd(t, b.ns.Spec.Source.Topic, boltAt, 11)
		c.AwaitEnd(t, b.ns.Spec.Source.Topic, widgetAt, 12)
		r := b.verify(report.Pass)
		n := b.matchesCore()
		if n.records != 8 || r.Counts.Records != 8 || n.rejected != 0 || n.repeats != 0 {
			t.Errorf("%s; verify counted %d", n, r.Counts.Records)
		}
		if got := frontiers(); !slices.Equal(got, []int64{11, 12}) || !slices.Equal(r.Frontiers.Worker, r.Source.End) {
			t.Errorf("frontiers %v, %v, end %v", got, r.Frontiers.Worker, r.Source.End)
		}
		if got := b.number(b.view, `SELECT close FROM balances WHERE item = 'widget'`); got != 100-35-20+2-1 {
			t.Errorf("widget closes at %d", got)
		}
	})
}
