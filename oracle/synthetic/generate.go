package synthetic

import (
	"iter"
	"slices"

	"amends.dev/amends/vectorized"
	"amends.dev/amends/vectorized/snapshot"
)

const (
	// runRows is the size of a run.
	runRows = 1 << 17
	// recent is the number of transactions of a partition that may still be corrected.
	recent     = 1 << 16
	nanosPerMs = 1_000_000
	msPerDay   = 86_400_000
)

// transaction is what a correction must know of one that may still be corrected.
type transaction struct {
	number    int64
	key       int32
	revision  int64 // the highest one
	kind      uint8
	validTime int64
	qty       int64
}

// generator makes one partition.
type generator struct {
	h      *History
	share  *share
	random random
	number int64 // of the next transaction
	ring   []transaction
	row    int64
	run    snapshot.Bulk
	items  map[string]int32
	codes  []pairCodes // by key index
}

// pairCodes are a key's dictionary codes plus one; 0 where it has none yet.
type pairCodes struct{ item, location int32 }

// Partition yields the records of a partition in offset order. A run is valid until the next one.
func (h *History) Partition(p int32) iter.Seq[*snapshot.Bulk] {
	return func(yield func(*snapshot.Bulk) bool) {
		g := &generator{
			h: h, share: &h.parts[p], random: random{state: h.config.Seed<<8 ^ uint64(p)*0x9E3779B97F4A7C15},
			number: int64(p), codes: make([]pairCodes, len(h.Namespace.Spec.StockKeys)),
		}
		for g.row < g.share.rows {
			g.reset()
			for len(g.run.Offset) < runRows && g.row < g.share.rows {
				g.record()
				g.row++
			}
			g.run.Rows = len(g.run.Offset)
			g.run.Accepted = g.run.Rows
			if !yield(&g.run) {
				return
			}
		}
	}
}

// reset empties the run. Dictionaries are those of a run, as a writer makes them anew.
func (g *generator) reset() {
	r := &g.run
	r.Offset, r.BrokerTime, r.SourceTime = r.Offset[:0], r.BrokerTime[:0], r.SourceTime[:0]
	r.Revision, r.ValidTime, r.Qty = r.Revision[:0], r.ValidTime[:0], r.Qty[:0]
	for _, text := range []*vectorized.Strings{&r.TxnID, &r.Raw.Key, &r.Raw.Value} {
		text.Data, text.Offsets = text.Data[:0], append(text.Offsets[:0], 0)
	}
	for _, d := range []*vectorized.Dictionary{&r.Item, &r.Location, &r.Kind} {
		d.Codes, d.Values = d.Codes[:0], nil
	}
	r.Kind.Values = [][]byte{[]byte("NEW"), []byte("AMEND"), []byte("CANCEL")}
	g.items = map[string]int32{}
	clear(g.codes)
}

// record makes the next record. The shares of corrections are those of a busy ledger, in 1/10,000.
func (g *generator) record() {
	dice := g.random.below(10_000)
	if len(g.ring) == 0 {
		dice = 0
	}
	switch {
	case dice < 7_215:
		g.fresh()
	default:
		g.correct(&g.ring[g.random.below(uint64(len(g.ring)))], dice)
	}
}

// fresh makes a new transaction.
func (g *generator) fresh() {
	t := transaction{
		number: g.number, key: g.pick(), revision: 1, kind: vectorized.KindNew, validTime: g.backdated(), qty: g.quantity(),
	}
	g.number += int64(len(g.h.parts))
	if len(g.ring) < recent {
		g.ring = append(g.ring, t)
	} else {
		g.ring[g.random.below(recent)] = t
	}
	g.emit(&t, t.revision)
}

