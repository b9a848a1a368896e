package workertest

import (
	"bytes"
	"context"
	"fmt"
	"sort"
	"sync"

	"amends.dev/amends/stages/broker"
)

// Log is the source topic in memory, as read_committed shows it: data records, control markers, and offsets that hold
// nothing visible. It implements broker.Opener and is safe for concurrent use.
type Log struct {
	mu         sync.Mutex
	partitions map[int32]*logPartition
	err        error
	opened     int
}

type logPartition struct {
	start, end int64
	entries    []logEntry
}

// logEntry is a record, or a control marker where the record has none.
type logEntry struct {
	offset  int64
	control bool
	record  broker.Record
}

// NewLog returns an empty log; partitions come into being as they are used.
func NewLog() *Log { return &Log{partitions: make(map[int32]*logPartition)} }

var _ broker.Opener = (*Log)(nil)

// Append adds a data record and returns its offset. A nil key or value is a null.
func (l *Log) Append(partition int32, key, value []byte) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.partition(partition)
	r := broker.Record{Partition: partition, Offset: p.end, Key: bytes.Clone(key), Value: bytes.Clone(value)}
	p.entries = append(p.entries, logEntry{offset: p.end, record: r})
	p.end++
	return r.Offset
}

// AppendControl adds a control marker: no record, but progress (R08).
func (l *Log) AppendControl(partition int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.partition(partition)
	p.entries = append(p.entries, logEntry{offset: p.end, control: true})
	p.end++
}

// AppendGap adds n offsets that a reader never sees: aborted data.
func (l *Log) AppendGap(partition int32, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partition(partition).end += n
}

// Trim moves the log start: a reader below it gets broker.ErrOffsetOutOfRange.
func (l *Log) Trim(partition int32, start int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partition(partition).start = start
}

// SetError lets every poll and opening fail, until it is set to nil.
func (l *Log) SetError(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

// End returns the exclusive end of a partition.
func (l *Log) End(partition int32) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.partition(partition).end
}

// OpenReaders counts the readers that were opened and not closed.
func (l *Log) OpenReaders() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened
}

// Open implements broker.Opener.
func (l *Log) Open(_ context.Context, partition int32, from int64) (broker.Reader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, fmt.Errorf("open partition %d: %w", partition, l.err)
	}
	l.opened++
	return &logReader{log: l, partition: partition, next: from}, nil
}

// partition returns a partition; the caller holds the lock.
func (l *Log) partition(id int32) *logPartition {
	p, ok := l.partitions[id]
	if !ok {
		p = &logPartition{}
		l.partitions[id] = p
	}
	return p
}

type logReader struct {
	log       *Log
	partition int32
	next      int64
	closed    bool
}

// Poll implements broker.Reader, but never waits: where there is nothing it says so at once. max counts control markers
// too, as the real client does.
func (r *logReader) Poll(_ context.Context, max int) (broker.Fetch, error) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if r.closed {
		return broker.Fetch{}, fmt.Errorf("poll partition %d: reader is closed", r.partition)
	}
	if r.log.err != nil {
		return broker.Fetch{}, fmt.Errorf("poll partition %d: %w", r.partition, r.log.err)
	}
	p := r.log.partition(r.partition)
	if r.next < p.start || r.next > p.end {
		return broker.Fetch{}, fmt.Errorf("poll partition %d at %d: %w", r.partition, r.next, broker.ErrOffsetOutOfRange)
	}
	fetch := broker.Fetch{Next: r.next}
	delivered := 0
	first := sort.Search(len(p.entries), func(i int) bool { return p.entries[i].offset >= r.next })
	for _, entry := range p.entries[first:] {
		if delivered == max {
			break
		}
		delivered++
		fetch.Next = entry.offset + 1
		if !entry.control {
			record := entry.record
			record.Key, record.Value = bytes.Clone(record.Key), bytes.Clone(record.Value)
			fetch.Records = append(fetch.Records, record)
		}
	}
	r.next = fetch.Next
	return fetch, nil
}

// Close implements broker.Reader.
func (r *logReader) Close() {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.log.opened--
	}
}

// Reach is the exclusive frontier of a reader that has read everything: one past the last record or marker, which a gap
// at the end leaves below the log's end (R08).
func (l *Log) Reach(partition int32) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries := l.partition(partition).entries
	if len(entries) == 0 {
		return 0
	}
	return entries[len(entries)-1].offset + 1
}
