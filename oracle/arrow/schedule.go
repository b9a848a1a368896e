package arrow

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"amends.dev/amends/vectorized"
)

// round is the partitions whose rows are in memory at the same time. All workers take part in each phase of a round, so
// that one hot partition keeps them all busy as well as many small ones do.
type round struct {
	partitions  []int32
	parts       []int // numbers in the source, with the partition of each
	partitionOf []int32
	bytes       int64 // of rows
	// alone says that no other round's rows fit beside it.
	alone bool
}

// passes is how often the files of a round are read: once, unless its only partition does not fit into memory. Then each
// pass keeps the rows of some of the buckets.
func (r *round) passes(memory int64) int { return int((r.bytes + memory - 1) / memory) }

// rounds divides parts so that the rows of a round fit into the budget, as far as partitions do: the largest
// partition comes first, and small ones fill a round up.
func rounds(of []vectorized.Part, budget int64) []round {
	var parts []round
	for i, f := range of {
		if n := len(parts); n == 0 || parts[n-1].partitions[0] != f.Partition {
			parts = append(parts, round{partitions: []int32{f.Partition}})
		}
		p := &parts[len(parts)-1]
		p.parts, p.partitionOf = append(p.parts, i), append(p.partitionOf, f.Partition)
		p.bytes += f.Rows * vectorized.RowBytes
	}
	slices.SortStableFunc(parts, func(a, b round) int { return cmp.Compare(b.bytes, a.bytes) })
	var all []round
	for _, p := range parts {
		at := slices.IndexFunc(all, func(r round) bool { return r.bytes+p.bytes <= budget })
		if at < 0 {
			all = append(all, p)
			continue
		}
		r := &all[at]
		r.partitions, r.bytes = append(r.partitions, p.partitions...), r.bytes+p.bytes
		r.parts, r.partitionOf = append(r.parts, p.parts...), append(r.partitionOf, p.partitionOf...)
	}
	return all
}

// batches divides the files of a round into runs that are in memory at the same time: enough of them to keep all workers
// busy, each for as short a time as that takes.
func batches(parts []vectorized.Part, of []int, workers int) [][]int {
	var all [][]int
	rows := int64(0)
	for n, i := range of {
		if n == 0 || rows >= batchRows && len(all[len(all)-1]) >= workers {
			all, rows = append(all, nil), 0
		}
		all[len(all)-1] = append(all[len(all)-1], n)
		rows += parts[i].Rows
	}
	return all
}

// batchRows is enough rows for a batch of files.
const batchRows = 1 << 20

// parallel calls do for each of n tasks, on any number of workers at a time, each task once, in order as far as that can
// be said. It returns the error of the first task that failed; tasks behind it may not have been done.
func parallel(ctx context.Context, workers, n int, do func(worker, task int) error) error {
	var next, failed atomic.Int64
	failed.Store(int64(n))
	errs := make([]error, n)
	var all sync.WaitGroup
	for w := range min(workers, n) {
		all.Go(func() {
			for {
				task := next.Add(1) - 1
				if task >= failed.Load() || task >= int64(n) {
					return
				}
				err := ctx.Err()
				if err == nil {
					err = do(w, int(task))
				}
				if err != nil {
					errs[task] = err
					lower(&failed, task)
				}
			}
		})
	}
	all.Wait()
	if at := failed.Load(); at < int64(n) {
		return errs[at]
	}
	return nil
}

// lower sets a number to a smaller one.
func lower(number *atomic.Int64, to int64) {
	for {
		now := number.Load()
		if now <= to || number.CompareAndSwap(now, to) {
			return
		}
	}
}
