package vectorized

import (
	"amends.dev/amends/manifests"
)

// Layout says where the rows of a namespace's keys go: each key belongs to one partition and, within it, to one bucket.
// It is read-only and shared.
type Layout struct {
	// Keys are the namespace's, sorted by bytes; Origin is the ledger's, in nanoseconds since the Unix epoch.
	Keys   []manifests.StockKey
	Origin int64
	places []place
	parts  []partitionLayout
	// items and locations number the distinct texts; dense has key + 1 by item and location number, or 0, and sparse the key
	// where there are too many pairs for that.
	items, locations map[string]int32
	dense            []int32
	sparse           map[[2]int32]int32
}

// denseTable bounds the pairs of item and location for which there is a table.
const denseTable = 1 << 24

// place is where a key's rows go.
type place struct {
	partition, bucket int32
	local             uint16
}

// partitionLayout are the keys of each bucket of a partition, ascending.
type partitionLayout struct{ buckets [][]int32 }

// bucketKeys bounds the keys of a bucket: Row.Key has 16 bits.
const bucketKeys = 1 << 16

// NewLayout divides the keys. partitionOf names the partition of a key; rows is the number of records that each
// partition will bring, and target that of a bucket.
func NewLayout(keys []manifests.StockKey, origin int64, partitionOf func(key int) int32, rows []int64, target int64) *Layout {
	l := &Layout{
		Keys: keys, Origin: origin, places: make([]place, len(keys)), parts: make([]partitionLayout, len(rows)),
	}
	l.index()
	of := make([][]int32, len(rows))
	for k := range keys {
		p := partitionOf(k)
		l.places[k].partition = p
		of[p] = append(of[p], int32(k))
	}
	for p, all := range of {
		n := int(min(max(rows[p]/target, 1), int64(max(len(all), 1)))) //nolint:gosec // both have one entry for each partition
		size := min((len(all)+n-1)/n, bucketKeys)
		for start := 0; start < len(all); start += size {
			bucket := all[start:min(start+size, len(all))]
			for local, k := range bucket {
				l.places[k].bucket, l.places[k].local = int32(len(l.parts[p].buckets)), uint16(local)
			}
			l.parts[p].buckets = append(l.parts[p].buckets, bucket)
		}
	}
	return l
}

// Buckets is the number of buckets of a partition.
func (l *Layout) Buckets(partition int32) int { return len(l.parts[partition].buckets) }

// Bucket are the keys of a bucket, ascending; Row.Key is an index into it.
func (l *Layout) Bucket(partition int32, bucket int) []int32 {
	return l.parts[partition].buckets[bucket]
}

// index numbers the texts of the keys.
func (l *Layout) index() {
	l.items, l.locations = map[string]int32{}, map[string]int32{}
	number := func(known map[string]int32, text string) int32 {
		n, ok := known[text]
		if !ok {
			n = int32(len(known))
			known[text] = n
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
			l.sparse[p] = int32(k)
		}
		return
	}
	l.dense = make([]int32, len(l.items)*len(l.locations))
	for k, p := range pairs {
		l.dense[int(p[0])*len(l.locations)+int(p[1])] = int32(k) + 1
	}
}

// find returns the key of an item and a location number, -1 where either is, or there is none.
func (l *Layout) find(item, location int32) int32 {
	if item < 0 || location < 0 {
		return -1
	}
	if l.dense != nil {
		return l.dense[int(item)*len(l.locations)+int(location)] - 1
	}
	key, ok := l.sparse[[2]int32{item, location}]
	if !ok {
		return -1
	}
	return key
}
