package snapshot

import (
	"errors"
	"fmt"
	"iter"
	"sync"

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

// WriteBulk writes a new set from columns: a generated history, with raw files or without. Partitions are written
// at the same time; next yields the runs of one partition, each with the offsets that follow, and is called by one
// goroutine for each partition. The folder must not be there, or be empty.
func WriteBulk(dir string, ns *manifests.Namespace, meta Meta, raw bool, next func(partition int32) iter.Seq[*Bulk]) error {
	w, err := create(disk{}, standard, dir, ns, meta)
	if err != nil {
		return err
	}
	if err := w.bulk(raw, next); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", dir, err), w.Abort())
	}
	return w.Close()
}

// errNotNew says that a folder holds a set already.
var errNotNew = errors.New("it holds a snapshot or the beginning of one")

// bulk writes all partitions.
func (w *Writer) bulk(raw bool, next func(partition int32) iter.Seq[*Bulk]) error {
	if w.folder == w.dir || len(w.index.Files) > 0 {
		return errNotNew
	}
	w.index.Raw = raw
	files, errs := make([][]File, len(w.next)), make([]error, len(w.next))
	var all sync.WaitGroup
	for p := range w.next {
		all.Go(func() {
			b := bulkWriter{w: w, partition: int32(p)}
			files[p], errs[p] = b.write(next(int32(p)))
			if errs[p] != nil && b.pair != nil {
				errs[p] = errors.Join(errs[p], b.pair.discard(w.storage))
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
func (b *bulkWriter) write(runs iter.Seq[*Bulk]) ([]File, error) {
	for run := range runs {
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
