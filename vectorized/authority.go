package vectorized

import (
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Conflicts marks the runs of revisions that hold two or more distinct canonical payloads (S4). Payloads are compared
// field by field, never by digest.
func Conflicts(mem memory.Allocator, l *Ledger, order, revisions *array.Uint32) *array.Boolean {
	return mask(mem, revisions.Len()-1, func(run int) bool {
		first := order.Value(int(revisions.Value(run)))
		for at := revisions.Value(run) + 1; at < revisions.Value(run+1); at++ {
			if !l.samePayload(first, order.Value(int(at))) {
				return true
			}
		}
		return false
	})
}

// Highest marks the runs of revisions that are the highest of their identity, which is the last one of each (S4).
func Highest(mem memory.Allocator, revisions, identities *array.Uint32) *array.Boolean {
	next := 1 // bounds[next] ends the identity that the run belongs to
	return mask(mem, revisions.Len()-1, func(run int) bool {
		if uint32(run)+1 < identities.Value(next) {
			return false
		}
		next++
		return true
	})
}

// Blocked marks the keys that have a conflict at a highest revision (S4).
func Blocked(mem memory.Allocator, l *Ledger, order, revisions *array.Uint32, conflicts, highest *array.Boolean, keys int) *array.Boolean {
	blocked := make([]bool, keys)
	for run := range conflicts.Len() {
		if conflicts.Value(run) && highest.Value(run) {
			blocked[l.Key.Value(int(order.Value(int(revisions.Value(run)))))] = true
		}
	}
	return mask(mem, keys, func(key int) bool { return blocked[key] })
}

// Active returns the rows that count for balances, in order: one of the highest revision of each identity, unless that
// is a CANCEL or its key is blocked (S5).
func Active(mem memory.Allocator, l *Ledger, order, revisions *array.Uint32, highest, blocked *array.Boolean) *array.Uint32 {
	active := newColumn[uint32](mem, highest.Len())
	n := 0
	for run := range highest.Len() {
		row := order.Value(int(revisions.Value(run)))
		if highest.Value(run) && l.Kind.Value(int(row)) != KindCancel && !blocked.Value(int(l.Key.Value(int(row)))) {
			active.values[n] = row
			n++
		}
	}
	return uint32s(active, n)
}
