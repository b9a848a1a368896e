package vectorized

import "hash/maphash"

// Found is what the rows of one bucket amount to. Its memory is its own.
type Found struct {
	Closes
	// Keys are the bucket's keys that have a record, ascending by index in the namespace.
	Keys []KeyFound
	// Conflicts are the revisions with distinct payloads, by key, unsorted within.
	Conflicts []Conflict
	Counts    Counts
}

// KeyFound is what one key amounts to.
type KeyFound struct {
	// Key is the index in the namespace's stock keys.
	Key int32
	// From and To delimit the key's closes in Found.Closes.
	From, To int
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
	ends      []uint32
	txn       []byte
}

// NewResolver returns a resolver over a layout.
func NewResolver(layout *Layout, seed maphash.Seed) *Resolver {
	return &Resolver{layout: layout, authority: NewAuthority(maphash.Bytes(seed, nil))}
}

// Bucket resolves a bucket of a partition whose rows are in the given stores, by their numbers; nil is an empty one.
func (r *Resolver) Bucket(partition int32, bucket int, stores []*Store) *Found {
	keys := r.layout.Bucket(partition, bucket)
	arenas := r.gather(bucket, len(keys), stores)
	found := &Found{}
	start := uint32(0)
	for local, key := range keys {
		if end := r.ends[local]; end > start {
			r.key(found, key, r.rows[start:end], arenas)
			start = end
		}
	}
	found.Counts.Records = int64(len(r.rows))
	return found
}

// gather sorts the rows of a bucket by key, with a counting sort. Those of local key k end at ends[k].
func (r *Resolver) gather(bucket, keys int, stores []*Store) Arenas {
	arenas := make(Arenas, 0, len(stores))
	r.ends = append(r.ends[:0], make([]uint32, keys+1)...)
	total := 0
	for _, s := range stores {
		if s == nil {
			arenas = append(arenas, nil)
			continue
		}
		arenas = append(arenas, s.buckets[bucket].arena)
		total += s.rows(bucket)
		s.each(bucket, func(rows []Row) {
			for i := range rows {
				r.ends[rows[i].Key+1]++
			}
		})
	}
	for k := range keys {
		r.ends[k+1] += r.ends[k]
	}
	if cap(r.rows) < total {
		r.rows = make([]Row, total, total+total/4)
	}
	r.rows = r.rows[:total]
	for _, s := range stores {
		if s == nil {
			continue
		}
		s.each(bucket, func(rows []Row) {
			for i := range rows {
				at := &r.ends[rows[i].Key]
				r.rows[*at] = rows[i]
				*at++
			}
		})
	}
	return arenas
}

// key resolves the rows of one key.
func (r *Resolver) key(found *Found, key int32, rows []Row, arenas Arenas) {
	res := r.authority.Resolve(rows, arenas)
	k := KeyFound{Key: key, From: len(found.Day), Blocked: res.Blocked}
	if !res.Blocked {
		sk := &r.layout.Keys[key]
		k.OutOfDomain = r.fold.Key(&found.Closes, rows, res.Highest, sk.OpeningBalance, sk.ReorderThreshold)
	} else {
		found.Counts.BlockedKeys++
	}
	k.To = len(found.Day)
	found.Keys = append(found.Keys, k)
	found.Counts.Identities += int64(res.Identities)
	found.Counts.Duplicates += int64(res.Duplicates)
	r.conflicts(found, key, rows, &res, arenas)
}

// conflicts collects the revisions in conflict.
func (r *Resolver) conflicts(found *Found, key int32, rows []Row, res *Resolved, arenas Arenas) {
	if !res.Conflict {
		return
	}
	add := func(row *Row, highest bool) {
		r.txn = row.TxnID.Append(r.txn[:0], arenas)
		found.Conflicts = append(found.Conflicts, Conflict{key, string(r.txn), row.Revision, highest})
	}
	if res.Blocked {
		for _, slot := range res.Highest {
			if slot != 0 && rows[slot-1].Conflict {
				found.Counts.HighConflicts++
				add(&rows[slot-1], true)
			}
		}
	}
	for _, i := range res.Lower {
		if rows[i].Conflict {
			found.Counts.LowerConflicts++
			add(&rows[i], false)
		}
	}
}
