package replay

import (
	"bytes"
	"fmt"
	"slices"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/ledger"
)

// Kind is what the durable state holds of one record.
type Kind int

// The kinds. Each record is exactly one of them: the first that applies.
const (
	// Quarantined: rejected, with its entry in quarantine.
	Quarantined Kind = iota
	// Duplicate: its payload was seen before it.
	Duplicate
	// Conflicting: other payloads stand at its revision, with a conflict entry.
	Conflicting
	// Authoritative: it is the first sight of the payload that is its identity's authority.
	Authoritative
	// Superseded: it is the first sight of a payload below the highest revision of its identity.
	Superseded
	kinds
)

// Counts are confirmed records by kind.
type Counts struct {
	Authoritative int64 `json:"authoritative"`
	Superseded    int64 `json:"superseded"`
	Duplicate     int64 `json:"duplicate"`
	Conflicting   int64 `json:"conflicting"`
	Quarantined   int64 `json:"quarantined"`
}

// Total is the number of records.
func (c Counts) Total() int64 {
	return c.Authoritative + c.Superseded + c.Duplicate + c.Conflicting + c.Quarantined
}

// add counts one record.
func (c *Counts) add(k Kind) {
	*[kinds]*int64{
		Quarantined: &c.Quarantined, Duplicate: &c.Duplicate, Conflicting: &c.Conflicting,
		Authoritative: &c.Authoritative, Superseded: &c.Superseded,
	}[k]++
}

// Fault is where state and records disagree.
type Fault struct {
	// Offset is the record's.
	Offset int64 `json:"offset"`
	// Detail says in one line what state lacks or holds otherwise.
	Detail string `json:"detail"`
}

// sight is one distinct payload on record, with the offset at which it was first seen.
type sight struct {
	payload ledger.Payload
	offset  int64
}

// decoded is one record of the range with what decoding says about it.
type decoded struct {
	record ledger.Record
	tx     ledger.Transaction
	reason ledger.Reason
}

// judge decides again what one record must have left in state, and compares. An empty text confirms it. It is pure: the
// answer depends on what is found alone, not on when it was written, because everything that a record leaves is kept for
// ever (S4).
func judge(d *decoded, entry *ledger.QuarantineRow, f *index) (Kind, string) {
	found, quarantined := f.quarantine[d.record.Offset]
	switch {
	case d.reason != ledger.ReasonNone && !quarantined:
		return 0, fmt.Sprintf("the record is rejected (%s) and quarantine has no entry of it", d.reason)
	case d.reason != ledger.ReasonNone:
		return Quarantined, sameEntry(entry, &found)
	case quarantined:
		return 0, fmt.Sprintf("the record is accepted and quarantine has an entry of it (%s)", found.Reason)
	}
	return judgeAccepted(d, f)
}

// judgeAccepted compares evidence, authority, conflict and reason set of one accepted record (S4, R10, R20).
func judgeAccepted(d *decoded, f *index) (Kind, string) {
	tx, p := d.tx, d.tx.Payload
	name := fmt.Sprintf("transaction %q revision %d", tx.TxnID, p.Revision)
	authority, ok := f.authority[ledger.IdentityRef{KeyID: tx.KeyID, TxnID: tx.TxnID}]
	switch {
	case !ok:
		return 0, name + " has no authority"
	case authority.Payload.Revision < p.Revision:
		return 0, fmt.Sprintf("%s is above the authority, revision %d", name, authority.Payload.Revision)
	}
	sights := f.sights(tx, &authority)
	i := slices.IndexFunc(sights, func(s sight) bool { return s.payload == p })
	switch {
	case i < 0:
		return 0, name + " is on record with other content only"
	case sights[i].offset > d.record.Offset:
		return 0, fmt.Sprintf("%s is recorded as first seen at offset %d", name, sights[i].offset)
	case authority.Payload.Revision == p.Revision && sights[0].payload != authority.Payload:
		return 0, name + " has an authority that was not the first payload of its revision"
	}
	if fault := f.agree(tx, &authority, sights); fault != "" {
		return 0, name + fault
	}
	switch {
	case sights[i].offset < d.record.Offset:
		return Duplicate, ""
	case len(sights) > 1:
		return Conflicting, ""
	case authority.Payload == p:
		return Authoritative, ""
	default:
		return Superseded, ""
	}
}

// agree compares the conflict entry, the ambiguity and the key's reason set with the payloads on record at a revision. The
// second distinct payload makes the conflict, wherever it arrived; it blocks while its revision is the highest.
func (f *index) agree(tx ledger.Transaction, authority *ledger.AuthorityRow, sights []sight) string {
	revision := ledger.RevisionRef{KeyID: tx.KeyID, TxnID: tx.TxnID, Revision: tx.Payload.Revision}
	detected, recorded := f.conflicts[revision]
	highest := authority.Payload.Revision == tx.Payload.Revision
	ambiguous := highest && len(sights) > 1
	key, ready := f.keys[tx.KeyID]
	blocking := slices.Contains(key.Conflicts, ledger.ConflictRef{TxnID: tx.TxnID, Revision: tx.Payload.Revision})
	switch {
	case len(sights) > 1 && !recorded:
		return fmt.Sprintf(" has %d payloads and no conflict entry", len(sights))
	case len(sights) == 1 && recorded:
		return " has one payload and a conflict entry"
	case recorded && detected != sights[1].offset:
		return fmt.Sprintf(" has a conflict entry of offset %d, its second payload is of offset %d", detected, sights[1].offset)
	case highest && authority.Ambiguous != ambiguous:
		return fmt.Sprintf(" has %d payloads and an authority whose ambiguity says %t", len(sights), authority.Ambiguous)
	case !ready:
		return " is of a stock key without a status"
	case blocking != ambiguous:
		return fmt.Sprintf(" has %d payloads, and whether it blocks its stock key is recorded as %t", len(sights), blocking)
	}
	if len(sights) > 1 {
		mark.Hit("R25 conflict confirmed")
	}
	return ""
}

// sights are the distinct payloads on record at the transaction's revision, in the order in which they were first seen.
func (f *index) sights(tx ledger.Transaction, authority *ledger.AuthorityRow) []sight {
	var all []sight
	if authority.Payload.Revision == tx.Payload.Revision {
		all = append(all, sight{authority.Payload, authority.SourceOffset})
	}
	for _, row := range f.evidence[ledger.RevisionRef{KeyID: tx.KeyID, TxnID: tx.TxnID, Revision: tx.Payload.Revision}] {
		all = append(all, sight{row.Payload, row.SourceOffset})
	}
	slices.SortStableFunc(all, func(a, b sight) int { return int(min(1, max(-1, a.offset-b.offset))) })
	return all
}

// sameEntry compares a quarantine entry with the one that the record makes: reason and raw bytes (S4, R06).
func sameEntry(want, got *ledger.QuarantineRow) string {
	switch {
	case got.Reason != want.Reason:
		return fmt.Sprintf("the record is rejected for %s, quarantine says %s", want.Reason, got.Reason)
	case got.KeyLength != want.KeyLength || !bytes.Equal(got.KeySHA256, want.KeySHA256) || !sameBytes(got.Key, want.Key):
		return "quarantine holds another key of the rejected record"
	case got.ValueLength != want.ValueLength || !bytes.Equal(got.ValueSHA256, want.ValueSHA256) || !sameBytes(got.Value, want.Value):
		return "quarantine holds another value of the rejected record"
	}
	return ""
}

// sameBytes tells null from empty.
func sameBytes(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
