package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/stages/ledger"
)

// workerUnit implements worker.Unit: one transaction that holds its partition's row lock.
type workerUnit struct {
	tx        pgx.Tx
	topicID   string
	partition int32
	epoch     int64
	frontier  int64
	// outboxNext is the next outbox sequence, as read under the lock (B052).
	outboxNext int64
}

// Keys implements worker.Unit, in two statements.
func (u *workerUnit) Keys(ctx context.Context, keyIDs []int32) ([]ledger.KeyRow, []ledger.DayRow, error) {
	keys, err := readRows(ctx, u.tx, scanKey, workerKeysSQL, keyIDs)
	if err != nil {
		return nil, nil, fmt.Errorf("read key status: %w", err)
	}
	days, err := readRows(ctx, u.tx, scanDay, workerDaysSQL, keyIDs)
	if err != nil {
		return nil, nil, fmt.Errorf("read day rows: %w", err)
	}
	return keys, days, nil
}

// Authority implements worker.Unit, in one statement.
func (u *workerUnit) Authority(ctx context.Context, refs []ledger.IdentityRef) ([]ledger.AuthorityRow, error) {
	keyIDs, txnIDs := make([]int32, len(refs)), make([]string, len(refs))
	for i, ref := range refs {
		keyIDs[i], txnIDs[i] = ref.KeyID, ref.TxnID
	}
	rows, err := readRows(ctx, u.tx, scanAuthority, workerAuthoritySQL, keyIDs, txnIDs)
	if err != nil {
		return nil, fmt.Errorf("read authority: %w", err)
	}
	return rows, nil
}

// KeyAuthority implements worker.Unit, in one statement.
func (u *workerUnit) KeyAuthority(ctx context.Context, keyIDs []int32) ([]ledger.AuthorityRow, error) {
	rows, err := readRows(ctx, u.tx, scanAuthority, workerKeyAuthoritySQL, keyIDs)
	if err != nil {
		return nil, fmt.Errorf("read the authority of whole keys: %w", err)
	}
	return rows, nil
}

// Evidence implements worker.Unit, in one statement.
func (u *workerUnit) Evidence(ctx context.Context, refs []ledger.RevisionRef) ([]ledger.EvidenceRow, error) {
	keyIDs, txnIDs, revisions := revisionColumns(refs)
	rows, err := readRows(ctx, u.tx, scanEvidence, workerEvidenceSQL, keyIDs, txnIDs, revisions)
	if err != nil {
		return nil, fmt.Errorf("read evidence: %w", err)
	}
	return rows, nil
}

// readRows runs a query and scans all its rows.
func readRows[T any](ctx context.Context, q querier, scan func(pgx.Rows, *T) error, sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, classify(err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var row T
		if err := scan(rows, &row); err != nil {
			return nil, err
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		return nil, classify(err)
	}
	return all, nil
}

func scanKey(rows pgx.Rows, k *ledger.KeyRow) error {
	var txns []string
	var revisions []int64
	if err := rows.Scan(&k.KeyID, &k.StatusVersion, &txns, &revisions); err != nil {
		return err
	}
	if len(txns) != len(revisions) {
		return fmt.Errorf("key %d: %d transactions and %d revisions in its reason set", k.KeyID, len(txns), len(revisions))
	}
	for i, txn := range txns {
		k.Conflicts = append(k.Conflicts, ledger.ConflictRef{TxnID: txn, Revision: revisions[i]})
	}
	return nil
}

func scanDay(rows pgx.Rows, d *ledger.DayRow) error {
	return rows.Scan(&d.KeyID, &d.Day, &d.Active, &d.Close, &d.BalanceVersion, &d.AlertVersion, &d.AlertPresent, &d.AlertClose)
}

func scanAuthority(rows pgx.Rows, a *ledger.AuthorityRow) error {
	p := &a.Payload
	return rows.Scan(&a.KeyID, &a.TxnID, &p.Revision, &p.Kind, &p.ValidTime, &p.Qty, &a.Ambiguous, &a.SourceOffset)
}

func scanEvidence(rows pgx.Rows, e *ledger.EvidenceRow) error {
	p := &e.Payload
	return rows.Scan(&e.KeyID, &e.TxnID, &p.Revision, &p.Kind, &p.ValidTime, &p.Qty, &e.SourceOffset)
}
