package vectorized

// Kinds as Row numbers them.
const (
	KindNew    uint8 = 1
	KindAmend  uint8 = 2
	KindCancel uint8 = 3
)

// Row is one accepted record, or one revision of an identity while a key is resolved. It has no pointers, so that
// millions of them cost the collector nothing.
type Row struct {
	TxnID TxnID
	// Revision is 1..MaxInt64.
	Revision int64
	// ValidTime is nanoseconds since the Unix epoch; Qty is the signed movement.
	ValidTime, Qty int64
	// Count is the number of records that the row stands for.
	Count uint32
	// Key is the index of the stock key among those of its bucket.
	Key  uint16
	Kind uint8
	// Conflict says that the records of the row's revision hold distinct payloads.
	Conflict bool
}

// RowBytes is the memory of one Row.
const RowBytes = 48

// samePayload reports whether two records of one identity and revision are exact duplicates (S3).
func (r *Row) samePayload(other *Row) bool {
	return r.Kind == other.Kind && r.ValidTime == other.ValidTime && r.Qty == other.Qty
}
