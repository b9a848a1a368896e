package synthetic

import (
	"iter"

	"amends.dev/amends/vectorized"
	"amends.dev/amends/vectorized/snapshot"
)

const (
	// runRows is the size of a run.
	runRows = 1 << 17
	// recent is the number of transactions of a partition that may still be corrected.
	recent = 1 << 16
	// txnBytes and valueBytes are about those of a transaction ID and of a value.
	txnBytes   = 15
	valueBytes = 220
)

// transaction is what a correction must know of one that may still be corrected. A partition keeps many: it is small.
type transaction struct {
	number    int64
	validTime int64
	revision  int64 // the highest one
	key       int32
	qty       int16
	kind      uint8
}

// kinds are the texts of vectorized.KindNew and the following, by their number less one.
var kinds = [][]byte{[]byte("NEW"), []byte("AMEND"), []byte("CANCEL")}

// generator makes one partition.
type generator struct {
	h      *History
	share  *share
	random random
	number int64 // of the next transaction
	ring   []transaction
	// row is the offset of the next record, told the broker time in milliseconds since the Unix epoch.
	row, told int64
	clock     clock
	run       snapshot.Bulk
	// rows and accepted are those of the run so far.
	rows, accepted int
	items          codes
	locations      codes
	keys           [][]byte // broker keys by stock key, nil where not rendered yet
	calendar       calendar
}

// clock tells the time of each record: rows are spread evenly over the history, exactly.
type clock struct{ step, rest, over, rows int64 }

// newClock divides milliseconds among rows.
func newClock(ms, rows int64) clock { return clock{step: ms / rows, rest: ms % rows, rows: rows} }

// tick is the milliseconds to the next record.
func (c *clock) tick() int64 {
	if c.over += c.rest; c.over < c.rows {
		return c.step
	}
	c.over -= c.rows
	return c.step + 1
}

// codes are the dictionary codes of a run, plus one; 0 where a value has none yet.
type codes []int32

// of returns the code of a value by its number; it gets one when it is first seen.
func (c codes) of(i int32, d *vectorized.Dictionary, text string) int32 {
	if c[i] == 0 {
		d.Values = append(d.Values, []byte(text))
		c[i] = int32(len(d.Values))
	}
	return c[i] - 1
}

// newGenerator prepares a partition that has records.
func newGenerator(h *History, p int32) *generator {
	keys := len(h.Namespace.Spec.StockKeys)
	g := &generator{
		h: h, share: &h.parts[p], random: newRandom(h.config.Seed, uint64(p)), number: int64(p),
		told: Origin / nanosPerMs, items: make(codes, h.items), locations: make(codes, h.locations),
		ring: make([]transaction, 0, recent), clock: newClock(h.config.Days*msPerDay, h.parts[p].rows),
	}
	r := &g.run
	for _, column := range []*[]int64{&r.Offset, &r.BrokerTime, &r.SourceTime, &r.Revision, &r.ValidTime, &r.Qty} {
		*column = make([]int64, runRows)
	}
	for _, d := range []*vectorized.Dictionary{&r.Item, &r.Location, &r.Kind} {
		d.Codes = make([]int32, runRows)
	}
	r.TxnID.Offsets, r.TxnID.Data = make([]uint32, runRows+1), make([]byte, 0, runRows*txnBytes)
	r.Kind.Values = kinds
	if h.config.Raw {
		g.keys = make([][]byte, keys)
		r.Raw.Value.Data = make([]byte, 0, runRows*valueBytes)
	}
	return g
}

// Partition yields the records of a partition in offset order. A run is valid until the next one. Each record has a key and
// a value where the history has raw ones.
func (h *History) Partition(p int32) iter.Seq[*snapshot.Bulk] {
	return func(yield func(*snapshot.Bulk) bool) {
		if h.parts[p].rows == 0 {
			return
		}
		g := newGenerator(h, p)
		for g.row < g.share.rows {
			g.begin()
			for g.more() {
				g.record()
			}
			g.end()
			if !yield(&g.run) {
				return
			}
		}
	}
}

// more reports whether the run has room for the partition's next record.
func (g *generator) more() bool { return g.rows < runRows && g.row < g.share.rows }

