package vectorized

import "math/bits"

// Authority resolves the rows of one key after the other (S3, S4). Its memory is reused; it is for one goroutine.
type Authority struct {
	seed    uint64
	slots   []uint64 // the upper half of an identity's hash over its number + 1, or 0; by the upper bits of the hash
	shift   int      // of a hash to its slot
	hashes  []uint64 // of identities, by row
	highest []uint32 // by identity, a row
	lower   []chain  // by identity
	later   []uint32 // rows whose slot was taken
	deep    []uint32 // rows of lower revisions that their chain has no place for
	groups  []Group  // by row
	// Of the key in work.
	duplicates int
	conflicts  []uint32
}

// NewAuthority returns a resolver whose tables are seeded, so that nobody can prepare colliding IDs.
func NewAuthority(seed uint64) *Authority { return &Authority{seed: seed} }

// Resolved is what the rows of one key amount to. Slices are valid until the next Resolve.
type Resolved struct {
	// Duplicates is the number of records which repeat another one in a revision without conflict.
	Duplicates int
	// Blocked says that a highest revision is in conflict.
	Blocked bool
	// Highest is, for each distinct transaction ID, a row of its highest revision.
	Highest []uint32
	// Conflicts is, for each revision in conflict, a row of it, in no order.
	Conflicts []uint32
	groups    []Group
}

// Lower reports whether a row of Conflicts belongs to a revision below the highest one of its identity.
func (r *Resolved) Lower(row uint32) bool { return r.groups[row].lower }

// Group is a revision of an identity. The first of its records that was seen stands for it.
type Group struct {
	again    uint32 // records like the first one, as long as there is no conflict
	next     uint32 // the next group in the chain + 1, or 0
	conflict bool   // there are distinct payloads
	lower    bool   // it is below the highest revision
}

// chain lists lower revisions of an identity, all distinct.
type chain struct {
	first  uint32 // row + 1, or 0
	length uint32
}

// maxChain bounds the steps that a row of a lower revision takes. Few identities have more revisions; a table keeps those
// that have any number of them linear.
const maxChain = 8

// printMask is the part of a hash that a slot keeps, so that other identities are mostly told apart without a look at
// their rows.
const printMask = 0xFFFFFFFF << 32

// Resolve groups the rows of one key by identity and revision. Rows may be in any order, and stay.
func (a *Authority) Resolve(rows []Row, annex *Annex) Resolved {
	a.slots, a.shift = table(a.slots, len(rows))
	a.groups, a.lower = cleared(a.groups, len(rows)), cleared(a.lower, len(rows))
	a.deep, a.conflicts, a.duplicates = a.deep[:0], a.conflicts[:0], 0
	a.claim(rows)
	for _, i := range a.later {
		a.settle(rows, annex, i)
	}
	a.groupDeep(rows, annex)
	res := Resolved{Duplicates: a.duplicates, Highest: a.highest, Conflicts: a.conflicts, groups: a.groups}
	for _, row := range res.Conflicts {
		res.Blocked = res.Blocked || !res.Lower(row)
	}
	return res
}

// claim gives each row its slot if that is free, and notes it for later otherwise. There is no branch in it: which of the
// two it is no processor can foretell.
func (a *Authority) claim(rows []Row) {
	a.hashes, a.highest, a.later = sized(a.hashes, len(rows)), sized(a.highest, len(rows)), sized(a.later, len(rows))
	hashes, highest, later := a.hashes, a.highest, a.later
	for i, seed := 0, a.seed; i < len(rows); i++ {
		hashes[i] = rows[i].TxnID.hash(seed)
	}
	identities, slots, shift := 0, a.slots, a.shift&63
	for i, hash := range hashes {
		slot := &slots[hash>>shift]
		code := *slot
		highest[identities] = uint32(i)
		later[i-identities] = uint32(i)
		mine := hash&printMask | uint64(identities+1)
		if code != 0 {
			mine = code
		}
		*slot = mine
		free := 0
		if code == 0 {
			free = 1
		}
		identities += free
	}
	a.highest, a.later = highest[:identities], later[:len(rows)-identities]
}

