package vectorized

import (
	"errors"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Kinds as the Kind column numbers them.
const (
	KindNew    uint8 = 1
	KindAmend  uint8 = 2
	KindCancel uint8 = 3
)

// Ledger is the accepted records of a history as columns of equal length without nulls, in any order (S3).
type Ledger struct {
	// Key is the index of the stock key in the namespace's sorted StockKeys.
	Key *array.Int32
	// TxnID has 64-bit offsets, because a history's transaction IDs may exceed 2 GiB.
	TxnID *array.LargeString
	// Revision is 1..MaxInt64.
	Revision *array.Int64
	// Kind is KindNew, KindAmend or KindCancel.
	Kind *array.Uint8
	// ValidTime is nanoseconds since the Unix epoch.
	ValidTime *array.Int64
	// Qty is the signed movement.
	Qty *array.Int64
}

// Rows is the number of records.
func (l *Ledger) Rows() int { return l.Key.Len() }

// Release gives the columns back to their allocator.
func (l *Ledger) Release() {
	for _, column := range []arrow.Array{l.Key, l.TxnID, l.Revision, l.Kind, l.ValidTime, l.Qty} {
		column.Release()
	}
}

// samePayload reports whether two records of one identity and revision are exact duplicates: equal in every field of
// the canonical payload (S3).
func (l *Ledger) samePayload(a, b uint32) bool {
	i, j := int(a), int(b)
	return l.Kind.Value(i) == l.Kind.Value(j) && l.ValidTime.Value(i) == l.ValidTime.Value(j) && l.Qty.Value(i) == l.Qty.Value(j)
}

// ErrTooManyRows says that a ledger is full: rows are numbered in 32 bits.
var ErrTooManyRows = errors.New("more than 4294967295 accepted records in one computation")

// LedgerBuilder collects a Ledger.
type LedgerBuilder struct {
	key       *array.Int32Builder
	txnID     *array.LargeStringBuilder
	revision  *array.Int64Builder
	kind      *array.Uint8Builder
	validTime *array.Int64Builder
	qty       *array.Int64Builder
}

// NewLedgerBuilder is an empty builder; Release it after use.
func NewLedgerBuilder(mem memory.Allocator) *LedgerBuilder {
	return &LedgerBuilder{
		key:       array.NewInt32Builder(mem),
		txnID:     array.NewLargeStringBuilder(mem),
		revision:  array.NewInt64Builder(mem),
		kind:      array.NewUint8Builder(mem),
		validTime: array.NewInt64Builder(mem),
		qty:       array.NewInt64Builder(mem),
	}
}

// Append adds one accepted record. It fails with ErrTooManyRows only.
func (b *LedgerBuilder) Append(key int32, txnID string, revision int64, kind uint8, validTime, qty int64) error {
	if uint64(b.key.Len()) >= math.MaxUint32 {
		return ErrTooManyRows
	}
	b.key.Append(key)
	b.txnID.Append(txnID)
	b.revision.Append(revision)
	b.kind.Append(kind)
	b.validTime.Append(validTime)
	b.qty.Append(qty)
	return nil
}

// Ledger returns what was appended and empties the builder.
func (b *LedgerBuilder) Ledger() *Ledger {
	return &Ledger{
		Key:       b.key.NewInt32Array(),
		TxnID:     b.txnID.NewLargeStringArray(),
		Revision:  b.revision.NewInt64Array(),
		Kind:      b.kind.NewUint8Array(),
		ValidTime: b.validTime.NewInt64Array(),
		Qty:       b.qty.NewInt64Array(),
	}
}

// Release gives the builder's memory back.
func (b *LedgerBuilder) Release() {
	for _, builder := range []array.Builder{b.key, b.txnID, b.revision, b.kind, b.validTime, b.qty} {
		builder.Release()
	}
}
