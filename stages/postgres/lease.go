package postgres

import (
	"context"
	_ "embed" // the SQL text
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/stages/generate"
)

// The writer lease's statements.
var (
	//go:embed sql/lease/acquire.sql
	leaseAcquireSQL string
	//go:embed sql/lease/renew.sql
	leaseRenewSQL string
	//go:embed sql/lease/stop_requested.sql
	leaseStopRequestedSQL string
	//go:embed sql/lease/release.sql
	leaseReleaseSQL string
	//go:embed sql/lease/list.sql
	leaseListSQL string
	//go:embed sql/lease/request_stop.sql
	leaseRequestStopSQL string
)

// WriterLease implements generate.Lease on the table amends.writer_lease, keyed by source topic ID (R22). Expiry is
// judged and set by the database's clock. It is used by one goroutine.
type WriterLease struct {
	pool            *Pool
	topicID, holder string
	term            int64
}

// NewWriterLease returns a lease that is not yet acquired, over a pool whose search_path is CatalogSchema. No two
// processes ever share a holder.
func NewWriterLease(pool *Pool, sourceTopicID, holder string) *WriterLease {
	return &WriterLease{pool: pool, topicID: sourceTopicID, holder: holder}
}

var _ generate.Lease = (*WriterLease)(nil)

// Term is that of the last acquisition, which rises with each, whoever acquires; 0 before the first.
func (l *WriterLease) Term() int64 { return l.term }

// Acquire implements generate.Lease.
func (l *WriterLease) Acquire(ctx context.Context, ttl time.Duration) error {
	err := l.pool.QueryRow(ctx, leaseAcquireSQL, l.topicID, l.holder, ttl.Microseconds()).Scan(&l.term)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("source topic %s: %w%s", l.topicID, generate.ErrLeaseHeld, l.other(ctx))
	}
	if err != nil {
		return fmt.Errorf("acquire the writer lease of source topic %s: %w", l.topicID, err)
	}
	return nil
}

// other names the holder that is in the way, as far as it can be told.
func (l *WriterLease) other(ctx context.Context) string {
	rows, err := WriterLeases(ctx, l.pool, l.topicID)
	if err != nil || len(rows) != 1 {
		return ""
	}
	return fmt.Sprintf(": %s, for another %s", rows[0].Holder, rows[0].Remaining.Round(time.Second))
}

// Renew implements generate.Lease.
func (l *WriterLease) Renew(ctx context.Context, ttl time.Duration) error {
	tag, err := l.pool.Exec(ctx, leaseRenewSQL, l.topicID, l.holder, l.term, ttl.Microseconds())
	if err != nil {
		return fmt.Errorf("renew the writer lease of source topic %s: %w", l.topicID, err)
	}
	if tag.RowsAffected() == 0 {
		return l.lost()
	}
	return nil
}

// StopRequested implements generate.Lease.
func (l *WriterLease) StopRequested(ctx context.Context) (bool, error) {
	var requested bool
	err := l.pool.QueryRow(ctx, leaseStopRequestedSQL, l.topicID, l.holder, l.term).Scan(&requested)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, l.lost()
	}
	if err != nil {
		return false, fmt.Errorf("look at the writer lease of source topic %s: %w", l.topicID, err)
	}
	return requested, nil
}

// Release implements generate.Lease.
func (l *WriterLease) Release(ctx context.Context) error {
	if _, err := l.pool.Exec(ctx, leaseReleaseSQL, l.topicID, l.holder, l.term); err != nil {
		return fmt.Errorf("release the writer lease of source topic %s: %w", l.topicID, err)
	}
	return nil
}

func (l *WriterLease) lost() error {
	return fmt.Errorf("source topic %s: %w", l.topicID, generate.ErrLeaseLost)
}

// WriterLeaseRow is a writer lease as everybody sees it.
type WriterLeaseRow struct {
	// SourceTopicID is the topic whose writers it excludes.
	SourceTopicID string
	// Holder is who has or had it, under Term, which rises with every acquisition.
	Holder string
	Term   int64
	// StopRequested says that the holder was asked to stop and release.
	StopRequested bool
	// Released says that the holder gave it up; Held, that it did not and the lease still runs, for Remaining.
	Released, Held bool
	Remaining      time.Duration
}

// WriterLeases lists the lease of one source topic ID, or all leases where it is empty. The pool's search_path is
// CatalogSchema.
func WriterLeases(ctx context.Context, pool *Pool, sourceTopicID string) ([]WriterLeaseRow, error) {
	rows, err := readRows(ctx, pool, func(rows pgx.Rows, r *WriterLeaseRow) error {
		var micros int64
		err := rows.Scan(&r.SourceTopicID, &r.Holder, &r.Term, &r.StopRequested, &r.Released, &r.Held, &micros)
		r.Remaining = time.Duration(micros) * time.Microsecond
		return err
	}, leaseListSQL, sourceTopicID)
	if err != nil {
		return nil, fmt.Errorf("list writer leases: %w", err)
	}
	return rows, nil
}

// leasePoll is the pause between two looks at a lease that is awaited.
const leasePoll = 100 * time.Millisecond

// StopWriter asks the holder of a source topic's writer lease to stop, and waits until the lease is released or has
// expired (R22). It returns at once where nobody holds it. When ctx ends first the error names the holder.
func StopWriter(ctx context.Context, pool *Pool, sourceTopicID string) error {
	for {
		rows, err := WriterLeases(ctx, pool, sourceTopicID)
		if err != nil {
			return err
		}
		if len(rows) == 0 || !rows[0].Held {
			return nil
		}
		if !rows[0].StopRequested {
			if _, err := pool.Exec(ctx, leaseRequestStopSQL, sourceTopicID, rows[0].Term); err != nil {
				return fmt.Errorf("ask writer %s to stop: %w", rows[0].Holder, err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("writer %s of source topic %s still holds its lease: %w", rows[0].Holder, sourceTopicID, ctx.Err())
		case <-time.After(leasePoll):
		}
	}
}
