package vectorized

import (
	"errors"
	"hash/maphash"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"amends.dev/amends/manifests"
)

// testLayout has two keys in partition 0 and one in partition 1.
func testLayout() *Layout {
	keys := []manifests.StockKey{{Item: "a", Location: "x"}, {Item: "a", Location: "y"}, {Item: "b", Location: "x"}}
	return NewLayout(keys, 1000, func(k int) int32 { return int32(k / 2) }, []int64{2, 1}, 1)
}

// valid are two accepted records of partition 0 and a rejected one between them.
func valid() *Columns {
	return &Columns{
		Rows: 3, Accepted: 2, Offset: []int64{0, 1, 2},
		Item:     Dictionary{[]int32{0, 0}, [][]byte{[]byte("a"), []byte("b"), []byte("foreign")}},
		Location: Dictionary{[]int32{0, 1}, [][]byte{[]byte("x"), []byte("y")}},
		Kind:     Dictionary{[]int32{0, 1}, [][]byte{[]byte("NEW"), []byte("CANCEL"), []byte("new")}},
		TxnID:    Strings{[]byte("onetwo"), []uint32{0, 3, 6}},
		Revision: []int64{1, 2}, ValidTime: []int64{1000, 1001}, Qty: []int64{5, 0},
		Reject: Dictionary{[]int32{0}, [][]byte{[]byte("null_value")}}, RejectAt: []uint32{1},
	}
}

// scatter puts columns into a store and returns what its buckets hold.
func scatter(t *testing.T, c *Columns) ([]string, error) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	chunks := NewChunks(mem)
	defer chunks.Release()
	layout := testLayout()
	store := NewStore(chunks, layout, 0, 0)
	defer store.Release()
	if err := NewScatter(layout, maphash.MakeSeed()).Columns(store, 0, c); err != nil {
		return nil, err
	}
	var found []string
	for b := range layout.Buckets(0) {
		store.each(b, func(rows []Row) {
			for i := range rows {
				found = append(found, string(rows[i].TxnID.Append(nil, Arenas{store.buckets[b].arena})))
			}
		})
	}
	return found, nil
}

// TestScatterRefuses changes one value of valid columns at a time to one that no decoder gives.
func TestScatterRefuses(t *testing.T) {
	got, err := scatter(t, valid())
	if err != nil {
		t.Fatalf("valid columns: %v", err)
	}
	equal(t, "rows", got, []string{"one", "two"})
	for name, c := range map[string]struct {
		change func(c *Columns)
		want   error
	}{
		"foreign item":        {func(c *Columns) { c.Item.Codes[1] = 2 }, errKey},
		"pair that is no key": {func(c *Columns) { c.Item.Codes[1] = 1 }, errKey},
		"item code too high":  {func(c *Columns) { c.Item.Codes[1] = 3 }, errDictCode},
		"negative code":       {func(c *Columns) { c.Location.Codes[1] = -1 }, errDictCode},
		"other partition":     {func(c *Columns) { c.Item.Codes[0] = 1 }, errPartition},
		"kind in lower case":  {func(c *Columns) { c.Kind.Codes[0] = 2 }, errKind},
		"kind code too high":  {func(c *Columns) { c.Kind.Codes[0] = 9 }, errKind},
		"revision 0":          {func(c *Columns) { c.Revision[0] = 0 }, errRevision},
		"cancelled quantity":  {func(c *Columns) { c.Qty[1] = 1 }, errCancelQty},
		"before the origin":   {func(c *Columns) { c.ValidTime[0] = 999 }, errOrigin},
		"empty ID":            {func(c *Columns) { c.TxnID.Offsets[1] = 0 }, errTxnID},
		"ID with U+0000":      {func(c *Columns) { c.TxnID.Data[1] = 0 }, errTxnID},
		"ID that is no UTF-8": {func(c *Columns) { c.TxnID.Data[1] = 0xFF }, errTxnID},
		"ID cut in a character": {func(c *Columns) {
			c.TxnID.Data = []byte("on\xc3\xa9wo") // valid as a whole
		}, errTxnID},
		"ID of 257 bytes": {func(c *Columns) {
			c.TxnID = Strings{[]byte(strings.Repeat("x", 257) + "two"), []uint32{0, 257, 260}}
		}, errTxnID},
	} {
		t.Run(name, func(t *testing.T) {
			columns := valid()
			c.change(columns)
			_, err := scatter(t, columns)
			var row *RowError
			if !errors.Is(err, c.want) || !errors.As(err, &row) {
				t.Errorf("%v, want a *RowError with %v", err, c.want)
			}
		})
	}
}

// TestManyPairs uses a layout with so many pairs of texts that there is no table for them.
func TestManyPairs(t *testing.T) {
	keys := make([]manifests.StockKey, 4200)
	for i := range keys {
		name := strings.Repeat("n", i%60) + string(rune('a'+i/60))
		keys[i] = manifests.StockKey{Item: name, Location: name}
	}
	layout := NewLayout(keys, 0, func(int) int32 { return 0 }, []int64{1}, 1)
	if layout.sparse == nil {
		t.Fatal("there is a table")
	}
	for i := range keys {
		n := layout.items[keys[i].Item]
		if got := layout.find(n, layout.locations[keys[i].Location]); int(got) != i {
			t.Fatalf("key %d is found as %d", i, got)
		}
	}
	if got := layout.find(0, 1); got != -1 {
		t.Errorf("a pair that is no key is found as %d", got)
	}
}
