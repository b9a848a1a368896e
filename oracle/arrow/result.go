package arrow

import (
	"cmp"
	"slices"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/vectorized"
)

// Result is a computation's outcome as columns. It is read-only and safe for concurrent use.
type Result struct {
	// Records is the number of records, rejected ones included.
	Records   int64
	Counts    vectorized.Counts
	namespace *manifests.Namespace
	keys      []found    // by key that has a record, ascending
	conflicts []conflict // sorted by key, transaction ID, revision
	rejects   []Rejected // sorted by partition, offset
}

// found is one key's outcome and the columns that its closes are in.
type found struct {
	vectorized.KeyFound
	in *vectorized.Closes
}

// conflict is a revision in conflict.
type conflict = vectorized.Conflict

// Rejected is one rejected record.
type Rejected struct {
	Partition int32
	Offset    int64
	Reason    decode.Reason
}

// add adds what a bucket amounts to.
func (r *Result) add(f *vectorized.Found) {
	for _, k := range f.Keys {
		r.keys = append(r.keys, found{k, &f.Closes})
	}
	r.conflicts = append(r.conflicts, f.Conflicts...)
	r.Counts.Add(f.Counts)
	r.Records += f.Counts.Records
}

// reject adds rejected records.
func (r *Result) reject(all []Rejected) {
	r.rejects = append(r.rejects, all...)
	r.Records += int64(len(all))
}

// sort sorts.
func (r *Result) sort() {
	slices.SortFunc(r.keys, func(a, b found) int { return cmp.Compare(a.Key, b.Key) })
	slices.SortFunc(r.conflicts, func(a, b conflict) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.TxnID, b.TxnID), cmp.Compare(a.Revision, b.Revision))
	})
	slices.SortFunc(r.rejects, func(a, b Rejected) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
}
