package compare

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"

	"amends.dev/amends/oracle/projection"
)

// ErrForeign is returned when an oracle's fact is of no configured key, or of no day: its engine is broken.
var ErrForeign = errors.New("not a fact of this namespace")

// sheet are the oracle's facts of one family as columns, by key and then by day, each of which may be met once.
type sheet struct {
	family Family
	keys   []Key
	// places say where the facts of each key are, up to the last one that has some.
	places []place
	// facts are the days and closes, side by side because they are looked at together; threshold is empty for balances.
	facts     []dayClose
	threshold []int64
	// met has a bit for each fact.
	met []uint64
}

// dayClose is a fact but for its key and threshold.
type dayClose struct {
	close int64
	day   int32
}

// place is where the facts of one key are, and their first and last day: of few keys these are at hand where the facts are
// not.
type place struct {
	from, to    int
	first, last int32
}

// newSheet reads a sorted sequence of n facts.
func newSheet(family Family, keys []Key, n int, facts iter.Seq[oracleFact]) (*sheet, error) {
	s := &sheet{family: family, keys: keys, places: make([]place, 0, len(keys)), facts: make([]dayClose, 0, n), met: make([]uint64, (n+63)/64)}
	if family == FamilyAlert {
		s.threshold = make([]int64, 0, n)
	}
	for f := range facts {
		if err := s.append(&f); err != nil {
			return nil, err
		}
	}
	s.advance(len(keys) - 1)
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

// append adds the next fact, which must come after the last one.
func (s *sheet) append(f *oracleFact) error {
	key := max(0, len(s.places)-1) // that of the last fact
	for key < len(s.keys) && (s.keys[key].Item != f.item || s.keys[key].Location != f.location) {
		key++
	}
	day, ok := dayNumber(f.day)
	if key == len(s.keys) || !ok {
		return s.refuse(f)
	}
	s.advance(key)
	p := &s.places[key]
	if p.from == p.to {
		p.first = day
	} else if day <= p.last {
		return fmt.Errorf("%w: oracle %s/%s %s comes after %s", ErrUnordered, f.item, f.location, f.day, dayText(p.last))
	}
	p.last, p.to = day, p.to+1
	s.facts = append(s.facts, dayClose{f.close, day})
	if s.family == FamilyAlert {
		s.threshold = append(s.threshold, f.threshold)
	}
	return nil
}

// advance says that the next facts are of a key.
func (s *sheet) advance(key int) {
	for n := len(s.facts); len(s.places) <= key; {
		s.places = append(s.places, place{from: n, to: n})
	}
}

// refuse says what is wrong with a fact that has no place behind the last one.
func (s *sheet) refuse(f *oracleFact) error {
	for key := range s.keys {
		if s.keys[key] == (Key{f.item, f.location}) && key < len(s.places)-1 {
			return fmt.Errorf("%w: oracle %s/%s %s comes after %s/%s", ErrUnordered, f.item, f.location, f.day, s.keys[len(s.places)-1].Item, s.keys[len(s.places)-1].Location)
		}
	}
	return fmt.Errorf("%w: oracle %s/%s %q", ErrForeign, f.item, f.location, f.day)
}

// find is the place of the oracle's fact on the day of a view's; -1 where there is none, or it was met.
func (s *sheet) find(f *Fact) int {
	if f.Key < 0 {
		return -1
	}
	p := &s.places[f.Key]
	if p.from == p.to || f.Day < p.first || f.Day > p.last {
		return -1
	}
	at := s.search(p, f.Day)
	if s.facts[at].day != f.Day || s.met[at/64]>>(at%64)&1 == 1 {
		return -1
	}
	return at
}

// search is the place of a day, or of the first later one, among the facts of a key, which begin no later and end no earlier.
// It begins where the day is if those between are evenly spread, and needs one or two looks at memory where they nearly are;
// as each day is there once, no place is further off than the days are apart.
func (s *sheet) search(p *place, day int32) int {
	low, high := p.from, p.to-1
	if span := int64(p.last) - int64(p.first); span > 0 {
		guess := low + int((int64(day)-int64(p.first))*int64(high-low)/span)
		switch apart := int64(day) - int64(s.facts[guess].day); {
		case apart >= 0:
			low, high = guess, int(min(int64(high), int64(guess)+apart))
		default:
			low, high = int(max(int64(low), int64(guess)+apart)), guess
		}
	}
	for low < high {
		if middle := (low + high) / 2; s.facts[middle].day < day {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// meet notes that a fact was met.
func (s *sheet) meet(at int) { s.met[at/64] |= 1 << (at % 64) }

// equal reports whether a view's fact is the oracle's (R11).
func (s *sheet) equal(at int, f *Fact) bool {
	return s.facts[at].close == f.Close && (s.family != FamilyAlert || s.threshold[at] == f.Threshold)
}

// value is the oracle's side of a difference.
func (s *sheet) value(at int) *Value {
	v := &Value{Close: &s.facts[at].close}
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
			if at >= len(s.facts) {
				return
			}
			for s.places[key].to <= at {
				key++
			}
			visit(int32(key), at)
		}
	}
}
