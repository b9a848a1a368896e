package ledger

import (
	"cmp"
	"slices"
	"sort"
)

// keyState is the working set of one stock key: everything that deciding its records reads and writes. It belongs to
// one batch, or to the cache between batches.
type keyState struct {
	id int32
	// row is the status row; StatusVersion 0 means that the key has none yet. row.Conflicts is replaced, never changed
	// in place, because rows handed out share it.
	row         KeyRow
	statusDirty bool
	// days holds every day row of the key, withdrawn ones included, sorted by day. dirty rows lie in dirtyDays.
	days      []dayState
	dirtyDays dayRange
	// identities holds what is known; an entry that is not present is known to be absent.
	identities map[string]*identity
	// complete says that an identity without an entry is absent.
	complete bool
}

// dayState is one day row with what the unit of work needs to write it.
type dayState struct {
	DayRow
	// stored: a committed row exists. dirty: this unit of work changed it.
	stored, dirty bool
}

// dayRange is the smallest range that holds all dirty days; empty when not set.
type dayRange struct {
	set      bool
	from, to int32
}

// include widens the range.
func (r *dayRange) include(day int32) {
	if !r.set {
		*r = dayRange{set: true, from: day, to: day}
		return
	}
	r.from, r.to = min(r.from, day), max(r.to, day)
}

// identity is the authority of one transaction identity and the evidence known in this unit of work.
type identity struct {
	row AuthorityRow
	// present: at least one payload was accepted. stored: a committed row exists. dirty: this unit changed it.
	present, stored, dirty bool
	// base is the committed highest revision at the start of the unit of work, 0 where absent; baseAmbiguous its flag.
	// The store holds no evidence above base, and at base only while it is ambiguous.
	base          int64
	baseAmbiguous bool
	// evidence holds the payloads, by revision, that are not the authority row's. It is complete at revisions above
	// base, at an unambiguous base, and at those in loaded.
	evidence map[int64][]Payload
	loaded   map[int64]struct{}
}

// blocked tells whether business outputs of the key are frozen (S4).
func (k *keyState) blocked() bool { return len(k.row.Conflicts) > 0 }

// findDay returns the index of the first row on or after day. Appending at the end is the common case.
func (k *keyState) findDay(day int32) int {
	if n := len(k.days); n == 0 || k.days[n-1].Day < day {
		return n
	}
	return sort.Search(len(k.days), func(i int) bool { return k.days[i].Day >= day })
}

// closeBefore returns the close of the last active day before index i, or the opening balance: the preceding calendar
// day need not have a row (S6, SC13).
func (k *keyState) closeBefore(i int, opening int64) int64 {
	for i--; i >= 0; i-- {
		if k.days[i].Active > 0 {
			return k.days[i].Close
		}
	}
	return opening
}

// setDay writes a day row and marks it for the unit of work.
func (k *keyState) setDay(row DayRow) {
	i := k.findDay(row.Day)
	if i == len(k.days) || k.days[i].Day != row.Day {
		k.days = slices.Insert(k.days, i, dayState{})
	}
	k.days[i].DayRow = row
	k.days[i].dirty = true
	k.dirtyDays.include(row.Day)
}

// evidenceNeeded tells whether equality at a revision can be decided only with evidence from the store (R20).
func (id *identity) evidenceNeeded(revision int64) bool {
	if revision > id.base || revision == id.base && !id.baseAmbiguous {
		return false
	}
	_, ok := id.loaded[revision]
	return !ok
}

// addEvidence notes a payload that is not the authority row's.
func (id *identity) addEvidence(p Payload) {
	if id.evidence == nil {
		id.evidence = make(map[int64][]Payload)
	}
	id.evidence[p.Revision] = append(id.evidence[p.Revision], p)
}

// compareConflicts orders conflict references by transaction ID bytes, then revision (R10).
func compareConflicts(a, b ConflictRef) int {
	return cmp.Or(cmp.Compare(a.TxnID, b.TxnID), cmp.Compare(a.Revision, b.Revision))
}

// withConflict returns the sorted set with one more reference.
func withConflict(set []ConflictRef, ref ConflictRef) []ConflictRef {
	i, _ := slices.BinarySearchFunc(set, ref, compareConflicts)
	return slices.Insert(slices.Clone(set), i, ref)
}

// withoutConflict returns the sorted set without a reference that is in it.
func withoutConflict(set []ConflictRef, ref ConflictRef) []ConflictRef {
	i, found := slices.BinarySearchFunc(set, ref, compareConflicts)
	if !found {
		return set
	}
	return slices.Delete(slices.Clone(set), i, i+1)
}
