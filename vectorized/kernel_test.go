package vectorized

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// record is one record as the naive twins see it.
type record struct {
	txn       string
	revision  int64
	kind      uint8
	validTime int64
	qty       int64
}

// records draws records over few identities, revisions and days, with quantities at the bounds of int64. IDs around 15
// bytes are packed in different ways. Half of the draws have one identity with more revisions than a chain holds.
func records() *rapid.Generator[[]record] {
	long := strings.Repeat("x", 15)
	draw := func(most int, txns []string, revisions []int64) *rapid.Generator[[]record] {
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) record {
			return record{
				txn:       rapid.SampledFrom(txns).Draw(t, "txn"),
				revision:  rapid.SampledFrom(revisions).Draw(t, "revision"),
				kind:      rapid.Uint8Range(KindNew, KindCancel).Draw(t, "kind"),
				validTime: rapid.SampledFrom([]int64{math.MinInt64, -nanosPerDay, -1, 0, 1, nanosPerDay - 1, nanosPerDay, math.MaxInt64}).Draw(t, "time"),
				qty:       rapid.SampledFrom([]int64{0, 1, -1, 7, math.MaxInt32 + 1, math.MaxInt64, math.MinInt64}).Draw(t, "qty"),
			}
		}), 0, most)
	}
	var many []int64
	for revision := range int64(maxChain + 4) {
		many = append(many, revision+1)
	}
	return rapid.OneOf(
		draw(40, []string{"a", "b", "ab", "é", "a\x01", long, long + "y", long + "z", strings.Repeat("w", 256)},
			[]int64{1, 2, narrowRevision, narrowRevision + 1, math.MaxInt64}),
		draw(120, []string{"a", long + "y"}, many),
	)
}

// rowsOf are the rows of records, their long IDs divided among arenas.
func rowsOf(all []record, seed maphash.Seed) ([]Row, *Annex) {
	annex := &Annex{IDs: make(Arenas, 3)}
	rows := make([]Row, len(all))
	for i, r := range all {
		n := i % len(annex.IDs)
		rows[i] = Row{TxnID: pack([]byte(r.txn), seed, &annex.IDs[n], n), ValidTime: r.validTime}
		rows[i].setNumbers(r.kind, r.revision, r.qty, &annex.Numbers)
	}
	return rows, annex
}

// equal compares through text, which tells every value from every other.
func equal(t interface{ Fatalf(string, ...any) }, what string, got, want any) {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Fatalf("%s: %s, naive %s", what, g, w)
	}
}

// TestTxnID packs IDs and gets them back; IDs are the same exactly when their bytes are, wherever these lie.
func TestTxnID(t *testing.T) {
	seed := maphash.MakeSeed()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 1, 18), rapid.SliceOfN(rapid.Byte(), 250, 256), rapid.SliceOfN(rapid.ByteRange(0, 1), 1, 17),
		)
		a, b := id.Draw(t, "a"), id.Draw(t, "b")
		if rapid.Bool().Draw(t, "same") {
			b = bytes.Clone(a)
		}
		arenas := Arenas{[]byte("before"), nil}
		p, q := pack(a, seed, &arenas[0], 0), pack(b, seed, &arenas[1], 1)
		equal(t, "bytes", p.Append(nil, arenas), a)
		equal(t, "bytes", q.Append(nil, arenas), b)
		equal(t, "same", p.same(&q, arenas), bytes.Equal(a, b))
		if bytes.Equal(a, b) && p.hash(7) != q.hash(7) {
			t.Fatalf("equal IDs have different hashes")
		}
		if len(a) <= shortMax {
			equal(t, "packed in place", packFrom(append(bytes.Clone(a), bytes.Repeat([]byte{0xAB}, 16)...), uint32(len(a))), p)
		}
	})
}

// TestCollidingHashes resolves long IDs of one hash: they are told apart by their bytes.
func TestCollidingHashes(t *testing.T) {
	arenas := Arenas{nil}
	rows := []Row{}
	for _, id := range []string{"an ID of many bytes", "an ID of many butes", "an ID of many bytes"} {
		p := pack([]byte(id), maphash.MakeSeed(), &arenas[0], 0)
		p.Hi = 4711
		row := Row{TxnID: p}
		row.setNumbers(KindNew, 1, 0, nil)
		rows = append(rows, row)
	}
	res := NewAuthority(1).Resolve(rows, &Annex{IDs: arenas})
	equal(t, "identities and duplicates", []int{len(res.Highest), res.Duplicates}, []int{2, 1})
}

