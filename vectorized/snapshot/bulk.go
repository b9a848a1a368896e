package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parquet-go/parquet-go"

	"amends.dev/amends/manifests"
	"amends.dev/amends/vectorized"
)

// Bulk is a run of records of one partition with all columns of a typed file.
type Bulk struct {
	vectorized.Columns
	// BrokerTime (milliseconds since the Unix epoch) has one value for each record, SourceTime (nanoseconds) one for each
	// accepted one.
	BrokerTime, SourceTime []int64
	// Raw are the records as they were, where the set has raw files.
	Raw vectorized.RawColumns
}

// WriteBulk writes a new set from columns: a generated history, with raw files or without. As many partitions as there are
// processors are written at the same time, each by one goroutine, the one with the most offsets first; next yields the
// runs of one partition, each with the offsets that follow. The folder must not be there, or be empty. After the end of the
// context nothing is published.
func WriteBulk(ctx context.Context, dir string, ns *manifests.Namespace, meta Meta, raw bool, next func(partition int32) iter.Seq[*Bulk]) error {
	w, err := create(disk{}, standard, dir, ns, meta)
	if err != nil {
		return err
	}
	if err := w.bulk(ctx, raw, next); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", dir, err), w.Abort())
	}
	return w.Close()
}

// errNotNew says that a folder holds a set already.
var errNotNew = errors.New("it holds a snapshot or the beginning of one")

// offsets is the number of offsets of a partition.
func (m *Meta) offsets(p int32) int64 { return m.Ends[p] - m.Starts[p] }

// bulkPartition writes a partition, or nothing.
func (w *Writer) bulkPartition(ctx context.Context, p int32, runs iter.Seq[*Bulk]) ([]File, error) {
	b := bulkWriter{w: w, partition: p}
	files, err := b.write(ctx, runs)
	if err != nil && b.pair != nil {
		err = errors.Join(err, b.pair.discard(w.storage))
	}
	return files, err
}

// bulk writes all partitions.
func (w *Writer) bulk(ctx context.Context, raw bool, next func(partition int32) iter.Seq[*Bulk]) error {
	if w.folder == w.dir || len(w.index.Files) > 0 {
		return errNotNew
	}
	w.index.Raw = raw
	order := make([]int32, len(w.next))
	for p := range order {
		order[p] = int32(p)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(w.index.offsets(b), w.index.offsets(a)) })
	files, errs := make([][]File, len(w.next)), make([]error, len(w.next))
	var at atomic.Int32
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(order)) {
		all.Go(func() {
			for n := at.Add(1) - 1; int(n) < len(order); n = at.Add(1) - 1 {
				p := order[n]
				files[p], errs[p] = w.bulkPartition(ctx, p, next(p))
			}
		})
	}
	all.Wait()
	for p := range files {
		w.index.Files = append(w.index.Files, files[p]...)
	}
	return errors.Join(errs...)
}

// bulkWriter writes the files of one partition.
type bulkWriter struct {
	w         *Writer
	partition int32
	pair      *pair // the open files; raw is nil where the set has none
	number    int
	files     []File
	values    []parquet.Value
}

// write writes all runs, each as a row group.
func (b *bulkWriter) write(ctx context.Context, runs iter.Seq[*Bulk]) ([]File, error) {
	for run := range runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if run.Rows == 0 {
			continue
		}
		if err := b.add(run); err != nil {
			return nil, err
		}
	}
	return b.files, b.close()
}

// add writes a row group.
func (b *bulkWriter) add(run *Bulk) (err error) {
	if b.pair == nil {
		if b.pair, err = newPair(b.w, b.partition, b.number); err != nil {
			return err
		}
		b.pair.first = run.Offset[0]
	}
	if err := b.columns(run); err != nil {
		return err
	}
	b.pair.last, b.pair.rows = run.Offset[run.Rows-1], b.pair.rows+int64(run.Rows)
	if err := b.pair.endGroup(); err != nil || !b.pair.full() {
		return err
	}
	return b.close()
}

