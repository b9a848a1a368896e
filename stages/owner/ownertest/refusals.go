package ownertest

import (
	"math"
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/owner"
)

// order: of several things wrong at once, the first in the contract's order is the outcome.
func order(t *testing.T, s *Subject) {
	b := on(t, s)
	id := b.history("owner", 5)
	first := unit(id, 0, 5, "m1")
	first.Effects = []owner.Effect{effect("e1", "one")}
	b.commit(first, owner.Committed, 1)

	// Everything is wrong at once; each step mends the first thing that is.
	c := unit(id, 9, 9, "m1")
	c.Append[0].CodecVersion = 0
	c.Create = &owner.Config{Mode: owner.Snapshot}
	c.Effects = []owner.Effect{effect("e1", "other"), effect("", "nameless")}
	c.Receipts = []owner.Receipt{receipt("r1", "none", "x")}
	b.unchanged(id, func() {
		b.commit(c, owner.InvalidIdentity, 0)
		c.Effects = c.Effects[:1]
		b.commit(c, owner.UnsupportedVersion, 0)
		c.Append[0].CodecVersion = 11
		absent := c
		absent.OwnerID, absent.Create = id+"/none", nil
		b.commit(absent, owner.UnknownOwner, 0)
		b.commit(c, owner.InboxConflict, 0)
		c.Inbox.ID = "m2"
		b.commit(c, owner.ModeConflict, 0)
		c.Create = nil
		b.commit(c, owner.PositionConflict, 0)
		c.ExpectedPosition = 1
		b.commit(c, owner.StaleFence, 0)
		c.Fence = 5
		b.commit(c, owner.EffectConflict, 0)
		c.Effects[0].ID = "e2"
		b.commit(c, owner.UnknownEffect, 0)
	})
	c.Receipts[0].EffectID = "e2"
	b.commit(c, owner.Committed, 2)

	b.unchanged(id, func() {
		b.commit(first, owner.Duplicate, 1)
		stale := first
		stale.ExpectedPosition, stale.Fence = math.MaxUint64, 0
		b.commit(stale, owner.Duplicate, 1)
		b.commit(unit(id, 1, 5, "m3"), owner.PositionConflict, 0)
		b.commit(unit(id, 3, 5, "m3"), owner.PositionConflict, 0)
		b.commit(unit(id, math.MaxUint64, 5, "m3"), owner.PositionConflict, 0)
		b.commit(unit(id, 2, 4, "m3"), owner.StaleFence, 0)
		b.commit(unit(id, 2, math.MaxUint64, "m3"), owner.StaleFence, 0)
	})
}

// modes: what fits neither mode, and what a mode keeps.
func modes(t *testing.T, s *Subject) {
	b := on(t, s)
	events, state := b.history("events", 1), b.name("state")
	result, err := b.store.Create(t.Context(), state, owner.Config{Mode: owner.Snapshot, Fence: 1})
	b.want(result, err, owner.Committed, 0)
	replaced, both := text("state"), text("both")
	c := unit(events, 0, 1, "m1")
	c.Replace = &both
	b.unchanged(events, func() {
		b.commit(c, owner.ModeConflict, 0)
		c.Append = nil
		b.commit(c, owner.ModeConflict, 0)
	})
	c = unit(state, 0, 1, "m1")
	b.unchanged(state, func() {
		b.commit(c, owner.ModeConflict, 0)
		c.Replace = &replaced
		b.commit(c, owner.ModeConflict, 0)
		c.Append, c.Replace = nil, nil
		b.commit(c, owner.ModeConflict, 0)
	})
	c.Replace = &replaced
	b.commit(c, owner.Committed, 1)
	again := text("state, again")
	c = unit(state, 1, 1, "m2")
	c.Append, c.Replace = nil, &again
	b.commit(c, owner.Committed, 2)
	b.equal(&owner.Image{
		OwnerID: state, Mode: owner.Snapshot, Position: 2, Fence: 1, Snapshot: &owner.Positioned{Position: 2, Payload: again},
		Inbox: []owner.Completed{
			{ID: "m1", Fingerprint: []byte("fingerprint of m1"), CommittedThrough: 1},
			{ID: "m2", Fingerprint: []byte("fingerprint of m2"), CommittedThrough: 2},
		},
	})
	// A history takes a unit of work without events: it completes an input at the present position.
	c = unit(events, 0, 1, "m2")
	c.Append, c.Effects = nil, []owner.Effect{effect("e", "x")}
	b.commit(c, owner.Committed, 0)
	c = unit(events, 0, 1, "m3")
	c.Append = nil
	b.commit(c, owner.Committed, 0)
	if image := b.image(events); len(image.Inbox) != 2 || image.Position != 0 || image.Outbox[0].AcceptedAt != 0 {
		t.Errorf("%+v", image)
	}
}

