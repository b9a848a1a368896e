package relaytest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/relay"
)

// Store is an outbox in memory. It is safe for concurrent use.
type Store struct {
	now func() time.Time

	mu sync.Mutex
	// outbox holds each source partition's committed envelopes; the sequence of the first is 1.
	outbox   map[int32][]relay.Envelope
	receipts map[int32][]relay.Receipt
	lease    lease
	stops    map[int32]relay.Stop
}

type lease struct {
	holder  string
	term    int64
	expires time.Time
}

// NewStore returns an empty outbox of the given number of source partitions, whose clock is now.
func NewStore(partitions int32, now func() time.Time) *Store {
	s := &Store{now: now, outbox: map[int32][]relay.Envelope{}, receipts: map[int32][]relay.Receipt{}, stops: map[int32]relay.Stop{}}
	for p := range partitions {
		s.outbox[p] = nil
	}
	return s
}

// Append commits envelopes of a source partition, as the worker's transaction does.
func (s *Store) Append(partition int32, messages ...broker.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		seq := int64(len(s.outbox[partition])) + 1
		s.outbox[partition] = append(s.outbox[partition], relay.Envelope{Seq: seq, Key: m.Key, Value: m.Value})
	}
}

// Acquire implements relay.Outbox.
func (s *Store) Acquire(_ context.Context, holder string, ttl time.Duration) (relay.Grant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.lease.holder != holder {
		if remaining := s.lease.expires.Sub(now); remaining > 0 {
			return relay.Grant{Term: s.lease.term, Remaining: remaining}, nil
		}
		s.lease.holder = holder
		s.lease.term++
	}
	s.lease.expires = now.Add(ttl)
	return relay.Grant{Held: true, Term: s.lease.term}, nil
}

// Release implements relay.Outbox.
func (s *Store) Release(_ context.Context, holder string, term int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease.holder == holder && s.lease.term == term {
		s.lease.expires = s.now()
	}
	return nil
}

// Positions implements relay.Outbox.
func (s *Store) Positions(context.Context) ([]relay.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var positions []relay.Position
	for _, p := range slices.Sorted(maps.Keys(s.outbox)) {
		positions = append(positions, relay.Position{
			Partition: p, Sent: s.sent(p), End: int64(len(s.outbox[p])) + 1, Stopped: s.stops[p].Reason,
		})
	}
	return positions, nil
}

// sent is the sent-through sequence; mu is held.
func (s *Store) sent(partition int32) int64 { return int64(len(s.receipts[partition])) + 1 }

// Pending implements relay.Outbox.
func (s *Store) Pending(_ context.Context, partition int32, from int64, limit int) ([]relay.Envelope, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(window(s.outbox[partition], from, limit)), nil
}

func window(envelopes []relay.Envelope, from int64, limit int) []relay.Envelope {
	rest := envelopes[min(max(from-1, 0), int64(len(envelopes))):]
	return rest[:min(limit, len(rest))]
}

// Mark implements relay.Outbox.
func (s *Store) Mark(_ context.Context, mark relay.Mark) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(mark.Holder, mark.Term, mark.Partition, mark.From); err != nil {
		return err
	}
	s.receipts[mark.Partition] = append(s.receipts[mark.Partition], mark.Receipts...)
	return nil
}

// RecordStop implements relay.Outbox.
func (s *Store) RecordStop(_ context.Context, stop relay.Stop) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(stop.Holder, stop.Term, stop.Partition, stop.From); err != nil {
		return err
	}
	s.stops[stop.Partition] = stop
	return nil
}

// check wants the lease and the sent-through sequence to be the expected ones; mu is held.
func (s *Store) check(holder string, term int64, partition int32, from int64) error {
	switch sent := s.sent(partition); {
	case s.lease.holder != holder || s.lease.term != term:
		return fmt.Errorf("term %d of %s: %w", term, holder, relay.ErrLeaseLost)
	case sent != from:
		return fmt.Errorf("sent through %d, expected %d: %w", sent, from, relay.ErrMoved)
	}
	return nil
}

// List implements relay.Lister.
func (s *Store) List(_ context.Context, partition int32, from int64, limit int) ([]relay.Listed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var listed []relay.Listed
	for _, e := range window(s.outbox[partition], from, limit) {
		l := relay.Listed{Envelope: e, Sent: e.Seq < s.sent(partition)}
		if l.Sent {
			l.Receipt = s.receipts[partition][e.Seq-1]
		}
		listed = append(listed, l)
	}
	return listed, nil
}
