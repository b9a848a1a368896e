package compare

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"amends.dev/amends/oracle/projection"
)

// TestKeysOfTheView: every configured key has its name in the view, and no other has one.
func TestKeysOfTheView(t *testing.T) {
	configured := []Key{{"a", "L"}, {"b", "L"}, {"c", "L"}}
	for _, c := range []struct {
		name string
		view []Key
		want []Kind
	}{
		{"the undamaged twin", configured, nil},
		{"one missing", configured[1:], []Kind{Missing}},
		{"one too many", append(slices.Clone(configured), Key{"d", "L"}), []Kind{Extra}},
		{"renamed", []Key{{"a", "L"}, {"b", "M"}, {"c", "L"}}, []Kind{Missing, Extra}},
	} {
		collector := NewCollector(0, nil)
		if err := collector.Keys(Slice(configured), Slice(c.view)); err != nil {
			t.Fatal(err)
		}
		var got []Kind
		for _, d := range collector.Listed() {
			got = append(got, d.Kind)
		}
		if !slices.Equal(got, c.want) || collector.Differences() != int64(len(c.want)) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestGuards(t *testing.T) {
	c := NewCollector(1, map[Key]bool{{"a", "L"}: true}) // a guard counts, certified or not
	if err := c.Guards(5, Slice[Guard](nil)); err != nil || c.Differences() != 0 || c.Tally(FamilyGuard) != (Tally{Oracle: 5, View: 5, Equal: 5}) {
		t.Fatalf("the undamaged twin: %+v, %v", c.Tally(FamilyGuard), err)
	}
	if err := c.Guards(3, Slice([]Guard{{"a", "L", "2026-01-01", "version 0"}, {"b", "L", "", "version 0"}})); err != nil {
		t.Fatal(err)
	}
	if d := c.Listed(); len(d) != 1 || d[0].Kind != Evidence || d[0].View.Fault != "version 0" || c.Differences() != 2 {
		t.Errorf("%d differences, listed %+v", c.Differences(), d)
	}
	if got, want := c.Tally(FamilyGuard), (Tally{Oracle: 6, View: 8, Equal: 6, Extra: 2}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	broken := errors.New("read")
	if err := c.Guards(0, iter.Seq2[Guard, error](func(yield func(Guard, error) bool) { yield(Guard{}, broken) })); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// TestFollowedKey: what is followed is counted apart, beyond the limit and over all families, and changes nothing else.
func TestFollowedKey(t *testing.T) {
	c := NewCollector(1, map[Key]bool{{"b", "L"}: true})
	c.Follow(Key{"a", "L"})
	c.Follow(Key{"b", "L"})
	view := history()
	view[0].Close, view[1].Close, view[2].Close = 0, 0, 0
	err := errors.Join(c.Balances(Slice(history()), Slice(view)),
		c.Statuses(Slice([]projection.Status{{Item: "a", Location: "L", Status: "READY"}}), Slice[projection.Status](nil)))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Followed(Key{"a", "L"}), (Tally{Oracle: 3, View: 2, Changed: 2, Missing: 1}); got != want || len(c.Listed()) != 2 {
		t.Errorf("a: %+v, want %+v; %d listed", got, want, len(c.Listed()))
	}
	if got, want := c.Followed(Key{"b", "L"}), (Tally{Uncertified: 1}); got != want {
		t.Errorf("b: %+v, want %+v", got, want)
	}
}
