package snapshot

import (
	"fmt"
	"slices"

	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/vectorized"
)

// lane is the export of one partition. Records are gathered by the goroutine that appends them; a full group is decoded
// and written by one of its own, while the next one is gathered.
type lane struct {
	w      *Writer
	open   *group        // gathering
	busy   chan struct{} // closed once the group in work is written; nil where none is
	writer bulkWriter    // used by the goroutine in work, or by nobody
	failed error         // likewise
}

// group are copies of records: the next row group.
type group struct {
	raw        vectorized.RawColumns
	brokerTime []int64
}

// newLane begins with the n-th files of a partition.
func newLane(w *Writer, partition int32, n int) *lane {
	return &lane{w: w, writer: bulkWriter{w: w, partition: partition, number: n}}
}

// add copies a record.
func (g *group) add(r *engine.Record) {
	c := &g.raw
	c.Rows++
	c.Offset, g.brokerTime = append(c.Offset, r.Offset), append(g.brokerTime, r.BrokerTime)
	c.KeyLevels = appendValue(&c.Key, c.KeyLevels, r.Key)
	c.ValueLevels = appendValue(&c.Value, c.ValueLevels, r.Value)
}

// appendValue adds a value, which is null where it is nil.
func appendValue(to *vectorized.Strings, levels, value []byte) []byte {
	if value == nil {
		return append(levels, 0)
	}
	to.Data = append(grown(to.Data, len(value)), value...)
	to.Offsets = append(to.Offsets, uint32(len(to.Data)))
	return append(levels, 1)
}

// grown has room for more bytes. It grows fourfold, so that the records of a group are not copied once more on the whole.
func grown(data []byte, by int) []byte {
	const least = 1 << 16
	if len(data)+by > cap(data) {
		return slices.Grow(data, max(3*len(data), least, by))
	}
	return data
}

// reset empties a group and keeps its memory.
func (g *group) reset() {
	c := &g.raw
	c.Rows, c.Offset, g.brokerTime = 0, c.Offset[:0], g.brokerTime[:0]
	c.KeyLevels, c.ValueLevels = c.KeyLevels[:0], c.ValueLevels[:0]
	for _, s := range []*vectorized.Strings{&c.Key, &c.Value} {
		s.Data, s.Offsets = s.Data[:0], append(s.Offsets[:0], 0)
	}
}

// full reports whether the next record belongs into another group.
func (g *group) full(l limits) bool {
	return g.raw.Rows >= l.groupRows || len(g.raw.Key.Data)+len(g.raw.Value.Data) >= l.groupBytes
}

// append adds a record and hands a full group on.
func (l *lane) append(r *engine.Record) error {
	if l.open == nil {
		l.open = l.w.takeGroup()
	}
	if l.open.add(r); !l.open.full(l.w.limits) {
		return nil
	}
	return l.hand()
}

// hand gives the open group to a goroutine, once the one before is written.
func (l *lane) hand() error {
	if err := l.wait(); err != nil {
		return err
	}
	g := l.open
	l.open, l.busy = nil, make(chan struct{})
	go func() {
		e := <-l.w.encoders
		defer func() { l.w.encoders <- e; close(l.busy) }()
		l.writer.encoder = e
		l.failed = guard(func() error { return l.write(g) })
	}()
	return nil
}

// wait waits until no group is in work, and notes the files that are complete.
func (l *lane) wait() error {
	if l.busy != nil {
		<-l.busy
		l.busy = nil
	}
	if l.failed != nil {
		return l.failed
	}
	files := l.writer.files
	l.writer.files = nil
	if len(files) == 0 {
		return nil
	}
	return l.w.note(l.writer.partition, files)
}

// write decodes a group and writes it as a row group.
func (l *lane) write(g *group) error {
	run := &l.writer.encoder.run
	l.decode(run, g)
	err := l.writer.add(run)
	if err != nil {
		offsets := g.raw.Offset
		err = fmt.Errorf("partition %d, offsets %d to %d: %w", l.writer.partition, offsets[0], offsets[len(offsets)-1], err)
	}
	l.w.giveGroup(g)
	return err
}

// decode fills a run with what the oracle's decoder makes of a group.
func (l *lane) decode(r *Bulk, g *group) {
	r.reset()
	r.Rows, r.Offset, r.BrokerTime, r.Raw = g.raw.Rows, g.raw.Offset, g.brokerTime, g.raw
	r.Item.Values, r.Location.Values, r.Kind.Values = l.w.items, l.w.locations, kinds
	reasons := map[decode.Reason]int32{}
	row := uint32(0)
	g.raw.Each(func(_ int64, key, value []byte) {
		tx, reason := l.w.decoder.Decode(l.writer.partition, key, value)
		if reason == decode.Accepted {
			r.accept(&tx)
		} else {
			r.reject(row, reason, reasons)
		}
		row++
	})
}

// kinds are the kinds by their number less one.
var kinds = [][]byte{[]byte("NEW"), []byte("AMEND"), []byte("CANCEL")}

// reset empties a run of decoded records.
func (r *Bulk) reset() {
	r.Accepted = 0
	r.Item.Codes, r.Location.Codes, r.Kind.Codes = r.Item.Codes[:0], r.Location.Codes[:0], r.Kind.Codes[:0]
	r.TxnID.Data, r.TxnID.Offsets = r.TxnID.Data[:0], append(r.TxnID.Offsets[:0], 0)
	r.Revision, r.ValidTime, r.Qty, r.SourceTime = r.Revision[:0], r.ValidTime[:0], r.Qty[:0], r.SourceTime[:0]
	r.Reject.Codes, r.Reject.Values, r.RejectAt = r.Reject.Codes[:0], nil, r.RejectAt[:0]
}

// accept adds an accepted record.
func (r *Bulk) accept(tx *decode.Transaction) {
	r.Accepted++
	r.Item.Codes, r.Location.Codes = append(r.Item.Codes, tx.Key), append(r.Location.Codes, tx.Key)
	r.Kind.Codes = append(r.Kind.Codes, int32(tx.Kind)-1)
	r.TxnID.Data = append(r.TxnID.Data, tx.TxnID...)
	r.TxnID.Offsets = append(r.TxnID.Offsets, uint32(len(r.TxnID.Data)))
	r.Revision, r.ValidTime, r.Qty = append(r.Revision, tx.Revision), append(r.ValidTime, tx.ValidTime), append(r.Qty, tx.Qty)
	r.SourceTime = append(r.SourceTime, tx.SourceTime)
}

// reject adds a rejected record.
func (r *Bulk) reject(row uint32, reason decode.Reason, codes map[decode.Reason]int32) {
	code, ok := codes[reason]
	if !ok {
		code = int32(len(codes))
		codes[reason] = code
		r.Reject.Values = append(r.Reject.Values, []byte(reason))
	}
	r.Reject.Codes, r.RejectAt = append(r.Reject.Codes, code), append(r.RejectAt, row)
}
