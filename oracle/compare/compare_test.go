package compare

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"amends.dev/amends/oracle/projection"
)

func balance(item string, day string, closing int64) projection.Balance {
	return projection.Balance{Item: item, Location: "L", Day: day, Close: closing}
}

// history is a sorted set of balances that the tests damage.
func history() []projection.Balance {
	return []projection.Balance{
		balance("a", "2026-01-01", 1), balance("a", "2026-01-02", 2), balance("b", "1969-12-31", 3), balance("c", "2026-01-01", 4),
	}
}

func TestUndamagedTwinHasNoDifference(t *testing.T) {
	c := NewCollector(0, nil)
	if err := c.Balances(Slice(history()), Slice(history())); err != nil {
		t.Fatal(err)
	}
	if got, want := c.Tally(FamilyBalance), (Tally{Oracle: 4, View: 4, Equal: 4}); got != want || c.Differences() != 0 || len(c.Listed()) != 0 {
		t.Errorf("tally %+v, want %+v; listed %v", got, want, c.Listed())
	}
}

func TestEachDamageIsNamed(t *testing.T) {
	damages := []struct {
		name   string
		damage func(v []projection.Balance) []projection.Balance
		want   string
	}{
		{"changed", func(v []projection.Balance) []projection.Balance { v[1].Close = 9; return v }, "changed a/2026-01-02 2 9"},
		{"missing", func(v []projection.Balance) []projection.Balance { return slices.Delete(v, 2, 3) }, "missing b/1969-12-31 3 -"},
		{"missing first", func(v []projection.Balance) []projection.Balance { return v[1:] }, "missing a/2026-01-01 1 -"},
		{"missing last", func(v []projection.Balance) []projection.Balance { return v[:3] }, "missing c/2026-01-01 4 -"},
		{"extra last", func(v []projection.Balance) []projection.Balance { return append(v, balance("d", "2026-01-01", 5)) }, "extra d/2026-01-01 - 5"},
		{"twice", func(v []projection.Balance) []projection.Balance { return slices.Insert(v, 1, v[0]) }, "extra a/2026-01-01 - 1"},
	}
	for _, d := range damages {
		c := NewCollector(0, nil)
		if err := c.Balances(Slice(history()), Slice(d.damage(history()))); err != nil {
			t.Fatal(err)
		}
		if got := show(c.Listed()); len(got) != 1 || got[0] != d.want {
			t.Errorf("%s: %v, want %q", d.name, got, d.want)
		}
	}
}

// TestB127OneEmptySide: an emptied family is a full list of missing rows.
func TestB127OneEmptySide(t *testing.T) {
	c := NewCollector(1, nil)
	if err := c.Balances(Slice(history()), Slice[projection.Balance](nil)); err != nil {
		t.Fatal(err)
	}
	if got, want := c.Tally(FamilyBalance), (Tally{Oracle: 4, Missing: 4}); got != want || len(c.Listed()) != 1 {
		t.Errorf("tally %+v, want %+v; %d listed, want 1", got, want, len(c.Listed()))
	}
}

// TestB068ExactIntegers: neighbours above 2^53 differ.
func TestB068ExactIntegers(t *testing.T) {
	c := NewCollector(0, nil)
	err := c.Balances(Slice([]projection.Balance{balance("a", "2026-01-01", 9007199254740993)}),
		Slice([]projection.Balance{balance("a", "2026-01-01", 9007199254740992)}))
	if err != nil || c.Differences() != 1 {
		t.Errorf("%d differences, error %v, want 1 difference", c.Differences(), err)
	}
}

// TestR11AlertsByThresholdAndClose: presence alone is not agreement.
func TestR11AlertsByThresholdAndClose(t *testing.T) {
	alert := projection.Alert{Item: "a", Location: "L", Day: "2026-01-01", Close: 5, Threshold: 6}
	for _, damage := range []func(*projection.Alert){func(a *projection.Alert) { a.Close-- }, func(a *projection.Alert) { a.Threshold++ }} {
		view := alert
		c := NewCollector(0, nil)
		if err := c.Alerts(Slice([]projection.Alert{alert}), Slice([]projection.Alert{view})); err != nil || c.Differences() != 0 {
			t.Fatalf("twin: %d differences, error %v", c.Differences(), err)
		}
		damage(&view)
		if err := c.Alerts(Slice([]projection.Alert{alert}), Slice([]projection.Alert{view})); err != nil || c.Differences() != 1 {
			t.Errorf("damaged: %d differences, error %v, want 1", c.Differences(), err)
		}
	}
}

