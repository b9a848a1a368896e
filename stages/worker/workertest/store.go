package workertest

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
)

// Store is a worker.Store in memory. A unit of work holds its partition's lock as a transaction does: others wait. It is
// safe for concurrent use.
type Store struct {
	mu         sync.Mutex
	partitions map[int32]*partition
	keys       map[int32]ledger.KeyRow
	authority  map[int32]map[string]ledger.AuthorityRow
	evidence   map[ledger.RevisionRef][]ledger.EvidenceRow
	conflicts  map[ledger.RevisionRef]ledger.ConflictRow
	days       map[int32]map[int32]ledger.DayRow
	quarantine map[quarantineKey]QuarantineRow
	// outbox is per partition; the sequence of the first row is 1.
	outbox map[int32][]OutboxRow
}

type quarantineKey struct {
	partition int32
	offset    int64
}

// partition is a partition_state row with its row lock, a channel that holds one token while free.
type partition struct {
	lock                           chan struct{}
	state                          worker.PartitionState
	outboxNext, accepted, rejected int64
}

// NewStore returns a store with partitions 0..partitions-1 at offset 0, without an owner.
func NewStore(partitions int32) *Store {
	s := &Store{
		partitions: make(map[int32]*partition),
		keys:       make(map[int32]ledger.KeyRow),
		authority:  make(map[int32]map[string]ledger.AuthorityRow),
		evidence:   make(map[ledger.RevisionRef][]ledger.EvidenceRow),
		conflicts:  make(map[ledger.RevisionRef]ledger.ConflictRow),
		days:       make(map[int32]map[int32]ledger.DayRow),
		quarantine: make(map[quarantineKey]QuarantineRow),
		outbox:     make(map[int32][]OutboxRow),
	}
	for i := range partitions {
		p := &partition{lock: make(chan struct{}, 1), outboxNext: 1}
		p.state = worker.PartitionState{Partition: i, Generation: -1}
		p.lock <- struct{}{}
		s.partitions[i] = p
	}
	return s
}

var _ worker.Store = (*Store)(nil)

// PartitionState implements worker.Store.
func (s *Store) PartitionState(ctx context.Context, id int32) (worker.PartitionState, error) {
	var state worker.PartitionState
	err := s.locked(ctx, id, func(p *partition) error {
		state = clonePartitionState(p.state)
		return nil
	})
	return state, err
}

// InstallEpoch implements worker.Store.
func (s *Store) InstallEpoch(ctx context.Context, in worker.Installation) (worker.PartitionState, error) {
	var state worker.PartitionState
	err := s.locked(ctx, in.Partition, func(p *partition) error {
		old := &p.state
		newer := in.Generation > old.Generation || in.Generation == old.Generation && in.Member == old.Member
		if in.ExpectedEpoch != old.Epoch || !newer && !in.TakeOver {
			return fmt.Errorf("install epoch of partition %d: %w", in.Partition, worker.ErrFenced)
		}
		old.Epoch++
		old.Member, old.Generation = in.Member, in.Generation
		state = clonePartitionState(*old)
		return nil
	})
	return state, err
}

// RecordStop implements worker.Store.
func (s *Store) RecordStop(ctx context.Context, id int32, epoch, frontier int64, stop worker.Stop) error {
	return s.locked(ctx, id, func(p *partition) error {
		if p.state.Epoch != epoch || p.state.NextOffset != frontier {
			return fmt.Errorf("record the stop of partition %d: %w", id, worker.ErrFenced)
		}
		p.state.Stop = &stop
		return nil
	})
}

// Begin implements worker.Store.
func (s *Store) Begin(ctx context.Context, id int32, epoch, frontier int64) (worker.Unit, error) {
	p, err := s.acquire(ctx, id)
	if err != nil {
		return nil, err
	}
	if p.state.Epoch != epoch || p.state.NextOffset != frontier || p.state.Stop != nil {
		p.lock <- struct{}{}
		return nil, fmt.Errorf("begin a unit of work on partition %d: %w", id, worker.ErrFenced)
	}
	return &unit{store: s, partition: p}, nil
}

// Tables returns a copy of everything that is committed.
func (s *Store) Tables() Tables {
	s.mu.Lock()
	defer s.mu.Unlock()
	var t Tables
	for _, p := range s.partitions {
		row := PartitionRow{
			Partition: p.state.Partition, NextOffset: p.state.NextOffset, OutboxNext: p.outboxNext,
			Accepted: p.accepted, Rejected: p.rejected,
		}
		if p.state.Stop != nil {
			row.StopReason, row.StopOffset = p.state.Stop.Reason, p.state.Stop.Offset
		}
		t.Partitions = append(t.Partitions, row)
	}
	t.Keys, t.Conflicts = values(s.keys), values(s.conflicts)
	for _, rows := range s.authority {
		t.Authority = append(t.Authority, values(rows)...)
	}
	for _, rows := range s.days {
		t.Days = append(t.Days, values(rows)...)
	}
	for _, rows := range s.evidence {
		t.Evidence = append(t.Evidence, rows...)
	}
	for _, q := range s.quarantine {
		t.Quarantine = append(t.Quarantine, q.clone())
	}
	for _, rows := range s.outbox {
		for _, row := range rows {
			row.Key, row.Value = bytes.Clone(row.Key), bytes.Clone(row.Value)
			t.Outbox = append(t.Outbox, row)
		}
	}
	t.Sort()
	return t
}

// locked runs f on a partition under its lock.
func (s *Store) locked(ctx context.Context, id int32, f func(p *partition) error) error {
	p, err := s.acquire(ctx, id)
	if err != nil {
		return err
	}
	defer func() { p.lock <- struct{}{} }()
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(p)
}

// acquire waits for a partition's lock.
func (s *Store) acquire(ctx context.Context, id int32) (*partition, error) {
	p, ok := s.partitions[id]
	if !ok {
		return nil, fmt.Errorf("no partition %d", id)
	}
	select {
	case <-p.lock:
		return p, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("lock partition %d: %w", id, context.Cause(ctx))
	}
}

func clonePartitionState(state worker.PartitionState) worker.PartitionState {
	if state.Stop != nil {
		stop := *state.Stop
		state.Stop = &stop
	}
	return state
}

func values[K comparable, V any](m map[K]V) []V {
	all := make([]V, 0, len(m))
	for _, v := range m {
		all = append(all, v)
	}
	return all
}
