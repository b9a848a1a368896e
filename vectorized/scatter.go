package vectorized

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"unicode/utf8"
)

// RowError is a record that no decoder of the namespace can have accepted in this form.
type RowError struct {
	// Row is the number of the accepted record in its columns.
	Row int
	// Err is what is wrong with it.
	Err error
}

// Error implements error.
func (e *RowError) Error() string { return fmt.Sprintf("accepted record %d: %v", e.Row, e.Err) }

// Unwrap returns the cause.
func (e *RowError) Unwrap() error { return e.Err }

// What Scatter finds wrong with a record.
var (
	errKey       = errors.New("item and location are no stock key of the namespace")
	errPartition = errors.New("the stock key belongs to another partition")
	errKind      = errors.New("kind is none of NEW, AMEND, CANCEL")
	errRevision  = errors.New("revision is below 1")
	errCancelQty = errors.New("a CANCEL with a quantity")
	errOrigin    = errors.New("valid_time is before the ledger origin")
	errTxnID     = errors.New("txn_id is not 1 to 256 bytes of UTF-8 without U+0000")
	errDictCode  = errors.New("a code is outside its dictionary")
	errBlock     = errors.New("the checks of a block of records and those of each record disagree")
)

// Scatter appends the accepted records of Columns to stores. Its memory is reused; it is for one goroutine.
type Scatter struct {
	layout *Layout
	seed   maphash.Seed
	keys   keyTable
	kinds  []uint8
	// Rows of buckets outside from..to-1 are checked and not kept.
	from, to uint32
	// places are those of the keys of the block in work, less the partition's first one.
	places [blockRows]uint32
	// read is what fetch read.
	read int64
}

// blockRows is how many records are checked before they are appended: two loops over little memory let the processor run
// ahead in both.
const blockRows = 512

// NewScatter returns a kernel over a layout. All Scatters of one computation have the same seed.
func NewScatter(layout *Layout, seed maphash.Seed) *Scatter {
	return &Scatter{layout: layout, seed: seed, to: math.MaxUint32}
}

// Keep keeps rows of buckets from to to-1 from now on. Where a partition's rows do not fit into memory at once, it is
// read several times over, for some of its buckets at a time.
func (s *Scatter) Keep(from, to int) { s.from, s.to = uint32(from), uint32(to) }

// Columns appends the accepted records of a partition. Everything that the contract says of an accepted record and that
// can be told from the typed columns is checked; the error is a *RowError.
func (s *Scatter) Columns(to *Store, partition int32, c *Columns) error {
	s.keys.reset(s.layout, &c.Item, &c.Location)
	s.kindsOf(&c.Kind)
	text := !plainText(c.TxnID.Data)
	for start := 0; start < c.Accepted; start += blockRows {
		end := min(start+blockRows, c.Accepted)
		if !s.find(partition, c, start, end) || !s.values(c, start, end) || text && !validTexts(&c.TxnID, start, end) {
			return s.fault(partition, c, start)
		}
		s.append(to, s.layout.parts[partition].shift, c, start, end)
	}
	return nil
}

// find fills the places of a block, and reports whether each record has a key of the partition. The table of keys is read
// in a loop of its own, as it is large: a processor waits for many reads at a time.
func (s *Scatter) find(partition int32, c *Columns, start, end int) bool {
	if s.layout.dense == nil {
		return s.findEach(partition, c, start, end)
	}
	item, location := c.Item.Codes[start:end], c.Location.Codes[start:end]
	places := s.places[:len(item)]
	location = location[:len(item)]
	items, locations, width := s.keys.items, s.keys.locations, int32(len(s.layout.locations))
	for i := range places {
		itemCode, locationCode := uint32(item[i]), uint32(location[i])
		if itemCode >= uint32(len(items)) || locationCode >= uint32(len(locations)) {
			return false
		}
		a, b := items[itemCode], locations[locationCode]
		if a|b < 0 {
			return false
		}
		places[i] = uint32(a*width + b)
	}
	part, dense := &s.layout.parts[partition], s.layout.dense
	first, keys := uint32(part.first)+1, uint32(part.keys)
	for i, pair := range places {
		at := uint32(dense[pair]) - first
		if at >= keys {
			return false
		}
		places[i] = at
	}
	return true
}

