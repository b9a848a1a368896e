package memory_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/memory"
)

// model is the contract written down once more, naively: whole images, whole units of work kept and compared as they are,
// everything done on a copy that replaces the original where nothing was refused.
type model map[string]*modelled

type modelled struct {
	image owner.Image
	units map[string]owner.Commit
}

func (m *modelled) clone() *modelled {
	copied := *m
	copied.image.History = slices.Clone(m.image.History)
	copied.image.Inbox = slices.Clone(m.image.Inbox)
	copied.image.Outbox = slices.Clone(m.image.Outbox)
	copied.image.Receipts = slices.Clone(m.image.Receipts)
	copied.units = map[string]owner.Commit{}
	for id, c := range m.units {
		copied.units[id] = c
	}
	return &copied
}

// sameUnit reports whether two units of work have the same content.
func sameUnit(a, b owner.Commit) bool {
	for _, c := range []*owner.Commit{&a, &b} {
		c.OwnerID, c.ExpectedPosition, c.Fence, c.Create = "", 0, 0, nil
	}
	return cmp.Equal(a, b, cmpopts.EquateEmpty())
}

func samePayload(a, b owner.Payload) bool {
	return a.SchemaVersion == b.SchemaVersion && a.CodecVersion == b.CodecVersion && bytes.Equal(a.Bytes, b.Bytes)
}

// commit decides a unit of work.
func (m model) commit(c owner.Commit) (owner.Outcome, uint64) {
	o := m[c.OwnerID]
	if o == nil {
		if c.Create == nil {
			return owner.UnknownOwner, 0
		}
		o = &modelled{image: owner.Image{OwnerID: c.OwnerID, Mode: c.Create.Mode, Fence: c.Create.Fence}}
	}
	if before, ok := o.units[c.Inbox.ID]; ok {
		if !sameUnit(before, c) {
			return owner.InboxConflict, 0
		}
		for _, completed := range o.image.Inbox {
			if completed.ID == c.Inbox.ID {
				return owner.Duplicate, completed.CommittedThrough
			}
		}
	}
	o = o.clone()
	i := &o.image
	fits := c.Create == nil || c.Create.Mode == i.Mode
	if i.Mode == owner.EventHistory {
		fits = fits && c.Replace == nil
	} else {
		fits = fits && c.Replace != nil && len(c.Append) == 0
	}
	switch {
	case !fits:
		return owner.ModeConflict, 0
	case c.ExpectedPosition != i.Position:
		return owner.PositionConflict, 0
	case c.Fence != i.Fence:
		return owner.StaleFence, 0
	}
	for _, p := range c.Append {
		i.Position++
		i.History = append(i.History, owner.Positioned{Position: i.Position, Payload: p})
	}
	if c.Replace != nil {
		i.Position++
		i.Snapshot = &owner.Positioned{Position: i.Position, Payload: *c.Replace}
	}
	for _, e := range c.Effects {
		at := slices.IndexFunc(i.Outbox, func(a owner.Accepted) bool { return a.ID == e.ID })
		if at < 0 {
			i.Outbox = append(i.Outbox, owner.Accepted{Effect: e, AcceptedAt: i.Position})
		} else if !samePayload(i.Outbox[at].Payload, e.Payload) {
			return owner.EffectConflict, 0
		}
	}
	for _, r := range c.Receipts {
		if outcome := o.receipt(r); outcome != owner.ReceiptRecorded && outcome != owner.ReceiptDuplicate {
			return outcome, 0
		}
	}
	i.Inbox = append(i.Inbox, owner.Completed{ID: c.Inbox.ID, Fingerprint: c.Inbox.Fingerprint, CommittedThrough: i.Position})
	o.units[c.Inbox.ID] = c
	m[c.OwnerID] = o
	return owner.Committed, i.Position
}

