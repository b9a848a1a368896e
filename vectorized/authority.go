package vectorized

import (
	"math/bits"
	"slices"
)

// Authority resolves the rows of one key after the other (S3, S4). Its memory is reused; it is for one goroutine.
type Authority struct {
	seed  uint64
	slots []uint32 // a row's number + 1, or 0; by hash of the identity
	lower []uint32 // rows of revisions below the highest one of their identity
	// Of the key in work: records that repeat another one, and whether any revision is in conflict.
	duplicates int
	conflict   bool
}

// NewAuthority returns a resolver whose tables are seeded, so that nobody can prepare colliding IDs.
func NewAuthority(seed uint64) *Authority { return &Authority{seed: seed} }

// Resolved is what the rows of one key amount to. Slices are valid until the next Resolve.
type Resolved struct {
	// Identities is the number of distinct transaction IDs, Duplicates that of records which repeat another one in a
	// revision without conflict.
	Identities, Duplicates int
	// Conflict says that a revision is in conflict; Blocked, that a highest one is.
	Conflict, Blocked bool
	// Highest are the slots of the highest revisions: a row's number + 1, or 0 for none.
	Highest []uint32
	// Lower are one row for each revision below the highest one.
	Lower []uint32
}

// Resolve groups the rows of one key by identity and revision. Rows may be in any order; Count must be 1 and Conflict
// false in each. Afterwards one row of each group has the group's Count and Conflict; Highest and Lower name these.
func (a *Authority) Resolve(rows []Row, arenas Arenas) Resolved {
	a.slots = table(a.slots, len(rows))
	a.lower, a.duplicates, a.conflict = a.lower[:0], 0, false
	res := Resolved{Highest: a.slots}
	mask := uint64(len(a.slots) - 1)
	for i := range rows {
		row := &rows[i]
		at := row.TxnID.hash(a.seed) & mask
		for a.slots[at] != 0 && !rows[a.slots[at]-1].TxnID.same(row.TxnID, arenas) {
			at = (at + 1) & mask
		}
		if a.slots[at] == 0 {
			a.slots[at] = uint32(i) + 1
			res.Identities++
			continue
		}
		top := &rows[a.slots[at]-1]
		switch {
		case row.Revision == top.Revision:
			a.join(top, row)
		case row.Revision > top.Revision:
			a.lower = append(a.lower, a.slots[at]-1)
			a.slots[at] = uint32(i) + 1
		default:
			a.lower = append(a.lower, uint32(i))
		}
	}
	res.Lower = a.group(rows, arenas)
	res.Duplicates, res.Conflict = a.duplicates, a.conflict
	if a.conflict {
		res.Blocked = slices.ContainsFunc(res.Highest, func(slot uint32) bool { return slot != 0 && rows[slot-1].Conflict })
	}
	return res
}

// join adds a row, or the group of one, to a group of the same identity and revision. Only groups without conflict count
// as duplicates.
func (a *Authority) join(group, row *Row) {
	for _, r := range []*Row{group, row} {
		if !r.Conflict {
			a.duplicates -= int(r.Count) - 1
		}
	}
	group.Count += row.Count
	group.Conflict = group.Conflict || row.Conflict || !group.samePayload(row)
	if group.Conflict {
		a.conflict = true
	} else {
		a.duplicates += int(group.Count) - 1
	}
}

// group joins the lower rows of one revision and returns one for each. A table by identity and revision keeps hostile
// chains of revisions linear.
func (a *Authority) group(rows []Row, arenas Arenas) []uint32 {
	if len(a.lower) < 2 {
		return a.lower
	}
	used := len(a.slots)
	a.slots = extend(a.slots, len(a.lower))
	slots := a.slots[used:]
	mask := uint64(len(slots) - 1)
	kept := a.lower[:0]
	for _, i := range a.lower {
		row := &rows[i]
		at := mix(row.TxnID.hash(a.seed)+uint64(row.Revision)*0x9E3779B97F4A7C15) & mask
		for slots[at] != 0 {
			if first := &rows[slots[at]-1]; first.Revision == row.Revision && first.TxnID.same(row.TxnID, arenas) {
				break
			}
			at = (at + 1) & mask
		}
		if slots[at] != 0 {
			a.join(&rows[slots[at]-1], row)
			continue
		}
		slots[at] = i + 1
		kept = append(kept, i)
	}
	a.slots = a.slots[:used]
	return kept
}

// table returns a cleared table of a power of two, at most half full with n entries.
func table(slots []uint32, n int) []uint32 { return extend(slots[:0], n) }

// extend appends a cleared table for n entries.
func extend(slots []uint32, n int) []uint32 {
	size := 1 << bits.Len(uint(2*n))
	used := len(slots)
	if cap(slots) < used+size {
		grown := make([]uint32, used, used+size)
		copy(grown, slots)
		slots = grown
	}
	slots = slots[:used+size]
	clear(slots[used:])
	return slots
}
