// Package arrow is the columnar oracle engine: records become typed columns, columns are scattered into buckets of
// fixed-size rows, and the kernels of package vectorized compute authority, conflicts, closes and crossings from these
// (S3-S5, R09), on all processors. A snapshot's columns are taken as they are; other histories are decoded first.
package arrow

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
)

// Engine is the engine named arrow. The zero value is ready and takes memory from the system. It is stateless and safe
// for concurrent use.
type Engine struct {
	// Memory is the allocator of all rows; nil stands for the default.
	Memory memory.Allocator
}

var _ engine.Engine = Engine{}

// Name returns "arrow".
func (Engine) Name() string { return "arrow" }

// Compute implements engine.Engine.
func (e Engine) Compute(ctx context.Context, ns *manifests.Namespace, history engine.History) (*projection.Projection, error) {
	r, err := e.ComputeRecords(ctx, ns, history, Options{})
	if err != nil {
		return nil, err
	}
	return r.Projection(), nil
}

// memory is the allocator in use.
func (e Engine) memory() memory.Allocator {
	if e.Memory == nil {
		return defaultAllocator
	}
	return e.Memory
}
