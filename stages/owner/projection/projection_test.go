package projection_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/projection"
)

// recorded are facts from a position on, written as "create a one", "amend a two", "retract a".
func recorded(first uint64, facts ...projection.Fact) []projection.Recorded {
	var list []projection.Recorded
	for i, f := range facts {
		list = append(list, projection.Recorded{Position: owner.MarkAt(first + uint64(i)), Fact: f})
	}
	return list
}

func create(id, value string) projection.Fact {
	return projection.Fact{Kind: projection.Create, EntityID: id, Value: value}
}

func amend(id, value string) projection.Fact {
	return projection.Fact{Kind: projection.Amend, EntityID: id, Value: value}
}

func retract(id string) projection.Fact {
	return projection.Fact{Kind: projection.Retract, EntityID: id}
}

// checkpoint is one that was kept.
func checkpoint(t interface{ Fatal(args ...any) }, through, version uint64, entries ...projection.Entry) projection.Checkpoint {
	c, err := projection.NewCheckpoint(owner.MarkAt(through), owner.MarkAt(version), entries)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReplay(t *testing.T) {
	facts := recorded(1, create("b", "1"), create("a", "2"), amend("b", "3"), retract("a"), create("a", "4"), retract("b"), retract("a"))
	want := []string{
		"[]", "[{b 1}]", "[{a 2} {b 1}]", "[{a 2} {b 3}]", "[{b 3}]", "[{a 4} {b 3}]", "[{a 4}]", "[]",
	}
	for n := range len(facts) + 1 {
		c, err := projection.Replay(projection.Checkpoint{}, facts[:n]...)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.Entries()); got != want[n] || c.Through().String() != fmt.Sprint(n) || c.Version().String() != fmt.Sprint(n) {
			t.Errorf("after %d facts: %s through %s, version %s; want %s", n, got, c.Through(), c.Version(), want[n])
		}
		if c.Entries() == nil {
			t.Error("an empty state is not nothing")
		}
	}
}