// findEach is find where there is no table.
func (s *Scatter) findEach(partition int32, c *Columns, start, end int) bool {
	part := &s.layout.parts[partition]
	for i, item := range c.Item.Codes[start:end] {
		place, err := s.keys.find(item, c.Location.Codes[start+i])
		if err != nil || place < part.first || place-part.first >= part.keys {
			return false
		}
		s.places[i] = uint32(place - part.first)
	}
	return true
}

// values reports whether kinds, revisions, times, quantities and the lengths of transaction IDs are in range.
func (s *Scatter) values(c *Columns, start, end int) bool {
	kind := c.Kind.Codes[start:end]
	revision, validTime, qty := c.Revision[start:end][:len(kind)], c.ValidTime[start:end][:len(kind)], c.Qty[start:end][:len(kind)]
	offsets := c.TxnID.Offsets[start : end+1][:len(kind)+1]
	kinds, origin, cancelled := s.kinds, s.layout.Origin, int64(0)
	from := offsets[0]
	for i, code := range kind {
		if uint32(code) >= uint32(len(kinds)) {
			return false
		}
		k, to := kinds[code], offsets[i+1]
		if k == 0 || revision[i] < 1 || validTime[i] < origin || to-from-1 >= maxTxnID {
			return false
		}
		from = to
		cancelled |= qty[i] & cancelMask[k%4]
	}
	return cancelled == 0
}

// cancelMask has all bits of a quantity that must be 0, by kind.
var cancelMask = [4]int64{KindCancel: -1}

// validTexts reports whether each transaction ID of a block is UTF-8 without U+0000.
func validTexts(txn *Strings, start, end int) bool {
	for i := start; i < end; i++ {
		if !validText(txn.Value(i)) {
			return false
		}
	}
	return true
}

// append appends the rows of a block that was checked.
func (s *Scatter) append(to *Store, shift uint8, c *Columns, start, end int) {
	var memory [blockRows]*Row
	rows := memory[:end-start]
	s.reserve(to, shift, s.places[:len(rows)], rows)
	s.read += fetch(rows)
	s.numbers(to, shift, c, start, rows)
	s.identities(to, shift, &c.TxnID, start, rows)
}

// numbers writes all but the transaction IDs of a block's rows.
func (s *Scatter) numbers(to *Store, shift uint8, c *Columns, start int, rows []*Row) {
	kind, revision := c.Kind.Codes[start:][:len(rows)], c.Revision[start:][:len(rows)]
	validTime, qty := c.ValidTime[start:][:len(rows)], c.Qty[start:][:len(rows)]
	places, kinds, mask := s.places[:len(rows)], s.kinds, uint32(1)<<(shift&31)-1
	for i, row := range rows {
		if row == nil {
			continue
		}
		row.ValidTime, row.key = validTime[i], uint16(places[i]&mask)
		if k := kinds[kind[i]]; !row.setNarrow(k, revision[i], qty[i]) {
			row.setNumbers(k, revision[i], qty[i], &to.buckets[places[i]>>(shift&31)].numbers)
		}
	}
}

// identities writes the transaction IDs of a block's rows.
func (s *Scatter) identities(to *Store, shift uint8, txn *Strings, start int, rows []*Row) {
	ends, at := txn.Offsets[start+1:][:len(rows)], txn.Offsets[start]
	for i, row := range rows {
		id, n := txn.Data[at:], ends[i]-at
		at = ends[i]
		if row == nil {
			continue
		}
		if n <= shortMax && len(id) >= 16 {
			row.TxnID = packFrom(id, n)
		} else {
			row.TxnID = pack(id[:n], s.seed, &to.buckets[s.places[i]>>(shift&31)].arena, to.number)
		}
	}
}

// reserve gives each row of a block its place in a bucket, nil where it is not kept.
func (s *Scatter) reserve(to *Store, shift uint8, places []uint32, rows []*Row) {
	from, keep, records := s.from, s.to-s.from, to.records
	rows = rows[:len(places)]
	for i, place := range places {
		bucket := place >> (shift & 31)
		if bucket-from >= keep {
			rows[i] = nil
			continue
		}
		e := &to.ends[bucket]
		if e.used == chunkRows {
			to.grow(bucket)
		}
		rows[i] = &e.open[e.used%chunkRows]
		e.used++
		records[place]++
	}
}

// fetch reads from the places of rows, so that this memory is on its way before they are written: a processor waits for
// many reads at a time, but for one write after the other. The sum is of no use but to keep the reads.
func fetch(rows []*Row) (sum int64) {
	for _, row := range rows {
		if row != nil {
			sum += row.ValidTime
		}
	}
	return sum
}

