package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/stages/broker"
)

const (
	// fetchBytes bounds one fetch of one partition; a single larger batch is still delivered, alone.
	fetchBytes = 4 << 20
	// decompressedBytes bounds what one compressed batch may grow to (B018): growing to it takes some four times as much
	// for a moment. The largest value that quarantine keeps is 1 MiB (R06), and producers send batches of about as much,
	// so this leaves room for large batches of ordinary records.
	decompressedBytes = 64 << 20
	// fetchWait is how long the broker holds a fetch that finds nothing. New records end it at once.
	fetchWait = time.Second
	// silence is how long no fetch is answered before a reader says so: the client tries again for ever and says nothing.
	silence = 10 * time.Second
)

// Opener opens readers of one topic. It is safe for concurrent use; each reader has a client of its own, so that one
// partition's position, error or slowness never touches another's.
type Opener struct {
	config Config
	topic  Topic
}

// NewOpener returns an opener of the topic as the namespace recorded it. It does not connect.
func NewOpener(config Config, topic Topic) *Opener { return &Opener{config: config, topic: topic} }

// Open implements broker.Opener. It checks topic ID and partition count; whether the position is in the log shows at
// the first Poll.
func (o *Opener) Open(ctx context.Context, partition int32, from int64) (broker.Reader, error) {
	if partition < 0 || partition >= o.topic.Partitions || from < 0 {
		return nil, fmt.Errorf("open %s/%d at %d: no such position", o.topic.Name, partition, from)
	}
	start := map[string]map[int32]kgo.Offset{o.topic.Name: {partition: kgo.NoResetOffset().At(from)}}
	heard := newContact()
	client, err := o.config.client(
		kgo.WithHooks(heard),
		kgo.ConsumePartitions(start),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(),
		kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(fetchBytes),
		kgo.FetchMaxWait(fetchWait),
		kgo.MaxDecompressBatchBytes(decompressedBytes),
	)
	if err != nil {
		return nil, fmt.Errorf("open %s/%d at %d: %w", o.topic.Name, partition, from, err)
	}
	r := &reader{client: client, heard: heard, topic: o.topic, partition: partition, next: from}
	if err := o.topic.check(ctx, r.client); err != nil {
		client.Close()
		return nil, fmt.Errorf("open %s/%d at %d: %w", o.topic.Name, partition, from, err)
	}
	return r, nil
}

// reader implements broker.Reader.
type reader struct {
	client    *kgo.Client
	heard     *contact
	topic     Topic
	partition int32
	// next is the exclusive frontier after everything delivered so far.
	next int64
	// failed is a fault that came behind records of the same fetch, or one that never clears.
	failed error
}

// Poll implements broker.Reader. After ErrTopicChanged, ErrOffsetOutOfRange or a batch that cannot be read it returns
// the same error for ever; after any other error it may be called again.
func (r *reader) Poll(ctx context.Context, max int) (broker.Fetch, error) {
	if r.failed != nil {
		return broker.Fetch{Next: r.next}, r.takeFailure()
	}
	for {
		before := r.next
		wait, cancel := context.WithTimeout(ctx, silence)
		records := r.take(wait, r.client.PollRecords(wait, max))
		cancel()
		switch {
		case r.next > before: // a failure behind what was delivered waits for the next call
			r.heard.now() // while some of a fetch is left, no other one is sent
			return broker.Fetch{Records: records, Next: r.next}, nil
		case r.failed == nil && r.heard.since() > silence:
			return broker.Fetch{Next: r.next}, fmt.Errorf("read %s/%d at %d: %w: no fetch was answered for %v",
				r.topic.Name, r.partition, r.next, ErrUnreachable, silence)
		case r.failed != nil || ctx.Err() != nil:
			return broker.Fetch{Next: r.next}, r.takeFailure()
		}
	}
}

// Close implements broker.Reader.
func (r *reader) Close() { r.client.Close() }

