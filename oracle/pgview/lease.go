package pgview

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/verify"
)

var _ verify.Writers = (*DB)(nil)

// Lease implements verify.State. Whether a lease has expired is judged by the database's clock.
func (d *DB) Lease(ctx context.Context, sourceTopicID string) (boundary.Lease, error) {
	var l boundary.Lease
	sql := `SELECT holder, term, stop_requested, NOT released AND expires_at > now() FROM ` +
		table(catalogSchema, "writer_lease") + ` WHERE source_topic_id = $1`
	err := d.pool.QueryRow(ctx, sql, sourceTopicID).Scan(&l.Holder, &l.Term, &l.StopRequested, &l.Held)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return boundary.Lease{}, nil
	case denied(err):
		return boundary.Lease{Unreadable: true}, nil
	case err != nil:
		return l, fmt.Errorf("read the writer lease: %w", err)
	}
	return l, nil
}

// RequestStop implements verify.State; it needs the verifier role's right to update writer_lease.
func (d *DB) RequestStop(ctx context.Context, sourceTopicID string, term int64) error {
	return d.write(ctx, "ask the writer to stop", `UPDATE `+table(catalogSchema, "writer_lease")+
		` SET stop_requested = true WHERE source_topic_id = $1 AND term = $2 AND NOT released`, sourceTopicID, term)
}

// Acquire implements verify.Writers; it needs the verifier role's rights to insert into and update writer_lease. The clock
// is read after the wait for the row's lock.
func (d *DB) Acquire(ctx context.Context, sourceTopicID, holder string, ttl time.Duration) error {
	return d.write(ctx, "take the writer lease", `INSERT INTO `+table(catalogSchema, "writer_lease")+` AS l
			(source_topic_id, holder, term, expires_at)
		VALUES ($1, $2, 1, clock_timestamp() + $3::bigint * interval '1 microsecond')
		ON CONFLICT (source_topic_id) DO UPDATE SET holder = excluded.holder, term = l.term + 1, stop_requested = false,
			released = false, expires_at = clock_timestamp() + $3::bigint * interval '1 microsecond'
		WHERE l.released OR l.expires_at <= clock_timestamp() OR l.holder = excluded.holder`,
		sourceTopicID, holder, ttl.Microseconds())
}

// Renew implements verify.Writers.
func (d *DB) Renew(ctx context.Context, sourceTopicID, holder string, ttl time.Duration) error {
	return d.write(ctx, "renew the writer lease", `UPDATE `+table(catalogSchema, "writer_lease")+`
		SET expires_at = clock_timestamp() + $3::bigint * interval '1 microsecond'
		WHERE source_topic_id = $1 AND holder = $2 AND NOT released`, sourceTopicID, holder, ttl.Microseconds())
}

// Release implements verify.Writers.
func (d *DB) Release(ctx context.Context, sourceTopicID, holder string) error {
	return d.write(ctx, "release the writer lease", `UPDATE `+table(catalogSchema, "writer_lease")+
		` SET released = true WHERE source_topic_id = $1 AND holder = $2`, sourceTopicID, holder)
}

// write runs one writing statement; its error wraps verify.ErrDenied where the role lacks the right.
func (d *DB) write(ctx context.Context, what, sql string, args ...any) error {
	err := pgx.BeginTxFunc(ctx, d.pool, pgx.TxOptions{AccessMode: pgx.ReadWrite}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql, args...)
		return err
	})
	if denied(err) {
		return fmt.Errorf("%s: %w: %w", what, verify.ErrDenied, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Pending implements verify.Writers. The effects of intake that lead to the source topic are those of these kinds.
func (d *DB) Pending(ctx context.Context, a *verify.Applied) (*boundary.Pending, error) {
	sql := `SELECT count(*), coalesce((array_agg(effect_id ORDER BY seq))[1], '') FROM ` +
		table(a.StateSchema, "owner_pending") + ` WHERE kind IN ('intake', 'intake-publish')`
	p := &boundary.Pending{}
	err := d.pool.QueryRow(ctx, sql).Scan(&p.Count, &p.First)
	switch {
	case absent(err):
		return nil, nil
	case denied(err):
		return &boundary.Pending{Unreadable: true}, nil
	case err != nil:
		return nil, fmt.Errorf("read the pending effects of intake: %w", err)
	}
	return p, nil
}
