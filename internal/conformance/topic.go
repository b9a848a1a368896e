package conformance

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"sync"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/stages/broker"
)

// topic is a topic in memory, for the levels without a broker. Its readers and publisher are bound to the incarnation
// at which they were made. It is safe for concurrent use.
type topic struct {
	mu         sync.Mutex
	name       string
	generation int
	starts     []int64
	partitions [][]broker.Record
}

func newTopic(name string, partitions int32) *topic {
	t := &topic{name: name}
	t.clear(partitions)
	return t
}

func (t *topic) clear(partitions int32) {
	t.generation++
	t.starts, t.partitions = make([]int64, partitions), make([][]broker.Record, partitions)
}

// recreate is a deletion and a new creation under the same name.
func (t *topic) recreate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear(int32(len(t.partitions)))
}

// trim removes what is before an offset.
func (t *topic) trim(partition int32, before int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.starts[partition] = before
}

// id is the incarnation's topic ID: 22 characters, as Kafka's.
func (t *topic) id() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.idLocked()
}

func (t *topic) idLocked() string { return fmt.Sprintf("conformanceAAAAAAAAA%02d", t.generation) }

// ends are the exclusive ends of all partitions.
func (t *topic) ends() []int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	ends := make([]int64, len(t.partitions))
	for p, records := range t.partitions {
		ends[p] = int64(len(records))
	}
	return ends
}

// Publish implements broker.Publisher on the present incarnation.
func (t *topic) Publish(_ context.Context, all []broker.Message) []broker.Ack {
	t.mu.Lock()
	defer t.mu.Unlock()
	acks := make([]broker.Ack, len(all))
	for i, m := range all {
		acks[i].Offset = int64(len(t.partitions[m.Partition]))
		t.partitions[m.Partition] = append(t.partitions[m.Partition], broker.Record{
			Partition: m.Partition, Offset: acks[i].Offset, Key: bytes.Clone(m.Key), Value: bytes.Clone(m.Value),
		})
	}
	return acks
}

// at binds an opener to the present incarnation.
func (t *topic) at() broker.Opener {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &topicOpener{topic: t, generation: t.generation}
}

type topicOpener struct {
	topic      *topic
	generation int
}

// Open implements broker.Opener.
func (o *topicOpener) Open(_ context.Context, partition int32, from int64) (broker.Reader, error) {
	r := &topicReader{opener: o, partition: partition, next: from}
	o.topic.mu.Lock()
	defer o.topic.mu.Unlock()
	return r, r.check()
}

type topicReader struct {
	opener    *topicOpener
	partition int32
	next      int64
}

// check says why the position cannot be read; the topic is locked.
func (r *topicReader) check() error {
	t := r.opener.topic
	switch {
	case t.generation != r.opener.generation:
		return fmt.Errorf("topic %s: %w", t.name, broker.ErrTopicChanged)
	case r.next < t.starts[r.partition] || r.next > int64(len(t.partitions[r.partition])):
		return fmt.Errorf("topic %s, partition %d at %d: %w", t.name, r.partition, r.next, broker.ErrOffsetOutOfRange)
	}
	return nil
}

// Poll implements broker.Reader, but never waits.
func (r *topicReader) Poll(_ context.Context, limit int) (broker.Fetch, error) {
	t := r.opener.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := r.check(); err != nil {
		return broker.Fetch{}, err
	}
	rest := t.partitions[r.partition][r.next:]
	rest = rest[:min(limit, len(rest))]
	r.next += int64(len(rest))
	return broker.Fetch{Records: append([]broker.Record{}, rest...), Next: r.next}, nil
}

// Close implements broker.Reader.
func (*topicReader) Close() {}

// topics is the broker as the verifier sees it: source and output.
type topics map[string]*topic

func newTopics(all ...*topic) topics {
	m := topics{}
	for _, t := range all {
		m[t.name] = t
	}
	return m
}

// unlimited is how topics of a namespace are configured.
var unlimited = map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}

// Describe implements verify.Topics.
func (m topics) Describe(_ context.Context, name string) (*boundary.Topic, error) {
	t := m[name]
	if t == nil {
		return nil, nil
	}
	ends := t.ends()
	t.mu.Lock()
	defer t.mu.Unlock()
	return &boundary.Topic{
		ID: t.idLocked(), Configs: maps.Clone(unlimited), Starts: append([]int64{}, t.starts...), Stables: ends, Ends: append([]int64{}, ends...),
	}, nil
}

// History implements verify.Topics.
func (m topics) History(r boundary.Range) engine.History {
	return func(context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			t := m[r.Topic]
			t.mu.Lock()
			defer t.mu.Unlock()
			for p := range r.From {
				switch {
				case t.idLocked() != r.TopicID:
					yield(engine.Record{}, boundary.ErrTopicChanged)
					return
				case r.From[p] < t.starts[p]:
					yield(engine.Record{}, boundary.ErrHistoryLost)
					return
				}
				for _, record := range t.partitions[p][r.From[p]:r.To[p]] {
					if !yield(engine.Record{Partition: record.Partition, Offset: record.Offset, Key: record.Key, Value: record.Value}, nil) {
						return
					}
				}
			}
		}
	}
}
