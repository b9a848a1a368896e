package owner

import "amends.dev/amends/internal/mark"

// DecideCreate decides the creation of an owner: Committed, Duplicate where it exists with the same mode, else
// ModeConflict. A mode that does not exist is a ModeConflict too. Changes are nil unless the outcome is Committed.
func DecideCreate(l *Loaded, ownerID string, config *Config) (Result, *Changes) {
	result, changes := newRow(ownerID, config)
	if changes == nil || l.row == nil {
		return result, changes
	}
	if l.row.Mode != config.Mode {
		return refused(ModeConflict, "owner %q has mode %s, not %s", ownerID, l.row.Mode, config.Mode)
	}
	return Result{Outcome: Duplicate}, nil
}

// newRow checks what an owner is created with.
func newRow(ownerID string, config *Config) (Result, *Changes) {
	if problem := identity("owner ID", ownerID, OwnerIDMax); problem != "" {
		return refused(InvalidIdentity, "%s", problem)
	}
	if config.Mode != EventHistory && config.Mode != Snapshot {
		return refused(ModeConflict, "there is no mode %q", config.Mode)
	}
	if s := config.Supported; s != nil {
		for _, list := range [][]uint64{s.SchemaVersions, s.CodecVersions} {
			for _, version := range list {
				if version == 0 {
					return refused(UnsupportedVersion, "version 0 cannot be supported")
				}
			}
		}
	}
	row := Row{ID: ownerID, Mode: config.Mode, Fence: config.Fence, Supported: config.Supported.clone()}
	return Result{Outcome: Committed}, &Changes{Owner: row, Created: true}
}

// clone is a copy that shares no list.
func (s *Supported) clone() *Supported {
	if s == nil {
		return nil
	}
	return &Supported{
		SchemaVersions: append([]uint64{}, s.SchemaVersions...),
		CodecVersions:  append([]uint64{}, s.CodecVersions...),
	}
}

// DecideFence decides an advance of the fence: FenceAdvanced where it is strictly greater, else StaleFence (R27). It is
// the only way in which a fence changes.
func DecideFence(l *Loaded, ownerID string, fence uint64) (Result, *Changes) {
	if problem := identity("owner ID", ownerID, OwnerIDMax); problem != "" {
		return refused(InvalidIdentity, "%s", problem)
	}
	if l.row == nil {
		return refused(UnknownOwner, "there is no owner %q", ownerID)
	}
	if fence <= l.row.Fence {
		mark.Hit("R27 fence not greater")
		return refused(StaleFence, "owner %q is under fence %d; %d is not greater", ownerID, l.row.Fence, fence)
	}
	changes := &Changes{Owner: *l.row}
	changes.Owner.Fence = fence
	return Result{Outcome: FenceAdvanced}, changes
}

// DecideReceipt decides the recording of a receipt by itself. An exact repetition is ReceiptDuplicate before the fence is
// looked at, also after a hand-off (R27), and so is another use of its identity a ReceiptConflict.
func DecideReceipt(l *Loaded, ownerID string, fence uint64, r *Receipt) (Result, *Changes) {
	problem := identity("owner ID", ownerID, OwnerIDMax)
	if problem == "" {
		problem = receiptIdentities(r)
	}
	if problem != "" {
		return refused(InvalidIdentity, "%s", problem)
	}
	if problem := versioned("the receipt", &r.Payload); problem != "" {
		return refused(UnsupportedVersion, "%s", problem)
	}
	if l.row == nil {
		return refused(UnknownOwner, "there is no owner %q", ownerID)
	}
	if problem := l.row.Supported.check("the receipt", &r.Payload); problem != "" {
		return refused(UnsupportedVersion, "%s", problem)
	}
	if _, known := l.receipts[r.ID]; !known && fence != l.row.Fence {
		return refused(StaleFence, "owner %q is under fence %d, not %d", ownerID, l.row.Fence, fence)
	}
	changes := &Changes{Owner: *l.row}
	result := changes.receipt(l, r)
	if result.Outcome != ReceiptRecorded {
		return result, nil
	}
	return result, changes
}

// receipt adds a receipt, unless it stands already or cannot.
func (ch *Changes) receipt(l *Loaded, r *Receipt) Result {
	if known := ch.recorded(l, r.ID); known != nil {
		if known.EffectID == r.EffectID && known.Outcome == r.Outcome && known.Payload.equal(&r.Payload) {
			mark.Hit("R27 receipt repeated exactly")
			return Result{Outcome: ReceiptDuplicate}
		}
		result, _ := refused(ReceiptConflict, "receipt %q was recorded with other content", r.ID)
		return result
	}
	effect := ch.effect(l, r.EffectID)
	if effect == nil {
		result, _ := refused(UnknownEffect, "receipt %q is of effect %q, which the owner never accepted", r.ID, r.EffectID)
		return result
	}
	if other := ch.receiptOf(l, r.EffectID); other != "" {
		result, _ := refused(EffectAlreadyReceipt, "effect %q has receipt %q", r.EffectID, other)
		return result
	}
	kept := *r
	kept.Payload = r.Payload.clone()
	ch.Receipts = append(ch.Receipts, Recorded{Receipt: kept, RecordedAt: ch.Owner.Position, Fence: ch.Owner.Fence})
	ch.settle(r.EffectID)
	return Result{Outcome: ReceiptRecorded}
}

// recorded finds a receipt by its ID among the changes and what was loaded.
func (ch *Changes) recorded(l *Loaded, id string) *Recorded {
	for i := range ch.Receipts {
		if ch.Receipts[i].ID == id {
			return &ch.Receipts[i]
		}
	}
	if r, ok := l.receipts[id]; ok {
		return &r
	}
	return nil
}

// receiptOf is the ID of an effect's receipt, "" where it has none.
func (ch *Changes) receiptOf(l *Loaded, effectID string) string {
	for i := range ch.Receipts {
		if ch.Receipts[i].EffectID == effectID {
			return ch.Receipts[i].ID
		}
	}
	return l.settledBy[effectID]
}

// settle makes an effect no longer pending: one of this unit of work is written so, an earlier one is named.
func (ch *Changes) settle(effectID string) {
	for i := range ch.Effects {
		if ch.Effects[i].ID == effectID {
			ch.Effects[i].Pending = false
			return
		}
	}
	ch.Settled = append(ch.Settled, effectID)
}
