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
// order. The typed files are not read.
func (s *Snapshot) History() engine.History {
	return func(ctx context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			if !s.index.Raw {
				yield(engine.Record{}, fmt.Errorf("%s: %w", s.dir, ErrNoRaw))
				return
			}
			for _, f := range s.FilesOf(KindRaw) {
				more, err := s.readRaw(ctx, f, func(r engine.Record) bool { return yield(r, nil) })
				if err != nil {
					yield(engine.Record{}, err)
					return
				}
				if !more {
					return
				}
			}
		}
	}
}

// readRaw yields the records of one raw file and reports whether the consumer wants more.
func (s *Snapshot) readRaw(ctx context.Context, f File, yield func(engine.Record) bool) (bool, error) {
	o, err := s.open(ctx, f, rawSchema)
	if err != nil {
		return false, err
	}
	defer o.close()
	var records []engine.Record
	for _, group := range o.groups {
		err := guard(func() (err error) {
			records, err = rawRecords(records[:0], group, o.order)
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

// rawRecords appends the rows of a row group as records.
func rawRecords(records []engine.Record, group parquet.RowGroup, order *order) ([]engine.Record, error) {
	err := readColumn(group, partPartition, func(v parquet.Value) error {
		records = append(records, engine.Record{Partition: v.Int32()})
		return order.partition(v.Int32())
	})
	if err != nil {
		return nil, err
	}
	fill := func(column int, set func(r *engine.Record, v parquet.Value) error) {
		row := 0
		if err == nil {
			err = readColumn(group, column, func(v parquet.Value) error {
				row++
				return set(&records[row-1], v)
			})
		}
	}
	fill(partOffset, func(r *engine.Record, v parquet.Value) error {
		r.Offset = v.Int64()
		return order.offset(r.Offset)
	})
	fill(partBrokerTime, func(r *engine.Record, v parquet.Value) error {
		r.BrokerTime = v.Int64()
		return nil
	})
	fill(rawKey, func(r *engine.Record, v parquet.Value) error {
		r.Key = rawBytes(v)
		return nil
	})
	fill(rawValue, func(r *engine.Record, v parquet.Value) error {
		r.Value = rawBytes(v)
		return nil
	})
	return records, err
}

// rawBytes copies a value's bytes; nil is null and distinct from empty.
func rawBytes(v parquet.Value) []byte {
	if v.IsNull() {
		return nil
	}
	return append([]byte{}, v.ByteArray()...)
}
