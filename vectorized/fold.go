package vectorized

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"slices"
)

// nanosPerDay is the length of a UTC day.
const nanosPerDay = 86_400_000_000_000

// Day is the UTC day of an instant in days since the Unix epoch, rounded towards the past, also before 1970 (B081).
func Day(nanos int64) int32 {
	day := nanos / nanosPerDay
	if nanos%nanosPerDay < 0 {
		day--
	}
	return int32(day)
}

// Closes are activity days of keys as columns of equal length: the days of one key are ascending (S5).
type Closes struct {
	// Day is days since the Unix epoch.
	Day []int32
	// Close is the closing balance.
	Close []int64
	// Crossing is 1 where the close is below the threshold and the balance before the day was not (S5).
	Crossing []uint8
}

// OutOfDomain is an activity day whose close int64 cannot hold (R09).
type OutOfDomain struct {
	Day   int32
	Close *big.Int
}

// Fold folds the active rows of one key after the other. Its memory is reused; it is for one goroutine.
type Fold struct {
	days   []int32
	qtys   []int64
	sums   []int64  // by day from the key's first one on; zero between two keys
	active []uint64 // bit set of days, like sums
	order  []uint32
}

// denseDays bounds the days between a key's first and last activity for which an array of days is used whatever the
// number of rows.
const denseDays = 1 << 12

// Key appends the closes of one key that is not blocked: of its highest revisions that are no CANCEL (S5). A key with a
// day out of domain appends nothing and returns those days.
func (f *Fold) Key(out *Closes, rows []Row, highest []uint32, opening, threshold int64) []OutOfDomain {
	f.days, f.qtys, f.order = f.days[:0], f.qtys[:0], f.order[:0]
	first, last := int32(math.MaxInt32), int32(math.MinInt32)
	volume, overflow := magnitude(opening), uint64(0)
	for _, slot := range highest {
		if slot == 0 || rows[slot-1].Kind == KindCancel {
			continue
		}
		row := &rows[slot-1]
		day := Day(row.ValidTime)
		first, last = min(first, day), max(last, day)
		f.days, f.qtys = append(f.days, day), append(f.qtys, row.Qty)
		var carry uint64
		volume, carry = bits.Add64(volume, magnitude(row.Qty), 0)
		overflow |= carry
	}
	switch span := int64(last) - int64(first) + 1; {
	case len(f.days) == 0:
		return nil
	case overflow != 0 || volume > math.MaxInt64:
		return f.exact(out, opening, threshold)
	case span <= max(denseDays, 8*int64(len(f.days))):
		f.dense(out, first, int(span), opening, threshold)
	default:
		f.sorted(out, opening, threshold)
	}
	return nil
}

// magnitude is |n|, also of the smallest one.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// dense adds up in an array of days. No sum can leave int64.
func (f *Fold) dense(out *Closes, first int32, span int, opening, threshold int64) {
	if len(f.sums) < span {
		f.sums, f.active = make([]int64, span), make([]uint64, (span+63)/64)
	}
	for i, day := range f.days {
		at := uint32(day - first)
		f.sums[at] += f.qtys[i]
		f.active[at/64] |= 1 << (at % 64)
	}
	balance := opening
	for w := range (span + 63) / 64 {
		for set := f.active[w]; set != 0; set &= set - 1 {
			at := w*64 + bits.TrailingZeros64(set)
			before := balance
			balance += f.sums[at]
			f.sums[at] = 0
			out.add(first+int32(at), before, balance, threshold)
		}
		f.active[w] = 0
	}
}

// sorted adds up in the order of days. No sum can leave int64.
func (f *Fold) sorted(out *Closes, opening, threshold int64) {
	balance := opening
	for start, end := 0, 0; start < len(f.byDay()); start = end {
		before, day := balance, f.days[f.order[start]]
		for end = start; end < len(f.order) && f.days[f.order[end]] == day; end++ {
			balance += f.qtys[f.order[end]]
		}
		out.add(day, before, balance, threshold)
	}
}

// byDay numbers the active rows in the order of their days; once for each key.
func (f *Fold) byDay() []uint32 {
	if len(f.order) == len(f.days) {
		return f.order
	}
	f.order = f.order[:0]
	for i := range f.days {
		f.order = append(f.order, uint32(i))
	}
	slices.SortFunc(f.order, func(a, b uint32) int { return cmp.Compare(f.days[a], f.days[b]) })
	return f.order
}

// add appends one day.
func (c *Closes) add(day int32, before, closing, threshold int64) {
	crossing := uint8(0)
	if before >= threshold && closing < threshold {
		crossing = 1
	}
	c.Day, c.Close, c.Crossing = append(c.Day, day), append(c.Close, closing), append(c.Crossing, crossing)
}

// exact adds up in 128 bits, which hold the sum of 2^64 values of 64 bits, and looks whether each close fits (R09).
func (f *Fold) exact(out *Closes, opening, threshold int64) []OutOfDomain {
	var outside []OutOfDomain
	kept := len(out.Day)
	balance := WideOf(opening)
	for start, end := 0, 0; start < len(f.byDay()); start = end {
		before, day := balance, f.days[f.order[start]]
		for end = start; end < len(f.order) && f.days[f.order[end]] == day; end++ {
			balance = balance.Plus(WideOf(f.qtys[f.order[end]]))
		}
		if !balance.Fits() {
			outside = append(outside, OutOfDomain{day, balance.Big()})
			continue
		}
		out.add(day, before.Int64(), balance.Int64(), threshold) // before fits, or the key lists nothing
	}
	if outside != nil {
		out.truncate(kept)
	}
	return outside
}

// truncate keeps the first n days.
func (c *Closes) truncate(n int) {
	c.Day, c.Close, c.Crossing = c.Day[:n], c.Close[:n], c.Crossing[:n]
}
