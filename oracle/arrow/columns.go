package arrow

import (
	"context"
	"fmt"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/vectorized"
)

// ComputeColumns computes from typed columns, under a namespace of the same business digest. Everything that the
// contract says of an accepted record is checked as far as typed columns tell; an error names the file.
func (e Engine) ComputeColumns(ctx context.Context, ns *manifests.Namespace, source vectorized.Source, o Options) (*Result, error) {
	return e.computeFiles(ctx, ns, source, o, func() groupReader {
		decoder := source.NewDecoder()
		return func(w *worker, c *computation, part vectorized.Loaded, partition int32, group int, again bool) error {
			columns, err := decoder.Columns(part, group)
			if err != nil {
				return err
			}
			if err := w.scatter.Columns(c.store(w, partition), partition, columns); err != nil {
				return part.Fault(err)
			}
			if again { // the first pass noted them
				return nil
			}
			if err := w.reject(partition, columns); err != nil {
				return part.Fault(err)
			}
			return nil
		}
	})
}

// ComputeRaw computes from raw records, each decoded again: nothing rests on what the export made of them. An error names
// the file.
func (e Engine) ComputeRaw(ctx context.Context, ns *manifests.Namespace, source vectorized.RawSource, o Options) (*Result, error) {
	judge := decode.New(ns)
	return e.computeFiles(ctx, ns, source, o, func() groupReader {
		decoder := source.NewDecoder()
		return func(w *worker, c *computation, part vectorized.Loaded, partition int32, group int, again bool) error {
			columns, err := decoder.Columns(part, group)
			if err != nil {
				return err
			}
			columns.Each(func(offset int64, key, value []byte) {
				w.judge(c, judge, &engine.Record{Partition: partition, Offset: offset, Key: key, Value: value}, again)
			})
			return nil
		}
	})
}

// groupReader appends the records of one group of a part; again says that the part was read before.
type groupReader func(w *worker, c *computation, part vectorized.Loaded, partition int32, group int, again bool) error

// loader is what typed and raw sources have in common.
type loader interface {
	Parts() []vectorized.Part
	Load(ctx context.Context, i int, buffer []byte) (vectorized.Loaded, []byte, error)
}

// computeFiles computes from parts, round by round; each worker reads groups with a reader of its own.
func (e Engine) computeFiles(ctx context.Context, ns *manifests.Namespace, source loader, o Options, reader func() groupReader) (*Result, error) {
	o = o.withDefaults()
	parts := source.Parts()
	rows := make([]int64, ns.Spec.Source.Partitions)
	for _, p := range parts {
		if int(p.Partition) >= len(rows) {
			return nil, fmt.Errorf("partition %d, the namespace has %d", p.Partition, len(rows))
		}
		rows[p.Partition] += p.Rows
	}
	c := e.newComputation(ctx, ns, rows, o)
	defer c.chunks.Release()
	for _, w := range c.workers {
		w.read = reader()
	}
	all := rounds(parts, min(o.Memory/2, roundMemory))
	if err := c.run(stages(all, parts, o, c.layout), &files{source: source}); err != nil {
		return nil, err
	}
	c.result.arrange()
	return c.result, nil
}

// reject notes the rejected records of columns.
func (w *worker) reject(partition int32, c *vectorized.Columns) error {
	if len(c.RejectAt) == 0 {
		return nil
	}
	reasons := make([]decode.Reason, len(c.Reject.Values))
	for i, v := range c.Reject.Values {
		reasons[i] = decode.Reason(v)
		if !reasons[i].Known() {
			return fmt.Errorf("reject_reason %q is none that the decoder gives", v)
		}
	}
	for i, row := range c.RejectAt {
		code := c.Reject.Codes[i]
		if uint(code) >= uint(len(reasons)) {
			return fmt.Errorf("row %d: a code of reject_reason is outside its dictionary", row)
		}
		w.rejected = append(w.rejected, Rejected{partition, c.Offset[row], reasons[code]})
	}
	return nil
}