// Record appends one accepted record of a partition, as a decoder of the namespace gave it.
func (s *Scatter) Record(to *Store, partition, key int32, txn []byte, revision int64, kind uint8, validTime, qty int64) {
	part := &s.layout.parts[partition]
	place := uint32(s.layout.places[key] - part.first)
	bucket := place >> part.shift
	if bucket-s.from >= s.to-s.from {
		return
	}
	row := to.next(bucket)
	to.records[place]++
	row.TxnID = pack(txn, s.seed, &to.buckets[bucket].arena, to.number)
	row.ValidTime, row.key = validTime, uint16(place&(1<<part.shift-1))
	row.setNumbers(kind, revision, qty, &to.buckets[bucket].numbers)
}

// maxTxnID is the longest transaction ID in bytes.
const maxTxnID = 256

// fault says what is wrong with the first record from start on that fails the checks.
func (s *Scatter) fault(partition int32, c *Columns, start int) error {
	for i := start; i < c.Accepted; i++ {
		if err := s.check(partition, c, i); err != nil {
			return &RowError{i, err}
		}
	}
	return &RowError{start, errBlock}
}

// check checks one record.
func (s *Scatter) check(partition int32, c *Columns, i int) error {
	place, err := s.keys.find(c.Item.Codes[i], c.Location.Codes[i])
	if err != nil {
		return err
	}
	part, kind, txn := &s.layout.parts[partition], uint8(0), c.TxnID.Value(i)
	if code := c.Kind.Codes[i]; uint(code) < uint(len(s.kinds)) {
		kind = s.kinds[code]
	}
	switch {
	case place < part.first || place-part.first >= part.keys:
		return errPartition
	case kind == 0:
		return errKind
	case c.Revision[i] < 1:
		return errRevision
	case kind == KindCancel && c.Qty[i] != 0:
		return errCancelQty
	case c.ValidTime[i] < s.layout.Origin:
		return errOrigin
	case len(txn) < 1 || len(txn) > maxTxnID || !validText(txn):
		return errTxnID
	}
	return nil
}

// kindsOf numbers the entries of the dictionary of kinds, 0 for a foreign one.
func (s *Scatter) kindsOf(d *Dictionary) {
	s.kinds = s.kinds[:0]
	for _, v := range d.Values {
		s.kinds = append(s.kinds, KindOf(v))
	}
}

// KindOf numbers a kind, 0 where it is none.
func KindOf(text []byte) uint8 {
	switch string(text) {
	case "NEW":
		return KindNew
	case "AMEND":
		return KindAmend
	case "CANCEL":
		return KindCancel
	}
	return 0
}

// plainText reports whether all bytes are ASCII other than U+0000, which makes every part valid.
func plainText(b []byte) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; len(b) >= 32; b = b[32:] {
		w, x := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		y, z := binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
		if (w|(w-ones)|x|(x-ones)|y|(y-ones)|z|(z-ones))&highs != 0 { // a high bit, or one borrowed from a zero
			return false
		}
	}
	for _, c := range b {
		if c-1 >= 0x7F {
			return false
		}
	}
	return true
}

// validText reports whether a transaction ID is UTF-8 without U+0000.
func validText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// keyTable finds stock keys by a pair of dictionary codes: text is looked up once for each entry of a dictionary, not for
// each row.
type keyTable struct {
	layout           *Layout
	items, locations []int32 // by code, numbers in the layout, -1 for a foreign text
}

// reset begins with other dictionaries.
func (t *keyTable) reset(layout *Layout, item, location *Dictionary) {
	t.layout = layout
	t.items = numbers(t.items[:0], item, layout.items)
	t.locations = numbers(t.locations[:0], location, layout.locations)
}

// numbers looks the entries of a dictionary up.
func numbers(to []int32, d *Dictionary, known map[string]int32) []int32 {
	for _, v := range d.Values {
		n, ok := known[string(v)]
		if !ok {
			n = -1
		}
		to = append(to, n)
	}
	return to
}

// find returns the place of the key of a pair of codes.
func (t *keyTable) find(item, location int32) (int32, error) {
	if uint(item) >= uint(len(t.items)) || uint(location) >= uint(len(t.locations)) {
		return 0, errDictCode
	}
	place := t.layout.find(t.items[item], t.locations[location])
	if place < 0 {
		return 0, errKey
	}
	return place, nil
}
