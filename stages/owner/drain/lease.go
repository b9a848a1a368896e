package drain

import (
	"context"
	"time"

	"amends.dev/amends/stages/relay"
)

// Lease is the lease under which effects are drained, for the intake the writer lease of its source topic (R22). The
// methods are those of relay.Outbox.
type Lease interface {
	// Acquire takes the lease or renews it, or says who holds it.
	Acquire(ctx context.Context, holder string, ttl time.Duration) (relay.Grant, error)
	// Release gives it up.
	Release(ctx context.Context, holder string, term int64) error
}

// Kept is a lease that somebody else in this process takes, renews and releases. holding returns its term, at least 1,
// and for how long it is surely still this process's; a term of 0 where it is not. Where it is not, the error is nil if
// another is known to have it, or it was given up; an error that wraps fault.ErrUntried says that nobody knows. The relay's
// lease time must be less than what is left at the moment of a renewal.
func Kept(holding func() (term int64, left time.Duration, err error)) Lease { return kept(holding) }

type kept func() (int64, time.Duration, error)

// Acquire implements Lease.
func (k kept) Acquire(_ context.Context, _ string, ttl time.Duration) (relay.Grant, error) {
	term, left, err := k()
	if term < 1 || left < ttl {
		return relay.Grant{Term: term, Remaining: ttl}, err
	}
	return relay.Grant{Held: true, Term: term}, nil
}

// Release implements Lease. The lease is not this one's to give up.
func (kept) Release(context.Context, string, int64) error { return nil }