// close completes the open files.
func (b *bulkWriter) close() error {
	if b.pair == nil {
		return nil
	}
	files, err := b.pair.finish()
	if err != nil {
		return err // the files are discarded with the export
	}
	b.files, b.pair, b.number = append(b.files, files...), nil, b.number+1
	return nil
}

// columns writes the values of a row group, column by column.
func (b *bulkWriter) columns(run *Bulk) error {
	columns := b.pair.part.rows.ColumnWriters()
	accepted := make([]bool, run.Rows)
	for i := range accepted {
		accepted[i] = true
	}
	for _, row := range run.RejectAt {
		accepted[row] = false
	}
	integer := func(v []int64) func(i int) parquet.Value {
		return func(i int) parquet.Value { return parquet.Int64Value(v[i]) }
	}
	code := func(d *vectorized.Dictionary) func(i int) parquet.Value {
		return func(i int) parquet.Value { return parquet.ByteArrayValue(d.Values[d.Codes[i]]) }
	}
	partition := func(int) parquet.Value { return parquet.Int32Value(b.partition) }
	txn := func(i int) parquet.Value { return parquet.ByteArrayValue(run.TxnID.Value(i)) }
	err := b.required(columns, partPartition, run.Rows, partition)
	err = errors.Join(err, b.required(columns, partOffset, run.Rows, integer(run.Offset)))
	err = errors.Join(err, b.required(columns, partBrokerTime, run.Rows, integer(run.BrokerTime)))
	for _, c := range []struct {
		column int
		value  func(i int) parquet.Value
	}{
		{partItem, code(&run.Item)}, {partLocation, code(&run.Location)}, {partTxnID, txn}, {partRevision, integer(run.Revision)},
		{partKind, code(&run.Kind)}, {partValidTime, integer(run.ValidTime)}, {partQty, integer(run.Qty)},
		{partSourceTime, integer(run.SourceTime)},
	} {
		err = errors.Join(err, b.optional(columns, c.column, accepted, true, c.value))
	}
	err = errors.Join(err, b.optional(columns, partRejectReason, accepted, false, code(&run.Reject)))
	if b.pair.raw == nil {
		return err
	}
	columns = b.pair.raw.rows.ColumnWriters()
	err = errors.Join(err, b.required(columns, partPartition, run.Rows, partition))
	err = errors.Join(err, b.required(columns, partOffset, run.Rows, integer(run.Offset)))
	err = errors.Join(err, b.required(columns, partBrokerTime, run.Rows, integer(run.BrokerTime)))
	err = errors.Join(err, b.nullable(columns, rawKey, run.Rows, &run.Raw.Key, run.Raw.KeyLevels))
	return errors.Join(err, b.nullable(columns, rawValue, run.Rows, &run.Raw.Value, run.Raw.ValueLevels))
}

// nullable writes a column of bytes that is null where its level is 0; no levels mean no nulls.
func (b *bulkWriter) nullable(columns []*parquet.ColumnWriter, column, rows int, values *vectorized.Strings, levels []byte) error {
	b.values = b.values[:0]
	n := 0
	for row := range rows {
		if len(levels) > 0 && levels[row] == 0 {
			b.values = append(b.values, null(column))
			continue
		}
		b.values = append(b.values, present(parquet.ByteArrayValue(values.Value(n)), column))
		n++
	}
	_, err := columns[column].WriteRowValues(b.values)
	return err
}

// required writes a column without nulls.
func (b *bulkWriter) required(columns []*parquet.ColumnWriter, column, rows int, value func(i int) parquet.Value) error {
	b.values = b.values[:0]
	for i := range rows {
		b.values = append(b.values, required(value(i), column))
	}
	_, err := columns[column].WriteRowValues(b.values)
	return err
}

// optional writes a column that has a value in the rows of one kind and null in the others.
func (b *bulkWriter) optional(columns []*parquet.ColumnWriter, column int, accepted []bool, of bool, value func(i int) parquet.Value) error {
	b.values = b.values[:0]
	n := 0
	for _, is := range accepted {
		if is != of {
			b.values = append(b.values, null(column))
			continue
		}
		b.values = append(b.values, present(value(n), column))
		n++
	}
	_, err := columns[column].WriteRowValues(b.values)
	return err
}
