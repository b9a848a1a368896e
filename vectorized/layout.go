package vectorized

import (
	"math/bits"
	"strings"

	"amends.dev/amends/manifests"
)

// Layout says where the rows of a namespace's keys go: each key belongs to one partition and, within it, to one bucket.
// It is read-only and shared.
type Layout struct {
	// Keys are the namespace's, sorted by bytes; Origin is the ledger's, in nanoseconds since the Unix epoch.
	Keys   []manifests.StockKey
	Origin int64
	// order are the keys by place: partition after partition, ascending within. places are the places by key.
	order, places []int32
	parts         []partitionLayout
	// items and locations number the distinct texts; dense has place + 1 by item and location number, or 0, and sparse the
	// place where there are too many pairs for that.
	items, locations map[string]int32
	dense            []int32
	sparse           map[[2]int32]int32
}

// denseTable bounds the pairs of item and location for which there is a table.
const denseTable = 1 << 24

// partitionLayout are the places of a partition. Bucket and index within it are bits of a place, less the first one.
type partitionLayout struct {
	first, keys int32
	shift       uint8 // 1<<shift keys are a bucket
}

// bucketShift bounds the keys of a bucket: Row.key has 16 bits.
const bucketShift = 16

// NewLayout divides the keys. partitionOf names the partition of a key; rows is the number of records that each
// partition will bring, and target that of a bucket, from half of which up buckets are made.
func NewLayout(keys []manifests.StockKey, origin int64, partitionOf func(key int) int32, rows []int64, target int64) *Layout {
	l := &Layout{
		Keys: keys, Origin: origin, order: make([]int32, 0, len(keys)), places: make([]int32, len(keys)),
		parts: make([]partitionLayout, len(rows)),
	}
	of := make([][]int32, len(rows))
	for k := range keys {
		p := partitionOf(k)
		of[p] = append(of[p], int32(k))
	}
	for p, all := range of {
		n := min(max(rows[p]/target, 1), int64(max(len(all), 1))) //nolint:gosec // both have one entry for each partition
		size := uint64(max(len(all), 1)) / uint64(n)
		l.parts[p] = partitionLayout{
			first: int32(len(l.order)), keys: int32(len(all)), shift: uint8(min(bits.Len64(size)-1, bucketShift)),
		}
		for _, k := range all {
			l.places[k] = int32(len(l.order))
			l.order = append(l.order, k)
		}
	}
	l.index()
	return l
}

// Buckets is the number of buckets of a partition.
func (l *Layout) Buckets(partition int32) int {
	p := &l.parts[partition]
	return (int(p.keys) + 1<<p.shift - 1) >> p.shift
}

// Bucket are the keys of a bucket, ascending; Row.key is an index into it.
func (l *Layout) Bucket(partition int32, bucket int) []int32 {
	p := &l.parts[partition]
	start := bucket << p.shift
	return l.order[int(p.first)+start : int(p.first)+min(start+1<<p.shift, int(p.keys))]
}

// index numbers the texts of the keys.
func (l *Layout) index() {
	l.items, l.locations = map[string]int32{}, map[string]int32{}
	number := func(known map[string]int32, text string) int32 {
		n, ok := known[text]
		if !ok {
			n = int32(len(known))
			known[strings.Clone(text)] = n // texts that lie together are found faster than those of a large file
		}
		return n
	}
	pairs := make([][2]int32, len(l.Keys))
	for k := range l.Keys {
		pairs[k] = [2]int32{number(l.items, l.Keys[k].Item), number(l.locations, l.Keys[k].Location)}
	}
	if len(l.items)*len(l.locations) > denseTable {
		l.sparse = make(map[[2]int32]int32, len(pairs))
		for k, p := range pairs {
			l.sparse[p] = l.places[k]
		}
		return
	}
	l.dense = make([]int32, len(l.items)*len(l.locations))
	for k, p := range pairs {
		l.dense[int(p[0])*len(l.locations)+int(p[1])] = l.places[k] + 1
	}
}

// find returns the place of an item and a location number, -1 where either is, or there is none.
func (l *Layout) find(item, location int32) int32 {
	if item < 0 || location < 0 {
		return -1
	}
	if l.dense != nil {
		return l.dense[int(item)*len(l.locations)+int(location)] - 1
	}
	place, ok := l.sparse[[2]int32{item, location}]
	if !ok {
		return -1
	}
	return place
}
