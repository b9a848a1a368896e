package ownertest

import (
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/owner"
)

// effects: an identity keeps its first content and its first acceptance.
func effects(t *testing.T, s *Subject) {
	b := on(t, s)
	id := b.history("owner", 1)
	c := unit(id, 0, 1, "m1")
	c.Effects = []owner.Effect{effect("e1", "one"), effect("e1", "one")}
	b.commit(c, owner.Committed, 1)
	c = unit(id, 1, 1, "m2")
	c.Effects = []owner.Effect{effect("e2", "two"), effect("e1", "one")}
	b.commit(c, owner.Committed, 2)
	image := b.image(id)
	if len(image.Outbox) != 2 || image.Outbox[0].AcceptedAt != 1 || image.Outbox[1].AcceptedAt != 2 || len(image.PendingEffectIDs) != 2 {
		t.Errorf("%+v", image.Outbox)
	}
	b.unchanged(id, func() {
		for _, change := range []func(p *owner.Payload){
			func(p *owner.Payload) { p.Bytes = []byte("One") },
			func(p *owner.Payload) { p.Bytes = nil },
			func(p *owner.Payload) { p.SchemaVersion++ },
			func(p *owner.Payload) { p.CodecVersion++ },
		} {
			c := unit(id, 2, 1, "m3")
			c.Effects = []owner.Effect{effect("e3", "new"), effect("e1", "one")}
			change(&c.Effects[1].Payload)
			b.commit(c, owner.EffectConflict, 0)
			c.Effects = []owner.Effect{effect("e3", "new"), effect("e3", "new")}
			change(&c.Effects[1].Payload)
			b.commit(c, owner.EffectConflict, 0)
		}
	})
	// An effect that has its receipt, sent again: it stays settled.
	b.receipt(id, 1, receipt("r1", "e1", "done"), owner.ReceiptRecorded)
	c = unit(id, 2, 1, "m4")
	c.Effects = []owner.Effect{effect("e1", "one")}
	b.commit(c, owner.Committed, 3)
	if image := b.image(id); len(image.PendingEffectIDs) != 1 || image.PendingEffectIDs[0] != "e2" {
		t.Errorf("pending: %q", image.PendingEffectIDs)
	}
	// Identities are the owner's own: another owner's effect of the same name is another effect.
	other := unit(b.history("other", 1), 0, 1, "m1")
	other.Effects = []owner.Effect{effect("e1", "something else")}
	b.commit(other, owner.Committed, 1)
}

// receipts: alone and within a unit of work.
func receipts(t *testing.T, s *Subject) {
	b := on(t, s)
	id := b.history("owner", 1)
	c := unit(id, 0, 1, "m1")
	c.Effects = []owner.Effect{effect("e1", "one"), effect("e2", "two"), effect("e3", "three"), effect("e4", "four")}
	b.commit(c, owner.Committed, 1)
	b.receipt(id, 1, receipt("r1", "e1", "done"), owner.ReceiptRecorded)
	b.commit(unit(id, 1, 1, "m2"), owner.Committed, 2)
	b.unchanged(id, func() {
		b.receipt(id, 1, receipt("r1", "e1", "done"), owner.ReceiptDuplicate)
		b.receipt(id, 1, receipt("r2", "e1", "done"), owner.EffectAlreadyReceipt)
		b.receipt(id, 1, receipt("r2", "none", "done"), owner.UnknownEffect)
		b.receipt(id+"/none", 1, receipt("r1", "e1", "done"), owner.UnknownOwner)
		for _, change := range []func(r *owner.Receipt){
			func(r *owner.Receipt) { r.EffectID = "e2" },
			func(r *owner.Receipt) { r.EffectID = "none" },
			func(r *owner.Receipt) { r.Outcome = "rejected" },
			func(r *owner.Receipt) { r.Payload.Bytes = []byte("Done") },
			func(r *owner.Receipt) { r.Payload.SchemaVersion++ },
			func(r *owner.Receipt) { r.Payload.CodecVersion++ },
		} {
			r := receipt("r1", "e1", "done")
			change(&r)
			b.receipt(id, 1, r, owner.ReceiptConflict)
			c := unit(id, 2, 1, "m3")
			c.Receipts = []owner.Receipt{r}
			b.commit(c, owner.ReceiptConflict, 0)
		}
		c := unit(id, 2, 1, "m3")
		c.Receipts = []owner.Receipt{receipt("r2", "e2", "x"), receipt("r3", "e2", "x")}
		b.commit(c, owner.EffectAlreadyReceipt, 0)
		c.Receipts = []owner.Receipt{receipt("r2", "e2", "x"), receipt("r2", "e2", "y")}
		b.commit(c, owner.ReceiptConflict, 0)
		c.Receipts = []owner.Receipt{receipt("r2", "e1", "x")}
		b.commit(c, owner.EffectAlreadyReceipt, 0)
	})
	// What stands already is left as it is; what is new is recorded at the new position.
	c = unit(id, 2, 1, "m3")
	c.Effects = []owner.Effect{effect("e5", "five")}
	c.Receipts = []owner.Receipt{receipt("r1", "e1", "done"), receipt("r2", "e2", "x"), receipt("r2", "e2", "x"), receipt("r5", "e5", "x")}
	b.commit(c, owner.Committed, 3)
	image := b.image(id)
	var at []uint64
	for _, r := range image.Receipts {
		at = append(at, r.RecordedAt)
	}
	if len(at) != 3 || at[0] != 1 || at[1] != 3 || at[2] != 3 || len(image.PendingEffectIDs) != 2 {
		t.Errorf("recorded at %d, pending %q", at, image.PendingEffectIDs)
	}
}

// receiptOrder: an exact repetition is found before the fence, also after a hand-off (R27); everything new is not.
func receiptOrder(t *testing.T, s *Subject) {
	mark.Expect(t, "R27 receipt repeated exactly")
	b := on(t, s)
	id := b.history("owner", 1)
	c := unit(id, 0, 1, "m1")
	c.Effects = []owner.Effect{effect("e1", "one"), effect("e2", "two")}
	b.commit(c, owner.Committed, 1)
	b.receipt(id, 2, receipt("r1", "e1", "done"), owner.StaleFence)
	b.receipt(id, 0, receipt("r1", "e1", "done"), owner.StaleFence)
	b.receipt(id, 1, receipt("r1", "e1", "done"), owner.ReceiptRecorded)
	b.fence(id, 8, owner.FenceAdvanced)
	b.unchanged(id, func() {
		b.receipt(id, 1, receipt("r1", "e1", "done"), owner.ReceiptDuplicate)
		b.receipt(id, 1, receipt("r1", "e1", "other"), owner.ReceiptConflict)
		b.receipt(id, 1, receipt("r2", "e2", "late"), owner.StaleFence)
		b.receipt(id, 1, receipt("r2", "none", "late"), owner.StaleFence)
		b.receipt(id, 9, receipt("r2", "e2", "early"), owner.StaleFence)
		b.receipt(id, 8, receipt("r2", "e1", "again"), owner.EffectAlreadyReceipt)
	})
	b.receipt(id, 8, receipt("r2", "e2", "done"), owner.ReceiptRecorded)
	if r := b.image(id).Receipts; r[0].Fence != 1 || r[1].Fence != 8 {
		t.Errorf("%+v", r)
	}
}
