package pgview

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/oracle/explain"
	"amends.dev/amends/oracle/verify"
)

// KeyFacts reads what the view holds of one stock key, withdrawn facts too, in the order status, balances, alerts, and by
// day; and the view's exclusive frontiers by output partition at that very moment. The facts are never nil.
func (d *DB) KeyFacts(ctx context.Context, a *verify.Applied, name explain.Name) ([]explain.Fact, []int64, error) {
	facts := []explain.Fact{}
	var at []int64
	err := d.snapshot(ctx, func(tx pgx.Tx) error {
		var err error
		if at, err = frontiers(ctx, tx, a); err != nil {
			return err
		}
		for fact, err := range stream(ctx, tx, "the view's facts of one key", scanFact, keyFacts(a.ViewSchema), name.Item, name.Location) {
			if err != nil {
				return err
			}
			facts = append(facts, fact)
		}
		return nil
	})
	return facts, at, err
}

// keyFacts is the statement that reads everything about one key from the base tables.
func keyFacts(schema string) string {
	key := ` JOIN ` + table(schema, "stock_key") + ` k USING (key_id) WHERE k.item = $1 AND k.location = $2`
	return `SELECT family, ` + day + `, version, present, close, threshold, status, txns, revisions FROM (
			SELECT 0 AS position, 'status' AS family, NULL::date AS day, version, true AS present, NULL::bigint AS close, NULL::bigint AS threshold,
				status, conflict_txns AS txns, conflict_revisions AS revisions FROM ` + table(schema, "key_status") + key + `
			UNION ALL SELECT 1, 'balance', day, version, present, close, NULL, '', '{}', '{}' FROM ` + table(schema, "balance") + key + `
			UNION ALL SELECT 2, 'alert', day, version, present, close, threshold, '', '{}', '{}' FROM ` + table(schema, "alert") + key + `
		) AS f ORDER BY position, f.day`
}

// scanFact reads one row. A withdrawn fact has no values, whatever its guard remembers.
func scanFact(rows pgx.Rows, f *explain.Fact) error {
	var of *string
	var txns []string
	var revisions []int64
	if err := rows.Scan(&f.Family, &of, &f.Version, &f.Present, &f.Close, &f.Threshold, &f.Status, &txns, &revisions); err != nil {
		return err
	}
	if of != nil {
		f.Day = *of
	}
	if !f.Present {
		f.Close, f.Threshold = nil, nil
	}
	if len(txns) != len(revisions) {
		return fmt.Errorf("a status has %d transactions with %d revisions", len(txns), len(revisions))
	}
	for i, txn := range txns {
		f.Conflicts = append(f.Conflicts, explain.Cause{TxnID: txn, Revision: revisions[i]})
	}
	return nil
}
