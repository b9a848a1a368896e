package decode

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// index finds a route by its broker key. It is a hash table by open addressing, of four bytes a slot: with tens of thousands of
// stock keys, the cache lines that a look-up touches are a good part of what a record costs, and a map touches more.
type index struct {
	slots []int32 // a route plus 1, or 0
	shift int     // from a hash to a slot
}

// newIndex indexes routes, whose broker keys differ.
func newIndex(routes []route) index {
	size := bits.Len(uint(2 * len(routes))) // a quarter to a half of all slots is used
	x := index{make([]int32, 1<<size), 64 - size}
	for i, r := range routes {
		slot := hash(r.brokerKey) >> x.shift
		for x.slots[slot] != 0 {
			slot = (slot + 1) & uint64(len(x.slots)-1)
		}
		x.slots[slot] = int32(i) + 1
	}
	return x
}

// find returns the route of a broker key, and whether there is one.
func (x *index) find(routes []route, key []byte) (int32, bool) {
	for slot := hash(key) >> x.shift; x.slots[slot] != 0; slot = (slot + 1) & uint64(len(x.slots)-1) {
		if i := x.slots[slot] - 1; bytes.Equal(routes[i].brokerKey, key) {
			return i, true
		}
	}
	return 0, false
}

// hash spreads keys over 64 bits; it is no more than a way into the index.
func hash(key []byte) uint64 {
	const odd = 0x9E3779B97F4A7C15
	h := uint64(len(key))
	for ; len(key) >= 8; key = key[8:] {
		high, low := bits.Mul64(h^binary.LittleEndian.Uint64(key), odd)
		h = high ^ low
	}
	for _, c := range key {
		h = (h ^ uint64(c)) * odd
	}
	return h * odd
}
