package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/view"
)

// ViewIdentity is what a view schema must belong to before anything is written to it (R18, SC28).
type ViewIdentity struct {
	// Namespace and Digest are the namespace's name and namespace digest (R02).
	Namespace, Digest string
	// OutputTopicID is the ID of the output topic whose positions the view keeps.
	OutputTopicID string
}

// ViewStore implements view.Store over the view schema of one namespace (S7, R18). It is safe for concurrent use.
type ViewStore struct {
	pool     *pgxpool.Pool
	identity ViewIdentity
}

// NewViewStore returns the store over a pool whose search_path is the namespace's view schema. The identity is compared
// in every unit of work, so a view that was applied anew under a running process is refused.
func NewViewStore(pool *pgxpool.Pool, identity ViewIdentity) *ViewStore {
	return &ViewStore{pool: pool, identity: identity}
}

var _ view.Store = (*ViewStore)(nil)

// Position implements view.Store.
func (s *ViewStore) Position(ctx context.Context, partition int32) (int64, error) {
	unit, err := s.begin(ctx, partition)
	if err != nil {
		return 0, err
	}
	unit.Rollback(ctx)
	return unit.next, nil
}

// Begin implements view.Store.
func (s *ViewStore) Begin(ctx context.Context, partition int32, expected int64) (view.Unit, error) {
	unit, err := s.begin(ctx, partition)
	if err != nil {
		return nil, err
	}
	if unit.next != expected {
		unit.Rollback(ctx)
		return nil, fmt.Errorf("it is at %d, not %d: %w", unit.next, expected, view.ErrMoved)
	}
	return unit, nil
}

// begin opens a transaction that holds the partition's row lock.
func (s *ViewStore) begin(ctx context.Context, partition int32) (*viewUnit, error) {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	unit := &viewUnit{tx: tx, partition: partition}
	if unit.next, err = s.lock(ctx, tx, partition); err != nil {
		rollback(ctx, tx)
		return nil, fmt.Errorf("begin: %w", err)
	}
	return unit, nil
}

// lock takes the row lock and checks, under it, what the view belongs to and whether the partition stopped.
func (s *ViewStore) lock(ctx context.Context, tx pgx.Tx, partition int32) (next int64, err error) {
	var stopped bool
	var found ViewIdentity
	row := tx.QueryRow(ctx, viewLockSQL, partition)
	switch err = row.Scan(&next, &stopped, &found.Namespace, &found.Digest, &found.OutputTopicID); {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, fmt.Errorf("the view has no such partition: %w", view.ErrWrongView)
	case err != nil:
		return 0, classify(err)
	case found != s.identity:
		return 0, fmt.Errorf("it holds %+v, expected %+v: %w", found, s.identity, view.ErrWrongView)
	case !stopped:
		return next, nil
	}
	stop := &view.StoppedError{Partition: partition}
	// A statement of its own, so that it sees what was committed while this one waited for the lock.
	if err = tx.QueryRow(ctx, viewViolationSQL, partition).Scan(&stop.Offset, &stop.Reason, &stop.Detail); err != nil {
		return 0, fmt.Errorf("read why it stopped: %w", classify(err))
	}
	return 0, stop
}

// viewUnit implements view.Unit: one transaction that holds its partition's row lock.
type viewUnit struct {
	tx        pgx.Tx
	partition int32
	next      int64
}

// Rollback implements view.Unit.
func (u *viewUnit) Rollback(ctx context.Context) { rollback(ctx, u.tx) }

// Guards implements view.Unit, in at most one statement for each family.
func (u *viewUnit) Guards(ctx context.Context, ids []view.ID) (map[view.ID]view.Guard, error) {
	keys, days := map[view.Family][]int32{}, map[view.Family][]int32{}
	for _, id := range ids {
		keys[id.Family] = append(keys[id.Family], id.KeyID)
		days[id.Family] = append(days[id.Family], id.Day)
	}
	guards := make(map[view.ID]view.Guard, len(ids))
	for family, keyIDs := range keys {
		args := []any{keyIDs, days[family]}
		var sql string
		switch family {
		case view.FamilyBalance:
			sql = viewGuardBalanceSQL
		case view.FamilyAlert:
			sql = viewGuardAlertSQL
		case view.FamilyStatus:
			sql, args = viewGuardStatusSQL, args[:1]
		}
		rows, err := readRows(ctx, u.tx, scanGuard, sql, args...)
		if err != nil {
			return nil, fmt.Errorf("read %s guards: %w", family, err)
		}
		for _, row := range rows {
			row.id.Family = family
			guards[row.id] = row.guard
		}
	}
	return guards, nil
}

type guardRow struct {
	id    view.ID
	guard view.Guard
}

func scanGuard(rows pgx.Rows, g *guardRow) error {
	var content []byte
	if err := rows.Scan(&g.id.KeyID, &g.id.Day, &g.guard.Version, &content); err != nil {
		return err
	}
	if len(content) != len(g.guard.Content) {
		return invariant.Violated("content of key %d, day %d is %d bytes", g.id.KeyID, g.id.Day, len(content))
	}
	copy(g.guard.Content[:], content)
	return nil
}
