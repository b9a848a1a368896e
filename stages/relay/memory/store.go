// Package memory is the relay's durable state in memory, for tests and the simulator. It passes the same suite as
// Postgres's (relaytest.Suite).
package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/relay"
)

// Rows are committed envelopes, per source partition; the sequence of the first is 1.
type Rows interface {
	// End is exclusive: the sequence that the next envelope will have.
	End(partition int32) int64
	// Window returns up to limit envelopes from sequence from on.
	Window(partition int32, from int64, limit int) []relay.Envelope
}

// Store is an outbox in memory. It is safe for concurrent use.
type Store struct {
	now        func() time.Time
	partitions int32
	rows       Rows
	// own are the rows, unless NewStoreOver was given others.
	own *appended

	mu       sync.Mutex
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
	own := &appended{rows: map[int32][]relay.Envelope{}}
	s := NewStoreOver(partitions, now, own)
	s.own = own
	return s
}

// NewStoreOver returns the relay's part of the state over rows that somebody else commits: the worker's store.
func NewStoreOver(partitions int32, now func() time.Time, rows Rows) *Store {
	return &Store{
		now: now, partitions: partitions, rows: rows,
		receipts: map[int32][]relay.Receipt{}, stops: map[int32]relay.Stop{},
	}
}

// Append commits envelopes of a source partition, as the worker's transaction does. A store over the rows of somebody
// else ignores it.
func (s *Store) Append(partition int32, messages ...broker.Message) {
	if s.own != nil {
		s.own.append(partition, messages)
	}
}

// Lease returns who holds the lease, its term, and when it expires.
func (s *Store) Lease() (holder string, term int64, expires time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease.holder, s.lease.term, s.lease.expires
}

// Receipts returns the receipts of a source partition, that of sequence 1 first.
func (s *Store) Receipts(partition int32) []relay.Receipt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.receipts[partition][:len(s.receipts[partition]):len(s.receipts[partition])]
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
	for p := range s.partitions {
		positions = append(positions, relay.Position{
			Partition: p, Sent: s.sent(p), End: s.rows.End(p), Stopped: s.stops[p].Reason,
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
	return s.rows.Window(partition, from, limit), nil
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
	for _, e := range s.rows.Window(partition, from, limit) {
		l := relay.Listed{Envelope: e, Sent: e.Seq < s.sent(partition)}
		if l.Sent {
			l.Receipt = s.receipts[partition][e.Seq-1]
		}
		listed = append(listed, l)
	}
	return listed, nil
}
