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
	sums   []int64  // by day from the key's first one on; zero between two keys
	active []uint64 // bit set of days, like sums
	// days, qtys and order are used where there is no array of days.
	days  []int32
	qtys  []int64
	order []uint32
	// times bound those of the rows to come; plain says that none of them has a large quantity.
	times Times
	plain bool
}

// Times are instants from First to Last, in nanoseconds since the Unix epoch.
type Times struct{ First, Last int64 }

// noTimes are none.
var noTimes = Times{math.MaxInt64, math.MinInt64}

// days is the number of days that times touch; false where that is more than an array of days may have.
func (t Times) days(most int) (int, bool) {
	_, carry := bits.Add64(uint64(t.Last)-uint64(t.First), intoDay(t.First), 0)
	n := int(Day(t.Last)) - int(Day(t.First)) + 1
	return n, carry == 0 && n <= most
}

// Expect prepares for keys whose rows have such times and such an annex, until it is called again.
func (f *Fold) Expect(times Times, annex *Annex) { f.times, f.plain = times, len(annex.Numbers) == 0 }

// denseDays bounds the days between a key's first and last activity for which an array of days is used whatever the
// number of rows.
const denseDays = 1 << 12

// Key appends the closes of one key that is not blocked: of its highest revisions that are no CANCEL (S5). A key with a
// day out of domain appends nothing and returns those days.
func (f *Fold) Key(out *Closes, rows []Row, highest []uint32, annex *Annex, opening, threshold int64) []OutOfDomain {
	safe := opening>>62 == opening>>63 // with it, a sum below 2^61 stays below 2^63
	if days, ok := f.times.days(min(denseDays, 64*len(rows))); ok && safe && f.plain && len(rows) < 1<<30 {
		f.room(days)
		f.plainDays(rows, highest)
		f.closes(out, f.times.First, days, opening, threshold)
		return nil
	}
	times, active, magnitudes := noTimes, 0, uint64(0)
	for _, i := range highest {
		row := &rows[i]
		if !row.active() {
			continue
		}
		times.First, times.Last = min(times.First, row.ValidTime), max(times.Last, row.ValidTime)
		qty := row.quantity(annex)
		magnitudes |= uint64(qty ^ qty>>63)
		active++
	}
	if active == 0 {
		return nil
	}
	days, dense := times.days(max(denseDays, 8*active))
	switch {
	case !safe || bits.Len64(magnitudes)+bits.Len(uint(active)) > 61:
		f.collect(rows, highest, annex, active)
		return f.exact(out, opening, threshold)
	case dense:
		f.dense(rows, highest, annex, times.First, days)
		f.closes(out, times.First, days, opening, threshold)
	default:
		f.collect(rows, highest, annex, active)
		f.sorted(out, opening, threshold)
	}
	return nil
}

// intoDay is the time since midnight, in nanoseconds.
func intoDay(nanos int64) uint64 { return uint64((nanos%nanosPerDay + nanosPerDay) % nanosPerDay) }

// room makes an array of so many days.
func (f *Fold) room(days int) {
	if len(f.sums) < days {
		f.sums, f.active = make([]int64, days), make([]uint64, (days+63)/64)
	}
}

// plainDays adds up in the array of days from the first expected one on, without a branch. No quantity is large.
func (f *Fold) plainDays(rows []Row, highest []uint32) {
	sums, active := f.sums, f.active
	midnight := uint64(f.times.First) - intoDay(f.times.First)
	for _, i := range highest {
		row := &rows[i]
		at := (uint64(row.ValidTime) - midnight) / nanosPerDay
		keep := uint64(1)
		if row.kind() == KindCancel {
			keep = 0
		}
		sums[at] += int64(row.qty) & -int64(keep)
		active[at/64] |= keep << (at % 64)
	}
}

// dense adds up in an array of days. No sum can leave int64.
func (f *Fold) dense(rows []Row, highest []uint32, annex *Annex, first int64, days int) {
	f.room(days)
	sums, active := f.sums, f.active
	midnight := uint64(first) - intoDay(first)
	for _, i := range highest {
		row := &rows[i]
		if !row.active() {
			continue
		}
		at := (uint64(row.ValidTime) - midnight) / nanosPerDay
		sums[at] += row.quantity(annex)
		active[at/64] |= 1 << (at % 64)
	}
}

// closes appends the active days of the array, and clears it.
func (f *Fold) closes(out *Closes, first int64, days int, opening, threshold int64) {
	sums, active := f.sums, f.active
	balance, day := opening, Day(first)
	for w := range (days + 63) / 64 {
		for set := active[w]; set != 0; set &= set - 1 {
			at := w*64 + bits.TrailingZeros64(set)
			before := balance
			balance += sums[at]
			sums[at] = 0
			out.add(day+int32(at), before, balance, threshold)
		}
		active[w] = 0
	}
}

// collect lists days and quantities of the active rows.
func (f *Fold) collect(rows []Row, highest []uint32, annex *Annex, active int) {
	f.days, f.qtys, f.order = slices.Grow(f.days[:0], active), slices.Grow(f.qtys[:0], active), f.order[:0]
	for _, i := range highest {
		if row := &rows[i]; row.active() {
			f.days, f.qtys = append(f.days, Day(row.ValidTime)), append(f.qtys, row.quantity(annex))
		}
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

// clone is a copy that is no larger than it must be.
func (c *Closes) clone() Closes {
	return Closes{slices.Clone(c.Day), slices.Clone(c.Close), slices.Clone(c.Crossing)}
}

// truncate keeps the first n days.
func (c *Closes) truncate(n int) {
	c.Day, c.Close, c.Crossing = c.Day[:n], c.Close[:n], c.Crossing[:n]
}
