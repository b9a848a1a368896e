package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/worker"
)

// rollbackTimeout bounds the courtesy of telling the server; closing the connection has the same effect.
const rollbackTimeout = 5 * time.Second

// rollback abandons a transaction, also when ctx has ended. It does nothing after a commit.
func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = tx.Rollback(ctx) // a failed rollback closes the connection, which rolls back
}

// errUnknownOutcome marks a commit that may or may not have happened (S8, SC18), of whichever stage.
var errUnknownOutcome = worker.ErrUnknownOutcome

// commit commits a transaction. An error that wraps errUnknownOutcome leaves open whether it did; after any other error
// it certainly did not: COMMIT was never sent, or the server answered that it failed or turned into a rollback.
func commit(ctx context.Context, tx pgx.Tx) error {
	err := tx.Commit(ctx)
	if err == nil {
		return nil
	}
	if certainlyNotCommitted(err) {
		return fmt.Errorf("commit: %w", err)
	}
	mark.Hit("postgres.3 commit of unknown outcome")
	return fmt.Errorf("%w: %w", errUnknownOutcome, err)
}

func certainlyNotCommitted(err error) bool {
	if errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, pgx.ErrTxClosed) || pgconn.SafeToRetry(err) {
		return true
	}
	var server *pgconn.PgError
	// A server that ends the session says so with FATAL or PANIC, and may have committed before.
	return errors.As(err, &server) && server.SeverityUnlocalized == "ERROR"
}
