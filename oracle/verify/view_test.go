package verify_test

import (
	"context"
	"iter"

	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/verify"
)

// viewPort is the view with something that happens between two of its statements.
type viewPort struct {
	verify.View
	afterBalances func()
}

// Snapshot implements verify.View.
func (v viewPort) Snapshot(ctx context.Context, a *verify.Applied, read func(verify.ViewSnapshot) error) error {
	return v.View.Snapshot(ctx, a, func(s verify.ViewSnapshot) error { return read(tornSnapshot{s, v.afterBalances}) })
}

// tornSnapshot lets something happen after the balances.
type tornSnapshot struct {
	verify.ViewSnapshot
	afterBalances func()
}

// Balances implements verify.ViewSnapshot.
func (s tornSnapshot) Balances(ctx context.Context) iter.Seq2[projection.Balance, error] {
	return func(yield func(projection.Balance, error) bool) {
		for b, err := range s.ViewSnapshot.Balances(ctx) {
			if !yield(b, err) {
				return
			}
		}
		s.afterBalances()
	}
}
