package intake

import (
	"context"
	"time"

	"amends.dev/amends/stages/generate"
)

// Clock is time as the intake sees it.
type Clock struct {
	// Now is the clock; its times carry a monotonic reading.
	Now func() time.Time
	// Sleep waits, at most until ctx ends, whose error it then returns.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Lease is the writer lease of the source topic, with its term (R22).
type Lease interface {
	generate.Lease
	// Term is that of the last acquisition, at least 1; it rises with each, whoever acquires. 0 before the first.
	Term() int64
}

// Coordinates are where a record is in the source topic.
type Coordinates struct {
	Partition int32 `json:"partition"`
	Offset    int64 `json:"offset"`
}

// Decisions reads what the worker made of records from the processing state. It is safe for concurrent use.
type Decisions interface {
	// Decision returns nil where the worker's frontier has not passed the record yet. value is the record's.
	Decision(ctx context.Context, at Coordinates, value []byte) (*Decision, error)
}

// Decision is what the worker made of one record (S3, S4).
type Decision struct {
	// Outcome is accepted or quarantined.
	Outcome string `json:"outcome"`
	// Reason is why the record was rejected (schemas/reasons.json); only where it was quarantined.
	Reason string `json:"reason,omitempty"`
	// Authority is what the record's revision counts at present, only where it was accepted: current, superseded by a
	// higher revision, conflicting with another payload of its revision, or a duplicate of an earlier record.
	Authority string `json:"authority,omitempty"`
	// Outputs are the envelopes that name the record as their source, as they were published, in order; only where it was
	// accepted.
	Outputs []Output `json:"outputs,omitempty"`
}

// The outcomes of a Decision, and what an accepted revision counts.
const (
	Accepted    = "accepted"
	Quarantined = "quarantined"

	Current     = "current"
	Superseded  = "superseded"
	Conflicting = "conflicting"
	Repeated    = "duplicate"
)

// Output is one envelope of the output topic by its identity.
type Output struct {
	OutputID string `json:"output_id"`
	Type     string `json:"type"`
	Version  int64  `json:"version"`
}
