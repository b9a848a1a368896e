// Package memory is a view's durable state in memory, for tests and the simulator. It passes the same suite as
// Postgres's (viewtest.Suite).
package memory

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"amends.dev/amends/stages/view"
)

// Store is a view in memory. It is safe for concurrent use; a unit of work holds its partition until it ends, as a row
// lock does.
type Store struct {
	// locks stand for the progress rows: one slot each.
	locks map[int32]chan struct{}

	mu    sync.Mutex
	rows  map[view.ID]view.Envelope
	parts map[int32]Progress
	stops map[int32]view.Stop
}

// Progress is a partition's position with its counters.
type Progress struct {
	// Next is the exclusive position.
	Next int64
	// Applied and Ignored count messages.
	Applied, Ignored int64
}

// NewStore returns an empty view of the given number of output partitions.
func NewStore(partitions int32) *Store {
	s := &Store{
		locks: map[int32]chan struct{}{},
		rows:  map[view.ID]view.Envelope{},
		parts: map[int32]Progress{},
		stops: map[int32]view.Stop{},
	}
	for p := range partitions {
		s.locks[p] = make(chan struct{}, 1)
		s.parts[p] = Progress{}
	}
	return s
}

// Position implements view.Store.
func (s *Store) Position(ctx context.Context, partition int32) (int64, error) {
	if err := s.lock(ctx, partition); err != nil {
		return 0, err
	}
	defer s.unlock(partition)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts[partition].Next, s.stopped(partition)
}

// Begin implements view.Store.
func (s *Store) Begin(ctx context.Context, partition int32, expected int64) (view.Unit, error) {
	if err := s.lock(ctx, partition); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.stopped(partition)
	if next := s.parts[partition].Next; err == nil && next != expected {
		err = fmt.Errorf("it is at %d, not %d: %w", next, expected, view.ErrMoved)
	}
	if err != nil {
		s.unlock(partition)
		return nil, err
	}
	return &unit{store: s, partition: partition}, nil
}

// stopped returns the partition's persisted stop; mu is held.
func (s *Store) stopped(partition int32) error {
	stop, ok := s.stops[partition]
	if !ok {
		return nil
	}
	return &view.StoppedError{
		Partition: partition, Offset: stop.Offset, Reason: stop.Problem.Reason, Detail: stop.Problem.Detail,
	}
}

func (s *Store) lock(ctx context.Context, partition int32) error {
	slot, ok := s.locks[partition]
	if !ok {
		return fmt.Errorf("no output partition %d", partition)
	}
	select {
	case slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) unlock(partition int32) { <-s.locks[partition] }

// Rows returns the last applied envelope of every output ID, withdrawn ones included.
func (s *Store) Rows() map[view.ID]view.Envelope {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.rows)
}

// Row returns the last applied envelope of an output ID, false where there is none.
func (s *Store) Row(id view.ID) (view.Envelope, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row, ok := s.rows[id]
	return row, ok
}

// Progress returns the position of every partition.
func (s *Store) Progress() map[int32]Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.parts)
}

// Stops returns the persisted violations by partition.
func (s *Store) Stops() map[int32]view.Stop {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.stops)
}

type unit struct {
	store     *Store
	partition int32
	done      bool
}

func (u *unit) Guards(_ context.Context, ids []view.ID) (map[view.ID]view.Guard, error) {
	u.store.mu.Lock()
	defer u.store.mu.Unlock()
	guards := make(map[view.ID]view.Guard, len(ids))
	for _, id := range ids {
		if row, ok := u.store.rows[id]; ok {
			guards[id] = view.Guard{Version: row.Version, Content: row.Content}
		}
	}
	return guards, nil
}

func (u *unit) Commit(ctx context.Context, changes view.Changes) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u.store.mu.Lock()
	for _, row := range changes.Rows {
		u.store.rows[row.ID] = row
	}
	progress := u.store.parts[u.partition]
	progress.Next = changes.Next
	progress.Applied += changes.Applied
	progress.Ignored += changes.Ignored
	u.store.parts[u.partition] = progress
	if changes.Violation != nil {
		u.store.stops[u.partition] = *changes.Violation
	}
	u.store.mu.Unlock()
	u.Rollback(ctx)
	return nil
}

func (u *unit) Rollback(context.Context) {
	if !u.done {
		u.done = true
		u.store.unlock(u.partition)
	}
}
