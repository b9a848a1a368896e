package ownertest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/owner"
)

// B134 is the test of this: the same inbox identity with any other content is a conflict, and the first record stands; the same content is
// a duplicate with the first position (R27).
func B134(t *testing.T, s *Subject) {
	mark.Expect(t, "B134 inbox identity with other content")
	b := on(t, s)
	id := b.history("owner", 1)
	full := func() owner.Commit {
		latest := text("latest")
		c := unit(id, 0, 1, "m1")
		c.Effects = []owner.Effect{effect("e1", "one"), effect("e2", "two")}
		c.Receipts = []owner.Receipt{receipt("r1", "e1", "done")}
		c.Latest = &latest
		return c
	}
	b.commit(full(), owner.Committed, 1)
	b.commit(unit(id, 1, 1, "m2"), owner.Committed, 2)
	b.unchanged(id, func() {
		b.commit(full(), owner.Duplicate, 1)
		for name, change := range map[string]func(c *owner.Commit){
			"fingerprint":      func(c *owner.Commit) { c.Inbox.Fingerprint = []byte("other") },
			"no fingerprint":   func(c *owner.Commit) { c.Inbox.Fingerprint = nil },
			"bytes":            func(c *owner.Commit) { c.Append[0].Bytes = []byte("other") },
			"schema version":   func(c *owner.Commit) { c.Append[0].SchemaVersion++ },
			"codec version":    func(c *owner.Commit) { c.Append[0].CodecVersion++ },
			"swapped versions": func(c *owner.Commit) { c.Append[0].SchemaVersion, c.Append[0].CodecVersion = 11, 7 },
			"one event more":   func(c *owner.Commit) { c.Append = append(c.Append, text("")) },
			"no event":         func(c *owner.Commit) { c.Append = nil },
			"effect payload":   func(c *owner.Commit) { c.Effects[0].Payload.CodecVersion++ },
			"effect identity":  func(c *owner.Commit) { c.Effects[1].ID = "e3" },
			"effect left out":  func(c *owner.Commit) { c.Effects = c.Effects[:1] },
			"effects in order": func(c *owner.Commit) { c.Effects[0], c.Effects[1] = c.Effects[1], c.Effects[0] },
			"receipt outcome":  func(c *owner.Commit) { c.Receipts[0].Outcome = "rejected" },
			"receipt effect":   func(c *owner.Commit) { c.Receipts[0].EffectID = "e2" },
			"receipt identity": func(c *owner.Commit) { c.Receipts[0].ID = "r2" },
			"receipt left out": func(c *owner.Commit) { c.Receipts = nil },
			"latest":           func(c *owner.Commit) { c.Latest.Bytes = []byte("other") },
			"latest left out":  func(c *owner.Commit) { c.Latest = nil },
			"bytes run together": func(c *owner.Commit) { // what was the end of one value begins the next
				c.Inbox.Fingerprint = append(c.Inbox.Fingerprint, 0)
			},
		} {
			c := full()
			change(&c)
			results, err := b.store.Commit(t.Context(), c)
			if err != nil || results[0].Outcome != owner.InboxConflict {
				t.Errorf("%s: %+v, %v", name, results, err)
			}
		}
	})
	b.store = s.Reopen(t)
	b.commit(full(), owner.Duplicate, 1)
	if got := b.image(id).Inbox[0].Fingerprint; !bytes.Equal(got, []byte("fingerprint of m1")) {
		t.Errorf("fingerprint %q", got)
	}
}

// B135 is the test of this: of 50 that send one input at once exactly one commits, the others are duplicates, and there is one entry.
func B135(t *testing.T, s *Subject) {
	const senders = 50
	b := on(t, s)
	id := b.name("owner")
	c := unit(id, 0, 1, "m1")
	c.Create = &owner.Config{Mode: owner.EventHistory, Fence: 1}
	c.Effects = []owner.Effect{effect("e1", "one")}
	found := b.race(senders, func(int) owner.Commit { return c })
	if found[owner.Committed] != 1 || found[owner.Duplicate] != senders-1 {
		t.Fatalf("%v", found)
	}
	image := b.image(id)
	if image.Position != 1 || len(image.History) != 1 || len(image.Inbox) != 1 || len(image.Outbox) != 1 {
		t.Errorf("%+v", image)
	}
}

// race commits n units of work at once and counts the outcomes.
func (b *bench) race(n int, of func(i int) owner.Commit) map[owner.Outcome]int {
	b.Helper()
	found := map[owner.Outcome]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			results, err := b.store.Commit(b.Context(), of(i))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				b.Errorf("committer %d: %v", i, err)
				return
			}
			found[results[0].Outcome]++
		})
	}
	close(start)
	wg.Wait()
	return found
}

// oneWins: of two committers at one position one wins, again and again, and the loser's unit leaves nothing.
func oneWins(t *testing.T, s *Subject) {
	b := on(t, s)
	id := b.history("owner", 1)
	for round := range uint64(20) {
		found := b.race(2, func(i int) owner.Commit { return unit(id, round, 1, fmt.Sprintf("m%d/%d", round, i)) })
		if found[owner.Committed] != 1 || found[owner.PositionConflict] != 1 {
			t.Fatalf("round %d: %v", round, found)
		}
	}
	if image := b.image(id); image.Position != 20 || len(image.History) != 20 || len(image.Inbox) != 20 {
		t.Errorf("position %d, %d events, %d inputs", image.Position, len(image.History), len(image.Inbox))
	}
}

// B139 is the test of this: a redelivery after a hand-off finds its commit, whatever fence it carries; a fence that was never installed is
// no authority.
func B139(t *testing.T, s *Subject) {
	mark.Expect(t, "B139 redelivery finds its commit")
	b := on(t, s)
	id := b.history("owner", 1)
	m1 := unit(id, 0, 1, "m1")
	b.commit(m1, owner.Committed, 1)
	b.fence(id, 2, owner.FenceAdvanced)
	b.commit(unit(id, 1, 2, "m2"), owner.Committed, 2)
	b.unchanged(id, func() {
		b.commit(m1, owner.Duplicate, 1)
		b.commit(unit(id, 2, 3, "m3"), owner.StaleFence, 0)
		b.commit(unit(id, 2, 1, "m3"), owner.StaleFence, 0)
	})
	if image := b.image(id); image.Fence != 2 {
		t.Errorf("fence %d", image.Fence)
	}
	b.commit(unit(id, 2, 2, "m3"), owner.Committed, 3)
}
