package verify_test

import (
	"context"
	"iter"

	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/verify"
)

// viewPort is the view with something that happens between two of its statements.
type viewPort struct {
	verify.View
	afterBalances func()
	// unordered keeps the way of reading in any order.
	unordered bool
}

// Snapshot implements verify.View.
func (v viewPort) Snapshot(ctx context.Context, a *verify.Applied, read func(verify.ViewSnapshot) error) error {
	return v.View.Snapshot(ctx, a, func(s verify.ViewSnapshot) error {
		torn := tornSnapshot{s, v.afterBalances}
		if v.unordered {
			return read(tornUnordered{torn, s.(verify.Unordered)})
		}
		return read(torn)
	})
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

// tornUnordered is a tornSnapshot that is read in any order.
type tornUnordered struct {
	tornSnapshot
	facts verify.Unordered
}

// AllBalances implements verify.Unordered.
func (s tornUnordered) AllBalances(ctx context.Context) iter.Seq2[compare.Fact, error] {
	return func(yield func(compare.Fact, error) bool) {
		for f, err := range s.facts.AllBalances(ctx) {
			if !yield(f, err) {
				return
			}
		}
		s.afterBalances()
	}
}

// AllAlerts implements verify.Unordered.
func (s tornUnordered) AllAlerts(ctx context.Context) iter.Seq2[compare.Fact, error] {
	return s.facts.AllAlerts(ctx)
}
