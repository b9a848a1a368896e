package workertest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"amends.dev/amends/stages/ledger"
)

// errClosed is a unit used after its end.
var errClosed = errors.New("unit of work is closed")

// unit implements worker.Unit.
type unit struct {
	store     *Store
	partition *partition
	closed    bool
}

// read runs f on the store's tables.
func (u *unit) read(f func(s *Store)) error {
	if u.closed {
		return errClosed
	}
	u.store.mu.Lock()
	defer u.store.mu.Unlock()
	f(u.store)
	return nil
}

// Keys implements worker.Unit.
func (u *unit) Keys(_ context.Context, keyIDs []int32) (keys []ledger.KeyRow, days []ledger.DayRow, err error) {
	err = u.read(func(s *Store) {
		for _, id := range keyIDs {
			if k, ok := s.keys[id]; ok {
				k.Conflicts = slices.Clone(k.Conflicts)
				keys = append(keys, k)
			}
			days = append(days, values(s.days[id])...)
		}
	})
	slices.SortFunc(days, compareDays)
	return keys, days, err
}

// Authority implements worker.Unit.
func (u *unit) Authority(_ context.Context, refs []ledger.IdentityRef) (rows []ledger.AuthorityRow, err error) {
	err = u.read(func(s *Store) {
		for _, ref := range refs {
			if a, ok := s.authority[ref.KeyID][ref.TxnID]; ok {
				rows = append(rows, a)
			}
		}
	})
	return rows, err
}

// KeyAuthority implements worker.Unit.
func (u *unit) KeyAuthority(_ context.Context, keyIDs []int32) (rows []ledger.AuthorityRow, err error) {
	err = u.read(func(s *Store) {
		for _, id := range keyIDs {
			rows = append(rows, values(s.authority[id])...)
		}
	})
	slices.SortFunc(rows, compareAuthority)
	return rows, err
}

// Evidence implements worker.Unit.
func (u *unit) Evidence(_ context.Context, refs []ledger.RevisionRef) (rows []ledger.EvidenceRow, err error) {
	err = u.read(func(s *Store) {
		for _, ref := range refs {
			rows = append(rows, s.evidence[ref]...)
		}
	})
	return rows, err
}

// Commit implements worker.Unit.
func (u *unit) Commit(_ context.Context, changes ledger.Changes) error {
	if u.closed {
		return errClosed
	}
	defer u.end()
	u.store.mu.Lock()
	defer u.store.mu.Unlock()
	if err := u.store.apply(u.partition, changes); err != nil {
		return fmt.Errorf("write a unit of work on partition %d: %w", u.partition.state.Partition, err)
	}
	return nil
}

// Rollback implements worker.Unit.
func (u *unit) Rollback(context.Context) { u.end() }

// end releases the partition's lock, once.
func (u *unit) end() {
	if !u.closed {
		u.closed = true
		u.partition.lock <- struct{}{}
	}
}
