package compare

import (
	"iter"
	"slices"

	"amends.dev/amends/oracle/projection"
)

// MatchBalances is Balances for a view that is read in any order, which spares its database the sorting of it. The oracle's
// side is sorted as there; keys are the configured ones, sorted by bytes, by whose numbers the view's facts name theirs.
// It needs 16 to 24 bytes and a bit for each of the oracle's facts. Errors wrap ErrUnordered or ErrForeign where the oracle's are
// broken.
func (c *Collector) MatchBalances(keys []Key, oracle []projection.Balance, view iter.Seq2[Fact, error]) error {
	s, err := newSheet(FamilyBalance, keys, len(oracle), balances(oracle))
	if err != nil {
		return err
	}
	return c.match(s, view)
}

// MatchAlerts is to Alerts as MatchBalances is to Balances.
func (c *Collector) MatchAlerts(keys []Key, oracle []projection.Alert, view iter.Seq2[Fact, error]) error {
	s, err := newSheet(FamilyAlert, keys, len(oracle), alerts(oracle))
	if err != nil {
		return err
	}
	return c.match(s, view)
}

// matching is one family being matched.
type matching struct {
	c     *Collector
	sheet *sheet
	tally *Tally
	// uncertified and followed are those of the collector, by key; followed is empty where there are none.
	uncertified []bool
	followed    []*Tally
	// listed are the differences found so far that come first in order, at least as many as are listed.
	listed []Difference
}

// match meets each fact of a view with the oracle's of its key and day, and then reports those that were not met.
func (c *Collector) match(s *sheet, view iter.Seq2[Fact, error]) error {
	m := &matching{c: c, sheet: s, tally: c.tallies[s.family], uncertified: make([]bool, len(s.keys))}
	if len(c.followed) > 0 {
		m.followed = make([]*Tally, len(s.keys))
	}
	for i, k := range s.keys {
		m.uncertified[i] = c.uncertified[k]
		if m.followed != nil {
			m.followed[i] = c.followed[k]
		}
	}
	for f, err := range view {
		if err != nil {
			return err
		}
		m.fact(&f)
	}
	s.unmet(func(key int32, at int) {
		if !m.uncertified[key] {
			m.differ(&Fact{Key: key, Day: s.facts[at].day}, s.value(at), nil)
		}
	})
	m.list()
	return nil
}

// fact takes one fact of the view.
func (m *matching) fact(f *Fact) {
	if f.Key >= 0 && m.uncertified[f.Key] {
		m.tally.Uncertified++
		if t := m.followedBy(f.Key); t != nil {
			t.Uncertified++
		}
		return
	}
	at := m.sheet.find(f)
	switch {
	case at < 0:
		m.differ(f, nil, m.value(f))
		return
	case m.sheet.equal(at, f):
		m.tally.agree()
		if t := m.followedBy(f.Key); t != nil {
			t.agree()
		}
	default:
		m.differ(f, m.sheet.value(at), m.value(f))
	}
	m.sheet.meet(at)
}

// followedBy is the tally of a followed key, nil for any other.
func (m *matching) followedBy(key int32) *Tally {
	if m.followed == nil || key < 0 {
		return nil
	}
	return m.followed[key]
}

// agree counts a fact that both sides have.
func (t *Tally) agree() {
	t.Oracle++
	t.View++
	t.Equal++
}

// value is the view's side of a difference.
func (m *matching) value(f *Fact) *Value {
	closing, threshold := f.Close, f.Threshold
	if m.sheet.family == FamilyAlert {
		return &Value{Close: &closing, Threshold: &threshold}
	}
	return &Value{Close: &closing}
}

// differ counts a difference and keeps it where it may come to be listed.
func (m *matching) differ(f *Fact, oracle, view *Value) {
	d := Difference{Family: m.sheet.family, Item: f.Item, Location: f.Location, Day: dayText(f.Day), Oracle: oracle, View: view}
	if f.Key >= 0 {
		d.Item, d.Location = m.sheet.keys[f.Key].Item, m.sheet.keys[f.Key].Location
	}
	m.c.count(&d, false)
	d.Kind = kindOf(&d)
	m.listed = append(m.listed, d)
	if limit := m.c.limit; limit > 0 && len(m.listed) >= 2*limit+listedSlack {
		m.sort()
		m.listed = slices.Delete(m.listed, limit, len(m.listed))
	}
}

// listedSlack makes sorting rare where few differences are listed.
const listedSlack = 1024

// sort sorts what is kept as the merge of sorted sequences would have found it.
func (m *matching) sort() {
	slices.SortStableFunc(m.listed, func(a, b Difference) int {
		return orderDay(a.Item, a.Location, a.Day, b.Item, b.Location, b.Day)
	})
}

// list hands the first differences over.
func (m *matching) list() {
	m.sort()
	if limit := m.c.limit; limit > 0 && len(m.listed) > limit {
		m.listed = m.listed[:limit]
	}
	m.c.listed = append(m.c.listed, m.listed...)
}
