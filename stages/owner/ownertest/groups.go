package ownertest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/owner"
)

// groups: one call holds the units of work of many owners, each decided by itself (R29).
func groups(t *testing.T, s *Subject) {
	const owners = 40
	b := on(t, s)
	var commits []owner.Commit
	for i := range owners {
		c := unit(b.name(fmt.Sprint("owner", i)), 0, 1, "m1")
		if i%4 != 3 { // every fourth does not exist
			c.Create = &owner.Config{Mode: owner.EventHistory, Fence: 1}
		}
		if i%4 == 2 {
			c.Fence = 2
		}
		c.Effects = []owner.Effect{effect(b.name(fmt.Sprint(i)), "publish")}
		commits = append(commits, c)
	}
	want := []owner.Outcome{owner.Committed, owner.Committed, owner.StaleFence, owner.UnknownOwner}
	for round := range 2 {
		results, err := b.store.Commit(t.Context(), commits...)
		if err != nil || len(results) != owners {
			t.Fatalf("%d results, %v", len(results), err)
		}
		for i, r := range results {
			if expected := want[i%4]; r.Outcome != expected && (round == 0 || expected != owner.Committed || r.Outcome != owner.Duplicate) {
				t.Errorf("round %d, unit %d: %s", round, i, r.Outcome)
			}
			if (b.image(commits[i].OwnerID) != nil) != (i%4 < 2) {
				t.Errorf("round %d, unit %d: wrongly there, or not", round, i)
			}
		}
	}
	if results, err := b.store.Commit(t.Context()); err != nil || len(results) != 0 {
		t.Errorf("no unit of work: %v, %v", results, err)
	}
	// Groups that hold the same owners in opposite orders, at once: every group is decided, none waits for ever.
	var wg sync.WaitGroup
	for i := range 8 {
		var group []owner.Commit
		for j := range owners {
			if j%4 < 2 {
				group = append(group, unit(commits[j].OwnerID, 1, 1, fmt.Sprint("m2/", i)))
			}
		}
		if i%2 == 1 {
			slices.Reverse(group)
		}
		wg.Go(func() {
			if _, err := b.store.Commit(t.Context(), group...); err != nil {
				t.Errorf("group %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for j := range owners {
		if j%4 < 2 && b.image(commits[j].OwnerID).Position != 2 {
			t.Errorf("owner %d is at %d", j, b.image(commits[j].OwnerID).Position)
		}
	}
}

// sameOwner: units of one owner in one call see those before them.
func sameOwner(t *testing.T, s *Subject) {
	mark.Expect(t, "R29 second unit of an owner in one transaction")
	b := on(t, s)
	id := b.name("owner")
	first := unit(id, 0, 1, "m1")
	first.Create = &owner.Config{Mode: owner.EventHistory, Fence: 1}
	first.Effects = []owner.Effect{effect("e1", "one"), effect("e2", "two")}
	changed := first
	changed.Inbox.Fingerprint = []byte("other")
	second := unit(id, 1, 1, "m2")
	second.Effects = []owner.Effect{effect("e1", "one")}
	second.Receipts = []owner.Receipt{receipt("r1", "e1", "done")}
	third := unit(id, 2, 1, "m3")
	third.Receipts = []owner.Receipt{receipt("r2", "e1", "again")}
	fourth := unit(id, 2, 1, "m4")
	fourth.Effects = []owner.Effect{effect("e2", "TWO")}
	results, err := b.store.Commit(t.Context(), first, first, changed, unit(id, 0, 1, "late"), second, third, fourth, unit(id, 2, 1, "m5"), second)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprint(r.Outcome, " ", r.Through))
	}
	want := []string{
		"committed 1", "duplicate 1", "inbox_identity_conflict 0", "position_conflict 0", "committed 2",
		"effect_already_receipted 0", "effect_identity_conflict 0", "committed 3", "duplicate 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	for _, store := range []owner.Store{s.Store, s.Reopen(t)} {
		b.store = store
		image := b.image(id)
		if image.Position != 3 || len(image.History) != 3 || len(image.Inbox) != 3 || len(image.Outbox) != 2 || image.Outbox[0].AcceptedAt != 1 ||
			len(image.Receipts) != 1 || image.Receipts[0].RecordedAt != 2 || !slices.Equal(image.PendingEffectIDs, []string{"e2"}) {
			t.Fatalf("%+v", image)
		}
	}
	// The same for a snapshot: the last one stays.
	state := b.name("state")
	var commits []owner.Commit
	for i := range uint64(3) {
		p := text(fmt.Sprint(i))
		c := owner.Commit{OwnerID: state, ExpectedPosition: i, Fence: 1, Inbox: owner.Inbox{ID: fmt.Sprint("m", i)}, Replace: &p}
		c.Create = &owner.Config{Mode: owner.Snapshot, Fence: 1}
		commits = append(commits, c)
	}
	if _, err := b.store.Commit(t.Context(), commits...); err != nil {
		t.Fatal(err)
	}
	if image := b.image(state); image.Position != 3 || image.Snapshot.Position != 3 || string(image.Snapshot.Payload.Bytes) != "2" || len(image.Inbox) != 3 {
		t.Errorf("%+v", image)
	}
}

// pending: by prefix, oldest acceptance first over all owners, with the owner's present position and fence.
func pending(t *testing.T, s *Subject) {
	b := on(t, s)
	var want []string
	for i := range 6 {
		id := b.history(fmt.Sprint("owner", i), 1)
		c := unit(id, 0, 1, "m1")
		mine := b.name(fmt.Sprint("publish/", 9-i))
		c.Effects = []owner.Effect{effect(b.name("audit"), "other prefix"), effect(mine, "publish")}
		b.commit(c, owner.Committed, 1)
		want = append(want, mine)
	}
	ids := func(prefix string, limit int) (ids []string) {
		t.Helper()
		list, err := b.store.Pending(t.Context(), prefix, limit)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := b.store.CountPending(t.Context(), prefix, limit); err != nil || n != len(list) {
			t.Errorf("prefix %q, limit %d: %d counted of %d, %v", prefix, limit, n, len(list), err)
		}
		for _, p := range list {
			ids = append(ids, p.ID)
			if string(p.Payload.Bytes) != "publish" && prefix == b.name("publish/") || p.Payload.SchemaVersion != 7 {
				t.Errorf("%+v", p)
			}
		}
		return ids
	}
	prefix := b.name("publish/")
	for _, limit := range []int{0, 1, 4, 6, 100} {
		if diff := cmp.Diff(want[:min(limit, len(want))], append([]string{}, ids(prefix, limit)...)); diff != "" {
			t.Errorf("limit %d: %s", limit, diff)
		}
	}
	if n := len(ids(b.Name(), 100)); n != 12 {
		t.Errorf("%d pending under the common prefix", n)
	}
	for _, none := range []string{prefix + "%", b.name("publish_"), b.name("PUBLISH/"), b.name("publish/9/"), prefix + "\x00", "\xff"} {
		if got := ids(none, 100); len(got) != 0 {
			t.Errorf("prefix %q: %q", none, got)
		}
	}
	b.fence(b.name("owner2"), 5, owner.FenceAdvanced)
	b.commit(unit(b.name("owner2"), 1, 5, "m2"), owner.Committed, 2)
	b.receipt(b.name("owner0"), 1, receipt("r", want[0], "done"), owner.ReceiptRecorded)
	c := unit(b.name("owner1"), 1, 1, "m2")
	c.Receipts = []owner.Receipt{receipt("r", want[1], "done")}
	b.commit(c, owner.Committed, 2)
	b.store = s.Reopen(t)
	list, err := b.store.Pending(t.Context(), prefix, 2)
	if err != nil || len(list) != 2 || list[0].ID != want[2] || list[0].OwnerID != b.name("owner2") || list[0].Position != 2 || list[0].Fence != 5 ||
		list[1].ID != want[3] || list[1].Position != 1 || list[1].Fence != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// large: values of some megabytes, and many of them.
func large(t *testing.T, s *Subject) {
	b := on(t, s)
	id := b.history("owner", 1)
	big := bytes.Repeat([]byte{0, 1, 0xff, 'x'}, 1<<20)
	c := unit(id, 0, 1, "m1")
	c.Inbox.Fingerprint = big[:1<<16]
	c.Append = []owner.Payload{{SchemaVersion: 1, CodecVersion: 1, Bytes: big}}
	for i := range 500 {
		c.Append = append(c.Append, text(fmt.Sprint(i)))
		c.Effects = append(c.Effects, effect(fmt.Sprint("e", i), strings.Repeat("y", 100)))
	}
	c.Effects = append(c.Effects, owner.Effect{ID: "big", Payload: owner.Payload{SchemaVersion: 1, CodecVersion: 1, Bytes: big}})
	b.commit(c, owner.Committed, 501)
	b.commit(c, owner.Duplicate, 501)
	image := b.image(id)
	if !bytes.Equal(image.History[0].Payload.Bytes, big) || !bytes.Equal(image.Outbox[500].Payload.Bytes, big) ||
		!bytes.Equal(image.Inbox[0].Fingerprint, c.Inbox.Fingerprint) || len(image.History) != 501 || len(image.PendingEffectIDs) != 501 {
		t.Errorf("%d events, %d effects", len(image.History), len(image.Outbox))
	}
}

// crash: a process that dies before COMMIT leaves nothing, and the same unit of work then commits; so for a group, for
// receipts and fences.
func crash(t *testing.T, s *Subject) {
	b := on(t, s)
	id := b.history("owner", 1)
	c := unit(id, 0, 1, "m1")
	c.Effects = []owner.Effect{effect(b.name("e1"), "one")}
	other := unit(b.name("other"), 0, 1, "m1")
	other.Create = &owner.Config{Mode: owner.EventHistory, Fence: 1}
	dies := func(what string, f func(store owner.Store) error) {
		t.Helper()
		store := s.Crashing(t)
		b.unchanged(id, func() {
			if err := f(store); err == nil {
				t.Errorf("%s: no error", what)
			}
		})
		if b.image(other.OwnerID) != nil {
			t.Errorf("%s: half of the group is there", what)
		}
	}
	commit := func(store owner.Store) error {
		_, err := store.Commit(t.Context(), c, other)
		return err
	}
	dies("commit", commit)
	dies("commit again", commit)
	if list, err := b.store.Pending(t.Context(), b.Name(), 10); err != nil || len(list) != 0 {
		t.Errorf("pending after a crash: %v, %v", list, err)
	}
	b.commit(c, owner.Committed, 1)
	dies("receipt", func(store owner.Store) error {
		_, err := store.RecordReceipt(t.Context(), id, 1, receipt("r1", b.name("e1"), "done"))
		return err
	})
	dies("fence", func(store owner.Store) error {
		_, err := store.AdvanceFence(t.Context(), id, 2)
		return err
	})
	dies("creation", func(store owner.Store) error {
		_, err := store.Create(t.Context(), other.OwnerID, *other.Create)
		return err
	})
	b.store = s.Reopen(t)
	b.commit(c, owner.Duplicate, 1)
	b.receipt(id, 1, receipt("r1", b.name("e1"), "done"), owner.ReceiptRecorded)
	b.fence(id, 2, owner.FenceAdvanced)
	b.commit(other, owner.Committed, 1)
}