// receipt records a receipt, whatever the fence.
func (m *modelled) receipt(r owner.Receipt) owner.Outcome {
	for _, known := range m.image.Receipts {
		if known.ID == r.ID {
			if known.EffectID == r.EffectID && known.Outcome == r.Outcome && samePayload(known.Payload, r.Payload) {
				return owner.ReceiptDuplicate
			}
			return owner.ReceiptConflict
		}
	}
	if !slices.ContainsFunc(m.image.Outbox, func(a owner.Accepted) bool { return a.ID == r.EffectID }) {
		return owner.UnknownEffect
	}
	if slices.ContainsFunc(m.image.Receipts, func(k owner.Recorded) bool { return k.EffectID == r.EffectID }) {
		return owner.EffectAlreadyReceipt
	}
	m.image.Receipts = append(m.image.Receipts, owner.Recorded{Receipt: r, RecordedAt: m.image.Position, Fence: m.image.Fence})
	return owner.ReceiptRecorded
}

// recordReceipt decides a receipt by itself.
func (m model) recordReceipt(ownerID string, fence uint64, r owner.Receipt) owner.Outcome {
	o := m[ownerID]
	if o == nil {
		return owner.UnknownOwner
	}
	known := slices.ContainsFunc(o.image.Receipts, func(k owner.Recorded) bool { return k.ID == r.ID })
	if !known && fence != o.image.Fence {
		return owner.StaleFence
	}
	return o.receipt(r)
}

