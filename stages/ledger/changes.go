package ledger

import (
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"

	"amends.dev/amends/internal/mark"
)

// maxQuarantineBytes is the size in bytes up to which a raw key or value is kept (R06).
const maxQuarantineBytes = 1 << 20

// Changes returns everything that the unit of work writes, with rows as they are at its end. Rows are New where the
// store had none when they were loaded, else Changed. Order is deterministic: days, keys and authority by key ID, then
// day or transaction ID; evidence, conflicts, quarantine and envelopes as they arose. The batch decides nothing after it.
func (b *Batch) Changes() Changes {
	c := Changes{
		Evidence: b.evidence, Conflicts: b.conflicts, Quarantine: b.quarantine, Envelopes: b.envelopes,
		NextOffset: b.next, Accepted: b.accepted, Rejected: b.rejected,
	}
	c.NewAuthority, c.ChangedAuthority = b.authorityRows()
	for _, keyID := range slices.Sorted(maps.Keys(b.dirtyKeys)) {
		key := b.keys[keyID]
		if key.statusDirty {
			c.Keys = append(c.Keys, key.row)
		}
		for _, day := range key.dirtyRows() {
			switch {
			case !day.dirty:
			case day.stored:
				c.ChangedDays = append(c.ChangedDays, day.DayRow)
			default:
				c.NewDays = append(c.NewDays, day.DayRow)
			}
		}
	}
	return c
}

// authorityRows returns the authority rows that changed, apart by whether the store has them, each sorted.
func (b *Batch) authorityRows() (fresh, changed []AuthorityRow) {
	stored := 0
	for _, id := range b.dirtyIdentities {
		if id.stored {
			stored++
		}
	}
	fresh = slices.Grow(fresh, len(b.dirtyIdentities)-stored)
	changed = slices.Grow(changed, stored)
	for _, id := range b.dirtyIdentities {
		if id.stored {
			changed = append(changed, id.row)
		} else {
			fresh = append(fresh, id.row)
		}
	}
	slices.SortFunc(fresh, compareAuthority)
	slices.SortFunc(changed, compareAuthority)
	return fresh, changed
}

// dirtyRows returns the rows among which the dirty ones lie.
func (k *keyState) dirtyRows() []dayState {
	if !k.dirtyDays.set {
		return nil
	}
	return k.days[k.findDay(k.dirtyDays.from):k.findDay(k.dirtyDays.to+1)]
}

// compareAuthority orders authority rows by key ID, then transaction ID: the order of their index.
func compareAuthority(a, b AuthorityRow) int {
	return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.TxnID, b.TxnID))
}

// settleCommitted turns the batch's state into the base of the next unit of work, after a commit known to have
// succeeded.
func (b *Batch) settleCommitted() {
	for _, id := range b.dirtyIdentities {
		id.stored, id.dirty = true, false
		id.base, id.baseAmbiguous = id.row.Payload.Revision, id.row.Ambiguous
	}
	for _, id := range b.withEvidence {
		id.evidence, id.loaded = nil, nil
	}
	for keyID := range b.dirtyKeys {
		key := b.keys[keyID]
		rows := key.dirtyRows()
		for i := range rows {
			rows[i].stored = rows[i].stored || rows[i].dirty
			rows[i].dirty = false
		}
		key.dirtyDays = dayRange{}
		key.statusDirty = false
	}
}

// newQuarantineRow makes the durable evidence of a rejected record (S4, R06). The raw bytes are copied.
func newQuarantineRow(rec Record, reason Reason) QuarantineRow {
	row := QuarantineRow{Offset: rec.Offset, Reason: reason}
	row.Key, row.KeyLength, row.KeySHA256 = keepRaw(rec.Key)
	row.Value, row.ValueLength, row.ValueSHA256 = keepRaw(rec.Value)
	return row
}

// keepRaw returns what quarantine keeps of a raw key or value.
func keepRaw(raw []byte) (kept []byte, length int64, digest []byte) {
	if raw == nil {
		return nil, -1, nil
	}
	sum := sha256.Sum256(raw)
	if len(raw) > maxQuarantineBytes {
		mark.Hit("R06 raw bytes left out")
		return nil, int64(len(raw)), sum[:]
	}
	kept = append([]byte{}, raw...)
	return kept, int64(len(raw)), sum[:]
}
