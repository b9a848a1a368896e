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
	*vectorized.KeyFound
	in *vectorized.Found
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
	for i := range f.Keys {
		r.keys = append(r.keys, found{&f.Keys[i], f})
	}
	r.Counts.Add(f.Counts)
	r.Records += f.Counts.Records
}

// reject adds rejected records.
func (r *Result) reject(all []Rejected) {
	r.rejects = append(r.rejects, all...)
	r.Records += int64(len(all))
}

// arrange puts keys and rejections into their order, and the conflicts into that of their keys.
func (r *Result) arrange() {
	places := make([]uint32, len(r.namespace.Spec.StockKeys)) // in keys, plus 1
	for i := range r.keys {
		places[r.keys[i].Key] = uint32(i + 1)
	}
	keys := make([]found, 0, len(r.keys))
	for _, place := range places {
		if place > 0 {
			k := r.keys[place-1]
			keys = append(keys, k)
			r.conflicts = append(r.conflicts, k.in.Conflicts[k.ConflictsFrom:k.ConflictsTo]...)
		}
	}
	r.keys = keys
	slices.SortFunc(r.rejects, func(a, b Rejected) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
}
