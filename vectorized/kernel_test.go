package vectorized_test

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"pgregory.net/rapid"

	"amends.dev/amends/vectorized"
)

const keys = 4

// row is one record as the naive twins see it.
type row struct {
	key       int32
	txn       string
	revision  int64
	kind      uint8
	validTime int64
	qty       int64
}

// identity and revision group rows the naive way.
type identity struct {
	key int32
	txn string
}

// drawRows draws rows over few keys, identities, revisions and days, with quantities at the bounds of int64.
func drawRows(t *rapid.T) []row {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row {
		return row{
			key:       rapid.Int32Range(0, keys-1).Draw(t, "key"),
			txn:       rapid.SampledFrom([]string{"a", "b", "ab", "é", "a\x01"}).Draw(t, "txn"),
			revision:  rapid.SampledFrom([]int64{1, 2, 10, math.MaxInt64}).Draw(t, "revision"),
			kind:      rapid.Uint8Range(1, 3).Draw(t, "kind"),
			validTime: rapid.SampledFrom([]int64{math.MinInt64, -86_400e9, -1, 0, 1, 86_400e9 - 1, 86_400e9, math.MaxInt64}).Draw(t, "time"),
			qty:       rapid.SampledFrom([]int64{0, 1, -1, 7, math.MaxInt64, math.MinInt64}).Draw(t, "qty"),
		}
	}), 0, 40).Draw(t, "rows")
}

// columns makes a ledger of the rows.
func columns(t *rapid.T, mem memory.Allocator, rows []row) *vectorized.Ledger {
	b := vectorized.NewLedgerBuilder(mem)
	defer b.Release()
	for _, r := range rows {
		if err := b.Append(r.key, r.txn, r.revision, r.kind, r.validTime, r.qty); err != nil {
			t.Fatal(err)
		}
	}
	return b.Ledger()
}

// check runs a property over random rows under an allocator that finds leaks.
func check(t *testing.T, property func(t *rapid.T, mem memory.Allocator, rows []row, l *vectorized.Ledger)) {
	rapid.Check(t, func(rt *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		rows := drawRows(rt)
		l := columns(rt, mem, rows)
		defer l.Release()
		property(rt, mem, rows, l)
	})
}

// equal compares through text, which tells every value from every other.
func equal(t *rapid.T, what string, got, want any) {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Fatalf("%s: %s, naive %s", what, g, w)
	}
}

// bools are the values of a mask.
func bools(a *array.Boolean) []bool {
	values := make([]bool, a.Len())
	for i := range values {
		values[i] = a.Value(i)
	}
	return values
}

// naiveOrder sorts row numbers with one comparison over everything.
func naiveOrder(rows []row) []uint32 {
	order := make([]uint32, len(rows))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(rows[a].key, rows[b].key), cmp.Compare(rows[a].txn, rows[b].txn), cmp.Compare(rows[a].revision, rows[b].revision))
	})
	return order
}

func TestPartition(t *testing.T) {
	check(t, func(t *rapid.T, mem memory.Allocator, rows []row, l *vectorized.Ledger) {
		order, bounds := vectorized.Partition(mem, l.Key, keys)
		defer order.Release()
		defer bounds.Release()
		for k := range int32(keys) {
			var want []uint32
			for i, r := range rows {
				if r.key == k {
					want = append(want, uint32(i))
				}
			}
			equal(t, "partition", order.Uint32Values()[bounds.Value(int(k)):bounds.Value(int(k)+1)], want)
		}
	})
}

func TestOrder(t *testing.T) {
	check(t, func(t *rapid.T, mem memory.Allocator, rows []row, l *vectorized.Ledger) {
		order := vectorized.Order(mem, l, keys)
		defer order.Release()
		equal(t, "order", order.Uint32Values(), naiveOrder(rows))
	})
}

