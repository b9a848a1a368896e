package ledger

import (
	"fmt"

	"amends.dev/amends/internal/mark"
)

// Batch is the working set of one unit of work on one partition (S8): it holds the state of the keys that its records
// touch, decides records one by one in offset order, and gives all changes at the end. It is pure and used by one
// goroutine. A batch whose unit of work did not commit for certain is thrown away (R15).
//
// The shell prepares a batch for its accepted transactions in this order, each step one read of the store or none:
//
//	batch := NewBatch(cfg, frontier)
//	cache.Checkout(batch, txs)                      // optional
//	batch.KeysNeeded(txs)         → AddKeys         // status and day rows
//	batch.KeyAuthorityNeeded(txs) → AddKeyAuthority // all authority of keys that may be resolved
//	batch.AuthorityNeeded(txs)    → AddAuthority    // single identities
//	batch.EvidenceNeeded(txs)     → AddEvidence     // single revisions
//	for each record: batch.Decide(record, tx, reason); batch.Advance(next)
//	commit batch.Changes(), then cache.Return(batch)
type Batch struct {
	cfg      *Config
	frontier int64
	next     int64
	keys     map[int32]*keyState

	dirtyIdentities []*identity
	// withEvidence lists identities whose evidence is forgotten when the batch ends.
	withEvidence []*identity
	dirtyKeys    map[int32]struct{}

	evidence   []EvidenceRow
	conflicts  []ConflictRow
	quarantine []QuarantineRow
	envelopes  []Envelope
	text       arena

	accepted, rejected, rowsTouched int64
	// edits is scratch of one record.
	edits []dayEdit
}

// NewBatch starts a unit of work at an exclusive frontier.
func NewBatch(cfg *Config, frontier int64) *Batch {
	return &Batch{
		cfg:       cfg,
		frontier:  frontier,
		next:      frontier,
		keys:      make(map[int32]*keyState),
		dirtyKeys: make(map[int32]struct{}),
	}
}

// NextOffset is the exclusive frontier after the records decided so far.
func (b *Batch) NextOffset() int64 { return b.next }

// RowsTouched counts the day rows recomputed so far: a change on day d recomputes at most the activity days from d
// on (R14).
func (b *Batch) RowsTouched() int64 { return b.rowsTouched }

// Envelopes returns the envelopes emitted so far, in publication order.
func (b *Batch) Envelopes() []Envelope { return b.envelopes }

// Advance moves the frontier over control records and gaps (R08). A position below the frontier changes nothing.
func (b *Batch) Advance(next int64) { b.next = max(b.next, next) }

// Decide applies one record: tx where reason is ReasonNone, a quarantine row otherwise. It is atomic: on an error the
// batch is as before. Errors are *OverflowError (stop the partition at this record), ErrIncomplete (commit, then start
// the next unit of work at this record) and ErrNotLoaded (a bug of the shell).
//
// Every record's differences are emitted as they are, without coalescing (R12): balances and alerts by day, a balance
// before the alert of its day, then the status.
func (b *Batch) Decide(rec Record, tx Transaction, reason Reason) error {
	if rec.Offset < b.next {
		return fmt.Errorf("%w: offset %d is below the frontier %d", ErrNotLoaded, rec.Offset, b.next)
	}
	if reason != ReasonNone {
		mark.Hit("SC22 record quarantined")
		b.quarantine = append(b.quarantine, newQuarantineRow(rec, reason))
		b.rejected++
		b.next = rec.Offset + 1
		return nil
	}
	key, ok := b.keys[tx.KeyID]
	if !ok {
		return fmt.Errorf("%w: stock key %d", ErrNotLoaded, tx.KeyID)
	}
	d := decision{rec: rec, tx: tx, key: key}
	if err := b.judge(&d); err != nil {
		return err
	}
	if err := b.fold(&d); err != nil {
		return err
	}
	b.apply(&d)
	b.accepted++
	b.next = rec.Offset + 1
	return nil
}

// apply carries out a decision; nothing in it can fail.
func (b *Batch) apply(d *decision) {
	key := d.key
	if d.authorityChanged || d.evidence != nil {
		b.applyAuthority(d)
	}
	b.rowsTouched += d.touched
	if d.authorityChanged && !d.statusChanged && len(b.edits) == 0 && !key.blocked() {
		mark.Hit("SC26 nothing to say")
	}
	for i := range b.edits {
		b.applyEdit(d, &b.edits[i])
	}
	if d.statusChanged {
		key.row = KeyRow{KeyID: key.id, StatusVersion: key.row.StatusVersion + 1, Conflicts: d.conflicts}
		key.statusDirty = true
		b.emitStatus(d, key.row)
	}
	if d.statusChanged || len(b.edits) > 0 {
		b.dirtyKeys[key.id] = struct{}{}
	}
}

// applyAuthority records evidence, conflict and authority of a decision.
func (b *Batch) applyAuthority(d *decision) {
	id := d.identity
	if id == nil {
		id = &identity{}
		d.key.identities[d.tx.TxnID] = id
	}
	if d.evidence != nil {
		if id.evidence == nil {
			b.withEvidence = append(b.withEvidence, id)
		}
		id.addEvidence(d.evidence.Payload)
		b.evidence = append(b.evidence, *d.evidence)
	}
	if d.conflict {
		b.conflicts = append(b.conflicts, ConflictRow{
			KeyID: d.tx.KeyID, TxnID: d.tx.TxnID, Revision: d.tx.Payload.Revision, DetectedOffset: d.rec.Offset,
		})
	}
	if d.authorityChanged {
		id.row = d.authority
		id.present = true
		if !id.dirty {
			id.dirty = true
			b.dirtyIdentities = append(b.dirtyIdentities, id)
		}
	}
}

// applyEdit writes one day row and emits what changed on it.
func (b *Batch) applyEdit(d *decision, edit *dayEdit) {
	d.key.setDay(edit.row)
	if edit.balance && edit.row.Active == 0 {
		mark.Hit("SC14 balance withdrawn")
	}
	if edit.alert && !edit.row.AlertPresent {
		mark.Hit("SC15 alert retracted")
	}
	if edit.balance {
		b.emitBalance(d, edit.row)
	}
	if edit.alert {
		b.emitAlert(d, edit.row)
	}
}
