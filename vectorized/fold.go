package vectorized

import (
	"cmp"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Activity is one row per activity day of a key, sorted by key, then day (S5).
type Activity struct {
	// Key is the index of the stock key.
	Key *array.Int32
	// Day is days since the Unix epoch.
	Day *array.Date32
	// Sum is the exact sum of the day's quantities, Close the exact closing balance, both in 128 bits (R09).
	Sum, Close *array.Decimal128
}

// Release gives the columns back to their allocator.
func (a *Activity) Release() {
	for _, column := range []arrow.Array{a.Key, a.Day, a.Sum, a.Close} {
		if column != nil {
			column.Release()
		}
	}
}

// DaySums adds up the quantities of active rows by key and day, Close left nil. The rows are grouped by ascending key,
// as Active returns them; days belongs to the whole ledger.
func DaySums(mem memory.Allocator, l *Ledger, days *array.Date32, active *array.Uint32) *Activity {
	order := slices.Clone(active.Uint32Values())
	for start, end := 0, 0; start < len(order); start = end {
		key := l.Key.Value(int(order[start]))
		for end = start; end < len(order) && l.Key.Value(int(order[end])) == key; end++ {
			continue
		}
		slices.SortFunc(order[start:end], func(a, b uint32) int {
			return cmp.Compare(days.Value(int(a)), days.Value(int(b)))
		})
	}
	same := func(at int) bool {
		a, b := int(order[at-1]), int(order[at])
		return l.Key.Value(a) == l.Key.Value(b) && days.Value(a) == days.Value(b)
	}
	bounds := runs(mem, len(order), same)
	defer bounds.Release()
	n := bounds.Len() - 1
	keys, dates, totals := newColumn[int32](mem, n), newColumn[int32](mem, n), newColumn[decimal128.Num](mem, n)
	for run := range n {
		first := int(order[bounds.Value(run)])
		keys.values[run] = l.Key.Value(first)
		dates.values[run] = int32(days.Value(first))
		for at := bounds.Value(run); at < bounds.Value(run+1); at++ {
			quantity := decimal128.FromI64(l.Qty.Value(int(order[at])))
			totals.values[run] = totals.values[run].Add(quantity)
		}
	}
	return &Activity{
		Key: int32s(keys),
		Day: finish(dates, arrow.FixedWidthTypes.Date32, n, array.NewDate32Data),
		Sum: sums(totals, n),
	}
}

// Closes returns the closing balance of each activity day: the key's opening balance plus the sums up to and including
// the day (S5). opening has one value per key.
func Closes(mem memory.Allocator, key *array.Int32, sum *array.Decimal128, opening *array.Int64) *array.Decimal128 {
	closes := newColumn[decimal128.Num](mem, key.Len())
	var balance decimal128.Num
	for i, k := range key.Int32Values() {
		if i == 0 || k != key.Value(i-1) {
			balance = decimal128.FromI64(opening.Value(int(k)))
		}
		balance = balance.Add(sum.Value(i))
		closes.values[i] = balance
	}
	return sums(closes, key.Len())
}

// OutOfDomain marks the closes that int64 cannot hold (R09).
func OutOfDomain(mem memory.Allocator, closes *array.Decimal128) *array.Boolean {
	return mask(mem, closes.Len(), func(i int) bool {
		n := closes.Value(i)
		return n.HighBits() != int64(n.LowBits())>>63
	})
}

// Crossings marks the activity days whose close is below the key's threshold while the balance before the day was at or
// above it (S5). Equality is not below. threshold has one value per key.
func Crossings(mem memory.Allocator, a *Activity, threshold *array.Int64) *array.Boolean {
	return mask(mem, a.Key.Len(), func(i int) bool {
		level := decimal128.FromI64(threshold.Value(int(a.Key.Value(i))))
		closing := a.Close.Value(i)
		before := closing.Sub(a.Sum.Value(i))
		return before.Cmp(level) >= 0 && closing.Cmp(level) < 0
	})
}