// take returns what was delivered and keeps what failed.
func (r *reader) take(ctx context.Context, fetches kgo.Fetches) []broker.Record {
	records, err := r.collect(ctx, fetches)
	r.failed = r.classify(ctx, err)
	return records
}

// collect takes the data records and moves the frontier over data and control records (R08). What was delivered before
// an error counts.
func (r *reader) collect(ctx context.Context, fetches kgo.Fetches) ([]broker.Record, error) {
	var records []broker.Record
	var failure error
	for _, fetch := range fetches {
		for _, topic := range fetch.Topics {
			for _, p := range topic.Partitions {
				if len(p.Records) > 0 {
					if err := r.checkFetched(topic); err != nil {
						return records, err
					}
					var err error
					if records, err = r.appendRecords(records, p.Records); err != nil {
						return records, err
					}
				}
				if p.Err != nil && !(ctx.Err() != nil && errors.Is(p.Err, ctx.Err())) {
					failure = p.Err
				}
			}
		}
	}
	return records, failure
}

// checkFetched proves with the fetch itself that it is of the recorded topic: the check at opening says nothing about
// a topic that is recreated a moment later, before the client has learned its ID.
func (r *reader) checkFetched(topic kgo.FetchTopic) error {
	if topic.TopicID == [16]byte{} {
		return fmt.Errorf("fetches of topic %s carry no topic ID: the broker is older than Kafka 3.1, the oldest supported", r.topic.Name)
	}
	return r.topic.checkID(topic.TopicID)
}

func (r *reader) appendRecords(records []broker.Record, fetched []*kgo.Record) ([]broker.Record, error) {
	for _, record := range fetched {
		if record.Offset < r.next {
			return records, fmt.Errorf("reader delivered offset %d again, it was past %d", record.Offset, r.next)
		}
		r.next = record.Offset + 1
		if record.Attrs.IsControl() {
			continue
		}
		records = append(records, broker.Record{
			Partition:       r.partition,
			Offset:          record.Offset,
			TimestampMillis: record.Timestamp.UnixMilli(),
			Key:             record.Key,
			Value:           record.Value,
			Headers:         headers(record.Headers),
		})
	}
	return records, nil
}

func headers(records []kgo.RecordHeader) []broker.Header {
	if len(records) == 0 {
		return nil
	}
	headers := make([]broker.Header, len(records))
	for i, h := range records {
		headers[i] = broker.Header{Key: h.Key, Value: h.Value}
	}
	return headers
}

// takeFailure returns the failure, nil where there is none, and forgets it unless it never clears.
func (r *reader) takeFailure() error {
	err := r.failed
	var tooLarge *kgo.ErrDecompressTooLarge
	if !errors.Is(err, broker.ErrTopicChanged) && !errors.Is(err, broker.ErrOffsetOutOfRange) && !errors.As(err, &tooLarge) {
		r.failed = nil
	}
	return err
}

// classify turns a client's error into one of the port. Unknown topic errors also occur for a moment after a topic was
// created, so the broker is asked what is true now.
func (r *reader) classify(ctx context.Context, err error) error {
	var loss *kgo.ErrDataLoss
	switch {
	case err == nil:
		return nil
	case errors.Is(err, broker.ErrTopicChanged):
	case errors.Is(err, kerr.OffsetOutOfRange), errors.As(err, &loss):
		err = fmt.Errorf("%w: position %d of %s/%d is not in the log: %w",
			broker.ErrOffsetOutOfRange, r.next, r.topic.Name, r.partition, err)
	case isUnknownTopic(err):
		if changed := r.topic.check(context.WithoutCancel(ctx), r.client); changed != nil {
			err = changed
		}
	}
	return fmt.Errorf("read %s/%d at %d: %w", r.topic.Name, r.partition, r.next, err)
}

func isUnknownTopic(err error) bool {
	return errors.Is(err, kerr.UnknownTopicID) || errors.Is(err, kerr.UnknownTopicOrPartition) ||
		errors.Is(err, kerr.InconsistentTopicID)
}
