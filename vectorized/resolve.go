package vectorized

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// Found is what the rows of one bucket amount to. Its memory is its own.
type Found struct {
	Closes
	// Keys are the bucket's keys that have a record, ascending by index in the namespace.
	Keys []KeyFound
	// Conflicts are the revisions with distinct payloads, sorted by key, transaction ID, revision.
	Conflicts []Conflict
	Counts    Counts
}

// KeyFound is what one key amounts to.
type KeyFound struct {
	// Key is the index in the namespace's stock keys.
	Key int32
	// From and To delimit the key's closes in Found.Closes.
	From, To int
	// ConflictsFrom and ConflictsTo delimit those of the key in Found.Conflicts.
	ConflictsFrom, ConflictsTo int
	// Blocked says that a highest revision is in conflict: there are no closes (S4).
	Blocked bool
	// OutOfDomain are the days whose close does not fit (R09): there are no closes.
	OutOfDomain []OutOfDomain
}

// Conflict is a revision that holds distinct payloads.
type Conflict struct {
	Key      int32
	TxnID    string
	Revision int64
	// Highest says that it is the highest of its identity and blocks the key.
	Highest bool
}

// Counts are counted over records or groups of them.
type Counts struct {
	// Records are accepted ones; Identities are distinct transaction IDs of keys.
	Records, Identities int64
	// Duplicates are records that repeat another one in a revision without conflict.
	Duplicates int64
	// LowerConflicts and HighConflicts are revisions in conflict below and at the highest one.
	LowerConflicts, HighConflicts int64
	BlockedKeys                   int64
}

// Add adds the counts of another part.
func (c *Counts) Add(o Counts) {
	c.Records += o.Records
	c.Identities += o.Identities
	c.Duplicates += o.Duplicates
	c.LowerConflicts += o.LowerConflicts
	c.HighConflicts += o.HighConflicts
	c.BlockedKeys += o.BlockedKeys
}

// Resolver resolves buckets. Its memory is reused; it is for one goroutine.
type Resolver struct {
	layout    *Layout
	authority *Authority
	fold      Fold
	rows      []Row
	annex     Annex
	ends      []uint32
	closes    Closes
	txn       []byte
}

// NewResolver returns a resolver over a layout.
func NewResolver(layout *Layout, seed maphash.Seed) *Resolver {
	return &Resolver{layout: layout, authority: NewAuthority(maphash.Bytes(seed, nil))}
}

// Bucket resolves a bucket of a partition whose rows are in the given stores, by their numbers; nil is an empty one.
func (r *Resolver) Bucket(partition int32, bucket int, stores []*Store) *Found {
	keys := r.layout.Bucket(partition, bucket)
	r.gather(bucket, bucket<<r.layout.parts[partition].shift, len(keys), stores)
	r.closes.truncate(0)
	found, start := &Found{Keys: make([]KeyFound, 0, r.present(len(keys)))}, uint32(0)
	for local, key := range keys {
		if end := r.ends[local]; end > start {
			r.key(found, key, r.rows[start:end])
			start = end
		}
	}
	found.Closes = r.closes.clone()
	found.Counts.Records = int64(len(r.rows))
	return found
}

// present counts the keys that have rows, of so many.
func (r *Resolver) present(keys int) (n int) {
	start := uint32(0)
	for _, end := range r.ends[:keys] {
		if end > start {
			n++
		}
		start = end
	}
	return n
}

// gather sorts the rows of a bucket by key, with a counting sort. The bucket's keys begin at a place of the partition; rows
// of local key k end at ends[k].
func (r *Resolver) gather(bucket, place, keys int, stores []*Store) {
	r.annex.IDs, r.annex.Numbers = r.annex.IDs[:0], r.annex.Numbers[:0]
	r.ends = cleared(r.ends, keys+1)
	ends := r.ends
	for _, s := range stores {
		if s == nil {
			r.annex.IDs = append(r.annex.IDs, nil)
			continue
		}
		r.annex.IDs = append(r.annex.IDs, s.buckets[bucket].arena)
		for k, n := range s.records[place : place+keys] {
			ends[k+1] += n
		}
	}
	for k := range keys {
		ends[k+1] += ends[k]
	}
	r.rows = sized(r.rows, int(ends[keys]))
	times := noTimes
	for _, s := range stores {
		if s != nil {
			times = r.place(s, bucket, times)
		}
	}
	r.fold.Expect(times, &r.annex)
}

// place copies the rows of one store to their places.
func (r *Resolver) place(s *Store, bucket int, times Times) Times {
	numbers := int32(len(r.annex.Numbers))
	r.annex.Numbers = append(r.annex.Numbers, s.buckets[bucket].numbers...)
	ends, sorted := r.ends, r.rows
	s.each(bucket, func(rows []Row) {
		for i := range rows {
			row := &rows[i]
			at := &ends[row.key]
			to := &sorted[*at]
			*to = *row
			*at++
			times.First, times.Last = min(times.First, row.ValidTime), max(times.Last, row.ValidTime)
			if row.large() {
				to.qty += numbers
			}
		}
	})
	return times
}

// key resolves the rows of one key.
func (r *Resolver) key(found *Found, key int32, rows []Row) {
	res := r.authority.Resolve(rows, &r.annex)
	k := KeyFound{Key: key, From: len(r.closes.Day), Blocked: res.Blocked}
	if !res.Blocked {
		sk := &r.layout.Keys[key]
		k.OutOfDomain = r.fold.Key(&r.closes, rows, res.Highest, &r.annex, sk.OpeningBalance, sk.ReorderThreshold)
	} else {
		found.Counts.BlockedKeys++
	}
	k.To = len(r.closes.Day)
	k.ConflictsFrom = len(found.Conflicts)
	r.conflicts(found, key, rows, &res)
	k.ConflictsTo = len(found.Conflicts)
	found.Keys = append(found.Keys, k)
	found.Counts.Identities += int64(len(res.Highest))
	found.Counts.Duplicates += int64(res.Duplicates)
}

// conflicts appends the revisions in conflict of a key.
func (r *Resolver) conflicts(found *Found, key int32, rows []Row, res *Resolved) {
	from := len(found.Conflicts)
	for _, i := range res.Conflicts {
		row, lower := &rows[i], res.Lower(i)
		r.txn = row.TxnID.Append(r.txn[:0], r.annex.IDs)
		found.Conflicts = append(found.Conflicts, Conflict{key, string(r.txn), row.revision(&r.annex), !lower})
		if lower {
			found.Counts.LowerConflicts++
		} else {
			found.Counts.HighConflicts++
		}
	}
	slices.SortFunc(found.Conflicts[from:], func(a, b Conflict) int {
		return cmp.Or(cmp.Compare(a.TxnID, b.TxnID), cmp.Compare(a.Revision, b.Revision))
	})
}