// versions: both are positive, kept as given, and in the owner's set.
func versions(t *testing.T, s *Subject) {
	mark.Expect(t, "R27 version outside the owner's set")
	b := on(t, s)
	id := b.name("owner")
	supported := &owner.Supported{SchemaVersions: []uint64{1, math.MaxUint64}, CodecVersions: []uint64{2}}
	payload := func(schema, codec uint64) owner.Payload {
		return owner.Payload{SchemaVersion: schema, CodecVersion: codec, Bytes: []byte("x")}
	}
	c := unit(id, 0, 3, "m1")
	c.Create = &owner.Config{Mode: owner.EventHistory, Fence: 3, Supported: supported}
	for _, p := range []owner.Payload{payload(0, 2), payload(1, 0), payload(2, 1), payload(1, 1), payload(2, 2), payload(0, 0)} {
		good := payload(1, 2)
		for i, damaged := range []owner.Commit{
			{Append: []owner.Payload{good, p}},
			{Append: []owner.Payload{good}, Effects: []owner.Effect{{ID: "e", Payload: p}}},
			{Append: []owner.Payload{good}, Effects: []owner.Effect{{ID: "e", Payload: good}}, Receipts: []owner.Receipt{{ID: "r", EffectID: "e", Outcome: "applied", Payload: p}}},
			{Append: []owner.Payload{good}, Latest: &p},
		} {
			damaged.OwnerID, damaged.Create, damaged.Fence, damaged.Inbox = id, c.Create, 3, c.Inbox
			b.commit(damaged, owner.UnsupportedVersion, 0)
			if b.image(id) != nil {
				t.Fatalf("case %d with %d, %d created the owner", i, p.SchemaVersion, p.CodecVersion)
			}
		}
	}
	c.Append = []owner.Payload{payload(math.MaxUint64, 2), payload(1, 2)}
	b.commit(c, owner.Committed, 2)
	if got := b.image(id).History; got[0].Payload.SchemaVersion != math.MaxUint64 || got[0].Payload.CodecVersion != 2 {
		t.Errorf("%+v", got)
	}
	// The set stands: neither a new process nor another Create widens it.
	b.store = s.Reopen(t)
	wider := unit(id, 2, 3, "m2")
	wider.Create = &owner.Config{Mode: owner.EventHistory, Fence: 3}
	b.commit(wider, owner.UnsupportedVersion, 0)
	narrow := unit(b.history("all", 1), 0, 1, "m1")
	narrow.Append = []owner.Payload{payload(math.MaxUint64, math.MaxUint64)}
	b.commit(narrow, owner.Committed, 1)
	r := owner.Receipt{ID: "r", EffectID: "none", Outcome: "applied", Payload: payload(2, 2)}
	b.receipt(id, 9, r, owner.UnsupportedVersion)
	r.Payload = payload(1, 0)
	b.receipt(id+"/none", 9, r, owner.UnsupportedVersion)
	none := &owner.Supported{}
	result, err := b.store.Create(t.Context(), b.name("nothing"), owner.Config{Mode: owner.EventHistory, Supported: none})
	b.want(result, err, owner.Committed, 0)
	b.commit(unit(b.name("nothing"), 0, 0, "m1"), owner.UnsupportedVersion, 0)
	result, err = b.store.Create(t.Context(), b.name("zero"), owner.Config{Mode: owner.EventHistory, Supported: &owner.Supported{SchemaVersions: []uint64{0}}})
	b.want(result, err, owner.UnsupportedVersion, 0)
}

