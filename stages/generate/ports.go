package generate

import (
	"context"
	"errors"
	"time"
)

// ErrLeaseHeld is returned by Lease.Acquire where another writer holds the lease and it has not expired.
var ErrLeaseHeld = errors.New("another writer holds the writer lease")

// ErrLeaseLost is returned where the lease is no longer this holder's: it expired and was taken, or was taken over.
var ErrLeaseLost = errors.New("writer lease lost")

// Lease is the writer lease of one source topic, as one holder sees it (R22). Whoever writes to the topic holds it, so
// that verify can stop and await the writers. Implementations: stages/postgres on the table amends.writer_lease, and
// memory for tests. It is used by one goroutine. After an error that is neither of the above the outcome is unknown;
// every call may be repeated.
type Lease interface {
	// Acquire takes the lease for ttl under a new term, where it is free, released, expired or already this holder's. A
	// stop that was requested of an earlier holder is cleared.
	Acquire(ctx context.Context, ttl time.Duration) error
	// Renew extends the lease to ttl from now on, or returns an error wrapping ErrLeaseLost.
	Renew(ctx context.Context, ttl time.Duration) error
	// StopRequested reports whether the holder was asked to stop and release, or returns an error wrapping ErrLeaseLost.
	StopRequested(ctx context.Context) (bool, error)
	// Release gives the lease up. It does nothing where the lease is not this holder's.
	Release(ctx context.Context) error
}