// TestR21BlockedKeys: status and reason set are compared, retained values never.
func TestR21BlockedKeys(t *testing.T) {
	p := &projection.Projection{
		Balances: history()[2:],
		Statuses: []projection.Status{
			{Item: "a", Location: "L", Status: "BLOCKED", Conflicts: []projection.ConflictRef{{TxnID: "t1", Revision: 2}, {TxnID: "t2", Revision: 1}}},
			{Item: "b", Location: "L", Status: "READY", Conflicts: []projection.ConflictRef{}},
		},
	}
	view := []projection.Status{
		{Item: "a", Location: "L", Status: "BLOCKED", Conflicts: []projection.ConflictRef{{TxnID: "t2", Revision: 1}, {TxnID: "t1", Revision: 2}}},
		{Item: "b", Location: "L", Status: "READY"},
	}
	run := func() *Collector {
		c := NewCollector(0, Uncertified(p))
		if err := errors.Join(c.Balances(Slice(p.Balances), Slice(history())), c.Statuses(Slice(p.Statuses), Slice(view))); err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := run()
	if c.Differences() != 0 || c.Tally(FamilyBalance).Uncertified != 2 {
		t.Fatalf("twin: %v, tally %+v", c.Listed(), c.Tally(FamilyBalance))
	}
	view[0].Conflicts = view[0].Conflicts[:1]
	if c = run(); c.Differences() != 1 {
		t.Errorf("smaller reason set: %d differences, want 1", c.Differences())
	}
	view[0] = projection.Status{Item: "a", Location: "L", Status: "READY"}
	if c = run(); c.Differences() != 1 {
		t.Errorf("READY instead of BLOCKED: %d differences, want 1", c.Differences())
	}
	view = view[1:]
	if c = run(); c.Differences() != 1 || c.Listed()[0].Kind != Missing {
		t.Errorf("no status: %v, want one missing", c.Listed())
	}
}

func TestEvidence(t *testing.T) {
	row := Rejected{Partition: 1, Offset: 7, TopicID: "T", Reason: "invalid_json", Key: Blob{Length: -1}, Value: Blob{Length: 1, SHA256: "aa"}}
	damages := map[string]func(*Rejected){
		"reason": func(r *Rejected) { r.Reason = "null_value" }, "topic": func(r *Rejected) { r.TopicID = "U" },
		"key": func(r *Rejected) { r.Key.Length = 0 }, "value": func(r *Rejected) { r.Value.SHA256 = "ab" },
		"offset": func(r *Rejected) { r.Offset++ }, // one missing and one superfluous
	}
	for name, damage := range damages {
		c := NewCollector(0, nil)
		stored := row
		if err := c.Quarantine(Slice([]Rejected{row}), Slice([]Rejected{stored})); err != nil || c.Differences() != 0 {
			t.Fatalf("twin: %d differences, error %v", c.Differences(), err)
		}
		damage(&stored)
		if err := c.Quarantine(Slice([]Rejected{row}), Slice([]Rejected{stored})); err != nil || c.Differences() == 0 || c.Listed()[0].Kind != Evidence {
			t.Errorf("%s: %v, error %v, want evidence", name, c.Listed(), err)
		}
	}
	c := NewCollector(0, nil)
	conflict := projection.Conflict{Item: "a", Location: "L", TxnID: "t", Revision: 2}
	higher := conflict
	higher.Revision = 3
	if err := c.Conflicts(Slice([]projection.Conflict{conflict}), Slice([]projection.Conflict{conflict, higher})); err != nil {
		t.Fatal(err)
	}
	if c.Differences() != 1 || c.Listed()[0].Kind != Evidence || c.Listed()[0].Revision != 3 {
		t.Errorf("superfluous conflict row: %v", c.Listed())
	}
}

func TestBrokenSequencesAreErrors(t *testing.T) {
	unsorted := []projection.Balance{history()[1], history()[0]}
	c := NewCollector(0, nil)
	if err := c.Balances(Slice(history()), Slice(unsorted)); !errors.Is(err, ErrUnordered) {
		t.Errorf("unsorted view: %v", err)
	}
	if err := c.Balances(Slice(unsorted), Slice(history())); !errors.Is(err, ErrUnordered) {
		t.Errorf("unsorted oracle: %v", err)
	}
	cut := errors.New("connection lost")
	broken := func(yield func(projection.Balance, error) bool) {
		if yield(history()[0], nil) {
			yield(projection.Balance{}, cut)
		}
	}
	if err := c.Balances(Slice(history()), broken); !errors.Is(err, cut) {
		t.Errorf("broken view: %v", err)
	}
}

func TestLimitIsPerFamily(t *testing.T) {
	c := NewCollector(2, nil)
	alerts := []projection.Alert{{Item: "a"}}
	err := errors.Join(c.Balances(Slice(history()), Slice[projection.Balance](nil)), c.Alerts(Slice(alerts), Slice[projection.Alert](nil)))
	if err != nil || c.Differences() != 5 || len(c.Listed()) != 3 {
		t.Errorf("%d differences, %d listed, error %v; want 5, 3", c.Differences(), len(c.Listed()), err)
	}
}

// TestMergeEqualsMaps compares the merge with a naive comparison through maps.
func TestMergeEqualsMaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sides := [2]map[string]int64{}
		seqs := [2]iter.Seq2[projection.Balance, error]{}
		for i := range sides {
			sides[i] = rapid.MapOf(rapid.StringMatching(`[a-c]{0,2}`), rapid.Int64Range(0, 2)).Draw(t, "side")
			var rows []projection.Balance
			for item, v := range sides[i] {
				rows = append(rows, balance(item, "d", v))
			}
			slices.SortFunc(rows, func(a, b projection.Balance) int { return orderDay(a.Item, "", "", b.Item, "", "") })
			seqs[i] = Slice(rows)
		}
		var want Tally
		for item, v := range sides[0] {
			want.Oracle++
			other, ok := sides[1][item]
			switch {
			case !ok:
				want.Missing++
			case other == v:
				want.Equal++
			default:
				want.Changed++
			}
		}
		want.View = int64(len(sides[1]))
		want.Extra = want.View - want.Equal - want.Changed
		c := NewCollector(0, nil)
		if err := c.Balances(seqs[0], seqs[1]); err != nil {
			t.Fatal(err)
		}
		if got := c.Tally(FamilyBalance); got != want || int64(len(c.Listed())) != want.Differences() {
			t.Fatalf("tally %+v, want %+v; %d listed", got, want, len(c.Listed()))
		}
	})
}

func show(ds []Difference) []string {
	side := func(v *Value) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprint(*v.Close)
	}
	var out []string
	for _, d := range ds {
		out = append(out, fmt.Sprintf("%s %s/%s %s %s", d.Kind, d.Item, d.Day, side(d.Oracle), side(d.View)))
	}
	return out
}
