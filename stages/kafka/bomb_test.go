package kafka_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"runtime"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
)

// spaces is a batch of one record whose value is so many spaces, compressed to next to nothing.
func spaces(t *testing.T, n int) []byte {
	t.Helper()
	var packed bytes.Buffer
	w, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	head := binary.AppendVarint([]byte{0, 0, 0, 1}, int64(n)) // attributes, deltas, a null key, the value's length
	write(binary.AppendVarint(nil, int64(len(head)+n+1)))
	write(head)
	chunk := bytes.Repeat([]byte{' '}, 1<<20)
	for left := n; left > 0; left -= len(chunk) {
		write(chunk[:min(left, len(chunk))])
	}
	write([]byte{0}) // no headers
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	batch := kmsg.RecordBatch{
		PartitionLeaderEpoch: -1, Magic: 2, Attributes: 4, FirstTimestamp: now, MaxTimestamp: now,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: 1, Records: packed.Bytes(),
	}
	raw := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}

// produceRaw appends a batch as it is to partition 0.
func produceRaw(t *testing.T, c *kafkatest.Cluster, topic string, raw []byte) {
	t.Helper()
	request := kmsg.NewPtrProduceRequest()
	request.Acks, request.TimeoutMillis = -1, 10_000
	part := kmsg.NewProduceRequestTopicPartition()
	part.Records = raw
	named := kmsg.NewProduceRequestTopic()
	details, err := c.Admin(t).ListTopics(within(t, bound), topic)
	if err != nil {
		t.Fatal(err)
	}
	named.Topic, named.TopicID, named.Partitions = topic, details[topic].ID, []kmsg.ProduceRequestTopicPartition{part}
	request.Topics = []kmsg.ProduceRequestTopic{named}
	response, err := request.RequestWith(within(t, bound), c.Client(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := kerr.ErrorForCode(response.Topics[0].Partitions[0].ErrorCode); err != nil {
		t.Fatal(err)
	}
}

// TestB018BatchThatInflates: thirty kilobytes that grow to 300 MB are an error that names the partition, again at each
// try, and take bounded memory; nothing behind them is delivered. A batch that grows to less is delivered.
func TestB018BatchThatInflates(t *testing.T) {
	c := kafkatest.Fake(t)
	topic := c.Topic(t, 1)
	produceRaw(t, c, topic, spaces(t, 2<<20))
	c.Produce(t, kafkatest.Values(topic, 0, "between")...)
	produceRaw(t, c, topic, spaces(t, 300<<20))
	c.Produce(t, kafkatest.Values(topic, 0, "behind")...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := open(t, c, identity(t, c, topic), 0, 0)
	if got := readTo(t, r, 10, 2); len(got) != 2 || len(got[0].Value) != 2<<20 {
		t.Fatalf("the undamaged twin: %d records", len(got))
	}
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		for ctx.Err() == nil {
			fetch, err := r.Poll(ctx, 10)
			if err != nil {
				t.Logf("said: %v", err)
				break
			}
			if len(fetch.Records) > 0 || fetch.Next != 2 {
				t.Fatalf("delivered %d records, next %d", len(fetch.Records), fetch.Next)
			}
		}
		if ctx.Err() != nil {
			t.Fatal("nothing was said")
		}
		cancel()
	}
	runtime.ReadMemStats(&after)
	grown := int64(after.Sys) - int64(before.Sys)
	t.Logf("memory grew by %d MB", grown>>20)
	if grown > 400<<20 { // the bound on one batch, and the copies that growing to it makes
		t.Errorf("memory grew by %d bytes", grown)
	}
}