// TestRuns counts the distinct identities and revisions with sets, and looks that every run is of one of them.
func TestRuns(t *testing.T) {
	check(t, func(t *rapid.T, mem memory.Allocator, rows []row, l *vectorized.Ledger) {
		a := newAuthority(mem, l)
		defer a.release()
		revisions, identities := map[string]bool{}, map[identity]bool{}
		for _, r := range rows {
			revisions[fmt.Sprint(r.key, r.txn, r.revision)] = true
			identities[identity{r.key, r.txn}] = true
		}
		equal(t, "revisions", a.revisions.Len()-1, len(revisions))
		equal(t, "identities", a.identities.Len()-1, len(identities))
		for run := range a.revisions.Len() - 1 {
			first := rows[a.order.Value(int(a.revisions.Value(run)))]
			for at := a.revisions.Value(run); at < a.revisions.Value(run+1); at++ {
				other := rows[a.order.Value(int(at))]
				equal(t, "run", []any{other.key, other.txn, other.revision}, []any{first.key, first.txn, first.revision})
			}
		}
	})
}

// authority is the chain of kernels up to the active rows.
type authority struct {
	order, revisions, identities *array.Uint32
	conflicts, highest, blocked  *array.Boolean
	active                       *array.Uint32
}

func newAuthority(mem memory.Allocator, l *vectorized.Ledger) authority {
	var a authority
	a.order = vectorized.Order(mem, l, keys)
	a.revisions = vectorized.Revisions(mem, l, a.order)
	a.identities = vectorized.Identities(mem, l, a.order, a.revisions)
	a.conflicts = vectorized.Conflicts(mem, l, a.order, a.revisions)
	a.highest = vectorized.Highest(mem, a.revisions, a.identities)
	a.blocked = vectorized.Blocked(mem, l, a.order, a.revisions, a.conflicts, a.highest, keys)
	a.active = vectorized.Active(mem, l, a.order, a.revisions, a.highest, a.blocked)
	return a
}

func (a authority) release() {
	for _, column := range []interface{ Release() }{a.order, a.revisions, a.identities, a.conflicts, a.highest, a.blocked, a.active} {
		column.Release()
	}
}

// TestAuthority compares conflicts, highest revisions, blocked keys and active rows with nested loops over all rows.
func TestAuthority(t *testing.T) {
	check(t, func(t *rapid.T, mem memory.Allocator, rows []row, l *vectorized.Ledger) {
		a := newAuthority(mem, l)
		defer a.release()
		blocked := make([]bool, keys)
		for run := range a.conflicts.Len() {
			r := rows[a.order.Value(int(a.revisions.Value(run)))]
			conflict, highest := naiveAuthority(rows, r)
			equal(t, "conflict", a.conflicts.Value(run), conflict)
			equal(t, "highest", a.highest.Value(run), highest)
			blocked[r.key] = blocked[r.key] || conflict && highest
		}
		equal(t, "blocked", bools(a.blocked), blocked)
		equal(t, "active", payloads(rows, a.active.Uint32Values()), payloads(rows, naiveActive(rows, blocked)))
	})
}

// naiveAuthority says of a row's revision whether it is in conflict and whether it is the highest of the identity.
func naiveAuthority(rows []row, of row) (conflict, highest bool) {
	highest = true
	for _, r := range rows {
		if r.key != of.key || r.txn != of.txn {
			continue
		}
		highest = highest && r.revision <= of.revision
		for _, other := range rows {
			same := other.key == of.key && other.txn == of.txn && other.revision == of.revision
			conflict = conflict || same && r.revision == of.revision && other != r
		}
	}
	return conflict, highest
}

// naiveActive is the first row of the highest revision of every active identity of keys that are not blocked.
func naiveActive(rows []row, blocked []bool) []uint32 {
	seen := map[identity]bool{}
	var active []uint32
	for _, i := range naiveOrder(rows) {
		r := rows[i]
		_, highest := naiveAuthority(rows, r)
		if !highest || seen[identity{r.key, r.txn}] {
			continue
		}
		seen[identity{r.key, r.txn}] = true
		if r.kind != vectorized.KindCancel && !blocked[r.key] {
			active = append(active, i)
		}
	}
	return active
}