// correct makes a record about a transaction that was told before.
func (g *generator) correct(t *transaction, dice uint64) {
	switch {
	case dice < 9_015: // another quantity, for one in four another day
		t.revision++
		t.kind, t.qty = vectorized.KindAmend, g.quantity()
		if dice%4 == 0 {
			t.validTime = g.backdated()
		}
		g.emit(t, t.revision)
	case dice < 9_515:
		t.revision++
		t.kind, t.qty = vectorized.KindCancel, 0
		g.emit(t, t.revision)
	case dice < 9_815: // an exact duplicate
		g.emit(t, t.revision)
	case dice < 9_965: // a stale revision: the highest one skips a number, which then comes late
		t.revision += 2
		t.kind, t.qty = vectorized.KindAmend, g.quantity()
		late := *t
		late.qty++
		g.emit(&late, t.revision-1)
		g.later(t)
	case dice < 9_995: // a conflict that a higher revision has made history
		t.revision++
		t.kind, t.qty = vectorized.KindAmend, g.quantity()
		lower := *t
		lower.kind, lower.qty = vectorized.KindNew, lower.qty+200
		g.emit(&lower, 1)
		g.later(t)
	case t.key%8 == 0: // a conflict at the highest revision blocks the key
		other := *t
		if other.kind == vectorized.KindCancel {
			other.validTime = Origin + other.validTime%86_400_000_000_000/2
		} else {
			other.qty += 500
		}
		g.emit(&other, t.revision)
	default:
		g.emit(t, t.revision)
	}
}

// later emits the highest revision too, unless the partition is complete.
func (g *generator) later(t *transaction) {
	if g.row+1 < g.share.rows && len(g.run.Offset) < runRows-1 {
		g.row++
		g.emit(t, t.revision)
	}
}

// pick draws a key by weight.
func (g *generator) pick() int32 {
	at, found := slices.BinarySearch(g.share.weight, g.random.below(g.share.total()))
	if found {
		at++
	}
	return g.share.keys[at]
}

// backdated draws an instant before now: most are entered at once, some days late.
func (g *generator) backdated() int64 {
	ms := g.now()
	late := g.random.below(1000)
	ms -= int64(late * late * late * late / 1_000_000 * 1000) // up to 11 days
	return Origin + max(0, ms)*nanosPerMs
}

// now is the milliseconds since the origin at which the present record is told.
func (g *generator) now() int64 {
	return int64(float64(g.row) / float64(g.share.rows) * float64(g.h.config.Days) * msPerDay)
}

// quantity draws a movement.
func (g *generator) quantity() int64 { return int64(g.random.below(121)) - 60 }

// emit appends a record.
func (g *generator) emit(t *transaction, revision int64) {
	r, told := &g.run, Origin/nanosPerMs+g.now()
	r.Offset = append(r.Offset, g.row)
	r.BrokerTime, r.SourceTime = append(r.BrokerTime, told), append(r.SourceTime, told*nanosPerMs)
	r.Revision, r.ValidTime, r.Qty = append(r.Revision, revision), append(r.ValidTime, t.validTime), append(r.Qty, t.qty)
	r.TxnID.Data = appendTxnID(r.TxnID.Data, t.number)
	r.TxnID.Offsets = append(r.TxnID.Offsets, uint32(len(r.TxnID.Data)))
	codes := g.code(t.key)
	r.Item.Codes, r.Location.Codes = append(r.Item.Codes, codes.item-1), append(r.Location.Codes, codes.location-1)
	r.Kind.Codes = append(r.Kind.Codes, int32(t.kind)-1)
	if g.h.config.Raw {
		g.raw(t, revision, told*nanosPerMs)
	}
}

// code returns the dictionary codes of a key in the run.
func (g *generator) code(key int32) pairCodes {
	c := &g.codes[key]
	if c.item == 0 {
		k := &g.h.Namespace.Spec.StockKeys[key]
		c.item, c.location = g.entry(&g.run.Item, k.Item), g.entry(&g.run.Location, k.Location)
	}
	return *c
}

// entry returns the code of a text plus one. Items and locations never have the same text.
func (g *generator) entry(d *vectorized.Dictionary, text string) int32 {
	if code := g.items[text]; code != 0 {
		return code
	}
	d.Values = append(d.Values, []byte(text))
	g.items[text] = int32(len(d.Values))
	return int32(len(d.Values))
}

// appendTxnID appends TX- and ten digits, or more.
func appendTxnID(to []byte, number int64) []byte {
	var digits [20]byte
	at := len(digits)
	for n := number; n > 0 || at > len(digits)-10; n /= 10 {
		at--
		digits[at] = byte('0' + n%10)
	}
	return append(append(to, "TX-"...), digits[at:]...)
}