// begin empties the run. Dictionaries are those of a run, as a writer makes them anew.
func (g *generator) begin() {
	r := &g.run
	g.rows, g.accepted = 0, 0
	for _, column := range []*[]int64{&r.Offset, &r.BrokerTime, &r.SourceTime, &r.Revision, &r.ValidTime, &r.Qty} {
		*column = (*column)[:runRows]
	}
	for _, d := range []*vectorized.Dictionary{&r.Item, &r.Location, &r.Kind} {
		d.Codes = d.Codes[:runRows]
	}
	r.TxnID.Data, r.TxnID.Offsets = r.TxnID.Data[:0], r.TxnID.Offsets[:runRows+1]
	for _, text := range []*vectorized.Strings{&r.Raw.Key, &r.Raw.Value} {
		text.Data, text.Offsets = text.Data[:0], append(text.Offsets[:0], 0)
	}
	r.Item.Values, r.Location.Values = nil, nil
	r.RejectAt, r.Reject.Codes, r.Reject.Values = r.RejectAt[:0], r.Reject.Codes[:0], nil
	clear(g.items)
	clear(g.locations)
}

// end cuts the columns to the records that there are.
func (g *generator) end() {
	r := &g.run
	r.Rows, r.Accepted = g.rows, g.accepted
	r.Offset, r.BrokerTime = r.Offset[:g.rows], r.BrokerTime[:g.rows]
	for _, column := range []*[]int64{&r.SourceTime, &r.Revision, &r.ValidTime, &r.Qty} {
		*column = (*column)[:g.accepted]
	}
	for _, d := range []*vectorized.Dictionary{&r.Item, &r.Location, &r.Kind} {
		d.Codes = d.Codes[:g.accepted]
	}
	r.TxnID.Offsets = r.TxnID.Offsets[:g.accepted+1]
	if g.h.config.Raw {
		r.Raw.Rows, r.Raw.Offset = g.rows, r.Offset
	}
}

// record makes the next record. The shares of corrections are those of a busy ledger, in 1/10,000.
func (g *generator) record() {
	dice := g.random.below(10_000)
	switch {
	case dice < 2:
		g.spoiled()
	case dice < 7_215 || len(g.ring) == 0:
		g.fresh()
	default:
		g.correct(&g.ring[g.random.below(uint64(len(g.ring)))], dice)
	}
}

// transaction draws a new transaction.
func (g *generator) transaction() transaction {
	t := transaction{
		number: g.number, key: g.share.urn.draw(&g.random), revision: 1, kind: vectorized.KindNew, validTime: g.backdated(), qty: g.quantity(),
	}
	g.number += int64(len(g.h.parts))
	return t
}

// fresh makes a new transaction.
func (g *generator) fresh() {
	t := g.transaction()
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
			other.validTime = Origin + other.validTime%(msPerDay*nanosPerMs)/2
		} else {
			other.qty += 500
		}
		g.emit(&other, t.revision)
	default:
		g.emit(t, t.revision)
	}
}

// later emits the highest revision too, where the run has room.
func (g *generator) later(t *transaction) {
	if g.more() {
		g.emit(t, t.revision)
	}
}

// backdated draws an instant before now: most are entered at once, some days late, the first at the ledger origin itself.
func (g *generator) backdated() int64 {
	late := int64(g.random.below(1000))
	ms := late * late * late * late / 1_000_000 * 1000 // up to 11 days
	return max(Origin, (g.told-ms)*nanosPerMs)
}

// quantity draws a movement.
func (g *generator) quantity() int16 { return int16(g.random.below(121)) - 60 }

// emit appends a record.
func (g *generator) emit(t *transaction, revision int64) {
	r, at := &g.run, g.accepted
	r.Offset[g.rows], r.BrokerTime[g.rows] = g.row, g.told
	r.SourceTime[at], r.Revision[at], r.ValidTime[at], r.Qty[at] = g.told*nanosPerMs, revision, t.validTime, int64(t.qty)
	r.TxnID.Data = appendTxnID(r.TxnID.Data, t.number)
	r.TxnID.Offsets[at+1] = uint32(len(r.TxnID.Data))
	k, n := &g.h.Namespace.Spec.StockKeys[t.key], g.h.names[t.key]
	r.Item.Codes[at] = g.items.of(n.item, &r.Item, k.Item)
	r.Location.Codes[at] = g.locations.of(n.location, &r.Location, k.Location)
	r.Kind.Codes[at] = int32(t.kind) - 1
	if g.h.config.Raw {
		g.raw(t, revision)
	}
	g.accepted++
	g.advance()
}

// advance goes on to the next record.
func (g *generator) advance() {
	g.row++
	g.rows++
	g.told += g.clock.tick()
}