// TestS4Authority compares identities, duplicates, conflicts and highest revisions with nested loops.
func TestS4Authority(t *testing.T) {
	seed, authority := maphash.MakeSeed(), NewAuthority(99)
	rapid.Check(t, func(t *rapid.T) {
		all := records().Draw(t, "records")
		rows, annex := rowsOf(all, seed)
		res := authority.Resolve(rows, annex)
		var got []string
		high := map[uint32]bool{}
		for _, i := range res.Conflicts {
			high[i] = !res.Lower(i)
			got = append(got, fmt.Sprintf("%q %d highest=%v conflict=true", rows[i].TxnID.Append(nil, annex.IDs), rows[i].revision(annex), !res.Lower(i)))
		}
		for _, i := range res.Highest {
			if row := &rows[i]; !high[i] {
				got = append(got, fmt.Sprintf("%q %d highest=true conflict=false", row.TxnID.Append(nil, annex.IDs), row.revision(annex))+
					fmt.Sprint(row.kind(), row.ValidTime, row.quantity(annex)))
			}
		}
		slices.Sort(got)
		want, identities, duplicates, blocked := naiveAuthority(all)
		equal(t, "groups", got, want)
		equal(t, "counts", []any{len(res.Highest), res.Duplicates, res.Blocked}, []any{identities, duplicates, blocked})
	})
}

// naiveAuthority compares every record with every other. Groups are the highest revisions and those in conflict.
func naiveAuthority(all []record) (groups []string, identities, duplicates int, blocked bool) {
	seen, txns := map[string]bool{}, map[string]bool{}
	for _, r := range all {
		txns[r.txn] = true
		name := fmt.Sprintf("%q %d", r.txn, r.revision)
		if seen[name] {
			continue
		}
		seen[name] = true
		highest, conflict, count := true, false, 0
		for _, other := range all {
			if other.txn != r.txn {
				continue
			}
			highest = highest && other.revision <= r.revision
			if other.revision == r.revision {
				count++
				conflict = conflict || other != r
			}
		}
		line := fmt.Sprintf("%s highest=%v conflict=%v", name, highest, conflict)
		if !conflict {
			line += fmt.Sprint(r.kind, r.validTime, r.qty)
			duplicates += count - 1
		}
		blocked = blocked || highest && conflict
		if highest || conflict {
			groups = append(groups, line)
		}
	}
	slices.Sort(groups)
	return groups, len(txns), duplicates, blocked
}

// TestHostileRevisions resolves chains of revisions of one identity, many of which repeat: no step of it compares every
// revision with every other.
func TestHostileRevisions(t *testing.T) {
	const chain = 200_000
	var annex Annex
	rows := make([]Row, 0, 2*chain)
	for _, order := range []func(i int64) int64{func(i int64) int64 { return i }, func(i int64) int64 { return chain - i + 1 }} {
		for i := range int64(chain) {
			row := Row{TxnID: packShort([]byte("hot"))}
			row.setNumbers(KindNew, order(i+1), i, &annex.Numbers)
			rows = append(rows, row)
		}
	}
	started := time.Now()
	res := NewAuthority(3).Resolve(rows, &annex)
	equal(t, "identities", len(res.Highest), 1)
	equal(t, "conflicts", []any{len(res.Conflicts), res.Duplicates, res.Blocked}, []any{chain, 0, true})
	if took := time.Since(started); took > 30*time.Second { // a quadratic path takes many minutes
		t.Errorf("%v for %d revisions", took, chain)
	}
}

// TestB081Day compares days with the calendar of package time, also before 1970.
func TestB081Day(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, nanos int64) {
		equal(t, "day", time.Unix(int64(Day(nanos))*86_400, 0).UTC().Format(time.DateOnly), time.Unix(0, nanos).UTC().Format(time.DateOnly))
	}
	for _, nanos := range []int64{-1, 0, nanosPerDay - 1, -nanosPerDay, -nanosPerDay - 1, math.MinInt64, math.MaxInt64} {
		check(t, nanos)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.Int64().Draw(t, "nanos")) })
}