// TestReplayRefuses: gaps and repetitions, facts that do not fit; the checkpoint stays as it was.
func TestReplayRefuses(t *testing.T) {
	from := checkpoint(t, 4, 9, projection.Entry{EntityID: "a", Value: "1"})
	if c, err := projection.Replay(from, recorded(5, amend("a", "2"), create("b", "1"))...); err != nil || c.Through().String() != "6" || c.Version().String() != "11" {
		t.Fatalf("undamaged twin: %+v, %v", c, err)
	}
	for name, facts := range map[string][]projection.Recorded{
		"gap":             recorded(6, create("b", "1")),
		"repeated":        recorded(4, create("b", "1")),
		"from the start":  recorded(1, create("b", "1")),
		"zero":            recorded(0, create("b", "1")),
		"repeated inside": append(recorded(5, create("b", "1")), recorded(5, create("c", "1"))...),
		"gap inside":      append(recorded(5, create("b", "1")), recorded(7, create("c", "1"))...),
	} {
		var order *projection.OrderError
		if _, err := projection.Replay(from, facts...); !errors.As(err, &order) || order.Error() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, fact := range map[string]projection.Fact{
		"created twice":     create("a", "1"),
		"amended unknown":   amend("b", "1"),
		"retracted unknown": retract("b"),
		"no kind":           {EntityID: "a"},
		"no entity":         create("", "1"),
		"not text":          create("b", "\xff"),
	} {
		var bad *projection.FactError
		if _, err := projection.Replay(from, recorded(5, fact)...); !errors.As(err, &bad) || bad.Error() == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !from.Equal(checkpoint(t, 4, 9, projection.Entry{EntityID: "a", Value: "1"})) {
		t.Errorf("the checkpoint changed: %+v", from)
	}
	last := checkpoint(t, owner.PositionMax, owner.PositionMax, projection.Entry{EntityID: "a", Value: "1"})
	if _, err := projection.Replay(last, recorded(owner.PositionMax, amend("a", "2"))...); err == nil {
		t.Error("replayed beyond the last position")
	}
}

// history draws facts that fit each other.
func history(t *rapid.T) []projection.Fact {
	ids := []string{"a", "b", "c", "d"}
	there := map[string]bool{}
	var facts []projection.Fact
	for range rapid.IntRange(0, 40).Draw(t, "facts") {
		id := rapid.SampledFrom(ids).Draw(t, "entity")
		value := rapid.StringN(0, 4, 16).Draw(t, "value")
		switch {
		case !there[id]:
			facts, there[id] = append(facts, create(id, value)), true
		case rapid.Bool().Draw(t, "retract"):
			facts, there[id] = append(facts, retract(id)), false
		default:
			facts = append(facts, amend(id, value))
		}
	}
	return facts
}

// TestRestartEqualsReplay: from any checkpoint, written and read again, the rest of the history leads to the state that
// all of it leads to; and to the one that a naive fold leads to.
func TestRestartEqualsReplay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		facts := history(t)
		var events []owner.Positioned
		for i, f := range facts {
			p, err := projection.FactPayload(f)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, owner.Positioned{Position: uint64(i + 1), Payload: p})
		}
		complete, err := owner.NewCompleteHistory("owner", events)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := projection.Resume(projection.Checkpoint{}, complete, projection.DecodeFact)
		if err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(0, len(facts)).Draw(t, "checkpoint")
		part, err := projection.Replay(projection.Checkpoint{}, recorded(1, facts[:at]...)...)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := part.Payload()
		if err != nil {
			t.Fatal(err)
		}
		kept, err := projection.DecodeCheckpoint(stored)
		if err != nil || !kept.Equal(part) {
			t.Fatalf("%s: %+v, %v", stored.Bytes, kept, err)
		}
		resumed, err := projection.Resume(kept, complete, projection.DecodeFact)
		if err != nil || !resumed.Equal(whole) || resumed.Through() != complete.Frontier() {
			t.Fatalf("resumed at %d: %+v, whole: %+v, %v", at, resumed, whole, err)
		}
		naive := map[string]string{}
		for _, f := range facts {
			delete(naive, f.EntityID)
			if f.Kind != projection.Retract {
				naive[f.EntityID] = f.Value
			}
		}
		var entries []projection.Entry
		for id, value := range naive {
			entries = append(entries, projection.Entry{EntityID: id, Value: value})
		}
		if n := uint64(len(facts)); n > 0 && !whole.Equal(checkpoint(t, n, n, entries...)) {
			t.Fatalf("%+v, naively %v", whole, naive)
		}
		if len(facts) > at {
			if _, err := projection.Replay(kept, recorded(uint64(at+2), facts[at:]...)...); err == nil {
				t.Fatal("a suffix with a gap before it was consumed")
			}
		}
	})
}

// TestResumeRefuses: a checkpoint beyond the history, an event that is no fact.
func TestResumeRefuses(t *testing.T) {
	p, err := projection.FactPayload(create("a", "1"))
	if err != nil {
		t.Fatal(err)
	}
	complete, err := owner.NewCompleteHistory("owner", []owner.Positioned{{Position: 1, Payload: p}})
	if err != nil {
		t.Fatal(err)
	}
	one := checkpoint(t, 1, 1, projection.Entry{EntityID: "a", Value: "1"})
	if c, err := projection.Resume(one, complete, projection.DecodeFact); err != nil || !c.Equal(one) {
		t.Fatalf("undamaged twin: %v", err)
	}
	if _, err := projection.Resume(checkpoint(t, 2, 2), complete, projection.DecodeFact); err == nil {
		t.Error("resumed beyond the history")
	}
	before := checkpoint(t, 0, 0, projection.Entry{EntityID: "b", Value: "1"})
	if _, err := projection.Resume(before, complete, projection.DecodeFact); err == nil {
		t.Error("resumed from entities that no fact brought")
	}
	odd := func(owner.Payload) (projection.Fact, error) { return projection.Fact{}, errors.New("odd") }
	if _, err := projection.Resume(projection.Checkpoint{}, complete, odd); err == nil {
		t.Error("consumed what is no fact")
	}
}