// payloads are the rows with the given numbers.
func payloads(rows []row, numbers []uint32) []row {
	picked := make([]row, len(numbers))
	for i, n := range numbers {
		picked[i] = rows[n]
	}
	return picked
}

// TestB081Days compares days with the calendar of package time, also before 1970.
func TestB081Days(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		b := array.NewInt64Builder(mem)
		defer b.Release()
		b.AppendValues(rapid.SliceOf(rapid.Int64()).Draw(rt, "instants"), nil)
		b.AppendValues([]int64{-1, 0, 86_400e9 - 1, -86_400e9, -86_400e9 - 1, math.MinInt64, math.MaxInt64}, nil)
		instants := b.NewInt64Array()
		defer instants.Release()
		days := vectorized.Days(mem, instants)
		defer days.Release()
		for i := range instants.Len() {
			equal(rt, "day", days.Value(i).FormattedString(), time.Unix(0, instants.Value(i)).UTC().Format(time.DateOnly))
		}
	})
}

// TestR09Fold compares sums, closes, domain and crossings with maps and big integers, at the bounds of int64.
func TestR09Fold(t *testing.T) {
	check(t, func(t *rapid.T, mem memory.Allocator, rows []row, l *vectorized.Ledger) {
		a := newAuthority(mem, l)
		defer a.release()
		bounds := rapid.SampledFrom([]int64{0, 1, math.MaxInt64, math.MinInt64})
		opening := int64s(mem, rapid.SliceOfN(bounds, keys, keys).Draw(t, "opening"))
		defer opening.Release()
		threshold := int64s(mem, rapid.SliceOfN(bounds, keys, keys).Draw(t, "threshold"))
		defer threshold.Release()
		days := vectorized.Days(mem, l.ValidTime)
		defer days.Release()
		activity := vectorized.DaySums(mem, l, days, a.active)
		defer activity.Release()
		activity.Close = vectorized.Closes(mem, activity.Key, activity.Sum, opening)
		outOfDomain := vectorized.OutOfDomain(mem, activity.Close)
		defer outOfDomain.Release()
		crossings := vectorized.Crossings(mem, activity, threshold)
		defer crossings.Release()
		var got []string
		for i := range activity.Key.Len() {
			got = append(got, fmt.Sprint(activity.Key.Value(i), activity.Day.Value(i), activity.Sum.Value(i).BigInt(),
				activity.Close.Value(i).BigInt(), outOfDomain.Value(i), crossings.Value(i)))
		}
		equal(t, "fold", got, naiveFold(payloads(rows, a.active.Uint32Values()), opening, threshold))
	})
}

// naiveFold folds every key over every day there can be.
func naiveFold(active []row, opening, threshold *array.Int64) []string {
	var lines []string
	for key := range int32(keys) {
		before := big.NewInt(opening.Value(int(key)))
		level := big.NewInt(threshold.Value(int(key)))
		for _, day := range []int64{-106752, -1, 0, 1, 106751} {
			sum, activity := new(big.Int), false
			for _, r := range active {
				if r.key == key && floorDay(r.validTime) == day {
					sum.Add(sum, big.NewInt(r.qty))
					activity = true
				}
			}
			if !activity {
				continue
			}
			closing := new(big.Int).Add(before, sum)
			crossing := before.Cmp(level) >= 0 && closing.Cmp(level) < 0
			lines = append(lines, fmt.Sprint(key, day, sum, closing, !closing.IsInt64(), crossing))
			before = closing
		}
	}
	return lines
}

// floorDay rounds towards the past, by way of package time.
func floorDay(nanos int64) int64 {
	return time.Unix(0, nanos).UTC().Truncate(24*time.Hour).Unix() / 86_400
}

// int64s is a column of values.
func int64s(mem memory.Allocator, values []int64) *array.Int64 {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	b.AppendValues(values, nil)
	return b.NewInt64Array()
}
