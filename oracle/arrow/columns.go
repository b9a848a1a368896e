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
		return func(w *worker, c *computation, part vectorized.Loaded, partition int32, group int) error {
			columns, err := decoder.Columns(part, group)
			if err != nil {
				return err
			}
			if err := w.scatter.Columns(c.store(w, partition), partition, columns); err != nil {
				return part.Fault(err)
			}
			if c.pass > 0 { // the first one noted them
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
		return func(w *worker, c *computation, part vectorized.Loaded, partition int32, group int) error {
			columns, err := decoder.Columns(part, group)
			if err != nil {
				return err
			}
			columns.Each(func(offset int64, key, value []byte) {
				w.judge(c, judge, &engine.Record{Partition: partition, Offset: offset, Key: key, Value: value})
			})
			return nil
		}
	})
}

// groupReader appends the records of one group of a part.
type groupReader func(w *worker, c *computation, part vectorized.Loaded, partition int32, group int) error

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
	files := files{source: source, parts: parts}
	for _, r := range rounds(parts, min(o.Memory, roundMemory)) {
		if err := c.round(&r, &files, o.Memory); err != nil {
			return nil, err
		}
	}
	c.result.sort()
	return c.result, nil
}

// files are the parts that are in memory; buffers are used again for others.
type files struct {
	source  loader
	parts   []vectorized.Part
	buffers [][]byte
	loaded  []vectorized.Loaded
}

// round computes the partitions of one round.
func (c *computation) round(r *round, f *files, memory int64) error {
	passes := 1
	if len(r.partitions) == 1 {
		passes = min(max(r.passes(memory), 1), max(c.layout.Buckets(r.partitions[0]), 1))
	}
	for c.pass = range passes {
		if err := c.onePass(r, f, passes); err != nil {
			return err
		}
	}
	return nil
}

// onePass reads the files of a round and resolves some of its buckets, or all.
func (c *computation) onePass(r *round, f *files, passes int) error {
	defer c.release()
	for _, batch := range batches(f.parts, r.parts, len(c.workers)) {
		if err := c.load(r, batch, f); err != nil {
			return err
		}
		if err := c.scatter(r, batch, f.loaded, passes); err != nil {
			return err
		}
	}
	return c.resolve(r.partitions, passes)
}

// share are the buckets of a partition that the present pass keeps.
func (c *computation) share(partition int32, passes int) (from, to int) {
	n := c.layout.Buckets(partition)
	return n * c.pass / passes, n * (c.pass + 1) / passes
}

// load reads and verifies the files of a batch, which are numbers in the round.
func (c *computation) load(r *round, batch []int, f *files) error {
	if missing := len(batch) - len(f.buffers); missing > 0 {
		f.buffers = append(f.buffers, make([][]byte, missing)...)
	}
	f.loaded = make([]vectorized.Loaded, len(batch))
	return parallel(c.ctx, len(c.workers), len(batch), func(_, i int) (err error) {
		f.loaded[i], f.buffers[i], err = f.source.Load(c.ctx, r.parts[batch[i]], f.buffers[i])
		return err
	})
}

// scatter decodes all groups of parts and appends their rows to the stores of their partitions.
func (c *computation) scatter(r *round, batch []int, loaded []vectorized.Loaded, passes int) error {
	type task struct {
		part      vectorized.Loaded
		partition int32
		group     int
	}
	var tasks []task
	for i, l := range loaded {
		for group := range l.Groups() {
			tasks = append(tasks, task{l, r.partitionOf[batch[i]], group})
		}
	}
	return parallel(c.ctx, len(c.workers), len(tasks), func(n, i int) error {
		w, t := c.workers[n], tasks[i]
		w.scatter.Keep(c.share(t.partition, passes))
		return w.read(w, c, t.part, t.partition, t.group)
	})
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
