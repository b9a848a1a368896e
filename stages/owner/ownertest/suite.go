// Package ownertest is the suite that every store of the durable owner passes: all outcomes in their order, concurrent
// committers, groups of owners, hostile identities, crashes before the commit. It says nothing about how a store keeps
// what it keeps.
package ownertest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"amends.dev/amends/stages/owner"
)

// Subject is one store under test, empty or used by other tests with other names of owners.
type Subject struct {
	// Store is safe for concurrent use.
	Store owner.Store
	// Reopen is the store as a new process finds it: nothing that the first one holds in memory is known to it.
	Reopen func(t *testing.T) owner.Store
	// Crashing is a store over the same state whose process or connection dies in its next transaction, after everything
	// was written and before COMMIT took effect. That call returns an error.
	Crashing func(t *testing.T) owner.Store
	// Place moves an owner to a position without events, so that exhaustion can be reached.
	Place func(t *testing.T, ownerID string, position uint64)
}

// Suite runs all tests, each with a subject of its own.
func Suite(t *testing.T, open func(t *testing.T) *Subject) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s *Subject)
	}{
		{"Outcomes", outcomes},
		{"Order", order},
		{"Modes", modes},
		{"Versions", versions},
		{"Exhaustion", exhaustion},
		{"Fences", fences},
		{"Effects", effects},
		{"Receipts", receipts},
		{"ReceiptOrder", receiptOrder},
		{"Creation", creation},
		{"B134", B134},
		{"B135", B135},
		{"B139", B139},
		{"OneWins", oneWins},
		{"Groups", groups},
		{"SameOwnerInOneGroup", sameOwner},
		{"Pending", pending},
		{"ImageOrder", imageOrder},
		{"Large", large},
		{"Identities", identities},
		{"Bytes", anyBytes},
		{"Crash", crash},
		{"R28", R28},
		{"Cancelled", cancelled},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// bench is a subject with what makes tests short.
type bench struct {
	*testing.T
	*Subject
	store owner.Store
}

func on(t *testing.T, s *Subject) *bench { return &bench{T: t, Subject: s, store: s.Store} }

// name makes an identity of a test its own.
func (b *bench) name(part string) string { return b.Name() + "/" + part }

// text is a payload.
func text(s string) owner.Payload {
	return owner.Payload{SchemaVersion: 7, CodecVersion: 11, Bytes: []byte(s)}
}

// effect is an effect.
func effect(id, s string) owner.Effect { return owner.Effect{ID: id, Payload: text(s)} }

// receipt is a receipt.
func receipt(id, effectID, s string) owner.Receipt {
	return owner.Receipt{ID: id, EffectID: effectID, Outcome: "applied", Payload: text(s)}
}

// history makes an owner of events under a fence and returns its ID.
func (b *bench) history(part string, fence uint64) string {
	b.Helper()
	id := b.name(part)
	result, err := b.store.Create(b.Context(), id, owner.Config{Mode: owner.EventHistory, Fence: fence})
	b.want(result, err, owner.Committed, 0)
	return id
}

// unit is a unit of work with one event, the text of its input.
func unit(ownerID string, position, fence uint64, input string) owner.Commit {
	return owner.Commit{
		OwnerID: ownerID, ExpectedPosition: position, Fence: fence,
		Inbox:  owner.Inbox{ID: input, Fingerprint: []byte("fingerprint of " + input)},
		Append: []owner.Payload{text("event of " + input)},
	}
}

// commit commits one unit of work and wants an outcome and, where it has one, a position.
func (b *bench) commit(c owner.Commit, want owner.Outcome, through uint64) {
	b.Helper()
	results, err := b.store.Commit(b.Context(), c)
	if err == nil && len(results) != 1 {
		b.Fatalf("%d results of one unit of work", len(results))
	}
	if err != nil {
		b.Fatalf("commit: %v", err)
	}
	b.want(results[0], nil, want, through)
}

// want checks one result.
func (b *bench) want(result owner.Result, err error, want owner.Outcome, through uint64) {
	b.Helper()
	if err != nil {
		b.Fatalf("want %s: %v", want, err)
	}
	if result.Outcome != want || result.Through != through {
		b.Fatalf("got %s through %d (%s), want %s through %d", result.Outcome, result.Through, result.Detail, want, through)
	}
	refusal := true
	for _, o := range []owner.Outcome{owner.Committed, owner.Duplicate, owner.FenceAdvanced, owner.ReceiptRecorded, owner.ReceiptDuplicate} {
		refusal = refusal && o != want
	}
	if refusal == (result.Detail == "") {
		b.Errorf("%s with detail %q", want, result.Detail)
	}
}

// receipt records a receipt and wants an outcome.
func (b *bench) receipt(ownerID string, fence uint64, r owner.Receipt, want owner.Outcome) {
	b.Helper()
	result, err := b.store.RecordReceipt(b.Context(), ownerID, fence, r)
	b.want(result, err, want, 0)
}

// fence advances the fence and wants an outcome.
func (b *bench) fence(ownerID string, fence uint64, want owner.Outcome) {
	b.Helper()
	result, err := b.store.AdvanceFence(b.Context(), ownerID, fence)
	b.want(result, err, want, 0)
}

// image reads an image, nil where there is no owner.
func (b *bench) image(ownerID string) *owner.Image {
	b.Helper()
	image, err := b.store.Image(b.Context(), ownerID)
	if err != nil {
		b.Fatalf("image of %s: %v", ownerID, err)
	}
	return image
}

// unchanged wants that nothing about the owner changes while f runs.
func (b *bench) unchanged(ownerID string, f func()) {
	b.Helper()
	before := b.image(ownerID)
	f()
	if diff := cmp.Diff(before, b.image(ownerID), cmpopts.EquateEmpty()); diff != "" {
		b.Fatalf("the image changed:\n%s", diff)
	}
}

// equal wants an image.
func (b *bench) equal(want *owner.Image) {
	b.Helper()
	if diff := cmp.Diff(want, b.image(want.OwnerID), cmpopts.EquateEmpty()); diff != "" {
		b.Fatalf("image (-want +got):\n%s", diff)
	}
}

// outcomes: one unit of work with everything in it, its image, and its exact repetition.
func outcomes(t *testing.T, s *Subject) {
	b := on(t, s)
	id := b.history("owner", 7)
	c := unit(id, 0, 7, "m1")
	c.Append = append(c.Append, text("second"))
	c.Effects = []owner.Effect{effect("m1/0", "audit"), effect("m1/1", "publish")}
	c.Receipts = []owner.Receipt{receipt("m1/r0", "m1/0", "written")}
	b.commit(c, owner.Committed, 2)
	want := &owner.Image{
		OwnerID: id, Mode: owner.EventHistory, Position: 2, Fence: 7,
		History:          []owner.Positioned{{Position: 1, Payload: text("event of m1")}, {Position: 2, Payload: text("second")}},
		Inbox:            []owner.Completed{{ID: "m1", Fingerprint: []byte("fingerprint of m1"), CommittedThrough: 2}},
		Outbox:           []owner.Accepted{{Effect: c.Effects[0], AcceptedAt: 2}, {Effect: c.Effects[1], AcceptedAt: 2}},
		Receipts:         []owner.Recorded{{Receipt: c.Receipts[0], RecordedAt: 2, Fence: 7}},
		PendingEffectIDs: []string{"m1/1"},
	}
	b.equal(want)
	b.commit(c, owner.Duplicate, 2)
	b.equal(want)
	b.receipt(id, 7, receipt("m1/r1", "m1/1", "acknowledged"), owner.ReceiptRecorded)
	want.Receipts = append(want.Receipts, owner.Recorded{Receipt: receipt("m1/r1", "m1/1", "acknowledged"), RecordedAt: 2, Fence: 7})
	want.PendingEffectIDs = nil
	b.equal(want)
	b.store = s.Reopen(t)
	b.equal(want)
	b.commit(c, owner.Duplicate, 2)
	b.equal(want)
}

// cancelled: a context that ended is an error, and nothing happened.
func cancelled(t *testing.T, s *Subject) {
	b := on(t, s)
	id := b.history("owner", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.unchanged(id, func() {
		if _, err := b.store.Commit(ctx, unit(id, 0, 1, "m1")); err == nil {
			t.Error("committed under a context that ended")
		}
		if _, err := b.store.Image(ctx, id); err == nil {
			t.Error("read under a context that ended")
		}
	})
	b.commit(unit(id, 0, 1, "m1"), owner.Committed, 1)
}

// imageOrder: lists are in the order of commits, not of identities, and empty lists stay so.
func imageOrder(t *testing.T, s *Subject) {
	b := on(t, s)
	id := b.history("owner", 1)
	var inbox, outbox, recorded, wantPending []string
	for i, letter := range strings.Split("qazwsxedcrfv", "") {
		c := unit(id, uint64(i), 1, letter)
		for _, suffix := range []string{"/9", "/10", "/1"} {
			c.Effects = append(c.Effects, effect(letter+suffix, suffix))
			outbox = append(outbox, letter+suffix)
		}
		c.Receipts = []owner.Receipt{receipt(letter+"/r", letter+"/10", "done")}
		wantPending = append(wantPending, letter+"/9", letter+"/1")
		inbox, recorded = append(inbox, letter), append(recorded, letter+"/r")
		b.commit(c, owner.Committed, uint64(i+1))
	}
	image := b.image(id)
	got := func(n int, of func(i int) string) (ids []string) {
		for i := range n {
			ids = append(ids, of(i))
		}
		return ids
	}
	for what, pair := range map[string][2][]string{
		"inbox":    {inbox, got(len(image.Inbox), func(i int) string { return image.Inbox[i].ID })},
		"outbox":   {outbox, got(len(image.Outbox), func(i int) string { return image.Outbox[i].ID })},
		"receipts": {recorded, got(len(image.Receipts), func(i int) string { return image.Receipts[i].ID })},
		"pending":  {wantPending, image.PendingEffectIDs},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	for i, event := range image.History {
		if event.Position != uint64(i+1) {
			t.Errorf("event %d is at position %d", i, event.Position)
		}
	}
	if b.image(fmt.Sprint(id, "/none")) != nil {
		t.Error("an image of an owner that does not exist")
	}
}