// settle finds the identity of a row, or makes a new one for it.
func (a *Authority) settle(rows []Row, annex *Annex, i uint32) {
	row, hash := &rows[i], a.hashes[i]
	for at := int(hash >> (a.shift & 63)); ; at = (at + 1) & (len(a.slots) - 1) {
		slot := a.slots[at]
		if slot == 0 {
			a.highest = append(a.highest, i)
			a.slots[at] = hash&printMask | uint64(len(a.highest))
			return
		}
		if (slot^hash)&printMask != 0 {
			continue
		}
		if number := uint32(slot) - 1; row.TxnID.same(&rows[a.highest[number]].TxnID, annex.IDs) {
			a.again(rows, annex, number, i)
			return
		}
	}
}

// again adds another row of an identity that is known.
func (a *Authority) again(rows []Row, annex *Annex, identity, i uint32) {
	top := a.highest[identity]
	revision, highest := rows[i].revision(annex), rows[top].revision(annex)
	switch {
	case revision == highest:
		a.join(rows, annex, top, i)
	case revision > highest:
		a.highest[identity] = i
		a.push(identity, top)
	default:
		for at := a.lower[identity].first; at != 0; at = a.groups[at-1].next {
			if rows[at-1].revision(annex) == revision {
				a.join(rows, annex, at-1, i)
				return
			}
		}
		a.push(identity, i)
	}
}

// push adds a lower revision, which the identity's chain does not have.
func (a *Authority) push(identity, row uint32) {
	c, group := &a.lower[identity], &a.groups[row]
	group.lower = true
	if c.length == maxChain {
		a.deep = append(a.deep, row)
		return
	}
	group.next, c.first = c.first, row+1
	c.length++
}

// join adds a row to a group of the same identity and revision. Only groups without conflict count as duplicates.
func (a *Authority) join(rows []Row, annex *Annex, to, row uint32) {
	group := &a.groups[to]
	switch {
	case group.conflict:
	case rows[to].samePayload(&rows[row], annex):
		group.again++
		a.duplicates++
	default:
		group.conflict = true
		a.duplicates -= int(group.again)
		a.conflicts = append(a.conflicts, to)
	}
}

// groupDeep joins the deep rows of one revision, by a table over identity and revision. A row that was the highest one of
// its identity comes before those that repeat it.
func (a *Authority) groupDeep(rows []Row, annex *Annex) {
	if len(a.deep) < 2 {
		return
	}
	a.slots, a.shift = table(a.slots, len(a.deep))
	for _, i := range a.deep {
		row := &rows[i]
		revision := row.revision(annex)
		hash := mix(row.TxnID.hash(a.seed) + uint64(revision)*0x9E3779B97F4A7C15)
		for at := int(hash >> (a.shift & 63)); ; at = (at + 1) & (len(a.slots) - 1) {
			slot := a.slots[at]
			if slot == 0 {
				a.slots[at] = hash&printMask | uint64(i+1)
				break
			}
			first := uint32(slot) - 1
			if (slot^hash)&printMask == 0 && rows[first].revision(annex) == revision && rows[first].TxnID.same(&row.TxnID, annex.IDs) {
				a.join(rows, annex, first, i)
				break
			}
		}
	}
}

// table returns a cleared table of a power of two, at most half full with n entries, and the shift from 64 bits to one.
func table(slots []uint64, n int) ([]uint64, int) {
	size := bits.Len(uint(2 * n))
	return cleared(slots, 1<<size), 64 - size
}

// cleared returns n zero values, in the memory of a slice where that is enough.
func cleared[T any](memory []T, n int) []T {
	memory = sized(memory, n)
	clear(memory)
	return memory
}

// sized returns n values of any kind, in the memory of a slice where that is enough.
func sized[T any](memory []T, n int) []T {
	if cap(memory) < n {
		return make([]T, n, n+n/4)
	}
	return memory[:n]
}