// exhaustion: the last position is used, and nothing goes beyond it.
func exhaustion(t *testing.T, s *Subject) {
	b := on(t, s)
	id := b.history("owner", 1)
	s.Place(t, id, owner.PositionMax-2)
	c := unit(id, owner.PositionMax-2, 1, "m1")
	c.Append = []owner.Payload{text("1"), text("2"), text("3")}
	b.unchanged(id, func() {
		b.commit(c, owner.PositionExhausted, 0)
		c.Fence = 2
		b.commit(c, owner.StaleFence, 0)
		c.Fence = 1
	})
	c.Append = c.Append[:2]
	b.commit(c, owner.Committed, owner.PositionMax)
	b.unchanged(id, func() { b.commit(unit(id, owner.PositionMax, 1, "m2"), owner.PositionExhausted, 0) })
	c = unit(id, owner.PositionMax, 1, "m3")
	c.Append = nil
	b.commit(c, owner.Committed, owner.PositionMax)
	state := b.name("state")
	result, err := b.store.Create(t.Context(), state, owner.Config{Mode: owner.Snapshot, Fence: 1})
	b.want(result, err, owner.Committed, 0)
	s.Place(t, state, owner.PositionMax)
	p := text("state")
	c = unit(state, owner.PositionMax, 1, "m1")
	c.Append, c.Replace = nil, &p
	b.commit(c, owner.PositionExhausted, 0)
}

// fences: strictly greater, by their own operation only (R27).
func fences(t *testing.T, s *Subject) {
	mark.Expect(t, "R27 fence not greater")
	b := on(t, s)
	id := b.history("owner", 4)
	b.commit(unit(id, 0, 4, "m1"), owner.Committed, 1)
	b.unchanged(id, func() {
		for _, fence := range []uint64{4, 3, 0} {
			b.fence(id, fence, owner.StaleFence)
		}
	})
	b.fence(id, 5, owner.FenceAdvanced)
	b.fence(id, math.MaxUint64, owner.FenceAdvanced)
	b.unchanged(id, func() { b.fence(id, math.MaxUint64, owner.StaleFence) })
	b.store = s.Reopen(t)
	b.commit(unit(id, 1, 4, "m2"), owner.StaleFence, 0)
	b.commit(unit(id, 1, math.MaxUint64, "m2"), owner.Committed, 2)
	b.fence(id+"/none", 9, owner.UnknownOwner)
	if image := b.image(id); image.Fence != math.MaxUint64 || image.Position != 2 {
		t.Errorf("%+v", image)
	}
}

// creation: an owner is created once, with one mode.
func creation(t *testing.T, s *Subject) {
	b := on(t, s)
	id := b.name("owner")
	create := func(config owner.Config, want owner.Outcome) {
		t.Helper()
		result, err := b.store.Create(t.Context(), id, config)
		b.want(result, err, want, 0)
	}
	b.commit(unit(id, 0, 2, "m1"), owner.UnknownOwner, 0)
	create(owner.Config{Mode: "history"}, owner.ModeConflict)
	if b.image(id) != nil {
		t.Error("a refused creation left something")
	}
	create(owner.Config{Mode: owner.EventHistory, Fence: 2}, owner.Committed)
	b.unchanged(id, func() {
		create(owner.Config{Mode: owner.EventHistory, Fence: 2}, owner.Duplicate)
		create(owner.Config{Mode: owner.EventHistory, Fence: 9, Supported: &owner.Supported{}}, owner.Duplicate)
		create(owner.Config{Mode: owner.Snapshot, Fence: 2}, owner.ModeConflict)
	})
	b.commit(unit(id, 0, 2, "m1"), owner.Committed, 1)
	// In a unit of work: the position is 0, the fence that of the creation, and a refusal creates nothing.
	at := func(part string, position, fence uint64, want owner.Outcome, through uint64) {
		t.Helper()
		c := unit(b.name(part), position, fence, "m1")
		c.Create = &owner.Config{Mode: owner.EventHistory, Fence: 3}
		b.commit(c, want, through)
		if exists := b.image(c.OwnerID) != nil; exists != (want == owner.Committed || want == owner.Duplicate) {
			t.Errorf("%s: exists %v", want, exists)
		}
	}
	at("new", 1, 3, owner.PositionConflict, 0)
	at("new", 0, 4, owner.StaleFence, 0)
	at("new", 0, 3, owner.Committed, 1)
	at("new", 0, 3, owner.Duplicate, 1)
	c := unit(b.name("odd"), 0, 3, "m1")
	c.Create = &owner.Config{Mode: "odd", Fence: 3}
	b.commit(c, owner.ModeConflict, 0)
}
