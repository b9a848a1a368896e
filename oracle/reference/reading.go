package reference

import (
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/engine"
)

var _ engine.Reader = Engine{}

// Decoder implements engine.Reader: this package's own.
func (Engine) Decoder() string { return "reference" }

// Reading implements engine.Reader.
func (Engine) Reading(ns *manifests.Namespace) func(engine.Record) (engine.Transaction, bool) {
	ledger := newLedger(ns)
	return func(r engine.Record) (engine.Transaction, bool) {
		t, reason := ledger.decode(r.Partition, r.Key, r.Value)
		return engine.Transaction{
			Item: t.item, Location: t.location, TxnID: t.txnID, Revision: t.revision,
			Kind: t.kind, ValidTime: t.validTime, Qty: t.qty,
		}, reason == ""
	}
}
