package postgres

import (
	"context"
	_ "embed" // the SQL text
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed sql/delete/growth.sql
var growthSQL string

// countTimeout bounds counting the rows of one table: a status is read often. Above it Postgres's estimate has to do.
const countTimeout = 500 * time.Millisecond

// Growth is how much of a database something takes that is never collected (S11).
type Growth struct {
	// Part is outbox, evidence, requests or view.
	Part string `json:"part"`
	// Rows counts table rows: an outbox row holds many envelopes.
	Rows int64 `json:"rows"`
	// Bytes is the size on disk, indexes included.
	Bytes int64 `json:"bytes"`
	// Estimated says that some of the tables are too large to count quickly, and Rows is Postgres's estimate of them.
	Estimated bool `json:"estimated"`
}

// The tables of each part.
var (
	outboxTables   = []string{"outbox", "receipt"}
	evidenceTables = []string{"authority", "evidence", "conflict", "quarantine"}
	requestTables  = []string{
		"owner", "owner_event", "owner_snapshot", "owner_inbox", "owner_effect", "owner_pending", "owner_receipt", "owner_latest",
	}
	viewTables = []string{"balance", "alert", "key_status"}
)

// ReadStateGrowth returns the sizes of outbox (with its receipts), evidence (with authority, conflicts and quarantine) and
// requests (the owners: what the intake keeps, and the steps of administrative work), over a pool whose search_path is a namespace's state schema.
func ReadStateGrowth(ctx context.Context, pool *Pool) ([]Growth, error) {
	outbox, err := readGrowth(ctx, pool, "outbox", outboxTables)
	if err != nil {
		return nil, err
	}
	evidence, err := readGrowth(ctx, pool, "evidence", evidenceTables)
	if err != nil {
		return nil, err
	}
	requests, err := readGrowth(ctx, pool, "requests", requestTables)
	return []Growth{outbox, evidence, requests}, err
}

// ReadViewGrowth returns the size of the view, withdrawn rows included, over a pool whose search_path is its schema.
func ReadViewGrowth(ctx context.Context, pool *Pool) (Growth, error) {
	return readGrowth(ctx, pool, "view", viewTables)
}

func readGrowth(ctx context.Context, pool *Pool, part string, tables []string) (Growth, error) {
	g := Growth{Part: part}
	for _, table := range tables {
		var bytes, rows int64
		if err := pool.QueryRow(ctx, growthSQL, table).Scan(&bytes, &rows); err != nil {
			return Growth{}, fmt.Errorf("read the size of %s: %w", table, err)
		}
		counted, err := countRows(ctx, pool, table)
		switch {
		case err == nil:
			rows = counted
		case sqlState(err) == "57014": // it took too long
			g.Estimated = true
		default:
			return Growth{}, fmt.Errorf("count the rows of %s: %w", table, err)
		}
		g.Rows, g.Bytes = g.Rows+rows, g.Bytes+bytes
	}
	return g, nil
}

// countRows counts a table's rows within countTimeout.
func countRows(ctx context.Context, pool *Pool, table string) (rows int64, err error) {
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return 0, err
	}
	defer rollback(ctx, tx)
	// All rows are wanted: here reading the table is best.
	const sql = `SELECT set_config('statement_timeout', $1, true), set_config('enable_seqscan', 'on', true)`
	if _, err := tx.Exec(ctx, sql, millis(countTimeout)); err != nil {
		return 0, err
	}
	err = tx.QueryRow(ctx, `SELECT count(*) FROM `+quote(table)).Scan(&rows)
	return rows, err
}
