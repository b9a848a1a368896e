package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/postgres"
)

// rollbackTimeout bounds the courtesy of telling the server; closing the connection has the same effect.
const rollbackTimeout = 5 * time.Second

// unit is one transaction on a connection of its own.
type unit struct {
	conn *pgxpool.Conn
	// numbers are the owner_no of the owners that exist.
	numbers map[string]int64
	// blocks are drawn and not used up, in ascending order; each is its last number. used is how much of the first is.
	blocks []int64
	used   int64
	// effects are the seq of the effects that were read.
	effects map[effectKey]int64
}

// blockSize is how many numbers one value of the sequence stands for.
const blockSize = 1000

type effectKey struct{ ownerID, effectID string }

// attempt is one transaction.
func (s *Store) attempt(ctx context.Context, wanted []owner.Wanted, decide func(*owner.Group)) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Release() // which closes a connection that is still inside a transaction
	u := &unit{conn: conn, numbers: map[string]int64{}, effects: map[effectKey]int64{}}
	loaded, err := u.load(ctx, wanted)
	if err != nil {
		u.rollback(ctx)
		return fmt.Errorf("read %d owners: %w", len(wanted), postgres.ClassifyFault(err))
	}
	group := owner.NewGroup(loaded...)
	decide(group)
	changes := group.Changes()
	if len(changes) == 0 {
		u.rollback(ctx)
		return nil
	}
	batch := &pgx.Batch{}
	if err := u.queue(batch, changes); err != nil {
		u.rollback(ctx)
		return err
	}
	err = u.write(ctx, batch)
	switch {
	case err == nil:
		return nil
	case postgres.NotCommitted(err):
		u.rollback(ctx)
		return fmt.Errorf("write %d owners: %w", len(changes), postgres.ClassifyFault(err))
	default:
		mark.Hit("R29 commit of unknown outcome")
		return fmt.Errorf("write %d owners: %w: %w", len(changes), owner.ErrUnknownOutcome, err)
	}
}

// rollback abandons the transaction, also when ctx has ended.
func (u *unit) rollback(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_, _ = u.conn.Exec(ctx, `rollback`) // after a failure the connection is closed, which rolls back
}

// write sends what was queued and the commit in one round trip. An error for which postgres.NotCommitted is true, and only
// one, says that nothing was written.
func (u *unit) write(ctx context.Context, batch *pgx.Batch) error {
	var answer pgconn.CommandTag
	batch.Queue(`commit`).Exec(func(tag pgconn.CommandTag) error {
		answer = tag
		return nil
	})
	if err := u.conn.SendBatch(ctx, batch).Close(); err != nil {
		return err
	}
	if answer.String() != "COMMIT" { // of a transaction that failed before (B037)
		return pgx.ErrTxCommitRollback
	}
	return nil
}

// draw takes the next number.
func (u *unit) draw() (int64, error) {
	if u.used == blockSize {
		u.blocks, u.used = u.blocks[1:], 0
	}
	if len(u.blocks) == 0 {
		return 0, invariant.Violated("more rows to write than identities that were asked for")
	}
	u.used++
	return u.blocks[0] - blockSize + u.used, nil
}

// rowsAtMost is how many numbers the rows of a transaction can need: each owner one for itself and one for its latest
// value, each identity one.
func rowsAtMost(wanted []owner.Wanted) int {
	n := 2 * len(wanted)
	for i := range wanted {
		n += len(wanted[i].InboxIDs) + len(wanted[i].EffectIDs) + len(wanted[i].ReceiptIDs)
	}
	return n
}

// ownerIDs are the wanted owners.
func ownerIDs(wanted []owner.Wanted) []string {
	ids := make([]string, len(wanted))
	for i := range wanted {
		ids[i] = wanted[i].OwnerID
	}
	return slices.Compact(ids)
}
