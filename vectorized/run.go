package vectorized

import (
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A run is a range of positions in an order; a column of n+1 bounds describes n adjacent runs.

// Revisions returns the bounds of the runs of one revision of one identity, in an order made by Order.
func Revisions(mem memory.Allocator, l *Ledger, order *array.Uint32) *array.Uint32 {
	return runs(mem, order.Len(), func(at int) bool {
		a, b := int(order.Value(at-1)), int(order.Value(at))
		return l.Revision.Value(a) == l.Revision.Value(b) && l.sameIdentity(a, b)
	})
}

// Identities returns the bounds of the runs of one identity (S2), as positions in revisions: the runs of revisions of
// identity i are those from bounds[i] to bounds[i+1].
func Identities(mem memory.Allocator, l *Ledger, order, revisions *array.Uint32) *array.Uint32 {
	return runs(mem, revisions.Len()-1, func(at int) bool {
		a, b := order.Value(int(revisions.Value(at-1))), order.Value(int(revisions.Value(at)))
		return l.sameIdentity(int(a), int(b))
	})
}

// runs returns the bounds of maximal runs over n positions; same compares a position in [1, n) with the one before.
func runs(mem memory.Allocator, n int, same func(at int) bool) *array.Uint32 {
	b := array.NewUint32Builder(mem)
	defer b.Release()
	b.Append(0)
	for at := 1; at < n; at++ {
		if !same(at) {
			b.Append(uint32(at))
		}
	}
	if n > 0 {
		b.Append(uint32(n))
	}
	return b.NewUint32Array()
}

// sameIdentity reports whether two rows have one stock key and transaction ID (S2).
func (l *Ledger) sameIdentity(a, b int) bool {
	return l.Key.Value(a) == l.Key.Value(b) && l.TxnID.Value(a) == l.TxnID.Value(b)
}
