package vectorized

// Kinds as rows number them.
const (
	KindNew    uint8 = 1
	KindAmend  uint8 = 2
	KindCancel uint8 = 3
)

// Row is one accepted record in half a cache line. It has no pointers, so that millions of them cost the collector
// nothing.
type Row struct {
	TxnID TxnID
	// ValidTime is nanoseconds since the Unix epoch.
	ValidTime int64
	// qty is the signed movement, and the upper bits of bits are the revision, 1 to narrowRevision. Where one of them does
	// not fit, those bits are 0, and qty is the place of both in Annex.Numbers.
	qty int32
	// bits are the revision and, in the lower two, the kind.
	bits uint16
	// key is the index of the stock key among those of its bucket.
	key uint16
}

// RowBytes is the memory of one Row. A revision above 16,383, or a quantity that 32 bits cannot hold, takes numbersBytes
// more.
const RowBytes = 32

// kindBits are the bits of a kind, narrowRevision the highest revision that Row.bits hold.
const (
	kindBits       = 2
	narrowRevision = 1<<(16-kindBits) - 1
)

// Annex is what does not fit into the rows of a bucket.
type Annex struct {
	// IDs are the bytes of long transaction IDs.
	IDs Arenas
	// Numbers are revisions and quantities.
	Numbers []Numbers
}

// Numbers are the revision and the quantity of one row.
type Numbers struct{ Revision, Qty int64 }

// setNumbers sets kind, revision and quantity; large ones are appended to numbers.
func (r *Row) setNumbers(kind uint8, revision, qty int64, numbers *[]Numbers) {
	if !r.setNarrow(kind, revision, qty) {
		r.qty, r.bits = int32(len(*numbers)), uint16(kind)
		*numbers = append(*numbers, Numbers{revision, qty})
	}
}

// setNarrow sets kind, revision and quantity, and reports whether the row holds them.
func (r *Row) setNarrow(kind uint8, revision, qty int64) bool {
	r.qty, r.bits = int32(qty), uint16(revision)<<kindBits|uint16(kind)
	return revision <= narrowRevision && qty == int64(int32(qty))
}

// large reports whether revision and quantity are in the annex.
func (r *Row) large() bool { return r.bits>>kindBits == 0 }

// kind is the row's kind.
func (r *Row) kind() uint8 { return uint8(r.bits & (1<<kindBits - 1)) }

// active reports whether the record is no CANCEL (S3).
func (r *Row) active() bool { return r.kind() != KindCancel }

// revision is 1..MaxInt64.
func (r *Row) revision(a *Annex) int64 {
	if r.large() {
		return a.Numbers[uint32(r.qty)].Revision
	}
	return int64(r.bits >> kindBits)
}

// quantity is the signed movement.
func (r *Row) quantity(a *Annex) int64 {
	if r.large() {
		return a.Numbers[uint32(r.qty)].Qty
	}
	return int64(r.qty)
}

// samePayload reports whether two records of one identity and revision are exact duplicates (S3).
func (r *Row) samePayload(other *Row, a *Annex) bool {
	return r.kind() == other.kind() && r.ValidTime == other.ValidTime && r.quantity(a) == other.quantity(a)
}
