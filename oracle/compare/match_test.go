package compare

import (
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"amends.dev/amends/oracle/projection"
)

// stock are the configured keys of these tests.
var stock = []Key{{"a", "L"}, {"b", "L"}, {"c", "L"}, {"d", "L"}}

// fact is a balance or alert as a view shows it in any order.
func fact(item, day string, closing, threshold int64) Fact {
	number, ok := dayNumber(day)
	if !ok {
		panic(day)
	}
	key := slices.Index(stock, Key{item, "L"})
	if key < 0 {
		return Fact{Key: -1, Item: item, Location: "L", Day: number, Close: closing, Threshold: threshold}
	}
	return Fact{Key: int32(key), Day: number, Close: closing, Threshold: threshold}
}

// drawAlerts are the alerts of one side, sorted; a view may have some twice, and of keys that are not configured.
func drawAlerts(t *rapid.T, view bool) []projection.Alert {
	items, days, most := []string{"a", "b", "c", "d"}, []string{"1969-12-31", "2026-01-01", "2026-01-02", "2028-02-29"}, 16
	if view {
		items = append(items, "", "zz")
	}
	var rows []projection.Alert
	for range rapid.IntRange(0, most).Draw(t, "rows") {
		a := projection.Alert{
			Item: rapid.SampledFrom(items).Draw(t, "item"), Location: "L", Day: rapid.SampledFrom(days).Draw(t, "day"),
			Close: rapid.Int64Range(0, 1).Draw(t, "close"), Threshold: rapid.Int64Range(0, 1).Draw(t, "threshold"),
		}
		same := func(o projection.Alert) bool { return o.Item == a.Item && o.Day == a.Day }
		if twin := slices.IndexFunc(rows, same); twin >= 0 {
			if !view {
				continue
			}
			a = rows[twin] // so that it does not matter which of them is the partner
		}
		rows = append(rows, a)
	}
	slices.SortStableFunc(rows, func(a, b projection.Alert) int { return orderDay(a.Item, "", a.Day, b.Item, "", b.Day) })
	return rows
}

// TestMatchEqualsMerge: matching a view in any order finds what the merge of sorted sequences finds, with the same counts and
// the same list, for balances and alerts, with uncertified and followed keys, under every limit.
func TestMatchEqualsMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		oracle, view := drawAlerts(t, false), drawAlerts(t, true)
		uncertified := map[Key]bool{stock[rapid.IntRange(0, 3).Draw(t, "uncertified")]: true}
		oracle = slices.DeleteFunc(oracle, func(a projection.Alert) bool { return uncertified[Key{a.Item, a.Location}] })
		limit := rapid.IntRange(0, 3).Draw(t, "limit")
		merged, matched := NewCollector(limit, uncertified), NewCollector(limit, uncertified)
		followed := stock[rapid.IntRange(0, 3).Draw(t, "followed")]
		merged.Follow(followed)
		matched.Follow(followed)
		err := errors.Join(merged.Alerts(Slice(oracle), Slice(view)), merged.Balances(Slice(asBalances(oracle)), Slice(asBalances(view))),
			matched.MatchAlerts(stock, oracle, shuffled(t, view)), matched.MatchBalances(stock, asBalances(oracle), shuffled(t, view)))
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range []Family{FamilyAlert, FamilyBalance} {
			if merged.Tally(family) != matched.Tally(family) {
				t.Fatalf("%s: merged %+v, matched %+v", family, merged.Tally(family), matched.Tally(family))
			}
		}
		if diff := cmp.Diff(merged.Listed(), matched.Listed()); diff != "" || merged.Followed(followed) != matched.Followed(followed) {
			t.Fatalf("merged and matched:\n%s\n%+v, %+v", diff, merged.Followed(followed), matched.Followed(followed))
		}
	})
}

// asBalances drops the thresholds.
func asBalances(alerts []projection.Alert) []projection.Balance {
	var all []projection.Balance
	for _, a := range alerts {
		all = append(all, projection.Balance{Item: a.Item, Location: a.Location, Day: a.Day, Close: a.Close})
	}
	return all
}

// shuffled are the facts of a view in some order.
func shuffled(t *rapid.T, view []projection.Alert) iter.Seq2[Fact, error] {
	var facts []Fact
	for _, a := range view {
		facts = append(facts, fact(a.Item, a.Day, a.Close, a.Threshold))
	}
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
	r.Shuffle(len(facts), func(i, j int) { facts[i], facts[j] = facts[j], facts[i] })
	return Slice(facts)
}

// TestSearch: a day is found among any others, and where it is absent the place of the next.
func TestSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.SliceOfNDistinct(rapid.Int32Range(-40, 40), 1, 40, rapid.ID[int32]).Draw(t, "days")
		if rapid.Bool().Draw(t, "far") {
			days = append(days, BeginningOfTime, EndOfTime)
		}
		slices.Sort(days)
		before := rapid.IntRange(0, 2).Draw(t, "before") // facts of another key
		s := &sheet{facts: make([]dayClose, before)}
		for _, d := range days {
			s.facts = append(s.facts, dayClose{day: d})
		}
		p := &place{from: before, to: len(s.facts), first: days[0], last: days[len(days)-1]}
		day := rapid.Int32Range(days[0], days[len(days)-1]).Draw(t, "day")
		want, _ := slices.BinarySearch(days, day)
		if got := s.search(p, day) - before; got != want {
			t.Fatalf("%d in %v: place %d, want %d", day, days, got, want)
		}
	})
}

