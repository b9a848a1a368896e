package ledger

import (
	"cmp"
	"slices"
)

// KeysNeeded returns the stock keys of the transactions that the batch has no state of, sorted.
func (b *Batch) KeysNeeded(txs []Transaction) []int32 {
	var ids []int32
	asked := make(map[int32]struct{})
	for i := range txs {
		id := txs[i].KeyID
		if _, ok := b.keys[id]; ok {
			continue
		}
		if _, ok := asked[id]; !ok {
			asked[id] = struct{}{}
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// AddKeys adds the state of the keys that KeysNeeded returned: the status rows that exist and all day rows, in any
// order. A key without a status row has never had an accepted input, so nothing else of it needs loading.
func (b *Batch) AddKeys(asked []int32, rows []KeyRow, days []DayRow) {
	for _, id := range asked {
		b.keys[id] = &keyState{id: id, row: KeyRow{KeyID: id}, identities: make(map[string]*identity), complete: true}
	}
	for _, row := range rows {
		if key, ok := b.keys[row.KeyID]; ok {
			key.row = row
			key.complete = false
		}
	}
	for _, row := range days {
		if key, ok := b.keys[row.KeyID]; ok {
			key.days = append(key.days, dayState{DayRow: row, stored: true})
		}
	}
	for _, id := range asked {
		slices.SortFunc(b.keys[id].days, func(a, b dayState) int { return cmp.Compare(a.Day, b.Day) })
	}
}

// KeyAuthorityNeeded returns the BLOCKED keys that the transactions may resolve: those where each ambiguous revision is
// followed by a higher one. Their whole authority must be loaded for the full refold (S4). Sorted.
func (b *Batch) KeyAuthorityNeeded(txs []Transaction) []int32 {
	highest := make(map[int32]map[string]int64)
	for i := range txs {
		tx := &txs[i]
		key, ok := b.keys[tx.KeyID]
		if !ok || key.complete || !key.blocked() {
			continue
		}
		if highest[tx.KeyID] == nil {
			highest[tx.KeyID] = make(map[string]int64)
		}
		highest[tx.KeyID][tx.TxnID] = max(highest[tx.KeyID][tx.TxnID], tx.Payload.Revision)
	}
	var ids []int32
	for id, revisions := range highest {
		open := func(ref ConflictRef) bool { return revisions[ref.TxnID] <= ref.Revision }
		if !slices.ContainsFunc(b.keys[id].row.Conflicts, open) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// AddKeyAuthority adds every authority row of the keys that KeyAuthorityNeeded returned.
func (b *Batch) AddKeyAuthority(asked []int32, rows []AuthorityRow) {
	for _, row := range rows {
		b.addIdentity(row)
	}
	for _, id := range asked {
		if key, ok := b.keys[id]; ok {
			key.complete = true
		}
	}
}

// AuthorityNeeded returns the identities of the transactions that the batch knows nothing of, sorted. It is called
// after AddKeys and AddKeyAuthority, which spare most of them.
func (b *Batch) AuthorityNeeded(txs []Transaction) []IdentityRef {
	var refs []IdentityRef
	asked := make(map[IdentityRef]struct{})
	for i := range txs {
		ref := IdentityRef{KeyID: txs[i].KeyID, TxnID: txs[i].TxnID}
		key, ok := b.keys[ref.KeyID]
		if !ok || key.complete || key.identities[ref.TxnID] != nil {
			continue
		}
		if _, ok := asked[ref]; !ok {
			asked[ref] = struct{}{}
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b IdentityRef) int {
		return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.TxnID, b.TxnID))
	})
	return refs
}

// AddAuthority adds the authority rows that exist of the identities that AuthorityNeeded returned.
func (b *Batch) AddAuthority(asked []IdentityRef, rows []AuthorityRow) {
	for _, row := range rows {
		b.addIdentity(row)
	}
	for _, ref := range asked {
		if key, ok := b.keys[ref.KeyID]; ok && key.identities[ref.TxnID] == nil {
			key.identities[ref.TxnID] = &identity{}
		}
	}
}

// addIdentity adds a committed authority row, unless the batch already has the identity, whose state may be newer.
func (b *Batch) addIdentity(row AuthorityRow) {
	key, ok := b.keys[row.KeyID]
	if !ok || key.identities[row.TxnID] != nil {
		return
	}
	key.identities[row.TxnID] = &identity{
		row: row, present: true, stored: true, base: row.Payload.Revision, baseAmbiguous: row.Ambiguous,
	}
}

// EvidenceNeeded returns the revisions at which the transactions can only be told from duplicates by evidence in the
// store: those below an identity's committed highest revision, and at it while it is ambiguous (R20). Sorted.
func (b *Batch) EvidenceNeeded(txs []Transaction) []RevisionRef {
	var refs []RevisionRef
	asked := make(map[RevisionRef]struct{})
	for i := range txs {
		ref := RevisionRef{KeyID: txs[i].KeyID, TxnID: txs[i].TxnID, Revision: txs[i].Payload.Revision}
		key, ok := b.keys[ref.KeyID]
		if !ok {
			continue
		}
		id := key.identities[ref.TxnID]
		if id == nil || !id.evidenceNeeded(ref.Revision) {
			continue
		}
		if _, ok := asked[ref]; !ok {
			asked[ref] = struct{}{}
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b RevisionRef) int {
		return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.TxnID, b.TxnID), cmp.Compare(a.Revision, b.Revision))
	})
	return refs
}

// AddEvidence adds all evidence rows of the revisions that EvidenceNeeded returned.
func (b *Batch) AddEvidence(asked []RevisionRef, rows []EvidenceRow) {
	for _, ref := range asked {
		id := b.identityOf(ref.KeyID, ref.TxnID)
		if id == nil {
			continue
		}
		if id.loaded == nil {
			id.loaded = make(map[int64]struct{})
		}
		id.loaded[ref.Revision] = struct{}{}
		b.withEvidence = append(b.withEvidence, id)
	}
	for _, row := range rows {
		if id := b.identityOf(row.KeyID, row.TxnID); id != nil {
			id.addEvidence(row.Payload)
		}
	}
}

// identityOf returns an identity of the batch, nil where it has none.
func (b *Batch) identityOf(keyID int32, txnID string) *identity {
	key, ok := b.keys[keyID]
	if !ok {
		return nil
	}
	return key.identities[txnID]
}
