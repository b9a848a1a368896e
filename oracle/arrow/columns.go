package arrow

import (
	"context"
	"fmt"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/vectorized"
)

// ComputeColumns computes from typed columns, under a namespace of the same business digest. Everything that the
// contract says of an accepted record is checked as far as typed columns tell; an error names the file.
func (e Engine) ComputeColumns(ctx context.Context, ns *manifests.Namespace, source vectorized.Source, o Options) (*Result, error) {
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
		w.decoder = source.NewDecoder()
	}
	files := files{source: source}
	for _, r := range rounds(parts, o.Memory) {
		if err := c.round(r, &files); err != nil {
			return nil, err
		}
	}
	c.result.sort()
	return c.result, nil
}

// files are the parts of a round in memory; buffers are used again in the next round.
type files struct {
	source  vectorized.Source
	buffers [][]byte
	loaded  []vectorized.Loaded
}

// round computes the partitions of one round.
func (c *computation) round(r round, f *files) error {
	defer c.release()
	if err := c.load(r.parts, f); err != nil {
		return err
	}
	if err := c.scatter(r.partitionOf, f.loaded); err != nil {
		return err
	}
	return c.resolve(r.partitions)
}

// load reads and verifies parts.
func (c *computation) load(parts []int, f *files) error {
	if missing := len(parts) - len(f.buffers); missing > 0 {
		f.buffers = append(f.buffers, make([][]byte, missing)...)
	}
	f.loaded = make([]vectorized.Loaded, len(parts))
	return parallel(c.ctx, len(c.workers), len(parts), func(_, i int) (err error) {
		f.loaded[i], f.buffers[i], err = f.source.Load(c.ctx, parts[i], f.buffers[i])
		return err
	})
}

// scatter decodes all groups of parts and appends their rows to the stores of their partitions.
func (c *computation) scatter(partitionOf []int32, loaded []vectorized.Loaded) error {
	type task struct {
		part      vectorized.Loaded
		partition int32
		group     int
	}
	var tasks []task
	for i, l := range loaded {
		for group := range l.Groups() {
			tasks = append(tasks, task{l, partitionOf[i], group})
		}
	}
	return parallel(c.ctx, len(c.workers), len(tasks), func(n, i int) error {
		w, t := c.workers[n], tasks[i]
		columns, err := w.decoder.Columns(t.part, t.group)
		if err != nil {
			return err
		}
		if err := w.scatter.Columns(c.store(w, t.partition), t.partition, columns); err != nil {
			return t.part.Fault(err)
		}
		if err := w.reject(t.partition, columns); err != nil {
			return t.part.Fault(err)
		}
		return nil
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