// TestMatchListsTheFirst: of many differences those are listed that come first in order, whatever order they were found in.
func TestMatchListsTheFirst(t *testing.T) {
	const n, limit = 5000, 3
	var oracle []projection.Balance
	var view []Fact
	for i := range n {
		day := dayText(int32(i))
		oracle = append(oracle, balance("a", day, 0))
		view = append(view, fact("a", day, 1, 0))
	}
	slices.Reverse(view)
	c := NewCollector(limit, nil)
	if err := c.MatchBalances(stock, oracle, Slice(view)); err != nil {
		t.Fatal(err)
	}
	want := []string{"changed a/1970-01-01 0 1", "changed a/1970-01-02 0 1", "changed a/1970-01-03 0 1"}
	if got := show(c.Listed()); !slices.Equal(got, want) || c.Differences() != n {
		t.Errorf("%v of %d, want %v", got, c.Differences(), want)
	}
}

// TestMatchOfBrokenSides: an engine that breaks its order, or names what is not configured, is no drift.
func TestMatchOfBrokenSides(t *testing.T) {
	none := Slice[Fact](nil)
	for name, c := range map[string]struct {
		oracle []projection.Balance
		want   error
	}{
		"days":           {[]projection.Balance{history()[1], history()[0]}, ErrUnordered},
		"a day twice":    {[]projection.Balance{history()[0], history()[0]}, ErrUnordered},
		"keys":           {[]projection.Balance{history()[2], history()[0]}, ErrUnordered},
		"not configured": {[]projection.Balance{balance("e", "2026-01-01", 1)}, ErrForeign},
		"no day":         {[]projection.Balance{balance("a", "2026-13-01", 1)}, ErrForeign},
	} {
		if err := NewCollector(0, nil).MatchBalances(stock, c.oracle, none); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if err := NewCollector(0, nil).MatchBalances(stock, history(), none); err != nil {
		t.Errorf("the undamaged twin: %v", err)
	}
	cut := errors.New("connection lost")
	broken := func(yield func(Fact, error) bool) { yield(Fact{}, cut) }
	if err := NewCollector(0, nil).MatchBalances(stock, history(), broken); !errors.Is(err, cut) {
		t.Errorf("broken view: %v", err)
	}
}

// TestDaysOfDifferences: days read back as they are written, and those that are none of a projection's are told apart.
func TestDaysOfDifferences(t *testing.T) {
	for day, text := range map[int32]string{
		0: "1970-01-01", -1: "1969-12-31", 59: "1970-03-01", 11_016: "2000-02-29", 19_782: "2024-02-29", -719_162: "0001-01-01", 2_932_896: "9999-12-31",
	} {
		if got, ok := dayNumber(text); dayText(day) != text || !ok || got != day {
			t.Errorf("day %d is %s, want %s, which is %d", day, dayText(day), text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		day := rapid.Int32Range(-719_162, 2_932_896).Draw(t, "day")
		if got, ok := dayNumber(dayText(day)); !ok || got != day {
			t.Fatalf("%d is read back as %d", day, got)
		}
	})
	for day, text := range map[int32]string{-719_163: "0001-12-31 BC", EndOfTime: "infinity", BeginningOfTime: "-infinity", 2_932_897: "10000-01-01"} {
		if got := dayText(day); got != text {
			t.Errorf("%d: %s, want %s", day, got, text)
		}
	}
	for _, text := range []string{"", "2026-1-01", "2026-01-01 BC", "2026-00-01", "2026-01-32", "20x6-01-01", "0000-01-01"} {
		if n, ok := dayNumber(text); ok {
			t.Errorf("%q is day %d", text, n)
		}
	}
}

// BenchmarkMatch matches a million balances that agree.
func BenchmarkMatch(b *testing.B) {
	const n = 1 << 20
	keys := make([]Key, 4096)
	for i := range keys {
		keys[i] = Key{string([]byte{'a' + byte(i>>12), 'a' + byte(i>>8&15), 'a' + byte(i>>4&15), 'a' + byte(i&15)}), "L"}
	}
	var oracle []projection.Balance
	var view []Fact
	for i := range n {
		k := i / (n / len(keys))
		oracle = append(oracle, projection.Balance{Item: keys[k].Item, Location: "L", Day: dayText(int32(i % (n / len(keys)))), Close: int64(i)})
		view = append(view, Fact{Key: int32(k), Day: int32(i % (n / len(keys))), Close: int64(i)})
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { view[i], view[j] = view[j], view[i] })
	for b.Loop() {
		c := NewCollector(100, nil)
		if err := c.MatchBalances(keys, oracle, Slice(view)); err != nil || c.Tally(FamilyBalance).Equal != n {
			b.Fatal(err, c.Tally(FamilyBalance))
		}
	}
}
