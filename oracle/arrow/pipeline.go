package arrow

import (
	"context"
	"slices"

	"amends.dev/amends/vectorized"
)

// stage is a run of files that are in memory at the same time. After the last stage of a pass over a round, the round's
// rows are resolved.
type stage struct {
	round  *round
	files  []int // of the round
	last   bool
	pass   int
	passes int
	found  []*vectorized.Found // by bucket, when they are resolved
}

// share are the buckets of a partition whose rows a pass keeps.
func (s *stage) share(l *vectorized.Layout, partition int32) (from, to int) {
	n := l.Buckets(partition)
	return n * s.pass / s.passes, n * (s.pass + 1) / s.passes
}

// stages lists what is to be done, in order.
func stages(all []round, parts []vectorized.Part, o Options, layout *vectorized.Layout) []stage {
	var list []stage
	for i := range all {
		r, passes := &all[i], 1
		if len(r.partitions) == 1 {
			passes = min(max(r.passes(o.Memory), 1), max(layout.Buckets(r.partitions[0]), 1))
		}
		r.alone = passes > 1 || r.bytes > o.Memory/2
		for pass := range passes {
			for _, files := range batches(parts, r.parts, o.Workers) {
				list = append(list, stage{round: r, files: files, pass: pass, passes: passes})
			}
			list[len(list)-1].last = true
		}
	}
	return list
}

// files brings parts into memory: those of one stage while those of the one before are in use.
type files struct {
	source  loader
	buffers [2][][]byte // used again in turn
}

// task is something that any worker can do.
type task func(w *worker) error

// run does all stages. While the rows of one are appended, the files of the next one are read and the rows of the round
// before are resolved, so that a worker waits for the others only for as long as one small task takes. A round that needs
// most of the memory has it for itself.
func (c *computation) run(list []stage, f *files) error {
	if len(list) == 0 {
		return nil
	}
	defer c.releaseAll()
	loaded, tasks := f.load(c.ctx, &list[0], 0)
	if err := c.all(tasks); err != nil {
		return err
	}
	var full *stage // the round before, if it is not resolved yet
	for i := range list {
		s := &list[i]
		if full != nil && (full.round.alone || s.round.alone) {
			if err := c.resolve(full); err != nil {
				return err
			}
			full = nil
		}
		var next []vectorized.Loaded
		if tasks = nil; i+1 < len(list) {
			next, tasks = f.load(c.ctx, &list[i+1], (i+1)%2)
		}
		var buckets []task
		if full != nil {
			buckets = c.buckets(full)
		}
		// Rows of this round go to where those of resolved buckets were. Some buckets come last, as they are small tasks: then all
		// workers end at about the same time.
		some := len(buckets) * 3 / 4
		if err := c.all(slices.Concat(tasks, buckets[:some], c.scatter(s, loaded), buckets[some:])); err != nil {
			return err
		}
		if full != nil {
			c.collect(full)
		}
		if full = nil; s.last {
			full = s
		}
		loaded = next
	}
	return c.resolve(full)
}

// all does tasks, in order as far as that can be said.
func (c *computation) all(tasks []task) error {
	return parallel(c.ctx, len(c.workers), len(tasks), func(w, i int) error { return tasks[i](c.workers[w]) })
}

// load returns the parts of a stage, and the tasks that read and verify them.
func (f *files) load(ctx context.Context, s *stage, turn int) ([]vectorized.Loaded, []task) {
	buffers := &f.buffers[turn]
	if missing := len(s.files) - len(*buffers); missing > 0 {
		*buffers = append(*buffers, make([][]byte, missing)...)
	}
	loaded, tasks := make([]vectorized.Loaded, len(s.files)), make([]task, len(s.files))
	for i, file := range s.files {
		tasks[i] = func(*worker) (err error) {
			loaded[i], (*buffers)[i], err = f.source.Load(ctx, s.round.parts[file], (*buffers)[i])
			return err
		}
	}
	return loaded, tasks
}

// scatter returns the tasks that decode all groups of parts and append their rows to the stores of their partitions.
func (c *computation) scatter(s *stage, loaded []vectorized.Loaded) []task {
	var tasks []task
	for i, part := range loaded {
		partition := s.round.partitionOf[s.files[i]]
		from, to := s.share(c.layout, partition)
		for group := range part.Groups() {
			tasks = append(tasks, func(w *worker) error {
				w.scatter.Keep(from, to)
				return w.read(w, c, part, partition, group, s.pass > 0)
			})
		}
	}
	return tasks
}

// buckets returns the tasks that resolve the buckets of a round.
func (c *computation) buckets(s *stage) []task {
	var tasks []task
	for _, partition := range s.round.partitions {
		stores := make([]*vectorized.Store, len(c.workers)) // by number, as transaction IDs refer to them
		for n, w := range c.workers {
			stores[n] = w.stores[partition]
		}
		from, to := s.share(c.layout, partition)
		for bucket := from; bucket < to; bucket++ {
			at := len(tasks)
			tasks = append(tasks, func(w *worker) error {
				s.found[at] = w.resolver.Bucket(partition, bucket, stores)
				for _, store := range stores {
					if store != nil {
						store.ReleaseBucket(bucket)
					}
				}
				return nil
			})
		}
	}
	s.found = make([]*vectorized.Found, len(tasks))
	return tasks
}

// resolve resolves the buckets of a round, with nothing else beside it.
func (c *computation) resolve(s *stage) error {
	if err := c.all(c.buckets(s)); err != nil {
		return err
	}
	c.collect(s)
	return nil
}

// collect adds what the buckets of a round amount to and what was rejected, and gives the round's rows back.
func (c *computation) collect(s *stage) {
	for _, f := range s.found {
		c.result.add(f)
	}
	s.found = nil
	for _, w := range c.workers {
		c.result.reject(w.rejected)
		w.rejected = nil
	}
	c.release(s.round.partitions)
}
