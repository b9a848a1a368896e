// Package memory is a rebuild.Store over any worker.Store, for simulations and tests: it collects what is loaded and
// commits it as one unit of work.
package memory

import (
	"context"
	"fmt"
	"iter"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/rebuild"
	"amends.dev/amends/stages/worker"
)

// Store implements rebuild.Store.
type Store struct {
	// Worker is the state that is loaded.
	Worker worker.Store
}

var _ rebuild.Store = Store{}

// noGeneration is below that of any consumer group.
const noGeneration = -1

// State implements rebuild.Store.
func (s Store) State(ctx context.Context, partition int32) (rebuild.State, error) {
	p, err := s.Worker.PartitionState(ctx, partition)
	return rebuild.State{Epoch: p.Epoch, NextOffset: p.NextOffset, Member: p.Member, Stopped: p.Stop != nil}, err
}

// Load implements rebuild.Store. Epoch and content are two steps here.
func (s Store) Load(ctx context.Context, load rebuild.Load) error {
	changes, err := collect(&load)
	if err != nil {
		return err
	}
	state, err := s.State(ctx, load.Partition)
	if err != nil {
		return err
	}
	if state.Epoch != 0 || state.NextOffset != 0 || state.Stopped {
		return fmt.Errorf("%w: epoch %d, frontier %d", rebuild.ErrNotEmpty, state.Epoch, state.NextOffset)
	}
	installed, err := s.Worker.InstallEpoch(ctx, worker.Installation{
		Partition: load.Partition, Member: load.Member, Generation: noGeneration, TakeOver: true,
	})
	if err != nil {
		return err
	}
	unit, err := s.Worker.Begin(ctx, load.Partition, installed.Epoch, 0)
	if err != nil {
		return err
	}
	defer unit.Rollback(ctx)
	return unit.Commit(ctx, changes)
}

// collect reads every sequence to its end.
func collect(load *rebuild.Load) (ledger.Changes, error) {
	c := ledger.Changes{NextOffset: load.NextOffset, Accepted: load.Accepted, Rejected: load.Rejected}
	var errs [7]error
	c.NewAuthority, errs[0] = all(load.Authority)
	c.Evidence, errs[1] = all(load.Evidence)
	c.Conflicts, errs[2] = all(load.Conflicts)
	c.NewDays, errs[3] = all(load.Days)
	c.Keys, errs[4] = all(load.Keys)
	c.Quarantine, errs[5] = all(load.Quarantine)
	c.Envelopes, errs[6] = all(load.Envelopes)
	for _, err := range errs {
		if err != nil {
			return c, err
		}
	}
	return c, nil
}

func all[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var rows []T
	for row, err := range seq {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}
