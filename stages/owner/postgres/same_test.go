package postgres_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/memory"
	ownerpg "amends.dev/amends/stages/owner/postgres"
)

// draws are the parts of requests, from few values, so that they meet, and from those that stores could take for others.
type draws struct{ *rand.Rand }

func one[T any](d draws, values ...T) T { return values[d.IntN(len(values))] }

func (d draws) name() string {
	return one(d, "a", "A", "é", "e\u0301", "a/1/0/x", "a/1/0/", " a", "%", "z")
}

func (d draws) owner() string { return "o/" + one(d, "1", "2", "É", "\u2028", "10") }

func (d draws) payload() owner.Payload {
	version := func() uint64 { return one[uint64](d, 1, 2, 1<<53+1, 1<<63, math.MaxUint64) }
	return owner.Payload{SchemaVersion: version(), CodecVersion: version(), Bytes: one(d, nil, []byte{}, []byte("x"), []byte{0, 0xff})}
}

func (d draws) receipt() owner.Receipt {
	return owner.Receipt{ID: d.name(), EffectID: d.name(), Outcome: one(d, "applied", "rejected"), Payload: d.payload()}
}

// commit mostly fits the owner as its image shows it.
func (d draws) commit(t *testing.T, store owner.Store) owner.Commit {
	c := owner.Commit{OwnerID: d.owner(), Inbox: owner.Inbox{ID: d.name() + fmt.Sprint(d.IntN(6)), Fingerprint: one(d, nil, []byte{}, []byte{0xff, 0})}}
	mode := one(d, owner.EventHistory, owner.EventHistory, owner.Snapshot)
	c.Create = &owner.Config{Mode: mode, Fence: one[uint64](d, 0, 1<<63, math.MaxUint64-2)}
	c.Fence = c.Create.Fence
	image := imageOf(t, store, c.OwnerID)
	if image != nil {
		mode, c.Create, c.ExpectedPosition, c.Fence = image.Mode, nil, image.Position, image.Fence
	}
	switch d.IntN(12) {
	case 0:
		c.ExpectedPosition = one[uint64](d, c.ExpectedPosition+1, math.MaxUint64)
	case 1:
		c.Fence = one[uint64](d, c.Fence-1, math.MaxUint64)
	case 2:
		c.Inbox.ID = one(d, "", "a\x00", "\xff")
	case 3:
		mode = one(d, owner.EventHistory, owner.Snapshot)
	}
	if mode == owner.Snapshot {
		p := d.payload()
		c.Replace = &p
	} else {
		for range d.IntN(3) {
			c.Append = append(c.Append, d.payload())
		}
	}
	for range d.IntN(3) {
		c.Effects = append(c.Effects, owner.Effect{ID: d.name(), Payload: d.payload()})
	}
	if image != nil && len(image.Outbox) > 0 && d.IntN(2) == 0 { // one that stands already, and its receipt
		e := one(d, image.Outbox...).Effect
		c.Effects = append(c.Effects, e)
		c.Receipts = append(c.Receipts, owner.Receipt{ID: d.name(), EffectID: e.ID, Outcome: "applied", Payload: d.payload()})
	}
	if d.IntN(6) == 0 {
		c.Receipts = append(c.Receipts, d.receipt())
	}
	if d.IntN(3) == 0 {
		p := d.payload()
		c.Latest = &p
	}
	return c
}

func imageOf(t *testing.T, store owner.Store, ownerID string) *owner.Image {
	t.Helper()
	image, err := store.Image(t.Context(), ownerID)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// answers are what a store says to one request, and what it then shows.
func answers(t *testing.T, store owner.Store, request func(owner.Store) (any, error), ids []string, prefix string) []any {
	t.Helper()
	said, err := request(store)
	if err != nil {
		t.Fatal(err)
	}
	all := []any{said}
	for _, id := range ids {
		all = append(all, imageOf(t, store, id))
	}
	pending, err := store.Pending(t.Context(), prefix, 7)
	if err != nil {
		t.Fatal(err)
	}
	counted, err := store.CountPending(t.Context(), prefix, 7)
	if err != nil || counted != len(pending) {
		t.Fatalf("%d counted of %d pending: %v", counted, len(pending), err)
	}
	all = append(all, pending)
	latest, err := store.PendingLatest(t.Context(), "o/", 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range latest {
		all = append(all, l.Bytes())
	}
	return all
}

// TestSameAsInMemory: to the same requests the two stores answer the same, word for word, and show the same images, in
// every field and order, down to what is empty and what is nil.
func TestSameAsInMemory(t *testing.T) {
	t.Parallel()
	inMemory, inPostgres := memory.New(), ownerpg.New(connect(t, newSchema(t), nil))
	d := draws{rand.New(rand.NewPCG(5, 9))}
	seen := map[owner.Outcome]int{}
	var sent []owner.Commit
	for n := range 400 {
		var request func(owner.Store) (any, error)
		ids := []string{d.owner()}
		switch d.IntN(8) {
		case 0:
			fence := one[uint64](d, 0, 1, 1<<63+1, math.MaxUint64-1, math.MaxUint64)
			request = func(s owner.Store) (any, error) { return s.AdvanceFence(t.Context(), ids[0], fence) }
		case 1, 2:
			r, fence := d.receipt(), uint64(0)
			if image := imageOf(t, inMemory, ids[0]); image != nil {
				fence = image.Fence
				if len(image.Receipts) > 0 && d.IntN(2) == 0 {
					r, fence = one(d, image.Receipts...).Receipt, 3
				} else if len(image.PendingEffectIDs) > 0 {
					r.EffectID = one(d, image.PendingEffectIDs...)
				}
			}
			request = func(s owner.Store) (any, error) { return s.RecordReceipt(t.Context(), ids[0], fence, r) }
		case 3:
			latest, err := inMemory.PendingLatest(t.Context(), "o/", 1)
			if err != nil || len(latest) == 0 {
				continue
			}
			request = func(s owner.Store) (any, error) { return s.LatestPublished(t.Context(), latest[0]) }
		default:
			group := []owner.Commit{d.commit(t, inMemory), d.commit(t, inMemory)}
			if len(sent) > 0 && d.IntN(3) == 0 {
				group = append(group, one(d, sent...))
			}
			ids = nil
			for _, c := range group {
				ids = append(ids, c.OwnerID)
			}
			sent = append(sent, group...)
			request = func(s owner.Store) (any, error) { return s.Commit(t.Context(), group...) }
		}
		prefix := one(d, "", "a/1/0/", "A")
		want, got := answers(t, inMemory, request, ids, prefix), answers(t, inPostgres, request, ids, prefix)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("request %d (-memory +postgres):\n%s", n, diff)
		}
		count(seen, want[0])
	}
	t.Log(seen)
	if len(seen) < 14 {
		t.Errorf("only %d outcomes: %v", len(seen), seen)
	}
}

// count counts the outcomes of one answer.
func count(seen map[owner.Outcome]int, said any) {
	switch said := said.(type) {
	case owner.Result:
		seen[said.Outcome]++
	case []owner.Result:
		for _, r := range said {
			seen[r.Outcome]++
		}
	}
}