// TestDurableForms: versions are checked before anything is decoded, and damage is found.
func TestDurableForms(t *testing.T) {
	c := checkpoint(t, 3, 3, projection.Entry{EntityID: "b", Value: "2"}, projection.Entry{EntityID: "a", Value: "<1>"})
	good, err := c.Payload()
	if err != nil {
		t.Fatal(err)
	}
	for _, damage := range []func(p *owner.Payload){
		func(p *owner.Payload) { p.SchemaVersion = 2 },
		func(p *owner.Payload) { p.CodecVersion = 2 },
	} {
		p := owner.Payload{SchemaVersion: 1, CodecVersion: 1, Bytes: []byte("not even JSON")}
		damage(&p)
		if _, err := projection.DecodeCheckpoint(p); !errors.Is(err, projection.ErrVersion) {
			t.Errorf("checkpoint: %v", err)
		}
		if _, err := projection.DecodeFact(p); !errors.Is(err, projection.ErrVersion) {
			t.Errorf("fact: %v", err)
		}
	}
	for _, text := range []string{
		"", "null", "{}", string(good.Bytes) + "{}", `{"through":3,"projection_version":3}`, `{"through":3,"projection_version":3,"entries":[],"more":1}`,
		`{"through":-1,"projection_version":3,"entries":[]}`, `{"through":0,"projection_version":0,"entries":[{"entity_id":"a","value":""}]}`,
		`{"through":3,"projection_version":3,"entries":[{"entity_id":"a","value":"1"},{"entity_id":"a","value":"2"}]}`,
		`{"through":3,"projection_version":3,"entries":[{"entity_id":"","value":"1"}]}`,
		`{"through":3,"projection_version":3,"entries":[{"entity_id":"a"}]}`, `{"through":3,"projection_version":3,"entries":null}`,
		`{"through":3,"through":4,"projection_version":3,"entries":[]}`, `{"Through":3,"projection_version":3,"entries":[]}`,
		"{\"through\":3,\"projection_version\":3,\"entries\":[{\"entity_id\":\"a\",\"value\":\"\xff\"}]}",
	} {
		if _, err := projection.DecodeCheckpoint(owner.Payload{SchemaVersion: 1, CodecVersion: 1, Bytes: []byte(text)}); err == nil {
			t.Errorf("read %s", text)
		}
	}
	for _, text := range []string{
		"{\"type\":\"create\",\"entity_id\":\"\xff\",\"value\":\"1\"}", `{"type":"create","entity_id":"\ud800","value":"1"}`,
		`{"type":"create","entity_id":"a","entity_id":"b","value":"1"}`, `{"type":"create","Entity_ID":"a","value":"1"}`,
		"", "[]", `{"type":"create","entity_id":"a"}`, `{"type":"retract","entity_id":"a","value":"1"}`, `{"type":"retract","entity_id":"a"} ` + "x",
	} {
		if _, err := projection.DecodeFact(owner.Payload{SchemaVersion: 1, CodecVersion: 1, Bytes: []byte(text)}); err == nil {
			t.Errorf("read the fact %s", text)
		}
	}
	for _, f := range []projection.Fact{create("a", ""), amend("é", "\u2028"), retract("a")} {
		p, err := projection.FactPayload(f)
		if err != nil {
			t.Fatal(err)
		}
		if read, err := projection.DecodeFact(p); err != nil || read != f {
			t.Errorf("%+v read as %+v, %v", f, read, err)
		}
	}
	for _, f := range []projection.Fact{create("\xff", "1"), create("a", "\xed\xa0\x80"), retract("\xfe"), create("", "1")} {
		if p, err := projection.FactPayload(f); err == nil {
			t.Errorf("%q was written as %s", f, p.Bytes)
		}
	}
	// Equal content has one form, whatever led to it.
	other := checkpoint(t, 9, 20, slices.Clone(c.Entries())...)
	left, err := c.Content()
	if err != nil {
		t.Fatal(err)
	}
	right, err := other.Content()
	if err != nil || owner.FingerprintProjection(left) != owner.FingerprintProjection(right) {
		t.Errorf("%s and %s, %v", left.Bytes, right.Bytes, err)
	}
}
