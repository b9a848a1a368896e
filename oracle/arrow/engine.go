// Package arrow is the columnar oracle engine: records are decoded into Arrow batches, the accepted ones gathered into
// one ledger of columns, and the kernels of package vectorized compute authority, conflicts, closes and crossings from
// it (S3-S5, R09). It also computes from typed batches that a snapshot holds already.
package arrow

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/vectorized"
)

// batchRows is how many records are decoded into one batch: large enough that per-batch work does not count, small
// enough that a batch stays near the cache.
const batchRows = 1 << 14

// Engine is the engine named arrow. The zero value is ready and takes memory from Go's heap. It is stateless and safe
// for concurrent use.
type Engine struct {
	// Memory is the allocator of all columns; nil stands for the default.
	Memory memory.Allocator
}

var _ engine.Engine = Engine{}

// Batches is a sequence of batches of vectorized.Schema. An error ends it. A batch is valid until the next one is
// yielded.
type Batches = iter.Seq2[arrow.RecordBatch, error]

// Name returns "arrow".
func (Engine) Name() string { return "arrow" }

// Compute implements engine.Engine.
func (e Engine) Compute(ctx context.Context, ns *manifests.Namespace, history engine.History) (*projection.Projection, error) {
	return e.ComputeTyped(ctx, ns, e.decoded(ctx, ns, history))
}

// ComputeTyped computes from rows that were decoded before, under a namespace of the same business digest. Batches that
// no decoder of that namespace can have made are an error.
func (e Engine) ComputeTyped(ctx context.Context, ns *manifests.Namespace, batches Batches) (*projection.Projection, error) {
	g := newGatherer(e.memory(), ns)
	defer g.release()
	for batch, err := range batches {
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := g.add(batch); err != nil {
			return nil, err
		}
	}
	ledger := g.ledger.Ledger()
	defer ledger.Release()
	return compute(e.memory(), ns, ledger, g.rejections), nil
}

// memory is the allocator in use.
func (e Engine) memory() memory.Allocator {
	if e.Memory == nil {
		return memory.DefaultAllocator
	}
	return e.Memory
}

// decoded yields the history as typed batches.
func (e Engine) decoded(ctx context.Context, ns *manifests.Namespace, history engine.History) Batches {
	return func(yield func(arrow.RecordBatch, error) bool) {
		table := vectorized.NewTableBuilder(e.memory(), ns)
		defer table.Release()
		flush := func() bool {
			batch := table.Batch()
			defer batch.Release()
			return yield(batch, nil)
		}
		for record, err := range history(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			if table.Append(record); table.Rows() == batchRows && !flush() {
				return
			}
		}
		if table.Rows() > 0 {
			flush()
		}
	}
}