// pending are the effects without a receipt.
func (m *modelled) pending() (ids []string) {
	for _, e := range m.image.Outbox {
		if !slices.ContainsFunc(m.image.Receipts, func(k owner.Recorded) bool { return k.EffectID == e.ID }) {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// drawn draws the parts of requests from few values, so that they meet.
type drawn struct{ t *rapid.T }

func (d drawn) name(kind string, n int) string {
	return fmt.Sprint(kind, rapid.IntRange(1, n).Draw(d.t, kind))
}

func (d drawn) payload() owner.Payload {
	return owner.Payload{
		SchemaVersion: rapid.Uint64Range(1, 2).Draw(d.t, "schema"), CodecVersion: rapid.Uint64Range(1, 2).Draw(d.t, "codec"),
		Bytes: []byte(rapid.SampledFrom([]string{"", "x"}).Draw(d.t, "bytes")),
	}
}

func (d drawn) receipt() owner.Receipt {
	return owner.Receipt{
		ID: d.name("r", 4), EffectID: d.name("e", 4), Outcome: rapid.SampledFrom([]string{"applied", "rejected"}).Draw(d.t, "outcome"), Payload: d.payload(),
	}
}

// commit draws a unit of work, mostly one that fits the owner.
func (d drawn) commit(m model) owner.Commit {
	c := owner.Commit{OwnerID: d.name("o", 3), Inbox: owner.Inbox{ID: d.name("m", 30), Fingerprint: []byte(d.name("f", 2))}}
	mode := rapid.SampledFrom([]owner.Mode{owner.EventHistory, owner.EventHistory, owner.Snapshot}).Draw(d.t, "mode")
	if o := m[c.OwnerID]; o != nil {
		c.ExpectedPosition, c.Fence = o.image.Position, o.image.Fence
		if before, ok := o.units[c.Inbox.ID]; ok && rapid.Bool().Draw(d.t, "again") {
			return before
		}
		if rapid.IntRange(0, 9).Draw(d.t, "same mode") > 0 {
			mode = o.image.Mode
		}
	}
	if rapid.Bool().Draw(d.t, "create") {
		c.Create = &owner.Config{Mode: mode, Fence: c.Fence}
	}
	switch rapid.IntRange(0, 9).Draw(d.t, "wrong") {
	case 0:
		c.ExpectedPosition += rapid.Uint64Range(0, 2).Draw(d.t, "position")
	case 1:
		c.Fence += rapid.Uint64Range(0, 2).Draw(d.t, "fence")
	}
	if mode == owner.Snapshot {
		p := d.payload()
		c.Replace = &p
	} else {
		for range rapid.IntRange(0, 2).Draw(d.t, "events") {
			c.Append = append(c.Append, d.payload())
		}
	}
	for range rapid.IntRange(0, 2).Draw(d.t, "effects") {
		c.Effects = append(c.Effects, owner.Effect{ID: d.name("e", 4), Payload: d.payload()})
	}
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(d.t, "receipts") {
		c.Receipts = append(c.Receipts, d.receipt())
	}
	return c
}

// TestStoreEqualsModel: after any requests, in any groups, over restarts and crashes, outcomes and images are the model's.
func TestStoreEqualsModel(t *testing.T) {
	seen := map[owner.Outcome]int{}
	rapid.Check(t, func(t *rapid.T) {
		disk := memory.NewDisk()
		store, m, d := memory.Open(disk), model{}, drawn{t}
		want := func(got owner.Result, err error, outcome owner.Outcome, through uint64) {
			t.Helper()
			if err != nil || got.Outcome != outcome || got.Through != through {
				t.Fatalf("%+v, %v; the model says %s through %d", got, err, outcome, through)
			}
			seen[outcome]++
		}
		for range rapid.IntRange(1, 40).Draw(t, "requests") {
			switch rapid.IntRange(0, 9).Draw(t, "request") {
			case 0:
				store = memory.Open(disk)
			case 1:
				store.CrashBeforeCommit()
				if _, err := store.Commit(t.Context(), d.commit(m)); err == nil {
					t.Fatal("outlived its crash")
				}
				store = memory.Open(disk)
			case 2:
				ownerID, fence := d.name("o", 3), rapid.Uint64Range(0, 5).Draw(t, "fence")
				outcome := owner.UnknownOwner
				if o := m[ownerID]; o != nil && fence > o.image.Fence {
					outcome, o.image.Fence = owner.FenceAdvanced, fence
				} else if o != nil {
					outcome = owner.StaleFence
				}
				got, err := store.AdvanceFence(t.Context(), ownerID, fence)
				want(got, err, outcome, 0)
			case 3, 4:
				ownerID, r := d.name("o", 3), d.receipt()
				fence := rapid.Uint64Range(0, 1).Draw(t, "fence")
				if o := m[ownerID]; o != nil {
					if n := len(o.image.Receipts); n > 0 && rapid.Bool().Draw(t, "again") {
						r = o.image.Receipts[rapid.IntRange(0, n-1).Draw(t, "nth")].Receipt
					} else if fence > 0 {
						fence = rapid.SampledFrom([]uint64{0, 0, 0, 1}).Draw(t, "other fence")
					}
					fence += o.image.Fence
				}
				got, err := store.RecordReceipt(t.Context(), ownerID, fence, r)
				want(got, err, m.recordReceipt(ownerID, fence, r), 0)
			default:
				var group []owner.Commit
				ahead := model{}
				for id, o := range m {
					ahead[id] = o
				}
				for range rapid.IntRange(1, 3).Draw(t, "units") {
					c := d.commit(ahead)
					ahead.commit(c)
					group = append(group, c)
				}
				results, err := store.Commit(t.Context(), group...)
				if err != nil || len(results) != len(group) {
					t.Fatal(results, err)
				}
				for i, c := range group {
					outcome, through := m.commit(c)
					want(results[i], nil, outcome, through)
				}
			}
			m.compare(t, store)
		}
	})
	t.Log(seen)
	for _, outcome := range []owner.Outcome{
		owner.Committed, owner.Duplicate, owner.InboxConflict, owner.ModeConflict, owner.PositionConflict, owner.StaleFence, owner.EffectConflict, owner.UnknownOwner,
		owner.UnknownEffect, owner.EffectAlreadyReceipt, owner.ReceiptConflict, owner.ReceiptRecorded, owner.ReceiptDuplicate, owner.FenceAdvanced,
	} {
		if seen[outcome] == 0 {
			t.Errorf("%s never came of anything: %v", outcome, seen)
		}
	}
}

// compare wants every image to be the model's.
func (m model) compare(t *rapid.T, store owner.Store) {
	t.Helper()
	for n := range 4 {
		ownerID := fmt.Sprint("o", n)
		got, err := store.Image(t.Context(), ownerID)
		if err != nil {
			t.Fatal(err)
		}
		var expected *owner.Image
		if o := m[ownerID]; o != nil {
			expected = &o.image
			expected.PendingEffectIDs = o.pending()
		}
		if diff := cmp.Diff(expected, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s (-model +store):\n%s", ownerID, diff)
		}
	}
}
