package viewtest

import (
	"context"
	"sync"

	"amends.dev/amends/stages/broker"
)

// Log is an output topic in memory: a publisher and an opener of readers. It is safe for concurrent use. Its readers do
// not wait: a poll that finds nothing returns at once.
type Log struct {
	mu sync.Mutex
	// entries are per partition; a nil Record value marks a control record.
	entries map[int32][]entry
	// changed is set once the topic was deleted or recreated.
	changed bool
}

type entry struct {
	record  broker.Record
	control bool
}

// NewLog returns an empty topic.
func NewLog() *Log { return &Log{entries: map[int32][]entry{}} }

// Publish appends the messages and acknowledges each.
func (l *Log) Publish(_ context.Context, messages []broker.Message) []broker.Ack {
	l.mu.Lock()
	defer l.mu.Unlock()
	acks := make([]broker.Ack, 0, len(messages))
	for _, m := range messages {
		if l.changed {
			acks = append(acks, broker.Ack{Err: broker.ErrTopicChanged})
			continue
		}
		offset := int64(len(l.entries[m.Partition]))
		l.entries[m.Partition] = append(l.entries[m.Partition], entry{record: broker.Record{
			Partition: m.Partition, Offset: offset, Key: m.Key, Value: m.Value, Headers: m.Headers,
		}})
		acks = append(acks, broker.Ack{Offset: offset})
	}
	return acks
}

// Control appends n control records to a partition: transaction markers, which readers never see as records (R08).
func (l *Log) Control(partition int32, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		l.entries[partition] = append(l.entries[partition], entry{control: true})
	}
}

// Recreate makes every reader and publisher find that the topic is another one now (SC28).
func (l *Log) Recreate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = true
}

// End is the partition's exclusive end offset.
func (l *Log) End(partition int32) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.entries[partition]))
}

// Records lists the data records of a partition.
func (l *Log) Records(partition int32) []broker.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	var records []broker.Record
	for _, e := range l.entries[partition] {
		if !e.control {
			records = append(records, e.record)
		}
	}
	return records
}

// Open returns a reader of the partition.
func (l *Log) Open(_ context.Context, partition int32, from int64) (broker.Reader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.changed:
		return nil, broker.ErrTopicChanged
	case from > int64(len(l.entries[partition])):
		return nil, broker.ErrOffsetOutOfRange
	}
	return &logReader{log: l, partition: partition, next: from}, nil
}

type logReader struct {
	log       *Log
	partition int32
	next      int64
}

func (r *logReader) Poll(_ context.Context, limit int) (broker.Fetch, error) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if r.log.changed {
		return broker.Fetch{}, broker.ErrTopicChanged
	}
	var records []broker.Record
	for _, e := range r.log.entries[r.partition][r.next:] {
		if len(records) == limit {
			break
		}
		if !e.control {
			records = append(records, e.record)
		}
		r.next++
	}
	return broker.Fetch{Records: records, Next: r.next}, nil
}

func (*logReader) Close() {}
