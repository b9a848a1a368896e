package ownertest

import (
	"fmt"
	"testing"

	"amends.dev/amends/stages/owner"
)

// R28 is the test of this: the egress of latest states holds one pending value for each owner, replaced in place by each commit that brings
// one: three commits between two drains are published once.
func R28(t *testing.T, s *Subject) {
	b := on(t, s)
	values := func(limit int) (list []owner.LatestDurableProjection, texts []string) {
		t.Helper()
		list, err := b.store.PendingLatest(t.Context(), b.Name(), limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			value := l.Value()
			texts = append(texts, fmt.Sprintf("%s=%s", l.OwnerID()[len(b.Name())+1:], value.Bytes))
			if l.At() == (owner.Mark{}) || l.Capability() != owner.LatestStateOnly || value.SchemaVersion != 7 || value.CodecVersion != 11 {
				t.Errorf("%+v", l)
			}
		}
		return list, texts
	}
	wants := func(limit int, want ...string) []owner.LatestDurableProjection {
		t.Helper()
		list, texts := values(limit)
		if fmt.Sprint(texts) != fmt.Sprint(want) {
			t.Fatalf("pending %q, want %q", texts, want)
		}
		return list
	}
	bring := func(part string, position uint64, value string) {
		t.Helper()
		p := text(value)
		c := unit(b.name(part), position, 1, fmt.Sprint("m", position, value))
		c.Create, c.Latest = &owner.Config{Mode: owner.EventHistory, Fence: 1}, &p
		b.commit(c, owner.Committed, position+1)
		b.commit(c, owner.Duplicate, position+1)
	}
	published := func(l owner.LatestDurableProjection, want bool) {
		t.Helper()
		if done, err := b.store.LatestPublished(t.Context(), l); err != nil || done != want {
			t.Fatalf("published: %v, %v; want %v", done, err, want)
		}
	}
	wants(10)
	bring("b", 0, "one")
	bring("a", 0, "uno")
	bring("b", 1, "two")
	bring("b", 2, "three")
	first := wants(10, "b=three", "a=uno")
	wants(1, "b=three")
	wants(0)
	// A value that was replaced while it was being published stays pending with its successor.
	bring("b", 3, "four")
	published(first[0], false)
	published(first[1], true)
	published(first[1], true)
	second := wants(10, "b=four")
	b.store = s.Reopen(t)
	wants(10, "b=four")
	published(second[0], true)
	wants(10)
	// A unit of work without a value, or one that is refused, changes nothing in the egress.
	b.commit(unit(b.name("b"), 4, 1, "silent"), owner.Committed, 5)
	p := text("refused")
	refused := unit(b.name("b"), 4, 1, "refused")
	refused.Latest = &p
	b.commit(refused, owner.PositionConflict, 0)
	wants(10)
	// The same value again is a new fact at a new position.
	bring("b", 5, "four")
	published(second[0], false)
	wants(10, "b=four")
	// Nothing of it is in the image: it is no history, and none can be made of it.
	if image := b.image(b.name("b")); len(image.Outbox) != 0 || len(image.PendingEffectIDs) != 0 {
		t.Errorf("%+v", image)
	}
	for _, never := range []owner.LatestDurableProjection{
		{}, owner.NewLatest(b.name("none"), owner.MarkAt(1), p), owner.NewLatest("a\x00b", owner.MarkAt(1), p), owner.NewLatest("a\xffb", owner.MarkAt(1), p),
	} {
		if done, err := b.store.LatestPublished(t.Context(), never); err != nil || done {
			t.Errorf("of owner %q, which has no value: %v, %v", never.OwnerID(), done, err)
		}
	}
}
