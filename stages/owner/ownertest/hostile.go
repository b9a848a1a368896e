package ownertest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"amends.dev/amends/stages/owner"
)

// identities: what cannot be a stable name is refused before anything is looked at, and the longest names work.
func identities(t *testing.T, s *Subject) {
	b := on(t, s)
	id := b.history("owner", 1)
	good := func() owner.Commit {
		c := unit(id, 0, 1, "m1")
		c.Effects = []owner.Effect{effect("e1", "one")}
		c.Receipts = []owner.Receipt{receipt("r1", "e1", "done")}
		return c
	}
	bad := []string{"", "a\x00b", "\x00", "a\xffb", "\xed\xa0\x80", strings.Repeat("x", 10_000), strings.Repeat("é", 700)}
	b.unchanged(id, func() {
		for _, name := range bad {
			for what, change := range map[string]func(c *owner.Commit){
				"owner":   func(c *owner.Commit) { c.OwnerID = name },
				"inbox":   func(c *owner.Commit) { c.Inbox.ID = name },
				"effect":  func(c *owner.Commit) { c.Effects[0].ID = name },
				"receipt": func(c *owner.Commit) { c.Receipts[0].ID = name },
				"settles": func(c *owner.Commit) { c.Receipts[0].EffectID = name },
				"outcome": func(c *owner.Commit) { c.Receipts[0].Outcome = name },
			} {
				c := good()
				change(&c)
				results, err := b.store.Commit(t.Context(), c)
				if err != nil || results[0].Outcome != owner.InvalidIdentity {
					t.Errorf("%s %.20q: %v, %v", what, name, results, err)
				}
			}
			b.receipt(name, 1, receipt("r1", "e1", "x"), owner.InvalidIdentity)
			b.receipt(id, 1, receipt(name, "e1", "x"), owner.InvalidIdentity)
			b.receipt(id, 1, receipt("r1", name, "x"), owner.InvalidIdentity)
			b.fence(name, 9, owner.InvalidIdentity)
			result, err := b.store.Create(t.Context(), name, owner.Config{Mode: owner.EventHistory})
			b.want(result, err, owner.InvalidIdentity, 0)
			if b.image(name) != nil {
				t.Errorf("an image of %.20q", name)
			}
		}
	})
	// A refused unit of work takes none of its group with it.
	broken := good()
	broken.Inbox.ID = "a\x00b"
	results, err := b.store.Commit(t.Context(), broken, good(), broken)
	if err != nil || results[0].Outcome != owner.InvalidIdentity || results[1].Outcome != owner.Committed || results[2].Outcome != owner.InvalidIdentity {
		t.Fatalf("%v, %v", results, err)
	}
	// The longest names, and names that only bytes tell apart. They do not repeat, so that no compression hides their length.
	long := func(seed string, n int) string {
		var name strings.Builder
		for i := 0; name.Len() < n; i++ {
			fmt.Fprintf(&name, "%s%x", seed, uint64(i+1)*0x9e3779b97f4a7c15)
		}
		return name.String()[:n]
	}
	c := unit(long(b.Name(), owner.OwnerIDMax), 0, 1, long("m", owner.IDMax))
	c.Create = &owner.Config{Mode: owner.EventHistory, Fence: 1}
	for _, name := range []string{long("e", owner.IDMax), "é", "e\u0301", "E", "e", " e", "e ", "%", "_", `\`, `"`, "\n", "\u2028"} {
		c.Effects = append(c.Effects, effect(name, name))
	}
	c.Receipts = []owner.Receipt{receipt(long("r", owner.IDMax), long("e", owner.IDMax), "x")}
	c.Receipts[0].Outcome = strings.Repeat("o", owner.OutcomeMax)
	b.commit(c, owner.Committed, 1)
	b.commit(c, owner.Duplicate, 1)
	if image := b.image(c.OwnerID); len(image.Outbox) != 13 || image.Outbox[2].ID != "e\u0301" || len(image.PendingEffectIDs) != 12 {
		t.Errorf("%+v", image)
	}
}

// anyBytes: payloads and fingerprints are bytes, none of which means anything to a store; empty is not absent.
func anyBytes(t *testing.T, s *Subject) {
	b := on(t, s)
	id := b.history("owner", 1)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for i, content := range [][]byte{all, {}, nil, {0}, []byte(`{"a":1}`), {0xff, 0xfe}} {
		c := unit(id, uint64(i), 1, fmt.Sprint("m", i))
		c.Inbox.Fingerprint = content
		c.Append[0].Bytes = content
		c.Effects = []owner.Effect{{ID: fmt.Sprint("e", i), Payload: owner.Payload{SchemaVersion: 1, CodecVersion: 1, Bytes: content}}}
		b.commit(c, owner.Committed, uint64(i+1))
		image := b.image(id)
		if !bytes.Equal(image.History[i].Payload.Bytes, content) || !bytes.Equal(image.Inbox[i].Fingerprint, content) || !bytes.Equal(image.Outbox[i].Payload.Bytes, content) {
			t.Errorf("content %d: %+v", i, image)
		}
		b.commit(c, owner.Duplicate, uint64(i+1))
	}
	// A store keeps copies, and gives copies away.
	mine := []byte("mine")
	c := unit(id, 6, 1, "copies")
	c.Inbox.Fingerprint, c.Append[0].Bytes = mine, mine
	b.commit(c, owner.Committed, 7)
	mine[0] = 'M'
	image := b.image(id)
	if string(image.History[6].Payload.Bytes) != "mine" || string(image.Inbox[6].Fingerprint) != "mine" {
		t.Error("the store shares bytes with its caller")
	}
	image.History[6].Payload.Bytes[0], image.Inbox[6].Fingerprint[0] = 'X', 'X'
	if image = b.image(id); string(image.History[6].Payload.Bytes) != "mine" || string(image.Inbox[6].Fingerprint) != "mine" {
		t.Error("an image shares bytes with the store")
	}
}
