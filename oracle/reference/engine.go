// Package reference is the naive oracle engine: row by row, maps and big integers, with a decoder of its own. It is the
// judge of the judge, so it is written to be read beside the contract (S3-S5) and makes no attempt to be fast. It
// shares no code with the worker or with the columnar engine. It is pure but for the history it is given.
package reference

import (
	"context"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
)

// Engine is the engine named reference. The zero value is ready; it is stateless and safe for concurrent use.
type Engine struct{}

var _ engine.Engine = Engine{}

// Name returns "reference".
func (Engine) Name() string { return "reference" }

// Compute implements engine.Engine: every record is decoded and put where the contract puts it, then every key is
// projected from its transactions.
func (Engine) Compute(ctx context.Context, ns *manifests.Namespace, history engine.History) (*projection.Projection, error) {
	ledger := newLedger(ns)
	for record, err := range history(ctx) {
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ledger.observe(record)
	}
	return ledger.project(), nil
}
