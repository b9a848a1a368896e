package vectorized

import (
	"cmp"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Partition groups rows by key with a counting sort: rows holds all row numbers, those of key k in
// rows[bounds[k]:bounds[k+1]] in ascending order. Every key is in [0, keys).
func Partition(mem memory.Allocator, key *array.Int32, keys int) (rows, bounds *array.Uint32) {
	ends := newColumn[uint32](mem, keys+1)
	for _, k := range key.Int32Values() {
		ends.values[k+1]++
	}
	for k := range keys {
		ends.values[k+1] += ends.values[k]
	}
	next := slices.Clone(ends.values)
	order := newColumn[uint32](mem, key.Len())
	for row, k := range key.Int32Values() {
		order.values[next[k]] = uint32(row)
		next[k]++
	}
	return uint32s(order, key.Len()), uint32s(ends, keys+1)
}

// Order returns the row numbers sorted by key, then by the bytes of the transaction ID, then by revision. Rows equal
// in all three keep their order.
func Order(mem memory.Allocator, l *Ledger, keys int) *array.Uint32 {
	rows, bounds := Partition(mem, l.Key, keys)
	defer bounds.Release()
	order := rows.Uint32Values()
	for k := range keys {
		slices.SortFunc(order[bounds.Value(k):bounds.Value(k+1)], func(a, b uint32) int {
			i, j := int(a), int(b)
			if c := strings.Compare(l.TxnID.Value(i), l.TxnID.Value(j)); c != 0 {
				return c
			}
			return cmp.Or(cmp.Compare(l.Revision.Value(i), l.Revision.Value(j)), cmp.Compare(a, b))
		})
	}
	return rows
}
