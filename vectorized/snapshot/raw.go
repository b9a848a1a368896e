package snapshot

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/parquet-go/parquet-go"

	"amends.dev/amends/oracle/engine"
)

// ErrNoRaw says that a snapshot has no raw records to read.
var ErrNoRaw = errors.New("the snapshot has typed files only")

// History yields all records as the broker delivered them, from the raw files, partition after partition in offset
// order. The typed files are not read, nor is the broker's time, on which nothing depends.
func (s *Snapshot) History() engine.History {
	return func(ctx context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			if !s.index.Raw {
				yield(engine.Record{}, fmt.Errorf("%s: %w", s.dir, ErrNoRaw))
				return
			}
			s.yieldRaw(ctx, s.FilesOf(KindRaw), yield)
		}
	}
}

// yieldRaw yields the records of raw files, until one is damaged or no more are wanted.
func (s *Snapshot) yieldRaw(ctx context.Context, files []File, yield func(engine.Record, error) bool) {
	var buffer []byte
	for _, f := range files {
		o, grown, err := s.open(ctx, f, buffer)
		buffer = grown
		more := true
		if err == nil {
			more, err = o.records(ctx, func(r engine.Record) bool { return yield(r, nil) })
		}
		if err != nil {
			yield(engine.Record{}, err)
		}
		if err != nil || !more {
			return
		}
	}
}

// records yields the records of a file and reports whether the consumer wants more.
func (o *opened) records(ctx context.Context, yield func(engine.Record) bool) (bool, error) {
	var records []engine.Record
	for _, group := range o.groups {
		err := guard(func() (err error) {
			records, err = o.group(records[:0], group)
			return errors.Join(err, ctx.Err())
		})
		if err != nil {
			return false, o.fault(ctx, err)
		}
		for _, r := range records {
			if !yield(r) {
				return false, nil
			}
		}
	}
	return true, nil
}

// group appends the rows of a row group as records.
func (o *opened) group(records []engine.Record, group parquet.RowGroup) ([]engine.Record, error) {
	err := readColumn(group, o.lookup[rawColumnPartition], func(v parquet.Value) error {
		if v.IsNull() {
			return errNull
		}
		records = append(records, engine.Record{Partition: v.Int32()})
		return o.order.partition(v.Int32())
	})
	fill := func(column int, set func(r *engine.Record, v parquet.Value) error) {
		if row := 0; err == nil {
			err = readColumn(group, o.lookup[column], func(v parquet.Value) error {
				row++
				return set(&records[row-1], v)
			})
		}
	}
	fill(rawColumnOffset, func(r *engine.Record, v parquet.Value) error {
		if v.IsNull() {
			return errNull
		}
		r.Offset = v.Int64()
		return o.order.offset(r.Offset)
	})
	fill(rawColumnKey, func(r *engine.Record, v parquet.Value) error {
		r.Key = rawBytes(v)
		return nil
	})
	fill(rawColumnValue, func(r *engine.Record, v parquet.Value) error {
		r.Value = rawBytes(v)
		return nil
	})
	return records, err
}

// errNull says that a coordinate is null, which a file of another writer could have.
var errNull = errors.New("a partition or an offset is null")

// rawBytes copies a value's bytes; nil is null and distinct from empty.
func rawBytes(v parquet.Value) []byte {
	if v.IsNull() {
		return nil
	}
	return append([]byte{}, v.ByteArray()...)
}
