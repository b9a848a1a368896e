package source

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/engine"
)

// History returns the visible data records of the range. Each call of it reads the topic anew, with a client of its
// own. Errors wrap boundary.ErrTopicChanged, ErrHistoryLost or ErrStalled where these apply.
func (c *Client) History(r boundary.Range) engine.History {
	return func(ctx context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			s := &scan{client: c, r: r, yield: yield}
			if err := s.run(ctx); err != nil && !s.stopped {
				yield(engine.Record{}, fmt.Errorf("read topic %s: %w", r.Topic, err))
			}
		}
	}
}

// scan is one pass over a range.
type scan struct {
	client *Client
	r      boundary.Range
	yield  func(engine.Record, error) bool
	// next is the exclusive frontier of each partition (R08); open counts the partitions below To.
	next    []int64
	open    int
	stopped bool
}

// run reads the range from beginning to end.
func (s *scan) run(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	start := map[int32]kgo.Offset{}
	s.next = make([]int64, len(s.r.From))
	for p, from := range s.r.From {
		s.next[p] = from
		if from < s.r.To[p] {
			start[int32(p)] = kgo.NewOffset().At(from)
			s.open++
		}
	}
	if s.open == 0 {
		return nil
	}
	opts := append([]kgo.Opt{}, s.client.opts...)
	kafka, err := kgo.NewClient(append(opts,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{s.r.Topic: start}),
		// Control records are kept, because a transaction's marker may be the last thing below To.
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxBytes(fetchBytes), kgo.FetchMaxPartitionBytes(partitionBytes), kgo.WithPools(&pool{}))...)
	if err != nil {
		return err
	}
	defer kafka.Close()
	for s.open > 0 && !s.stopped {
		if err := s.poll(ctx, kafka); err != nil {
			return s.cause(ctx, err)
		}
	}
	if s.stopped {
		return nil
	}
	return s.check(ctx)
}

// poll waits for one fetch and passes its records on.
func (s *scan) poll(ctx context.Context, kafka *kgo.Client) error {
	bounded, cancel := context.WithTimeout(ctx, s.client.stall)
	defer cancel()
	fetches := kafka.PollFetches(bounded)
	if err := ctx.Err(); err != nil {
		return err
	}
	if bounded.Err() != nil && fetches.NumRecords() == 0 {
		return s.stalled()
	}
	for _, e := range fetches.Errors() {
		return fmt.Errorf("partition %d: %w", e.Partition, e.Err)
	}
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		for _, record := range p.Records {
			wanted := !s.stopped && s.pass(record)
			record.Recycle()
			if !wanted {
				break
			}
		}
		if s.next[p.Partition] >= s.r.To[p.Partition] {
			kafka.PauseFetchPartitions(map[string][]int32{s.r.Topic: {p.Partition}})
		}
	})
	return nil
}

// pass yields one data record and advances the frontier; false ends the partition.
func (s *scan) pass(record *kgo.Record) bool {
	p := record.Partition
	if s.next[p] >= s.r.To[p] {
		return false
	}
	if record.Offset < s.r.To[p] && !record.Attrs.IsControl() {
		s.stopped = !s.yield(engine.Record{
			Partition: p, Offset: record.Offset, BrokerTime: record.Timestamp.UnixMilli(), Key: record.Key, Value: record.Value,
		}, nil)
	}
	if s.next[p] = record.Offset + 1; s.next[p] >= s.r.To[p] {
		s.open--
		return false
	}
	return !s.stopped
}

// cause says why reading failed: that the range is no longer there, where that is so, else err.
func (s *scan) cause(ctx context.Context, err error) error {
	gone := s.check(ctx)
	if errors.Is(gone, boundary.ErrTopicChanged) || errors.Is(gone, boundary.ErrHistoryLost) {
		return fmt.Errorf("%w (%w)", gone, err)
	}
	return err
}

// check compares identity, partition count and retained starts with the range.
func (s *scan) check(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, s.client.stall)
	defer cancel()
	found, err := s.client.lookUp(bounded, s.r.Topic)
	if err != nil {
		return s.silent(ctx, bounded, err)
	}
	switch {
	case found == nil:
		return fmt.Errorf("%w: it no longer exists", boundary.ErrTopicChanged)
	case found.id != s.r.TopicID:
		return fmt.Errorf("%w: its ID is %s, want %s", boundary.ErrTopicChanged, found.id, s.r.TopicID)
	case found.partitions != len(s.r.From):
		return fmt.Errorf("%w: it has %d partitions, want %d", boundary.ErrTopicChanged, found.partitions, len(s.r.From))
	}
	listed, err := s.client.admin.ListStartOffsets(bounded, s.r.Topic)
	if err != nil {
		return s.silent(ctx, bounded, fmt.Errorf("list start offsets: %w", err))
	}
	starts, err := vector(listed, s.r.Topic, len(s.r.From))
	if err != nil {
		return fmt.Errorf("list start offsets: %w", err)
	}
	for p, start := range starts {
		if start > s.r.From[p] {
			return fmt.Errorf("%w: partition %d begins at offset %d, after %d", boundary.ErrHistoryLost, p, start, s.r.From[p])
		}
	}
	return nil
}

// silent is the error of a request that was not answered in time as one that made no progress, and any other as it is.
func (s *scan) silent(ctx, bounded context.Context, err error) error {
	if bounded.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("%w for %s: %w", boundary.ErrStalled, s.client.stall, err)
	}
	return err
}

// stalled names the partitions that made no progress.
func (s *scan) stalled() error {
	var text string
	for p, next := range s.next {
		if next < s.r.To[p] {
			text += fmt.Sprintf(" partition %d at %d of %d;", p, next, s.r.To[p])
		}
	}
	return fmt.Errorf("%w for %s:%s", boundary.ErrStalled, s.client.stall, text[:len(text)-1])
}
