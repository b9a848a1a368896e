package kafkatest

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Produce writes records in order, each to the topic and partition it names, and returns their offsets after all were
// acknowledged by all replicas. A record's nil and empty keys and values stay what they are.
func (c *Cluster) Produce(t testing.TB, records ...*kgo.Record) []int64 {
	t.Helper()
	client := c.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(""))
	defer client.Close()
	return produce(t, client, records)
}

// Values makes one record of each value, without a key, for one partition of one topic.
func Values(topic string, partition int32, values ...string) []*kgo.Record {
	records := make([]*kgo.Record, len(values))
	for i, value := range values {
		records[i] = &kgo.Record{Topic: topic, Partition: partition, Value: []byte(value)}
	}
	return records
}

// Producer is a transactional producer of a test.
type Producer struct {
	t      testing.TB
	client *kgo.Client
}

// Producer returns a transactional producer with an id of its own; it is closed when the test ends.
func (c *Cluster) Producer(t testing.TB) *Producer {
	t.Helper()
	client := c.Client(t, kgo.TransactionalID(UniqueName(t, "txn")), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionTimeout(wait))
	return &Producer{t: t, client: client}
}

// Begin opens a transaction and writes records into it; they are flushed when it returns.
func (p *Producer) Begin(records ...*kgo.Record) {
	p.t.Helper()
	if err := p.client.BeginTransaction(); err != nil {
		p.t.Fatalf("begin transaction: %v", err)
	}
	produce(p.t, p.client, records)
}

// End commits or aborts the open transaction. The real broker answers before the marker is in the log.
func (p *Producer) End(commit bool) {
	p.t.Helper()
	how := kgo.TryAbort
	if commit {
		how = kgo.TryCommit
	}
	if err := p.client.EndTransaction(within(p.t), how); err != nil {
		p.t.Fatalf("end transaction (commit %t): %v", commit, err)
	}
}

// Transaction writes records in one transaction and ends it.
func (p *Producer) Transaction(commit bool, records ...*kgo.Record) {
	p.t.Helper()
	p.Begin(records...)
	p.End(commit)
}

// AwaitEnd waits until the last stable offset and the high watermark of a partition both are end: markers are written
// after EndTransaction has answered.
func (c *Cluster) AwaitEnd(t testing.TB, topic string, partition int32, end int64) {
	t.Helper()
	admin := c.Admin(t)
	Eventually(t, "the end of "+topic+" to be stable", func() bool {
		stable, err := admin.ListCommittedOffsets(within(t), topic)
		if err != nil {
			return false
		}
		high, err := admin.ListEndOffsets(within(t), topic)
		if err != nil {
			return false
		}
		lso, _ := stable.Lookup(topic, partition)
		hwm, _ := high.Lookup(topic, partition)
		return lso.Err == nil && hwm.Err == nil && lso.Offset == end && hwm.Offset == end
	})
}

func produce(t testing.TB, client *kgo.Client, records []*kgo.Record) []int64 {
	t.Helper()
	results := client.ProduceSync(within(t), records...)
	if err := results.FirstErr(); err != nil {
		t.Fatalf("produce %d records: %v", len(records), err)
	}
	offsets := make([]int64, len(records))
	for i, record := range records {
		offsets[i] = record.Offset
	}
	return offsets
}