// TestR09Fold compares closes, domain and crossings with big integers, at the bounds of int64 and over the whole span of
// days, and looks that nothing of one key stays for the next.
func TestR09Fold(t *testing.T) {
	seed, authority := maphash.MakeSeed(), NewAuthority(5)
	var fold Fold
	bounds := rapid.OneOf(rapid.SampledFrom([]int64{0, 1, math.MaxInt64, math.MinInt64}), rapid.Int64Range(-10, 10))
	rapid.Check(t, func(t *rapid.T) {
		all := records().Draw(t, "records")
		if rapid.Bool().Draw(t, "soon") {
			for i := range all {
				all[i].validTime %= 100 * nanosPerDay
			}
		}
		if rapid.Bool().Draw(t, "small") { // no sum can leave int64
			for i := range all {
				all[i].qty %= 1000
				all[i].revision %= narrowRevision + 1
				all[i].revision = max(all[i].revision, 1)
			}
		}
		opening, threshold := bounds.Draw(t, "opening"), bounds.Draw(t, "threshold")
		rows, annex := rowsOf(all, seed)
		res := authority.Resolve(rows, annex)
		times, before, after := noTimes, rapid.Int64Range(0, 3*nanosPerDay).Draw(t, "before"), rapid.Int64Range(0, 3*nanosPerDay).Draw(t, "after")
		for _, r := range all {
			times.First, times.Last = min(times.First, max(r.validTime, math.MinInt64+before)-before), max(times.Last, min(r.validTime, math.MaxInt64-after)+after)
		}
		fold.Expect(times, annex)
		out := Closes{Day: []int32{1}, Close: []int64{2}, Crossing: []uint8{0}} // of another key
		outside := fold.Key(&out, rows, res.Highest, annex, opening, threshold)
		var active []record
		for _, i := range res.Highest {
			if row := &rows[i]; row.kind() != KindCancel {
				active = append(active, record{validTime: row.ValidTime, qty: row.quantity(annex)})
			}
		}
		closes, beyond := naiveFold(active, opening, threshold)
		var got, gotOutside []string
		for i := range out.Day[1:] {
			got = append(got, fmt.Sprint(out.Day[i+1], out.Close[i+1], out.Crossing[i+1]))
		}
		for _, o := range outside {
			gotOutside = append(gotOutside, fmt.Sprint(o.Day, o.Close))
		}
		equal(t, "out of domain", gotOutside, beyond)
		equal(t, "closes", got, closes)
	})
}

// naiveFold folds every day with big integers.
func naiveFold(active []record, opening, threshold int64) (closes, outside []string) {
	slices.SortStableFunc(active, func(a, b record) int { return cmp.Compare(a.validTime, b.validTime) })
	balance := big.NewInt(opening)
	level := big.NewInt(threshold)
	for start, end := 0, 0; start < len(active); start = end {
		before, day := new(big.Int).Set(balance), Day(active[start].validTime)
		for end = start; end < len(active) && Day(active[end].validTime) == day; end++ {
			balance.Add(balance, big.NewInt(active[end].qty))
		}
		crossing := 0
		if before.Cmp(level) >= 0 && balance.Cmp(level) < 0 {
			crossing = 1
		}
		if !balance.IsInt64() {
			outside = append(outside, fmt.Sprint(day, balance))
		}
		closes = append(closes, fmt.Sprint(day, balance, crossing))
	}
	if outside != nil {
		closes = nil
	}
	return closes, outside
}

// TestWide compares 128-bit numbers with big integers.
func TestWide(t *testing.T) {
	numbers := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MinInt64 + 1}))
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := numbers.Draw(t, "a"), numbers.Draw(t, "b"), numbers.Draw(t, "c")
		want := new(big.Int).Mul(big.NewInt(a), big.NewInt(b))
		equal(t, "product", Product(a, b).Big(), want)
		want.Add(want, big.NewInt(c))
		if want.BitLen() < 127 {
			equal(t, "sum", Product(a, b).Plus(WideOf(c)).Big(), want)
			equal(t, "fits", Product(a, b).Plus(WideOf(c)).Fits(), want.IsInt64())
		}
	})
}

// TestPlainText compares the check of eight bytes at a time with one of each byte.
func TestPlainText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.OneOf(rapid.ByteRange(1, 127), rapid.SampledFrom([]byte{0, 1, 127, 128, 255})), 0, 40).Draw(t, "bytes")
		plain := !slices.ContainsFunc(b, func(c byte) bool { return c == 0 || c > 127 })
		equal(t, "plain", plainText(b), plain)
	})
}
