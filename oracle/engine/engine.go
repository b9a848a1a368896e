// Package engine is the port behind which every oracle engine stands (design section 7).
package engine

import (
	"context"
	"iter"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/projection"
)

// Record is one visible source record with its broker coordinates, as exported. Key and Value are raw bytes; nil is
// null and distinct from empty.
type Record struct {
	Partition  int32
	Offset     int64
	BrokerTime int64 // milliseconds since the Unix epoch
	Key, Value []byte
}

// History is a finite source history, in offset order within each partition. An error ends the sequence.
// Records are valid until the next one is yielded.
type History func(ctx context.Context) iter.Seq2[Record, error]

// Engine recomputes a whole history. Engines are stateless and safe for concurrent use.
type Engine interface {
	// Name is the engine's name as reports print it: arrow or reference.
	Name() string
	// Compute returns the complete projection of the history. Data never makes it fail: bad records are rejections and
	// sums out of range are reported (R09). An error means that the history could not be read.
	Compute(ctx context.Context, ns *manifests.Namespace, history History) (*projection.Projection, error)
}
