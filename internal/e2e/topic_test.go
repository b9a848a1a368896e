package e2e_test

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/generate"
	"amends.dev/amends/stages/ledger"
)

// transaction is one source record as a test writes it down.
type transaction struct {
	item, location, txn string
	revision            int64
	kind                string
	// at is valid_time; "2026-01-02" stands for noon of that day.
	at  string
	qty int64
}

// record renders a transaction, in the partition that the mapping wants.
func (b *bed) record(tx transaction) *kgo.Record {
	if len(tx.at) == len("2026-01-02") {
		tx.at += "T12:00:00Z"
	}
	value := fmt.Sprintf(`{"txn_id":%q,"revision":%d,"kind":%q,"stock_key":{"item":%q,"location":%q},"valid_time":%q,"qty":%d,"source_time":"2026-01-01T00:00:00Z"}`,
		tx.txn, tx.revision, tx.kind, tx.item, tx.location, tx.at, tx.qty)
	key := ledger.BrokerKey(tx.item, tx.location)
	return &kgo.Record{
		Topic: b.ns.Spec.Source.Topic, Partition: ledger.PartitionOf(key, b.ns.Spec.Source.Partitions),
		Key: key, Value: []byte(value),
	}
}

// produce publishes transactions in order, outside of any Kafka transaction.
func (b *bed) produce(txs ...transaction) []*kgo.Record {
	b.t.Helper()
	records := make([]*kgo.Record, len(txs))
	for i, tx := range txs {
		records[i] = b.record(tx)
	}
	b.cluster.Produce(b.t, records...)
	return records
}

// generated is the stream that the product's generator makes for this namespace.
func (b *bed) generated(options generate.Options) []*kgo.Record {
	b.t.Helper()
	stream, err := generate.NewStream(b.ns, options)
	b.must(err)
	return b.take(stream, int(options.Count))
}

// take returns the next records of a stream, fewer than n only at its end.
func (b *bed) take(stream *generate.Stream, n int) []*kgo.Record {
	var records []*kgo.Record
	for len(records) < n {
		r, ok := stream.Next()
		if !ok {
			break
		}
		records = append(records, &kgo.Record{Topic: b.ns.Spec.Source.Topic, Partition: r.Partition, Key: r.Key, Value: r.Value})
	}
	return records
}

// generate publishes a history with the product's generator, under the writer lease.
func (b *bed) generate(options generate.Options) pipeline.Generated {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	result, err := pipeline.Generate(ctx, pipeline.Generation{
		Applied: b.applied, Catalog: b.catalog, Kafka: b.kafka(), Holder: b.holder(), Options: options,
	})
	b.must(err)
	return result
}

// read reads a whole topic under read_committed, partition by partition, through the last control record.
func (b *bed) read(topic string, partitions int32) [][]broker.Record {
	b.t.Helper()
	ends, err := b.cluster.Admin(b.t).ListCommittedOffsets(b.t.Context(), topic)
	b.must(err)
	from := map[int32]kgo.Offset{}
	for partition := range partitions {
		from[partition] = kgo.NewOffset().At(0)
	}
	client := b.cluster.Client(b.t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	defer client.Close()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	records, next := make([][]broker.Record, partitions), make([]int64, partitions)
	complete := func() bool {
		for partition := range partitions {
			if end, ok := ends.Lookup(topic, partition); !ok || next[partition] < end.Offset {
				return false
			}
		}
		return true
	}
	for !complete() {
		fetches := client.PollFetches(ctx)
		b.must(fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			next[r.Partition] = r.Offset + 1
			if !r.Attrs.IsControl() {
				records[r.Partition] = append(records[r.Partition],
					broker.Record{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value})
			}
		})
	}
	return records
}

// history reads the source topic.
func (b *bed) history() [][]broker.Record {
	b.t.Helper()
	return b.read(b.ns.Spec.Source.Topic, b.ns.Spec.Source.Partitions)
}
