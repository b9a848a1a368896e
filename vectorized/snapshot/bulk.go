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
func (w *Writer) bulkPartition(ctx context.Context, p int32, runs iter.Seq[*Bulk], e *encoder) ([]File, error) {
	b := bulkWriter{w: w, partition: p, encoder: e}
	files, err := b.write(ctx, runs)
	if err != nil && b.pair != nil {
		err = errors.Join(err, b.pair.discard(w.storage))
	}
	return files, err
}

// bulk writes all partitions, until one fails.
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
	var failed atomic.Bool
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(order)) {
		all.Go(func() {
			e := &encoder{}
			for n := at.Add(1) - 1; int(n) < len(order) && !failed.Load(); n = at.Add(1) - 1 {
				p := order[n]
				if files[p], errs[p] = w.bulkPartition(ctx, p, next(p), e); errs[p] != nil {
					failed.Store(true)
				}
			}
		})
	}
	all.Wait()
	for p := range files {
		w.index.Files = append(w.index.Files, files[p]...)
	}
	if ctx.Err() != nil { // once, not for each partition
		return ctx.Err()
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
	encoder   *encoder // of the goroutine that writes
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
	if err := b.pair.part.group(b.encoder, run.Rows, b.typed(run)); err != nil {
		return err
	}
	if b.pair.raw != nil {
		if err := b.pair.raw.group(b.encoder, run.Rows, b.raw(run)); err != nil {
			return err
		}
	}
	if b.pair.last = run.Offset[run.Rows-1]; !b.pair.full() {
		return nil
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

// typed are the columns of a typed file.
func (b *bulkWriter) typed(run *Bulk) []columnData {
	accepted, rejected := b.encoder.divide(run.RejectAt, run.Rows)
	return append(b.coordinates(run),
		columnData{levels: accepted, codes: &run.Item},
		columnData{levels: accepted, codes: &run.Location},
		columnData{levels: accepted, values: (*texts)(&run.TxnID)},
		columnData{levels: accepted, values: int64s(run.Revision)},
		columnData{levels: accepted, codes: &run.Kind},
		columnData{levels: accepted, values: int64s(run.ValidTime)},
		columnData{levels: accepted, values: int64s(run.Qty)},
		columnData{levels: accepted, values: int64s(run.SourceTime)},
		columnData{levels: rejected, codes: &run.Reject},
	)
}

// raw are the columns of a raw file.
func (b *bulkWriter) raw(run *Bulk) []columnData {
	return append(b.coordinates(run),
		columnData{levels: run.Raw.KeyLevels, values: (*texts)(&run.Raw.Key)},
		columnData{levels: run.Raw.ValueLevels, values: (*texts)(&run.Raw.Value)},
	)
}

// coordinates are the columns that both files begin with.
func (b *bulkWriter) coordinates(run *Bulk) []columnData {
	columns := make([]columnData, 0, partRejectReason+1)
	return append(columns,
		columnData{values: b.encoder.constant(b.partition, run.Rows)},
		columnData{values: int64s(run.Offset)},
		columnData{values: int64s(run.BrokerTime)},
	)
}
