package ledger

import (
	"fmt"
	"slices"

	"amends.dev/amends/internal/mark"
)

// decision is what one accepted record does, worked out before anything is changed.
type decision struct {
	rec Record
	tx  Transaction
	key *keyState
	// identity is the entry of the transaction, nil where there is none.
	identity *identity

	// authority is the new authority row, valid when authorityChanged.
	authority        AuthorityRow
	authorityChanged bool
	// evidence is the payload that goes to evidence: the record's own, or the superseded authority's.
	evidence *EvidenceRow
	// conflict: the record is the second distinct payload at its revision.
	conflict bool
	// conflicts is the reason set afterwards; statusChanged says that a status is emitted (R10).
	conflicts     []ConflictRef
	statusChanged bool
	// touched counts the day rows recomputed (R14).
	touched int64
}

// judge works out authority, evidence and conflicts (S3, S4): the highest revision counts, whatever came last; equality
// is by canonical payload.
func (b *Batch) judge(d *decision) error {
	key, p := d.key, d.tx.Payload
	d.conflicts = key.row.Conflicts
	if key.row.StatusVersion == 0 { // the first accepted input of any kind
		mark.Hit("R10 first accepted input")
		d.statusChanged = true
	}
	id := key.identities[d.tx.TxnID]
	if id == nil && !key.complete {
		return fmt.Errorf("%w: transaction %q of stock key %d", ErrNotLoaded, d.tx.TxnID, key.id)
	}
	d.identity = id
	switch {
	case id == nil || !id.present:
		if p.Kind == KindCancel {
			mark.Hit("SC04 cancelled before new")
		}
		d.setAuthority(p)
	case p.Revision > id.row.Payload.Revision:
		b.supersede(d)
	case p == id.row.Payload:
		mark.Hit("SC07 exact duplicate") // of the authority: it changes nothing
	case id.evidenceNeeded(p.Revision):
		return fmt.Errorf("%w: evidence of transaction %q revision %d of stock key %d", ErrNotLoaded, d.tx.TxnID, p.Revision, key.id)
	case p.Revision == id.row.Payload.Revision:
		b.contest(d)
	default:
		b.fileStale(d)
	}
	return nil
}

// setAuthority makes the record the authority of its identity.
func (d *decision) setAuthority(p Payload) {
	d.authority = AuthorityRow{KeyID: d.tx.KeyID, TxnID: d.tx.TxnID, Payload: p, SourceOffset: d.rec.Offset}
	d.authorityChanged = true
}

// setEvidence files a payload of the identity.
func (d *decision) setEvidence(p Payload, offset int64) {
	d.evidence = &EvidenceRow{KeyID: d.tx.KeyID, TxnID: d.tx.TxnID, Payload: p, SourceOffset: offset}
}

// supersede handles a unique higher revision: the old authority becomes evidence, and its ambiguity, if it had one, is
// resolved (SC09).
func (b *Batch) supersede(d *decision) {
	old := d.identity.row
	d.setEvidence(old.Payload, old.SourceOffset)
	d.setAuthority(d.tx.Payload)
	if old.Payload.Kind == KindCancel && d.tx.Payload.Kind != KindCancel {
		mark.Hit("SC05 reactivated")
	}
	if old.Ambiguous {
		mark.Hit("SC09 conflict resolved")
		d.conflicts = withoutConflict(d.conflicts, ConflictRef{TxnID: d.tx.TxnID, Revision: old.Payload.Revision})
		d.statusChanged = true
	}
}

// contest handles another payload at the highest revision (SC08). The first row stays: no payload of the two is
// authoritative, and which one came first has no meaning.
func (b *Batch) contest(d *decision) {
	id, p := d.identity, d.tx.Payload
	if slices.Contains(id.evidence[p.Revision], p) {
		return
	}
	d.setEvidence(p, d.rec.Offset)
	if id.row.Ambiguous {
		mark.Hit("R10 third payload at a listed pair")
		return
	}
	mark.Hit("SC08 conflict at the highest revision")
	d.conflict = true
	d.authority = id.row
	d.authority.Ambiguous = true
	d.authorityChanged = true
	d.conflicts = withConflict(d.conflicts, ConflictRef{TxnID: d.tx.TxnID, Revision: p.Revision})
	d.statusChanged = true
}

// fileStale handles a payload below the highest revision (SC06): it is evidence only, and a conflict there is an audit
// diagnostic that blocks nothing (S4).
func (b *Batch) fileStale(d *decision) {
	known, p := d.identity.evidence[d.tx.Payload.Revision], d.tx.Payload
	if slices.Contains(known, p) {
		return
	}
	mark.Hit("SC06 stale revision")
	d.setEvidence(p, d.rec.Offset)
	if len(known) == 1 {
		mark.Hit("S4.17 conflict below the authority")
		d.conflict = true
	}
}
