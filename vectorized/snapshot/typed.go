package snapshot

import (
	"context"
	"errors"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"

	"amends.dev/amends/vectorized"
)

// Batches yields the typed rows as batches of vectorized.Schema, one for each row group, partition after partition in
// offset order. A batch is valid until the next one is yielded. The raw files are not read.
func (s *Snapshot) Batches(ctx context.Context, mem memory.Allocator) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		for _, f := range s.files("part") {
			more, err := s.readTyped(ctx, mem, f, func(b arrow.RecordBatch) bool { return yield(b, nil) })
			if err != nil {
				yield(nil, err)
				return
			}
			if !more {
				return
			}
		}
	}
}

// readTyped yields the row groups of one typed file and reports whether the consumer wants more.
func (s *Snapshot) readTyped(ctx context.Context, mem memory.Allocator, f File, yield func(arrow.RecordBatch) bool) (bool, error) {
	o, err := s.open(ctx, f, partSchema)
	if err != nil {
		return false, err
	}
	defer o.close()
	builder := array.NewRecordBuilder(mem, vectorized.Schema())
	defer builder.Release()
	for _, group := range o.groups {
		err := o.guard(func() error { return typedRows(builder, group, o.order) })
		if err = errors.Join(err, ctx.Err()); err != nil {
			return false, o.fault(ctx, err)
		}
		batch := builder.NewRecordBatch()
		more := yield(batch)
		batch.Release()
		if !more {
			return false, nil
		}
	}
	return true, nil
}

// typedRows appends the rows of a row group, column by column.
func typedRows(builder *array.RecordBuilder, group parquet.RowGroup, order *order) error {
	for column := range vectorized.Columns {
		if err := readColumn(group, column, appender(builder.Field(column), column, order)); err != nil {
			return err
		}
	}
	return nil
}

// errType says that a column is of none of the types of the schema; it cannot happen, as the schema was compared.
var errType = errors.New("a column of an unexpected type")

// appender returns what adds a column's values to its builder and checks coordinates on the way.
func appender(builder array.Builder, column int, order *order) func(v parquet.Value) error {
	switch b := builder.(type) {
	case *array.Int32Builder: // the partition
		return func(v parquet.Value) error {
			b.Append(v.Int32())
			return order.partition(v.Int32())
		}
	case *array.Int64Builder:
		if column == vectorized.ColumnOffset {
			return func(v parquet.Value) error {
				b.Append(v.Int64())
				return order.offset(v.Int64())
			}
		}
		return orNull(b, func(v parquet.Value) { b.Append(v.Int64()) })
	case *array.TimestampBuilder:
		return orNull(b, func(v parquet.Value) { b.Append(arrow.Timestamp(v.Int64())) })
	case *array.StringBuilder:
		return orNull(b, func(v parquet.Value) { b.BinaryBuilder.Append(v.ByteArray()) })
	}
	return func(parquet.Value) error { return errType }
}

// orNull appends nulls to a builder and leaves other values to add.
func orNull(b array.Builder, add func(v parquet.Value)) func(v parquet.Value) error {
	return func(v parquet.Value) error {
		if v.IsNull() {
			b.AppendNull()
		} else {
			add(v)
		}
		return nil
	}
}
