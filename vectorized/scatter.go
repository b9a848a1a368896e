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
)

// Scatter appends the accepted records of Columns to stores. Its memory is reused; it is for one goroutine.
type Scatter struct {
	layout *Layout
	seed   maphash.Seed
	keys   keyTable
	kinds  []uint8
	// Rows of buckets outside from..to-1 are checked and not kept.
	from, to int32
}

// NewScatter returns a kernel over a layout. All Scatters of one computation have the same seed.
func NewScatter(layout *Layout, seed maphash.Seed) *Scatter {
	return &Scatter{layout: layout, seed: seed, to: math.MaxInt32}
}

// Keep keeps rows of buckets from to to-1 from now on. Where a partition's rows do not fit into memory at once, it is
// read several times over, for some of its buckets at a time.
func (s *Scatter) Keep(from, to int) { s.from, s.to = int32(from), int32(to) }

// Columns appends the accepted records of a partition. Everything that the contract says of an accepted record and that
// can be told from the typed columns is checked; the error is a *RowError.
func (s *Scatter) Columns(to *Store, partition int32, c *Columns) error {
	s.keys.reset(s.layout, &c.Item, &c.Location)
	s.kindsOf(&c.Kind)
	plain := plainText(c.TxnID.Data)
	n := c.Accepted
	item, location, kind := c.Item.Codes[:n], c.Location.Codes[:n], c.Kind.Codes[:n]
	revision, validTime, qty := c.Revision[:n], c.ValidTime[:n], c.Qty[:n]
	for i := range n {
		key, err := s.keys.find(item[i], location[i])
		if err != nil {
			return &RowError{i, err}
		}
		place := &s.layout.places[key]
		txn := c.TxnID.Value(i)
		k := uint8(0)
		if uint(kind[i]) < uint(len(s.kinds)) {
			k = s.kinds[kind[i]]
		}
		if place.partition != partition || k == 0 || revision[i] < 1 || validTime[i] < s.layout.Origin ||
			k == KindCancel && qty[i] != 0 || uint(len(txn)-1) > maxTxnID-1 || !plain && !validText(txn) {
			return &RowError{i, s.fault(place, partition, k, revision[i], validTime[i], qty[i])}
		}
		if place.bucket < s.from || place.bucket >= s.to {
			continue
		}
		bucket := &to.buckets[place.bucket]
		row := to.next(bucket)
		row.Revision, row.ValidTime, row.Qty = revision[i], validTime[i], qty[i]
		row.Count, row.Key, row.Kind, row.Conflict = 1, place.local, k, false
		if len(txn) <= shortMax {
			row.TxnID = packAt(c.TxnID.Data, c.TxnID.Offsets[i], len(txn))
		} else {
			row.TxnID = pack(txn, s.seed, &bucket.arena, to.number)
		}
	}
	return nil
}

// Record appends one accepted record of a partition, as a decoder of the namespace gave it.
func (s *Scatter) Record(to *Store, key int32, txn []byte, revision int64, kind uint8, validTime, qty int64) {
	place := &s.layout.places[key]
	if place.bucket < s.from || place.bucket >= s.to {
		return
	}
	bucket := &to.buckets[place.bucket]
	row := to.next(bucket)
	row.TxnID = pack(txn, s.seed, &bucket.arena, to.number)
	row.Revision, row.ValidTime, row.Qty = revision, validTime, qty
	row.Count, row.Key, row.Kind, row.Conflict = 1, place.local, kind, false
}

// maxTxnID is the longest transaction ID in bytes.
const maxTxnID = 256

// fault says what is wrong with a record that failed the checks.
func (s *Scatter) fault(p *place, partition int32, kind uint8, revision, validTime, qty int64) error {
	switch {
	case p.partition != partition:
		return errPartition
	case kind == 0:
		return errKind
	case revision < 1:
		return errRevision
	case kind == KindCancel && qty != 0:
		return errCancelQty
	case validTime < s.layout.Origin:
		return errOrigin
	}
	return errTxnID
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
	for ; len(b) >= 8; b = b[8:] {
		if w := binary.LittleEndian.Uint64(b); (w|(w-ones))&highs != 0 { // a high bit, or one borrowed from a zero
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
	layout          *Layout
	items, location []int32 // by code, numbers in the layout, -1 for a foreign text
}

// reset begins with other dictionaries.
func (t *keyTable) reset(layout *Layout, item, location *Dictionary) {
	t.layout = layout
	t.items = numbers(t.items[:0], item, layout.items)
	t.location = numbers(t.location[:0], location, layout.locations)
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

// find returns the key of a pair of codes.
func (t *keyTable) find(item, location int32) (int32, error) {
	if uint(item) >= uint(len(t.items)) || uint(location) >= uint(len(t.location)) {
		return 0, errDictCode
	}
	key := t.layout.find(t.items[item], t.location[location])
	if key < 0 {
		return 0, errKey
	}
	return key, nil
}
