package reference

import (
	"math/big"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
)

// stockKey is (item, location), compared by bytes (S2).
type stockKey struct{ item, location string }

// payload is what two records of one identity and revision must have in common to be duplicates (S3). The identity and
// the revision are the maps' keys; source_time is left out on purpose.
type payload struct {
	kind      string
	validTime int64
	qty       int64
}

// The history of one key: every distinct payload observed, by transaction ID and revision (S4).
type (
	payloads     map[payload]bool
	revisions    map[int64]payloads
	transactions map[string]revisions
)

// configured is what the manifest says about a key.
type configured struct {
	opening   *big.Int
	threshold int64
}

// ledger holds everything a history said.
type ledger struct {
	namespace  *manifests.Namespace
	configured map[stockKey]configured
	observed   map[stockKey]transactions
	rejections []projection.Rejection
}

// newLedger is an empty ledger.
func newLedger(ns *manifests.Namespace) *ledger {
	l := &ledger{
		namespace:  ns,
		configured: make(map[stockKey]configured),
		observed:   make(map[stockKey]transactions),
		rejections: []projection.Rejection{},
	}
	for _, k := range ns.Spec.StockKeys {
		l.configured[stockKey{k.Item, k.Location}] = configured{big.NewInt(k.OpeningBalance), k.ReorderThreshold}
	}
	return l
}

// observe puts one record into the ledger, or among the rejections.
func (l *ledger) observe(record engine.Record) {
	t, reason := l.decode(record.Partition, record.Key, record.Value)
	if reason != "" {
		l.rejections = append(l.rejections, projection.Rejection{
			Partition: record.Partition, Offset: record.Offset, Reason: reason,
		})
		return
	}
	key := stockKey{t.item, t.location}
	if l.observed[key] == nil {
		l.observed[key] = make(transactions)
	}
	if l.observed[key][t.txnID] == nil {
		l.observed[key][t.txnID] = make(revisions)
	}
	if l.observed[key][t.txnID][t.revision] == nil {
		l.observed[key][t.txnID][t.revision] = make(payloads)
	}
	l.observed[key][t.txnID][t.revision][payload{t.kind, t.validTime, t.qty}] = true
}

// highest is the highest revision observed for an identity (S4).
func (r revisions) highest() int64 {
	var highest int64
	for revision := range r {
		highest = max(highest, revision)
	}
	return highest
}

// conflicts splits the revisions with more than one distinct payload into the one that is the highest, if it is among
// them, and the superseded ones (S4).
func (r revisions) conflicts() (ambiguous bool, superseded []int64) {
	highest := r.highest()
	for revision, distinct := range r {
		if len(distinct) < 2 {
			continue
		}
		if revision == highest {
			ambiguous = true
		} else {
			superseded = append(superseded, revision)
		}
	}
	return ambiguous, superseded
}
