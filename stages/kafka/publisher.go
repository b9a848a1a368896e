package kafka

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/stages/broker"
)

const (
	// maxBuffered is how many records a publisher holds before Publish waits for room.
	maxBuffered = 100_000
	// publisherMetadataAge bounds how long a publisher may not notice a recreated topic where the broker's produce
	// requests carry topic names instead of IDs (before Kafka 4.0).
	publisherMetadataAge = 10 * time.Second
)

// ErrNotAcknowledged is wrapped by an acknowledgement that did not come before the delivery timeout: the record may or
// may not be in the log (S9).
var ErrNotAcknowledged = errors.New("not acknowledged in time")

// Publisher implements broker.Publisher for one topic. Publish may be called by one goroutine at a time.
type Publisher struct {
	config  Config
	topic   Topic
	timeout time.Duration
	// batchBytes bounds a batch as the topic does.
	batchBytes int32
	client     *kgo.Client
	// verified says that the topic ID was found unchanged after this client's first use. Topic IDs never come back, so
	// the client, which keeps the ID it first saw, cannot have seen another one.
	verified bool
}

// NewPublisher connects and checks the topic's identity. Delivery of one Publish ends after timeout, also when the
// broker is away.
func NewPublisher(ctx context.Context, config Config, topic Topic, timeout time.Duration) (*Publisher, error) {
	client, err := config.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := topic.check(ctx, client); err != nil {
		return nil, fmt.Errorf("publish to %s: %w", topic.Name, err)
	}
	p := &Publisher{config: config, topic: topic, timeout: timeout, batchBytes: messageLimit(ctx, client, topic.Name)}
	return p, p.connect()
}

// Close drops the connection. Nothing is in flight between two calls of Publish.
func (p *Publisher) Close() {
	if p.client != nil {
		p.client.Close()
		p.client = nil
	}
}

// Publish implements broker.Publisher. It returns when the delivery timeout has passed at the latest; records without
// an answer by then are given up for good and carry ErrNotAcknowledged. An Ack wraps broker.ErrTopicChanged where the
// topic is no longer the recorded one.
func (p *Publisher) Publish(ctx context.Context, messages []broker.Message) []broker.Ack {
	acks := make([]broker.Ack, len(messages))
	if len(messages) == 0 {
		return acks
	}
	if p.client == nil {
		if err := p.connect(); err != nil {
			return failAll(acks, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	if p.deliver(ctx, messages, acks) {
		if err := p.verify(ctx, acks); err != nil {
			return failAll(acks, err)
		}
		if tooLarge(acks) { // the limit may have been raised meanwhile
			p.batchBytes = messageLimit(ctx, p.client, p.topic.Name)
			p.Close()
		}
		return acks
	}
	// The client must not send any of it later, when the lease may be another's (R17): the next call makes a new one.
	p.Close()
	if !p.verified {
		return failAll(acks, fmt.Errorf("publish to %s: %w", p.topic.Name, ErrNotAcknowledged))
	}
	return acks
}

// deliver produces all messages and fills acks; false when ctx ended before every outcome was known.
func (p *Publisher) deliver(ctx context.Context, messages []broker.Message, acks []broker.Ack) bool {
	results := &outcomes{acks: acks, done: make(chan struct{}), pending: len(messages), last: map[int32]int64{}}
	for i := range acks {
		acks[i] = broker.Ack{Err: fmt.Errorf("publish to %s/%d: %w", p.topic.Name, messages[i].Partition, ErrNotAcknowledged)}
	}
	for i, message := range messages {
		record := &kgo.Record{
			Topic: p.topic.Name, Partition: message.Partition, Key: message.Key, Value: message.Value, Headers: recordHeaders(message.Headers),
		}
		p.client.Produce(ctx, record, func(record *kgo.Record, err error) { results.set(i, record, err) })
	}
	select {
	case <-results.done:
		return true
	case <-ctx.Done():
		results.close()
		return false
	}
}

func recordHeaders(headers []broker.Header) []kgo.RecordHeader {
	if len(headers) == 0 {
		return nil
	}
	records := make([]kgo.RecordHeader, len(headers))
	for i, h := range headers {
		records[i] = kgo.RecordHeader{Key: h.Key, Value: h.Value}
	}
	return records
}

// verify proves the topic's identity after the first use of a client and whenever an acknowledgement hints at a change.
func (p *Publisher) verify(ctx context.Context, acks []broker.Ack) error {
	suspect := !p.verified
	for _, ack := range acks {
		suspect = suspect || ack.Err != nil && isUnknownTopic(ack.Err)
	}
	if !suspect {
		return nil
	}
	if err := p.topic.check(ctx, p.client); err != nil {
		return fmt.Errorf("publish to %s: %w", p.topic.Name, err)
	}
	p.verified = true
	return nil
}

func (p *Publisher) connect() error {
	client, err := p.config.client(
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RecordDeliveryTimeout(p.timeout),
		kgo.ProducerLinger(0),
		kgo.MaxBufferedRecords(maxBuffered),
		kgo.ProducerBatchMaxBytes(p.batchBytes),
		kgo.MetadataMaxAge(publisherMetadataAge),
	)
	if err != nil {
		return err
	}
	p.client, p.verified = client, false
	return nil
}

func failAll(acks []broker.Ack, err error) []broker.Ack {
	for i := range acks {
		acks[i] = broker.Ack{Err: err}
	}
	return acks
}

// outcomes collects acknowledgements until all are there or it is closed; later ones are dropped, because the caller
// has the slice by then.
type outcomes struct {
	mu      sync.Mutex
	acks    []broker.Ack
	pending int
	closed  bool
	done    chan struct{}
	// last is the offset of each partition that was acknowledged last.
	last map[int32]int64
}

func (o *outcomes) set(i int, record *kgo.Record, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.acks[i] = broker.Ack{Offset: record.Offset}
	if err == nil {
		err = o.checkOffset(record)
	}
	if err != nil {
		o.acks[i] = broker.Ack{Err: fmt.Errorf("publish to %s/%d: %w", record.Topic, record.Partition, err)}
	}
	if o.pending--; o.pending == 0 {
		close(o.done)
	}
}

// errNoOffset says that a broker acknowledged a record and did not say where it is: what a broker answers to a repetition
// that it no longer remembers is offset -1, from which the client counts on for the records behind it.
var errNoOffset = errors.New("acknowledged without an offset")

// checkOffset wants the offsets of a partition to rise.
func (o *outcomes) checkOffset(record *kgo.Record) error {
	last, later := o.last[record.Partition]
	if record.Offset < 0 || later && record.Offset <= last {
		o.last[record.Partition] = math.MaxInt64 // those behind it are counted from it
		return errNoOffset
	}
	o.last[record.Partition] = record.Offset
	return nil
}

func (o *outcomes) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}
