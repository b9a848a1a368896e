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
	// The columns of the row group that is being written, and the first error.
	writers []*parquet.ColumnWriter
	rows    int
	values  []parquet.Value
	err     error
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
	b.begin(b.pair.part, run.Rows)
	b.coordinates(run)
	b.column(partItem, run.RejectAt, codes(&run.Item, partItem))
	b.column(partLocation, run.RejectAt, codes(&run.Location, partLocation))
	b.column(partTxnID, run.RejectAt, texts(&run.TxnID, partTxnID))
	b.column(partRevision, run.RejectAt, optionals(run.Revision, partRevision))
	b.column(partKind, run.RejectAt, codes(&run.Kind, partKind))
	b.column(partValidTime, run.RejectAt, optionals(run.ValidTime, partValidTime))
	b.column(partQty, run.RejectAt, optionals(run.Qty, partQty))
	b.column(partSourceTime, run.RejectAt, optionals(run.SourceTime, partSourceTime))
	b.column(partRejectReason, others(run.RejectAt, run.Rows), codes(&run.Reject, partRejectReason))
	if b.pair.raw == nil {
		return b.err
	}
	err := b.err
	b.begin(b.pair.raw, run.Rows)
	b.coordinates(run)
	b.column(rawKey, nulls(run.Raw.KeyLevels), texts(&run.Raw.Key, rawKey))
	b.column(rawValue, nulls(run.Raw.ValueLevels), texts(&run.Raw.Value, rawValue))
	return errors.Join(err, b.err)
}

// begin turns to the columns of a file.
func (b *bulkWriter) begin(file *parquetFile, rows int) {
	b.writers, b.rows, b.err = file.rows.ColumnWriters(), rows, nil
	if b.values == nil {
		b.values = make([]parquet.Value, 0, batchValues)
	}
}

// coordinates writes the columns that both files have.
func (b *bulkWriter) coordinates(run *Bulk) {
	partition := required(parquet.Int32Value(b.partition), partPartition)
	b.column(partPartition, nil, func(to []parquet.Value, _ int) {
		for i := range to {
			to[i] = partition
		}
	})
	b.column(partOffset, nil, integers(run.Offset, partOffset))
	b.column(partBrokerTime, nil, integers(run.BrokerTime, partBrokerTime))
}

// filler fills in values of a column, from the n-th that is not null.
type filler func(to []parquet.Value, n int)

// batchValues is the number of values that are handed to the Parquet writer at a time: few enough to stay in a cache.
const batchValues = 2048

// column writes a column, which is null in some rows. After an error it does nothing.
func (b *bulkWriter) column(column int, nulls []uint32, fill filler) {
	batch, present := b.values[:0], 0
	for row := 0; row < b.rows && b.err == nil; {
		n := min(batchValues-len(batch), b.rows-row)
		if len(nulls) > 0 {
			n = min(n, int(nulls[0])-row)
		}
		at := len(batch)
		batch = batch[:at+n]
		fill(batch[at:], present)
		present, row = present+n, row+n
		if len(nulls) > 0 && row == int(nulls[0]) && len(batch) < batchValues {
			batch, nulls = append(batch, null(column)), nulls[1:]
			row++
		}
		if len(batch) == batchValues || row == b.rows {
			_, b.err = b.writers[column].WriteRowValues(batch)
			batch = batch[:0]
		}
	}
}

// integers are the values of a column without nulls.
func integers(values []int64, column int) filler {
	return func(to []parquet.Value, n int) {
		for i, v := range values[n : n+len(to)] {
			to[i] = required(parquet.Int64Value(v), column)
		}
	}
}

// optionals are the values of a column that may have nulls.
func optionals(values []int64, column int) filler {
	return func(to []parquet.Value, n int) {
		for i, v := range values[n : n+len(to)] {
			to[i] = present(parquet.Int64Value(v), column)
		}
	}
}

// codes are the values of a column of few texts.
func codes(d *vectorized.Dictionary, column int) filler {
	entries := make([]parquet.Value, len(d.Values))
	for i, v := range d.Values {
		entries[i] = present(parquet.ByteArrayValue(v), column)
	}
	return func(to []parquet.Value, n int) {
		for i, code := range d.Codes[n : n+len(to)] {
			to[i] = entries[code]
		}
	}
}

// texts are the values of a column of many texts.
func texts(s *vectorized.Strings, column int) filler {
	return func(to []parquet.Value, n int) {
		for i := range to {
			to[i] = present(parquet.ByteArrayValue(s.Value(n+i)), column)
		}
	}
}

// others are the rows that are none of these, which ascend.
func others(of []uint32, rows int) []uint32 {
	all := make([]uint32, 0, rows-len(of))
	for row := range uint32(rows) {
		if len(of) > 0 && of[0] == row {
			of = of[1:]
			continue
		}
		all = append(all, row)
	}
	return all
}

// nulls are the rows whose level is 0.
func nulls(levels []byte) []uint32 {
	var all []uint32
	for row, level := range levels {
		if level == 0 {
			all = append(all, uint32(row))
		}
	}
	return all
}
