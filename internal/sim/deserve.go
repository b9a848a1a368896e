package sim

import (
	"math/big"
	"slices"

	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/report"
)

// deserts are what a history deserves, by a calculation that shares nothing with worker or reference engine but the
// oracle's decoder: authority by sorting, closes by adding everything up again after every record.
type deserts struct {
	// stops are the offsets of the records that leave the arithmetic domain, by source partition (R09).
	stops map[int32]int64
	// status is the verdict of the records before the stops.
	status report.Status
}

// payload is a canonical payload without its revision.
type payload struct {
	kind decode.Kind
	at   int64
	qty  int64
}

// keyHistory is every distinct payload of one stock key, by transaction and revision.
type keyHistory map[string]map[int64][]payload

// deserved judges what was produced so far. It is computed once for each length of the history.
func (w *world) deserved() *deserts {
	if w.judged != nil && w.judgedAt == w.produced {
		return w.judged
	}
	d := &deserts{stops: map[int32]int64{}}
	keys := make([]keyHistory, len(w.namespace.Spec.StockKeys))
	rejected := false
	for p := range w.truths {
		for i := range w.truths[p] {
			t := &w.truths[p][i]
			if t.reason != decode.Accepted {
				rejected = true
				continue
			}
			if !w.admit(keys, t) {
				d.stops[int32(p)] = t.offset
				break
			}
		}
	}
	blocked, superseded := false, false
	for _, k := range keys {
		b, s := k.conflicts()
		blocked, superseded = blocked || b, superseded || s
	}
	d.status = report.Decide(report.Facts{Complete: true, Ambiguous: blocked, Excluded: rejected || superseded})
	w.judged, w.judgedAt = d, w.produced
	return d
}

// admit adds a record to its key; false, and nothing added, where a close of the key leaves int64 by it.
func (w *world) admit(keys []keyHistory, t *truth) bool {
	if keys[t.tx.Key] == nil {
		keys[t.tx.Key] = keyHistory{}
	}
	k, id := keys[t.tx.Key], string(t.tx.TxnID)
	if k[id] == nil {
		k[id] = map[int64][]payload{}
	}
	p := payload{t.tx.Kind, t.tx.ValidTime, t.tx.Qty}
	known := k[id][t.tx.Revision]
	if slices.Contains(known, p) {
		return true
	}
	k[id][t.tx.Revision] = append(known, p)
	if blocked, _ := k.conflicts(); blocked || k.inDomain(w.namespace.Spec.StockKeys[t.tx.Key].OpeningBalance) {
		return true
	}
	k[id][t.tx.Revision] = known
	if len(known) == 0 {
		delete(k[id], t.tx.Revision)
	}
	return false
}

// highest is an identity's highest revision, 0 for none.
func highest(revisions map[int64][]payload) int64 {
	top := int64(0)
	for revision := range revisions {
		top = max(top, revision)
	}
	return top
}

// conflicts reports whether a highest revision is ambiguous, and whether a lower one is.
func (k keyHistory) conflicts() (blocked, superseded bool) {
	for _, revisions := range k {
		top := highest(revisions)
		for revision, distinct := range revisions {
			blocked = blocked || len(distinct) > 1 && revision == top
			superseded = superseded || len(distinct) > 1 && revision < top
		}
	}
	return blocked, superseded
}

// inDomain reports whether every close of an unambiguous key fits int64.
func (k keyHistory) inDomain(opening int64) bool {
	days := map[int64]*big.Int{}
	for _, revisions := range k {
		top := highest(revisions)
		if top == 0 || revisions[top][0].kind == decode.KindCancel {
			continue
		}
		p := revisions[top][0]
		day := new(big.Int).Div(big.NewInt(p.at), big.NewInt(86_400_000_000_000)).Int64()
		if days[day] == nil {
			days[day] = new(big.Int)
		}
		days[day].Add(days[day], big.NewInt(p.qty))
	}
	order := make([]int64, 0, len(days))
	for day := range days {
		order = append(order, day)
	}
	slices.Sort(order)
	balance := big.NewInt(opening)
	for _, day := range order {
		if balance.Add(balance, days[day]); !balance.IsInt64() {
			return false
		}
	}
	return true
}
