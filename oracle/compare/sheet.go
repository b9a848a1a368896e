package compare

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"sort"

	"amends.dev/amends/oracle/projection"
)

// ErrForeign is returned when an oracle's fact is of no configured key, or of no day: its engine is broken.
var ErrForeign = errors.New("not a fact of this namespace")

// sheet are the oracle's facts of one family as columns, by key and then by day, each of which may be met once.
type sheet struct {
	family Family
	keys   []Key
	// from is where the facts of each key begin, and at the end their number.
	from             []int
	day              []int32
	close, threshold []int64 // threshold is empty for balances
	// met has a bit for each fact.
	met []uint64
}

// newSheet reads a sorted sequence of n facts.
func newSheet(family Family, keys []Key, n int, facts iter.Seq[oracleFact]) (*sheet, error) {
	s := &sheet{family: family, keys: keys, from: make([]int, 1, len(keys)+1), day: make([]int32, 0, n), close: make([]int64, 0, n), met: make([]uint64, (n+63)/64)}
	if family == FamilyAlert {
		s.threshold = make([]int64, 0, n)
	}
	for f := range facts {
		if err := s.append(&f); err != nil {
			return nil, err
		}
	}
	s.advance(len(keys))
	return s, nil
}

// oracleFact is a balance or an alert of a projection.
type oracleFact struct {
	item, location, day string
	close, threshold    int64
}

// balances are those of a projection.
func balances(of []projection.Balance) iter.Seq[oracleFact] {
	return func(yield func(oracleFact) bool) {
		for i := range of {
			b := &of[i]
			if !yield(oracleFact{b.Item, b.Location, b.Day, b.Close, 0}) {
				return
			}
		}
	}
}

// alerts are those of a projection.
func alerts(of []projection.Alert) iter.Seq[oracleFact] {
	return func(yield func(oracleFact) bool) {
		for i := range of {
			a := &of[i]
			if !yield(oracleFact{a.Item, a.Location, a.Day, a.Close, a.Threshold}) {
				return
			}
		}
	}
}

// append adds the next fact, which must not come before the last one.
func (s *sheet) append(f *oracleFact) error {
	key := len(s.from) - 1 // that of the last fact
	for key < len(s.keys) && (s.keys[key].Item != f.item || s.keys[key].Location != f.location) {
		key++
	}
	day, ok := dayNumber(f.day)
	if key == len(s.keys) || !ok {
		return s.refuse(f)
	}
	s.advance(key)
	if n := len(s.day); n > s.from[key] && day < s.day[n-1] {
		return fmt.Errorf("%w: oracle %s/%s %s comes after %s", ErrUnordered, f.item, f.location, f.day, dayText(s.day[n-1]))
	}
	s.day, s.close = append(s.day, day), append(s.close, f.close)
	if s.family == FamilyAlert {
		s.threshold = append(s.threshold, f.threshold)
	}
	return nil
}

// advance says that the next facts are of a key, or, by the number of keys, that there are no more.
func (s *sheet) advance(key int) {
	for len(s.from) <= key {
		s.from = append(s.from, len(s.day))
	}
}

// refuse says what is wrong with a fact that has no place behind the last one.
func (s *sheet) refuse(f *oracleFact) error {
	for key := range s.keys {
		if s.keys[key] == (Key{f.item, f.location}) && key < len(s.from)-1 {
			return fmt.Errorf("%w: oracle %s/%s %s comes after %s/%s", ErrUnordered, f.item, f.location, f.day, s.keys[len(s.from)-1].Item, s.keys[len(s.from)-1].Location)
		}
	}
	return fmt.Errorf("%w: oracle %s/%s %q", ErrForeign, f.item, f.location, f.day)
}

// find is the place of the oracle's fact on the day of a view's, the first that was not met where there are several; -1 where
// there is none.
func (s *sheet) find(f *Fact) int {
	if f.Key < 0 {
		return -1
	}
	from, to := s.from[f.Key], s.from[f.Key+1]
	days := s.day[from:to]
	at := from + sort.Search(len(days), func(i int) bool { return days[i] >= f.Day })
	for ; at < to && s.day[at] == f.Day; at++ {
		if s.met[at/64]>>(at%64)&1 == 0 {
			return at
		}
	}
	return -1
}

// meet notes that a fact was met.
func (s *sheet) meet(at int) { s.met[at/64] |= 1 << (at % 64) }

// equal reports whether a view's fact is the oracle's (R11).
func (s *sheet) equal(at int, f *Fact) bool {
	return s.close[at] == f.Close && (s.family != FamilyAlert || s.threshold[at] == f.Threshold)
}

// value is the oracle's side of a difference.
func (s *sheet) value(at int) *Value {
	v := &Value{Close: &s.close[at]}
	if s.family == FamilyAlert {
		v.Threshold = &s.threshold[at]
	}
	return v
}

// unmet calls visit for each fact that was not met, in order.
func (s *sheet) unmet(visit func(key int32, at int)) {
	key := 0
	for word, met := range s.met {
		for left := ^met; left != 0; left &= left - 1 {
			at := word*64 + bits.TrailingZeros64(left)
			if at >= len(s.day) {
				return
			}
			for s.from[key+1] <= at {
				key++
			}
			visit(int32(key), at)
		}
	}
}
