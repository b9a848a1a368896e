package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
)

// probeUnit is a unit of work that never commits.
type probeUnit struct{ *workerUnit }

// Probe implements worker.Prober.
func (s *WorkerStore) Probe(ctx context.Context, partition int32, epoch, frontier int64) (worker.Unit, error) {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: s.isolation})
	if err != nil {
		return nil, fmt.Errorf("look into partition %d: %w", partition, err)
	}
	unit := &workerUnit{tx: tx, topicID: s.topicID, partition: partition, epoch: epoch, frontier: frontier}
	if err := unit.lock(ctx); err != nil && !errors.Is(err, errStopped) {
		rollback(ctx, tx)
		return nil, fmt.Errorf("look into partition %d: %w", partition, err)
	}
	return probeUnit{unit}, nil
}

// Commit writes everything and rolls it back.
func (u probeUnit) Commit(ctx context.Context, c ledger.Changes) error {
	defer rollback(ctx, u.tx)
	return u.write(ctx, &c)
}

// viewProbe is a unit of work of the view that never commits.
type viewProbe struct{ *viewUnit }

// Probe implements view.Prober.
func (s *ViewStore) Probe(ctx context.Context, partition int32) (view.Unit, int64, error) {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return nil, 0, fmt.Errorf("look into output partition %d: %w", partition, err)
	}
	next, err := s.lock(ctx, tx, partition)
	var stopped *view.StoppedError
	if errors.As(err, &stopped) {
		// The position is at the offending record, or, after a bug, at the start of the fetch.
		const sql = `SELECT next_offset FROM view_progress WHERE partition = $1`
		err = tx.QueryRow(ctx, sql, partition).Scan(&next)
		if err == nil {
			// Its own violation would stand in the way of writing another one.
			_, err = tx.Exec(ctx, `DELETE FROM protocol_violation WHERE partition = $1`, partition)
		}
	}
	if err != nil {
		rollback(ctx, tx)
		return nil, 0, fmt.Errorf("look into output partition %d: %w", partition, err)
	}
	return viewProbe{&viewUnit{tx: tx, partition: partition, next: next}}, next, nil
}

// Commit writes everything and rolls it back.
func (u viewProbe) Commit(ctx context.Context, c view.Changes) error {
	defer rollback(ctx, u.tx)
	return classify(u.write(ctx, c))
}

var (
	_ worker.Prober = (*WorkerStore)(nil)
	_ view.Prober   = (*ViewStore)(nil)
)
