package arrow

import (
	"context"
	"hash/maphash"
	"runtime"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/vectorized"
)

// Options bound a computation; zero values stand for the defaults.
type Options struct {
	// Workers is the number of goroutines; the default is that of the processors in use. Results do not depend on it.
	Workers int
	// Memory bounds the bytes of rows that are held at a time. A partition with more is read several times over; the rows of
	// one stock key must fit, and those of a history that is no snapshot. The default is 4 GiB.
	Memory int64
}

const (
	// bucketTarget is the number of rows of a bucket that is aimed at: few enough to be resolved in a processor's cache.
	bucketTarget = 1 << 15
	// defaultMemory is Options.Memory where it is not given; roundMemory is what rounds of several small partitions are
	// filled up to: memory that is used again at once is cheaper than more of it.
	defaultMemory = 4 << 30
	roundMemory   = 32 << 20
)

// withDefaults fills zero values in.
func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	o.Workers = min(o.Workers, vectorized.MaxArenas)
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	return o
}

// computation is one run. Records become rows of stores, one for each worker and partition, and then buckets of rows are
// resolved; all workers take part in both phases.
type computation struct {
	ctx     context.Context
	chunks  *vectorized.Chunks
	layout  *vectorized.Layout
	workers []*worker
	result  *Result
}

// worker is what one goroutine uses again and again.
type worker struct {
	number   int
	read     groupReader // where the source has parts
	scatter  *vectorized.Scatter
	resolver *vectorized.Resolver
	stores   map[int32]*vectorized.Store
	rejected []Rejected
}

// newComputation prepares a run; rows are those that each partition is expected to bring.
func (e Engine) newComputation(ctx context.Context, ns *manifests.Namespace, rows []int64, o Options) *computation {
	spec, seed := &ns.Spec, maphash.MakeSeed()
	c := &computation{ctx: ctx, chunks: vectorized.NewChunks(e.memory()), result: &Result{namespace: ns}}
	c.layout = vectorized.NewLayout(spec.StockKeys, spec.LedgerOrigin, func(k int) int32 {
		key := &spec.StockKeys[k]
		return decode.Partition(decode.BrokerKey(key.Item, key.Location), spec.Source.Partitions)
	}, rows, bucketTarget)
	for n := range o.Workers {
		c.workers = append(c.workers, &worker{
			number: n, stores: map[int32]*vectorized.Store{},
			scatter: vectorized.NewScatter(c.layout, seed), resolver: vectorized.NewResolver(c.layout, seed),
		})
	}
	return c
}

// store is a worker's store of a partition.
func (c *computation) store(w *worker, partition int32) *vectorized.Store {
	s := w.stores[partition]
	if s == nil {
		s = vectorized.NewStore(c.chunks, c.layout, partition, w.number)
		w.stores[partition] = s
	}
	return s
}

// release gives the rows of partitions back.
func (c *computation) release(partitions []int32) {
	for _, w := range c.workers {
		for _, p := range partitions {
			if s := w.stores[p]; s != nil {
				s.Release()
				delete(w.stores, p)
			}
		}
	}
}

// releaseAll gives all rows back.
func (c *computation) releaseAll() {
	for _, w := range c.workers {
		for _, s := range w.stores {
			s.Release()
		}
		clear(w.stores)
	}
}
