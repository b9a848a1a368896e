package ledger

import (
	"iter"
	"maps"
	"math"
	"slices"

	"amends.dev/amends/internal/mark"
)

// dayEdit is one day row as a decision leaves it, and which of its outputs changed.
type dayEdit struct {
	row            DayRow
	balance, alert bool
}

// contribution is what an identity adds to the balance: nothing while it is absent or cancelled.
type contribution struct {
	active bool
	day    int32
	qty    int64
}

// contributionOf returns the contribution of an authoritative payload. The valid time of a CANCEL counts for nothing.
func contributionOf(p Payload) contribution {
	if p.Kind == KindCancel {
		return contribution{}
	}
	return contribution{active: true, day: DayOf(p.ValidTime), qty: p.Qty}
}

// fold works out the day rows that a decision changes, into b.edits sorted by day. On an error the batch is unchanged.
func (b *Batch) fold(d *decision) error {
	b.edits = b.edits[:0]
	wasBlocked, isBlocked := d.key.blocked(), len(d.conflicts) > 0
	var err error
	switch {
	case isBlocked:
		mark.Hit("SC10 R14 outputs of a blocked key are frozen") // last computed rows stay as they are (S4)
	case wasBlocked:
		err = b.refold(d)
	case d.authorityChanged:
		err = b.repair(d)
	}
	if err == nil && d.statusChanged && d.key.row.StatusVersion == math.MaxInt64 {
		err = b.versionExhausted(d, "key status")
	}
	return err
}

// repair recomputes the days that replacing one contribution by another can change, from the earliest of the two days
// on (S6). A later close is the old one plus what the replacement adds up to by then, so day sums need not be kept:
// once both days are passed and the changes add up to zero, nothing after can differ. An append on or after the last
// day visits that one row: it is the forward fast path.
func (b *Batch) repair(d *decision) error {
	var old contribution
	if d.identity != nil && d.identity.present {
		old = contributionOf(d.identity.row.Payload)
	}
	added := contributionOf(d.authority.Payload)
	first, last := affectedDays(old, added)
	opening := b.cfg.StockKey(d.key.id).OpeningBalance
	at := d.key.findDay(first)
	if at < len(d.key.days) && d.key.days[at].Day > last {
		mark.Hit("SC01 backdated")
	}
	if old.active && added.active && old.day == added.day {
		mark.Hit("SC02 quantity amended")
	} else if old.active && added.active {
		mark.Hit("SC03 day moved")
	}
	before := d.key.closeBefore(at, opening)
	if at > 0 && d.key.days[at-1].Day < first-1 {
		mark.Hit("SC13 no row on the day before")
	}
	walk := suffix{old: old, added: added, oldClose: before, newClose: before}
	for row := range d.key.rowsFrom(first, added) {
		if row.Day > last && walk.delta == (int128{}) {
			break
		}
		if err := b.visit(d, &walk, row); err != nil {
			return err
		}
	}
	return nil
}

// affectedDays returns the earliest and the latest day of the contributions; first > last where neither contributes.
func affectedDays(old, added contribution) (first, last int32) {
	first, last = math.MaxInt32, math.MinInt32
	for _, c := range [...]contribution{old, added} {
		if c.active {
			first, last = min(first, c.day), max(last, c.day)
		}
	}
	return first, last
}

// suffix is the state of a repair between two rows.
type suffix struct {
	old, added contribution
	// delta is what the replacement adds to the balance by now.
	delta int128
	// oldClose and newClose are the closes of the last active day before and after the replacement.
	oldClose, newClose int64
}

// rowsFrom yields the day rows from a day on, with a fresh row where the added contribution's day has none.
func (k *keyState) rowsFrom(first int32, added contribution) iter.Seq[DayRow] {
	return func(yield func(DayRow) bool) {
		fresh := DayRow{KeyID: k.id, Day: added.day}
		missing := added.active
		for i := k.findDay(first); i < len(k.days); i++ {
			day := k.days[i].Day
			if missing && added.day <= day {
				missing = false
				if added.day < day && !yield(fresh) {
					return
				}
			}
			if !yield(k.days[i].DayRow) {
				return
			}
		}
		if missing {
			yield(fresh)
		}
	}
}

// visit recomputes one row of the suffix.
func (b *Batch) visit(d *decision, walk *suffix, row DayRow) error {
	active := row.Active
	if active > 0 {
		walk.oldClose = row.Close
	}
	if walk.old.active && walk.old.day == row.Day {
		walk.delta = walk.delta.sub(widen(walk.old.qty))
		active--
	}
	if walk.added.active && walk.added.day == row.Day {
		if active > 0 {
			mark.Hit("SC11 another movement on the day") // the day's close decides, not the balance between them
		}
		walk.delta = walk.delta.add(widen(walk.added.qty))
		active++
	}
	if active == 0 && row.Active == 0 {
		return nil // a withdrawn day, kept for its versions
	}
	before := walk.newClose
	if active > 0 {
		exact := widen(walk.oldClose).add(walk.delta)
		var ok bool
		if walk.newClose, ok = exact.narrow(); !ok {
			return b.overflow(d, row.Day, exact)
		}
	}
	return b.settle(d, row, active, before, walk.newClose)
}

