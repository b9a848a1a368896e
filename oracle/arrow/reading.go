package arrow

import (
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
)

var _ engine.Reader = Engine{}

// Decoder implements engine.Reader: the decoder of package decode, whose rows become columns.
func (Engine) Decoder() string { return "columnar" }

// Reading implements engine.Reader.
func (Engine) Reading(ns *manifests.Namespace) func(engine.Record) (engine.Transaction, bool) {
	decoder := decode.New(ns)
	return func(r engine.Record) (engine.Transaction, bool) {
		t, reason := decoder.Decode(r.Partition, r.Key, r.Value)
		if reason != decode.Accepted {
			return engine.Transaction{}, false
		}
		key := ns.Spec.StockKeys[t.Key]
		return engine.Transaction{
			Item: key.Item, Location: key.Location, TxnID: string(t.TxnID), Revision: t.Revision,
			Kind: t.Kind.String(), ValidTime: t.ValidTime, Qty: t.Qty,
		}, true
	}
}
