package vectorized

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
)

// Positions of the typed columns in Schema.
const (
	ColumnPartition = iota
	ColumnOffset
	ColumnBrokerTime
	ColumnItem
	ColumnLocation
	ColumnTxnID
	ColumnRevision
	ColumnKind
	ColumnValidTime
	ColumnQty
	ColumnSourceTime
	ColumnRejectReason
	Columns
)

// Schema is the typed table of a source history, one row per record, as the oracle's decoder judged it (design section
// 7): item to source_time are null where reject_reason is not, and the other way round. Kinds are NEW, AMEND, CANCEL.
func Schema() *arrow.Schema { return schema }

var (
	nanos  = &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}
	schema = arrow.NewSchema([]arrow.Field{
		ColumnPartition:    {Name: "partition", Type: arrow.PrimitiveTypes.Int32},
		ColumnOffset:       {Name: "offset", Type: arrow.PrimitiveTypes.Int64},
		ColumnBrokerTime:   {Name: "broker_time", Type: &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}},
		ColumnItem:         {Name: "item", Type: arrow.BinaryTypes.String, Nullable: true},
		ColumnLocation:     {Name: "location", Type: arrow.BinaryTypes.String, Nullable: true},
		ColumnTxnID:        {Name: "txn_id", Type: arrow.BinaryTypes.String, Nullable: true},
		ColumnRevision:     {Name: "revision", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		ColumnKind:         {Name: "kind", Type: arrow.BinaryTypes.String, Nullable: true},
		ColumnValidTime:    {Name: "valid_time", Type: nanos, Nullable: true},
		ColumnQty:          {Name: "qty", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		ColumnSourceTime:   {Name: "source_time", Type: nanos, Nullable: true},
		ColumnRejectReason: {Name: "reject_reason", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
)

// TableBuilder turns records into batches of the typed table.
type TableBuilder struct {
	namespace *manifests.Namespace
	decoder   *decode.Decoder
	record    *array.RecordBuilder
	rows      int
}

// NewTableBuilder is an empty builder for records of one namespace; Release it after use.
func NewTableBuilder(mem memory.Allocator, ns *manifests.Namespace) *TableBuilder {
	return &TableBuilder{namespace: ns, decoder: decode.New(ns), record: array.NewRecordBuilder(mem, schema)}
}

// Append decodes one record and adds its row. The record may be reused afterwards.
func (b *TableBuilder) Append(r engine.Record) {
	tx, reason := b.decoder.Decode(r.Partition, r.Key, r.Value)
	b.rows++
	b.int32(ColumnPartition).Append(r.Partition)
	b.int64(ColumnOffset).Append(r.Offset)
	b.timestamp(ColumnBrokerTime).Append(arrow.Timestamp(r.BrokerTime))
	if reason != decode.Accepted {
		for column := ColumnItem; column < ColumnRejectReason; column++ {
			b.record.Field(column).AppendNull()
		}
		b.text(ColumnRejectReason).Append(string(reason))
		return
	}
	key := &b.namespace.Spec.StockKeys[tx.Key]
	b.text(ColumnItem).Append(key.Item)
	b.text(ColumnLocation).Append(key.Location)
	b.text(ColumnTxnID).BinaryBuilder.Append(tx.TxnID)
	b.int64(ColumnRevision).Append(tx.Revision)
	b.text(ColumnKind).Append(tx.Kind.String())
	b.timestamp(ColumnValidTime).Append(arrow.Timestamp(tx.ValidTime))
	b.int64(ColumnQty).Append(tx.Qty)
	b.timestamp(ColumnSourceTime).Append(arrow.Timestamp(tx.SourceTime))
	b.text(ColumnRejectReason).AppendNull()
}

// Rows is the number of rows since the last batch.
func (b *TableBuilder) Rows() int { return b.rows }

// Batch returns the rows as a batch, which the caller releases, and empties the builder.
func (b *TableBuilder) Batch() arrow.RecordBatch {
	b.rows = 0
	return b.record.NewRecordBatch()
}

// Release gives the builder's memory back.
func (b *TableBuilder) Release() { b.record.Release() }

// The columns' builders have the types of the schema.
func (b *TableBuilder) int32(column int) *array.Int32Builder {
	return b.record.Field(column).(*array.Int32Builder)
}

func (b *TableBuilder) int64(column int) *array.Int64Builder {
	return b.record.Field(column).(*array.Int64Builder)
}

func (b *TableBuilder) timestamp(column int) *array.TimestampBuilder {
	return b.record.Field(column).(*array.TimestampBuilder)
}

func (b *TableBuilder) text(column int) *array.StringBuilder {
	return b.record.Field(column).(*array.StringBuilder)
}
