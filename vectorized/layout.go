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
	index  map[pair]int32
	parts  []partitionLayout
}

// place is where a key's rows go.
type place struct {
	partition, bucket int32
	local             uint16
}

// pair is a stock key as text.
type pair struct{ item, location string }

// partitionLayout are the keys of each bucket of a partition, ascending.
type partitionLayout struct{ buckets [][]int32 }

// bucketKeys bounds the keys of a bucket: Row.Key has 16 bits.
const bucketKeys = 1 << 16

// NewLayout divides the keys. partitionOf names the partition of a key; rows is the number of records that each
// partition will bring, and target that of a bucket.
func NewLayout(keys []manifests.StockKey, origin int64, partitionOf func(key int) int32, rows []int64, target int64) *Layout {
	l := &Layout{
		Keys: keys, Origin: origin, places: make([]place, len(keys)), index: make(map[pair]int32, len(keys)),
		parts: make([]partitionLayout, len(rows)),
	}
	of := make([][]int32, len(rows))
	for k := range keys {
		p := partitionOf(k)
		l.places[k].partition = p
		of[p] = append(of[p], int32(k))
		l.index[pair{keys[k].Item, keys[k].Location}] = int32(k)
	}
	for p, all := range of {
		n := int(min(max(rows[p]/target, 1), int64(max(len(all), 1))))
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

// Find returns a key's index, or -1.
func (l *Layout) Find(item, location []byte) int32 {
	k, ok := l.index[pair{string(item), string(location)}]
	if !ok {
		return -1
	}
	return k
}
