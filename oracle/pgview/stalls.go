package pgview

import (
	"context"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/oracle/verify"
)

// stallTerm is how long a stall counts that a process reported: they repeat theirs every few seconds.
const stallTerm = "15 seconds"

// Stalls implements verify.Stalls.
func (d *DB) Stalls(ctx context.Context, a *verify.Applied) (stalls []verify.Stall, err error) {
	sql := `SELECT stage, partition, frontier, reason, attempts FROM ` + table(a.StateSchema, "stall") + `
		WHERE reported_at > now() - interval '` + stallTerm + `' AND stage IN ('worker', 'relay', 'view') ORDER BY stage, partition, since, process`
	scan := func(rows pgx.Rows, s *verify.Stall) error {
		return rows.Scan(&s.Phase, &s.Partition, &s.Frontier, &s.Reason, &s.Attempts)
	}
	for s, err := range stream(ctx, d.pool, "the stalls", scan, sql) {
		if err != nil {
			return nil, err
		}
		stalls = append(stalls, s)
	}
	return stalls, nil
}
