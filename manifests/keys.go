package manifests

import (
	"cmp"
	"slices"
)

// keyFields are the fields of one stock key, also the columns of a stock-key file, in its order.
var keyFields = []string{"item", "location", "openingBalance", "reorderThreshold"}

// locatedKey is a stock key with where it was read: path is empty in a CSV file.
type locatedKey struct {
	StockKey
	path         string
	line, column int32
}

// compareKeys orders stock keys by the bytes of item, then location.
func compareKeys(a, b StockKey) int {
	if c := cmp.Compare(a.Item, b.Item); c != 0 {
		return c
	}
	return cmp.Compare(a.Location, b.Location)
}

// sortKeys orders the keys as Spec.StockKeys wants them and reports every one that was listed before (B112).
func (w *walker) sortKeys(keys []locatedKey, file string, ok bool) []StockKey {
	if !ok {
		return nil
	}
	byKey := func(a, b locatedKey) int {
		if c := compareKeys(a.StockKey, b.StockKey); c != 0 {
			return c
		}
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	}
	if !slices.IsSortedFunc(keys, byKey) {
		slices.SortFunc(keys, byKey)
	}
	sorted := make([]StockKey, len(keys))
	first := 0
	for i, k := range keys {
		sorted[i] = k.StockKey
		if i == 0 || compareKeys(keys[first].StockKey, k.StockKey) != 0 {
			first = i
			continue
		}
		w.problems.add(Problem{File: file, Line: int(k.line), Column: int(k.column), Path: k.path,
			Message: "stock key " + keyText(k.StockKey) + " is listed twice, " + firstSeen(keys[first])})
	}
	return sorted
}

// keyIndex finds a stock key's index by open addressing: 4 bytes a slot, at most half of them used, so that a million
// keys cost 8 MB. It is not changed once built.
type keyIndex struct {
	slots []int32 // key ID + 1, 0 for a free slot
	mask  uint64
}

func newKeyIndex(keys []StockKey) *keyIndex {
	size := uint64(2)
	for size < 2*uint64(len(keys)) {
		size *= 2
	}
	x := &keyIndex{slots: make([]int32, size), mask: size - 1}
	for i, k := range keys {
		slot := hashKey(k.Item, k.Location) & x.mask
		for x.slots[slot] != 0 {
			slot = (slot + 1) & x.mask
		}
		x.slots[slot] = int32(i) + 1
	}
	return x
}

// hashKey is FNV-1a over both parts and a byte that occurs in neither, with the high bits folded in.
func hashKey(item, location string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(item) {
		h = (h ^ uint64(item[i])) * prime
	}
	h = (h ^ 0xff) * prime
	for i := range len(location) {
		h = (h ^ uint64(location[i])) * prime
	}
	return h ^ h>>32
}

// KeyID returns the index in Spec.StockKeys of the stock key (item, location), compared by bytes, and false where the
// key is not configured. It is safe for concurrent use.
func (n *Namespace) KeyID(item, location string) (int32, bool) {
	keys := n.Spec.StockKeys
	if n.index == nil {
		i, found := slices.BinarySearchFunc(keys, StockKey{Item: item, Location: location}, compareKeys)
		if !found {
			return 0, false
		}
		return int32(i), true
	}
	for slot := hashKey(item, location) & n.index.mask; ; slot = (slot + 1) & n.index.mask {
		id := n.index.slots[slot] - 1
		if id < 0 {
			return 0, false
		}
		if k := &keys[id]; k.Item == item && k.Location == location {
			return id, true
		}
	}
}
