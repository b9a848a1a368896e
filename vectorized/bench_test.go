package vectorized

import (
	"fmt"
	"hash/maphash"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"amends.dev/amends/manifests"
)

// benchRows is about the number of rows of a bucket, benchKeys that of its keys.
const benchRows, benchKeys = 1 << 14, 64

// benchHistory is a layout of one partition and columns for it: five records of six have an identity of their own.
func benchHistory(buckets int64) (*Layout, *Columns) {
	keys, locations := make([]manifests.StockKey, benchKeys), [][]byte{[]byte("north"), []byte("south")}
	c := &Columns{
		Rows: benchRows, Accepted: benchRows, Location: Dictionary{Values: locations},
		Kind:  Dictionary{Values: [][]byte{[]byte("NEW"), []byte("AMEND"), []byte("CANCEL")}},
		TxnID: Strings{Offsets: []uint32{0}},
	}
	for k := range keys {
		keys[k] = manifests.StockKey{Item: fmt.Sprintf("item-%02d", k/2), Location: string(locations[k%2])}
		if k%2 == 0 {
			c.Item.Values = append(c.Item.Values, []byte(keys[k].Item))
		}
	}
	for i := range benchRows {
		key, qty := i*2_654_435_761>>7%benchKeys, int64(i%41)-20
		kind, revision, identity := int32(0), int64(1), i
		if i%6 == 5 && i > benchKeys {
			kind, revision, identity = int32(i%2+1), int64(2), i-3
			key = identity * 2_654_435_761 >> 7 % benchKeys
		}
		if kind == 2 {
			qty = 0
		}
		c.Item.Codes, c.Location.Codes = append(c.Item.Codes, int32(key/2)), append(c.Location.Codes, int32(key%2))
		c.Kind.Codes, c.Revision = append(c.Kind.Codes, kind), append(c.Revision, revision)
		c.ValidTime, c.Qty = append(c.ValidTime, int64(i)*nanosPerDay/25), append(c.Qty, qty)
		c.TxnID.Data = fmt.Appendf(c.TxnID.Data, "txn-%09d", identity)
		c.TxnID.Offsets = append(c.TxnID.Offsets, uint32(len(c.TxnID.Data)))
	}
	return NewLayout(keys, 0, func(int) int32 { return 0 }, []int64{benchRows}, benchRows/buckets), c
}

// perRow reports what a benchmark's n rows took each.
func perRow(b *testing.B, n int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
}

// benchBucket is a store with all rows in one bucket, and a resolver for it. Memory is given back at the benchmark's end.
func benchBucket(b *testing.B) (*Resolver, *Store) {
	b.Helper()
	layout, c := benchHistory(1)
	seed, chunks := maphash.MakeSeed(), NewChunks(memory.NewGoAllocator())
	b.Cleanup(chunks.Release)
	store := NewStore(chunks, layout, 0, 0)
	if err := NewScatter(layout, seed).Columns(store, 0, c); err != nil {
		b.Fatal(err)
	}
	return NewResolver(layout, seed), store
}

// BenchmarkScatter checks columns and appends their rows to one bucket, and to 64.
func BenchmarkScatter(b *testing.B) {
	for _, buckets := range []int64{1, 64} {
		b.Run(fmt.Sprintf("buckets=%d", buckets), func(b *testing.B) {
			layout, c := benchHistory(buckets)
			chunks := NewChunks(memory.NewGoAllocator())
			defer chunks.Release()
			s, store := NewScatter(layout, maphash.MakeSeed()), NewStore(chunks, layout, 0, 0)
			for b.Loop() {
				if err := s.Columns(store, 0, c); err != nil {
					b.Fatal(err)
				}
				store.Release()
			}
			perRow(b, benchRows)
		})
	}
}

