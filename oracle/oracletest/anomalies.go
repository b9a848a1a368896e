package oracletest

import (
	"bytes"
	"math"
	"slices"

	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
)

// Anomalies counts, over many histories, what makes them hard, so that a test of random ones can show that it had all of it.
type Anomalies map[string]int

// Kinds are the anomalies that histories of Mixed have, without the reasons of rejections.
var Kinds = []string{
	"exact duplicate", "duplicate in other bytes", "correction", "revision gap", "stale revision", "cancellation", "cancelled first", "revival",
	"backdated", "contradiction at the highest revision", "contradiction below it", "third payload of a revision", "resolution by a higher revision",
	"one ID on several keys", "long transaction ID", "revision above 14 bits", "quantity above 32 bits", "zero quantity", "before 1970",
	"first instant", "last instant", "null key", "null value", "empty value", "offset gap",
	"BLOCKED key", "superseded conflict", "out of domain", "alert", "negative close", "READY without a balance",
}

// reasons are those of rejections (R05).
var reasons = []string{
	"null_value", "oversized_record", "invalid_json", "duplicate_field", "wrong_type", "unknown_field", "missing_field", "invalid_txn_id",
	"revision_out_of_range", "invalid_kind", "qty_out_of_range", "cancel_nonzero_qty", "invalid_valid_time", "invalid_source_time",
	"unknown_stock_key", "before_ledger_origin", "key_mismatch", "misrouted_partition",
}

// Missing lists the kinds and reasons of rejection that did not occur.
func (a Anomalies) Missing() []string {
	var none []string
	for _, k := range append(slices.Clone(Kinds), reasons...) {
		if a[k] == 0 {
			none = append(none, k)
		}
	}
	return none
}

// See counts a history and its result.
func (a Anomalies) See(c Case, p *projection.Projection) {
	s := sight{Anomalies: a, identities: map[identity]*seen{}, latest: map[int32]int64{}, keys: map[string]int32{}, next: map[int32]int64{}}
	judge := decode.New(c.Namespace)
	for i := range c.Records {
		r := &c.Records[i]
		s.coordinates(r)
		if t, reason := judge.Decode(r.Partition, r.Key, r.Value); reason == decode.Accepted {
			s.accepted(&t, r.Value)
		} else {
			a[string(reason)]++
		}
	}
	a.result(p)
}

// identity is a transaction of a key.
type identity struct {
	key int32
	txn string
}

// seen is what was told of an identity.
type seen struct {
	highest  int64
	kind     decode.Kind // at the highest revision, the last one told
	payloads map[int64][]toldAs
}

// toldAs is a payload, with the bytes that it came in.
type toldAs struct {
	kind           decode.Kind
	validTime, qty int64
	bytes          []byte
}

// sight is one history on its way.
type sight struct {
	Anomalies
	identities map[identity]*seen
	latest     map[int32]int64 // by key, the last valid time
	keys       map[string]int32
	next       map[int32]int64
}

// when counts where something holds.
func (a Anomalies) when(holds bool, kind string) {
	if holds {
		a[kind]++
	}
}

// coordinates counts what is odd about a record before it is decoded.
func (s *sight) coordinates(r *engine.Record) {
	s.when(r.Key == nil, "null key")
	s.when(r.Value == nil, "null value")
	s.when(r.Value != nil && len(r.Value) == 0, "empty value")
	s.when(r.Offset > s.next[r.Partition], "offset gap")
	s.next[r.Partition] = r.Offset + 1
}

// accepted counts what is odd about a transaction.
func (s *sight) accepted(t *decode.Transaction, value []byte) {
	id := identity{t.Key, string(t.TxnID)}
	s.values(t)
	if other, known := s.keys[id.txn]; known && other != t.Key {
		s.when(true, "one ID on several keys")
	}
	s.keys[id.txn] = t.Key
	if last, known := s.latest[t.Key]; known && t.ValidTime < last {
		s.when(true, "backdated")
	}
	s.latest[t.Key] = max(t.ValidTime, s.latest[t.Key])
	known := s.identities[id]
	if known == nil {
		s.identities[id] = &seen{t.Revision, t.Kind, map[int64][]toldAs{t.Revision: {{t.Kind, t.ValidTime, t.Qty, value}}}}
		s.when(t.Kind == decode.KindCancel, "cancelled first")
		return
	}
	s.again(known, t, value)
}

// values counts values at their bounds.
func (s *sight) values(t *decode.Transaction) {
	s.when(len(t.TxnID) > 15, "long transaction ID")
	s.when(t.Revision >= 1<<14, "revision above 14 bits")
	s.when(int64(int32(t.Qty)) != t.Qty, "quantity above 32 bits")
	s.when(t.Qty == 0 && t.Kind != decode.KindCancel, "zero quantity")
	s.when(t.ValidTime < 0, "before 1970")
	s.when(t.ValidTime == math.MinInt64, "first instant")
	s.when(t.ValidTime == math.MaxInt64, "last instant")
}

// again counts a record of an identity that is known.
func (s *sight) again(known *seen, t *decode.Transaction, value []byte) {
	before := known.payloads[t.Revision]
	distinct, twin := 0, false
	for i, p := range before {
		first := true
		for _, q := range before[:i] {
			first = first && (q.kind != p.kind || q.validTime != p.validTime || q.qty != p.qty)
		}
		if first {
			distinct++
		}
		if p.kind == t.Kind && p.validTime == t.ValidTime && p.qty == t.Qty {
			twin = true
			s.when(bytes.Equal(p.bytes, value), "exact duplicate")
			s.when(!bytes.Equal(p.bytes, value), "duplicate in other bytes")
		}
	}
	known.payloads[t.Revision] = append(before, toldAs{t.Kind, t.ValidTime, t.Qty, value})
	if len(before) > 0 {
		s.when(!twin && t.Revision == known.highest, "contradiction at the highest revision")
		s.when(!twin && t.Revision < known.highest, "contradiction below it")
		s.when(!twin && distinct >= 2, "third payload of a revision")
		return
	}
	if t.Revision < known.highest {
		s.when(true, "stale revision")
		return
	}
	top := known.payloads[known.highest]
	for _, p := range top[1:] {
		if p.kind != top[0].kind || p.validTime != top[0].validTime || p.qty != top[0].qty {
			s.when(true, "resolution by a higher revision")
			break
		}
	}
	s.when(t.Kind == decode.KindAmend, "correction")
	s.when(t.Kind == decode.KindCancel, "cancellation")
	s.when(t.Kind != decode.KindCancel && known.kind == decode.KindCancel, "revival")
	s.when(t.Revision > known.highest+1, "revision gap")
	known.highest, known.kind = t.Revision, t.Kind
}

// result counts what a history amounts to.
func (a Anomalies) result(p *projection.Projection) {
	a["superseded conflict"] += len(p.SupersededConflicts)
	a["out of domain"] += len(p.OutOfDomain)
	a["alert"] += len(p.Alerts)
	type key struct{ item, location string }
	with := map[key]bool{}
	for _, b := range p.Balances {
		with[key{b.Item, b.Location}] = true
		a.when(b.Close < 0, "negative close")
	}
	for _, o := range p.OutOfDomain {
		with[key{o.Item, o.Location}] = true
	}
	for _, status := range p.Statuses {
		a.when(status.Status == "BLOCKED", "BLOCKED key")
		a.when(status.Status == "READY" && !with[key{status.Item, status.Location}], "READY without a balance")
	}
}
