package vectorized

import (
	"math/bits"
	"slices"
)

// Authority resolves the rows of one key after the other (S3, S4). Its memory is reused; it is for one goroutine.
type Authority struct {
	seed    uint64
	slots   []uint64 // the upper half of an identity's hash over its number + 1, or 0; by the lower bits of the hash
	highest []uint32 // by identity
	lower   []uint32 // rows of revisions below the highest one of their identity
	groups  []Group
	// Of the key in work: records that repeat another one, and whether any revision is in conflict.
	duplicates int
	conflict   bool
}

// NewAuthority returns a resolver whose tables are seeded, so that nobody can prepare colliding IDs.
func NewAuthority(seed uint64) *Authority { return &Authority{seed: seed} }

// Resolved is what the rows of one key amount to. Slices are valid until the next Resolve.
type Resolved struct {
	// Duplicates is the number of records which repeat another one in a revision without conflict.
	Duplicates int
	// Conflict says that a revision is in conflict; Blocked, that a highest one is.
	Conflict, Blocked bool
	// Highest is, for each distinct transaction ID, a row of its highest revision.
	Highest []uint32
	// Lower are one row for each revision below the highest one.
	Lower []uint32
	// Groups tell, by row, about the revisions of rows in Highest and Lower.
	Groups []Group
}

// Group are the records of one revision of an identity.
type Group struct {
	// Again is the number of its records, less one.
	Again uint32
	// Conflict says that they hold distinct payloads.
	Conflict bool
}

// Resolve groups the rows of one key by identity and revision. Rows may be in any order, and stay.
func (a *Authority) Resolve(rows []Row, annex *Annex) Resolved {
	a.slots = table(a.slots, len(rows))
	a.groups = cleared(a.groups, len(rows))
	a.highest, a.lower, a.duplicates, a.conflict = a.highest[:0], a.lower[:0], 0, false
	slots, mask := a.slots, uint64(len(a.slots)-1)
	for i := range rows {
		row := &rows[i]
		hash := row.TxnID.hash(a.seed)
		for at := hash & mask; ; at = (at + 1) & mask {
			slot := slots[at]
			if slot == 0 {
				a.highest = append(a.highest, uint32(i))
				slots[at] = hash&printMask | uint64(len(a.highest))
				break
			}
			if number := uint32(slot) - 1; (slot^hash)&printMask == 0 && rows[a.highest[number]].TxnID.same(row.TxnID, annex.IDs) {
				a.again(rows, annex, number, uint32(i))
				break
			}
		}
	}
	res := Resolved{Lower: a.group(rows, annex), Highest: a.highest, Groups: a.groups}
	res.Duplicates, res.Conflict = a.duplicates, a.conflict
	if a.conflict {
		res.Blocked = slices.ContainsFunc(res.Highest, func(row uint32) bool { return a.groups[row].Conflict })
	}
	return res
}

// printMask is the part of a hash that a slot keeps, so that other identities are mostly told apart without a look at
// their rows.
const printMask = 0xFFFFFFFF << 32

// again adds another row of an identity that is known.
func (a *Authority) again(rows []Row, annex *Annex, identity, i uint32) {
	top := a.highest[identity]
	revision, highest := rows[i].revision(annex), rows[top].revision(annex)
	switch {
	case revision == highest:
		a.join(rows, annex, top, i)
	case revision > highest:
		a.lower = append(a.lower, top)
		a.highest[identity] = i
	default:
		a.lower = append(a.lower, i)
	}
}

// join adds a row, or the group of one, to a group of the same identity and revision. Only groups without conflict count
// as duplicates.
func (a *Authority) join(rows []Row, annex *Annex, to, row uint32) {
	group, other := &a.groups[to], &a.groups[row]
	for _, g := range []*Group{group, other} {
		if !g.Conflict {
			a.duplicates -= int(g.Again)
		}
	}
	group.Again += other.Again + 1
	group.Conflict = group.Conflict || other.Conflict || !rows[to].samePayload(&rows[row], annex)
	if group.Conflict {
		a.conflict = true
	} else {
		a.duplicates += int(group.Again)
	}
}

// group joins the lower rows of one revision and returns one for each. A table by identity and revision keeps hostile
// chains of revisions linear.
func (a *Authority) group(rows []Row, annex *Annex) []uint32 {
	if len(a.lower) < 2 {
		return a.lower
	}
	a.slots = table(a.slots, len(a.lower))
	slots, mask := a.slots, uint64(len(a.slots)-1)
	kept := a.lower[:0]
	for _, i := range a.lower {
		row := &rows[i]
		revision := row.revision(annex)
		hash := mix(row.TxnID.hash(a.seed) + uint64(revision)*0x9E3779B97F4A7C15)
		for at := hash & mask; ; at = (at + 1) & mask {
			slot := slots[at]
			if slot == 0 {
				slots[at] = hash&printMask | uint64(i+1)
				kept = append(kept, i)
				break
			}
			first := uint32(slot) - 1
			if (slot^hash)&printMask == 0 && rows[first].revision(annex) == revision && rows[first].TxnID.same(row.TxnID, annex.IDs) {
				a.join(rows, annex, first, i)
				break
			}
		}
	}
	return kept
}

// table returns a cleared table of a power of two, at most half full with n entries.
func table(slots []uint64, n int) []uint64 { return cleared(slots, 1<<bits.Len(uint(2*n))) }

// cleared returns n zero values, in the memory of a slice where that is enough.
func cleared[T any](memory []T, n int) []T {
	if cap(memory) < n {
		return make([]T, n, n+n/4)
	}
	memory = memory[:n]
	clear(memory)
	return memory
}
