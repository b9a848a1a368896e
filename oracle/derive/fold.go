package derive

import (
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/vectorized/derived"
)

// event is a row of a key and a day on which it bears: the quantity that it moves, or the first of the days whose closes it has
// to do with. Events are ordered by day, then row.
type event uint64

// firstDay makes numbers that compare like days of days that may be negative.
const firstDay = 1 << 31

func newEvent(day int32, row uint32) event { return event(int64(day)+firstDay)<<32 | event(row) }

func (e event) day() int32  { return int32(int64(e>>32) - firstDay) }
func (e event) row() uint32 { return uint32(e) }

// fold collects what one key's identities amount to, and computes its days. Its memory is used again for the next key.
type fold struct {
	key *manifests.StockKey
	of  *keyRows
	// movements are the active authoritative transactions, influences the rows that bear on all closes from a day on.
	movements, influences []event
	// earliest is the first day on which any payload of the present identity moved the balance.
	earliest    int32
	moved       bool
	blocked     bool
	latestCause uint32 // of the conflicts that block, or once blocked, the key
	conflicted  bool
}

// begin starts a key.
func (f *fold) begin(key *manifests.StockKey, of *keyRows) {
	*f = fold{key: key, of: of, movements: f.movements[:0], influences: f.influences[:0]}
}

// revision takes over the distinct payloads of the next higher revision of the present identity; highest ends it.
func (f *fold) revision(payloads []uint32, highest bool) {
	k := f.of
	for _, row := range payloads {
		if k.rows[row].kind == decode.KindCancel {
			continue
		}
		if day := dayOf(k.rows[row].validTime); !f.moved || day < f.earliest {
			f.earliest, f.moved = day, true
		}
	}
	top := payloads[0]
	if len(payloads) > 1 {
		f.conflict(payloads[1], highest)
	}
	if !highest {
		return
	}
	if k.rows[top].kind != decode.KindCancel {
		f.movements = append(f.movements, newEvent(dayOf(k.rows[top].validTime), top))
	}
	if f.moved {
		f.influences = append(f.influences, newEvent(f.earliest, top))
	}
	f.moved = false
}

// conflict notes which record the key's status is attributed to: the last that blocked it, or else the last known to have
// been in a conflict.
func (f *fold) conflict(row uint32, highest bool) {
	later := !f.conflicted || row > f.latestCause
	if highest && (!f.blocked || later) || !f.blocked && later {
		f.latestCause = row
	}
	f.conflicted, f.blocked = true, f.blocked || highest
}

// write writes the status, and the days unless the key is BLOCKED: of such a key nothing is certified, and its days are
// computed when it is resolved (S4).
func (f *fold) write(files *derived.Partition) error {
	k, cause := f.of, uint32(0)
	if f.conflicted {
		cause = f.latestCause
	}
	status := derived.Status{Key: k.key, CauseTxnID: k.txnID(cause), CauseRevision: k.rows[cause].revision, CauseOffset: k.rows[cause].offset}
	if err := files.Status(status); err != nil || f.blocked {
		return err
	}
	slices.Sort(f.movements)
	slices.Sort(f.influences)
	balance := decimal128.FromI64(f.key.OpeningBalance)
	threshold := decimal128.FromI64(f.key.ReorderThreshold)
	last, known := uint32(0), 0
	for start, end := 0, 0; start < len(f.movements); start = end {
		day, before := f.movements[start].day(), balance
		for end = start; end < len(f.movements) && f.movements[end].day() == day; end++ {
			balance = balance.Add(decimal128.FromI64(k.rows[f.movements[end].row()].qty))
		}
		if balance.HighBits() != int64(balance.LowBits())>>63 {
			return fmt.Errorf("%w: %s/%s on %s would close at %s", ErrOutOfDomain, f.key.Item, f.key.Location, date(day), balance.BigInt())
		}
		for ; known < len(f.influences) && f.influences[known].day() <= day; known++ {
			last = max(last, f.influences[known].row())
		}
		if err := files.Day(derived.Day{
			Key: k.key, Day: day, Active: int64(end - start), Close: int64(balance.LowBits()),
			Alert:      before.Cmp(threshold) >= 0 && balance.Cmp(threshold) < 0,
			CauseTxnID: k.txnID(last), CauseRevision: k.rows[last].revision, CauseOffset: k.rows[last].offset,
		}); err != nil {
			return err
		}
	}
	return nil
}

// dayOf is the UTC day of an instant, in days since the Unix epoch, rounded towards the past (B081).
func dayOf(nanos int64) int32 {
	const nanosPerDay = int64(24 * time.Hour)
	day := nanos / nanosPerDay
	if nanos%nanosPerDay < 0 {
		day--
	}
	return int32(day)
}

// date is a day as YYYY-MM-DD.
func date(day int32) string { return time.Unix(int64(day)*86_400, 0).UTC().Format(time.DateOnly) }