// BenchmarkCheck runs the checks of Scatter by themselves: stock keys, the other values, texts.
func BenchmarkCheck(b *testing.B) {
	layout, c := benchHistory(64)
	s := NewScatter(layout, maphash.MakeSeed())
	s.keys.reset(layout, &c.Item, &c.Location)
	s.kindsOf(&c.Kind)
	blocks := func(check func(start, end int) bool) func(b *testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				for start := 0; start < benchRows; start += blockRows {
					if !check(start, start+blockRows) {
						b.Fatal("valid columns are refused")
					}
				}
			}
			perRow(b, benchRows)
		}
	}
	b.Run("find", blocks(func(start, end int) bool { return s.find(0, c, start, end) }))
	b.Run("values", blocks(func(start, end int) bool { return s.values(c, start, end) }))
	b.Run("validTexts", blocks(func(start, end int) bool { return validTexts(&c.TxnID, start, end) }))
	b.Run("plainText", blocks(func(start, end int) bool {
		return plainText(c.TxnID.Data[c.TxnID.Offsets[start]:c.TxnID.Offsets[end]])
	}))
}

// BenchmarkPack packs transaction IDs: short ones within a column and by themselves, and long ones.
func BenchmarkPack(b *testing.B) {
	long, seed, kept := []byte("a transaction ID of more than 15 bytes"), maphash.MakeSeed(), TxnID{}
	var arena []byte
	run := func(name string, pack func() TxnID) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				kept = pack()
			}
			_ = kept
		})
	}
	run("column", func() TxnID { return packFrom(long, 13) })
	run("short", func() TxnID { return pack(long[:13], seed, &arena, 0) })
	run("long", func() TxnID { arena = arena[:0]; return pack(long, seed, &arena, 0) })
}

// BenchmarkHash hashes packed IDs.
func BenchmarkHash(b *testing.B) {
	id, sum := packShort([]byte("txn-000000001")), uint64(0)
	for b.Loop() {
		sum += id.hash(sum)
	}
	_ = sum
}

// BenchmarkGather sorts the rows of a bucket by key.
func BenchmarkGather(b *testing.B) {
	r, store := benchBucket(b)
	for b.Loop() {
		r.gather(0, 0, benchKeys, []*Store{store})
	}
	perRow(b, benchRows)
}

// BenchmarkBucket resolves a whole bucket.
func BenchmarkBucket(b *testing.B) {
	r, store := benchBucket(b)
	for b.Loop() {
		r.Bucket(0, 0, []*Store{store})
	}
	perRow(b, benchRows)
}

// BenchmarkResolve groups the rows of one key: as histories have them, all distinct, and one identity of so many revisions.
func BenchmarkResolve(b *testing.B) {
	r, store := benchBucket(b)
	r.gather(0, 0, benchKeys, []*Store{store})
	chain, distinct := make([]Row, benchRows), make([]Row, benchRows)
	for i := range chain {
		chain[i].TxnID, distinct[i].TxnID = packShort([]byte("one")), packShort(fmt.Append(nil, i))
		chain[i].setNumbers(KindAmend, int64(i+1), 1, &r.annex.Numbers)
		distinct[i].setNumbers(KindNew, 1, 1, &r.annex.Numbers)
	}
	for name, rows := range map[string][]Row{"usual": r.rows[:r.ends[0]], "distinct": distinct, "chain": chain} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r.authority.Resolve(rows, &r.annex)
			}
			perRow(b, len(rows))
		})
	}
}

// BenchmarkFold adds up by day: in an array of days, by sorting where they lie far apart, and in 128 bits.
func BenchmarkFold(b *testing.B) {
	const n = 256
	for _, shape := range []struct {
		name       string
		apart, qty int64
	}{{"dense", 1, 7}, {"sorted", 97, 7}, {"exact", 1, 1 << 60}} {
		b.Run(shape.name, func(b *testing.B) {
			rows, highest, annex := make([]Row, n), make([]uint32, n), &Annex{}
			for i := range rows {
				rows[i].ValidTime, highest[i] = int64(i*101%n)*shape.apart*nanosPerDay, uint32(i)
				rows[i].setNumbers(KindNew, 1, shape.qty*int64(1-2*(i%2)), &annex.Numbers)
			}
			var fold Fold
			var closes Closes
			for b.Loop() {
				closes.truncate(0)
				fold.Key(&closes, rows, highest, annex, 0, 100)
			}
			perRow(b, n)
		})
	}
}

// BenchmarkWide adds products in 128 bits.
func BenchmarkWide(b *testing.B) {
	sum := Wide{}
	for b.Loop() {
		sum = sum.Plus(Product(1<<60, 3))
	}
	_ = sum
}
