// Package pgview is the judge's own view of Postgres: catalog, leases, progress, evidence and view rows, by SQL of its
// own. Of the worker's tables it reads stock_key, partition_state, relay_state, key_state, quarantine, conflict, evidence
// and owner_pending only, never its balances or authority (R23). Everything but the writer lease is read-only, and the
// session says so to the server.
package pgview

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/oracle/verify"
)

// catalogSchema is the schema of the catalog of all namespaces of one database.
const catalogSchema = "amends"

// maxConns is the size of the pool: a run reads one thing at a time, and renews its lease meanwhile.
const maxConns = 3

// SQLSTATE codes that have a meaning of their own here.
const (
	codeDenied          = "42501"
	codeReadOnly        = "25006"
	codeUndefinedTable  = "42P01"
	codeUndefinedSchema = "3F000"
)

// DB is one database: that of catalog and processing state, that of the view, or both. It implements verify.State and
// verify.View and is safe for concurrent use.
type DB struct{ pool *pgxpool.Pool }

var (
	_ verify.State = (*DB)(nil)
	_ verify.View  = (*DB)(nil)
)

// Open connects to a database by a libpq URL or keyword string and checks that it answers. No error shows a password.
func Open(ctx context.Context, url string) (*DB, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, &urlError{err}
	}
	config.MaxConns = maxConns
	for name, value := range map[string]string{
		"application_name": "amends-verify", "default_transaction_read_only": "on", "search_path": `""`,
		"row_security": "off", // rows that a policy hides are an error, and not taken for rows that are not there
		"timezone":     "UTC", "datestyle": "ISO, YMD",
	} {
		config.ConnConfig.RuntimeParams[name] = value
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	return &DB{pool: pool}, nil
}

// urlError is a database URL that cannot be read. The parser's text masks only what it recognizes as a password.
type urlError struct{ err error }

// Error implements error and shows nothing of the URL.
func (e *urlError) Error() string {
	return "the database URL is neither a readable URL nor a list of keywords and values"
}

// Unwrap returns the parser's error, whose text may show the password.
func (e *urlError) Unwrap() error { return e.err }

// Close closes the connections.
func (d *DB) Close() { d.pool.Close() }

// table is a table of a schema as a quoted SQL identifier.
func table(schema, name string) string { return pgx.Identifier{schema, name}.Sanitize() }

// sqlState is the code of a server error, empty for any other error.
func sqlState(err error) string {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Code
	}
	return ""
}

// denied says whether the role, or its session, lacks the right.
func denied(err error) bool {
	code := sqlState(err)
	return code == codeDenied || code == codeReadOnly
}

// absent says whether a table or its schema does not exist.
func absent(err error) bool {
	code := sqlState(err)
	return code == codeUndefinedTable || code == codeUndefinedSchema
}

// snapshot runs read in one read-only REPEATABLE READ transaction: all of its statements see one state.
func (d *DB) snapshot(ctx context.Context, read func(tx pgx.Tx) error) error {
	tx, err := d.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return fmt.Errorf("begin a snapshot: %w", err)
	}
	// It only read; ending it any other way would change nothing.
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	return read(tx)
}