// settle works out what a day's row becomes with so many active transactions, opening at before and closing at close
// (S5), and which outputs that changes (S6, R11). close is ignored where active is 0.
func (b *Batch) settle(d *decision, row DayRow, active, before, closing int64) error {
	d.touched++
	edit := dayEdit{row: row}
	next := &edit.row
	next.Active, next.Close = active, closing
	threshold := b.cfg.StockKey(d.key.id).ReorderThreshold
	next.AlertPresent = active > 0 && before >= threshold && closing < threshold
	if active > 0 && (before == threshold || closing == threshold) {
		mark.Hit("SC12 equality with the threshold")
	}
	next.AlertClose = closing
	if active == 0 {
		next.Close = 0
	}
	if !next.AlertPresent {
		next.AlertClose = 0
	}
	edit.balance = (row.Active > 0) != (active > 0) || next.Close != row.Close
	edit.alert = next.AlertPresent != row.AlertPresent || next.AlertClose != row.AlertClose
	if edit.alert && next.AlertPresent && row.AlertPresent {
		mark.Hit("SC15 R11 alert restated")
	}
	if edit.balance {
		if row.BalanceVersion == math.MaxInt64 {
			return b.versionExhausted(d, "balance of "+FormatDay(row.Day))
		}
		next.BalanceVersion++
	}
	if edit.alert {
		if row.AlertVersion == math.MaxInt64 {
			return b.versionExhausted(d, "alert of "+FormatDay(row.Day))
		}
		next.AlertVersion++
	}
	if *next != row {
		b.edits = append(b.edits, edit)
	}
	return nil
}

// daySum is what the active transactions of one day add up to.
type daySum struct {
	active int64
	sum    int128
}

// refold recomputes a key that a record unblocks from all its authoritative transactions and the opening balance (S4),
// and compares with the rows as last published.
func (b *Batch) refold(d *decision) error {
	key := d.key
	if !key.complete {
		return ErrIncomplete
	}
	mark.Hit("SC09 key recomputed completely")
	sums := make(map[int32]daySum)
	for txnID, id := range key.identities {
		if id.present && txnID != d.tx.TxnID {
			addTo(sums, contributionOf(id.row.Payload))
		}
	}
	addTo(sums, contributionOf(d.authority.Payload))
	rows := make(map[int32]DayRow, len(key.days))
	for i := range key.days {
		rows[key.days[i].Day] = key.days[i].DayRow
	}
	for day := range sums {
		if _, ok := rows[day]; !ok {
			rows[day] = DayRow{KeyID: key.id, Day: day}
		}
	}
	before := b.cfg.StockKey(key.id).OpeningBalance
	total := widen(before)
	for _, day := range slices.Sorted(maps.Keys(rows)) {
		sum, row := sums[day], rows[day]
		if sum.active == 0 && row.Active == 0 {
			continue // a withdrawn day, kept for its versions
		}
		total = total.add(sum.sum)
		closing, ok := total.narrow()
		if !ok {
			return b.overflow(d, day, total)
		}
		if err := b.settle(d, row, sum.active, before, closing); err != nil {
			return err
		}
		before = closing
	}
	return nil
}

// addTo adds a contribution to its day.
func addTo(sums map[int32]daySum, c contribution) {
	if c.active {
		day := sums[c.day]
		sums[c.day] = daySum{active: day.active + 1, sum: day.sum.add(widen(c.qty))}
	}
}

// overflow says that the exact close of a day leaves int64 (R09).
func (b *Batch) overflow(d *decision, day int32, exact int128) error {
	mark.Hit("SC27 R09 close out of domain")
	return b.stop(d, StopOverflow, "close of "+FormatDay(day)+" would be "+exact.String())
}

// versionExhausted says that an output has used its last version (B088).
func (b *Batch) versionExhausted(d *decision, output string) error {
	mark.Hit("B088 version exhausted")
	return b.stop(d, StopVersion, "no version is left for the "+output)
}

// stop makes the error that stops the partition at a record.
func (b *Batch) stop(d *decision, reason, detail string) error {
	return &OverflowError{
		Partition: d.rec.Partition, Offset: d.rec.Offset, Reason: reason,
		Detail: "stock key " + string(b.cfg.BrokerKey(d.key.id)) + ": " + detail,
	}
}
