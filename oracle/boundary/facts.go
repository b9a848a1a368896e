// Package boundary decides when a verification has a complete, unmoved boundary: stopped writers, H, worker and relay
// drained to H, O, the view at O, and all of it still so after the comparison (S10, R21, R22). It is pure: a shell
// observes the world, the Machine says what to do next.
package boundary

import "time"

// Phase is a step towards the boundary, in the order in which they are taken.
type Phase string

// The phases. A report names the one in which a run ended.
const (
	// PhaseWriter stops and awaits the holder of the writer lease (R22).
	PhaseWriter Phase = "writer"
	// PhaseSource captures identity, starts and H of the source topic.
	PhaseSource Phase = "source"
	// PhaseWorker waits until every worker frontier has reached H.
	PhaseWorker Phase = "worker"
	// PhaseRelay waits until every outbox row was acknowledged.
	PhaseRelay Phase = "relay"
	// PhaseOutput captures identity and O of the output topic.
	PhaseOutput Phase = "output"
	// PhaseView waits until every view frontier has reached O.
	PhaseView Phase = "view"
	// PhaseScan reads the source from its start through H and recomputes it.
	PhaseScan Phase = "scan"
	// PhaseCompare reads stable snapshots and compares.
	PhaseCompare Phase = "compare"
	// PhaseExplain reads the source records of keys that differ or are BLOCKED.
	PhaseExplain Phase = "explain"
	// PhaseRecheck proves that nothing moved meanwhile.
	PhaseRecheck Phase = "recheck"
)

// Topic is what the broker says about one topic. Vectors are indexed by partition.
type Topic struct {
	// ID is the topic ID in Kafka's textual form.
	ID string
	// Configs holds cleanup.policy, retention.ms and retention.bytes.
	Configs map[string]string
	// Starts, Stables and Ends are log start offset, last stable offset and high watermark.
	Starts, Stables, Ends []int64
}

// Lease is the writer lease of the source topic as the catalog shows it.
type Lease struct {
	// Held says that a holder has neither released it nor let it expire.
	Held bool
	// Unreadable says that this role may not read leases: nothing is known.
	Unreadable bool
	// Holder is who has or had it, under Term, which rises with every acquisition; 0 where nobody ever had it.
	Holder string
	Term   int64
	// StopRequested says that the holder was already asked to stop.
	StopRequested bool
}

// Pending are effects of accepted requests that intake has not yet brought to the source topic (R22).
type Pending struct {
	Count int64
	// First names the oldest of them.
	First string
	// Unreadable says that this role may not read them: nothing is known.
	Unreadable bool
}

// Check is a completion check that held.
type Check struct {
	Phase Phase  `json:"phase"`
	Text  string `json:"text"`
}

// Stop is a persisted reason why a partition stopped for good (R21, R36).
type Stop struct {
	// Phase is PhaseWorker or PhaseRelay for a source partition, PhaseView for an output partition.
	Phase     Phase
	Partition int32
	// Offset is where it stopped; of the relay the outbox sequence.
	Offset int64
	Reason string
	Detail string
}

// Pipeline is the durable progress of worker, relay and view. Vectors are indexed by partition; a partition without
// a row stands at its initial position.
type Pipeline struct {
	// Worker is the exclusive source frontier.
	Worker []int64
	// OutboxNext and SentThrough are per source partition: drained means that they are equal.
	OutboxNext, SentThrough []int64
	// View is the exclusive output frontier.
	View []int64
	// Stops are persisted stops of worker, relay and view.
	Stops []Stop
}

// Expected is the identity of the namespace, as recorded when it was applied.
type Expected struct {
	SourceTopic, SourceTopicID string
	SourcePartitions           int
	OutputTopic, OutputTopicID string
	OutputPartitions           int
}

// Config fixes the limits of one run.
type Config struct {
	Expected
	// Timeout bounds the waiting of each phase.
	Timeout time.Duration
	// Settle is how long the source's ends must stand still before they are H: a commit marker may reach the log
	// after EndTransaction has returned.
	Settle time.Duration
	// Holder is the name under which the run takes the writer lease, so that nobody writes meanwhile; empty where it only
	// looks at the lease.
	Holder string
	// WritersStopped is the operator's statement that no writer runs; it stands in for a lease that cannot be read.
	WritersStopped bool
}

// Reason says why a boundary was not reached, or what failed. Partition and Offset are nil where none applies.
type Reason struct {
	Phase     Phase  `json:"phase"`
	Reason    string `json:"reason"`
	Partition *int32 `json:"partition,omitempty"`
	Offset    *int64 `json:"offset,omitempty"`
	// Retryable says that a later run may end otherwise without a change of the namespace.
	Retryable bool `json:"retryable"`
}

// Observation is what the shell saw. Pipeline is part of every observation, so that a persisted stop is seen at once
// in whatever phase (R21); the other fields are set where the current Want asks for them.
type Observation struct {
	Pipeline *Pipeline
	Lease    *Lease
	Source   *Topic // nil: the topic does not exist
	Output   *Topic // nil: the topic does not exist
	// Pending, beside Lease in the first phase: nil where the namespace keeps no effects.
	Pending *Pending
	// StopDenied answers MoveRequestStop, and AcquireDenied MoveAcquire: this role may not.
	StopDenied, AcquireDenied bool
	// Tail answers WantTail.
	Tail *Tail
	// Changed is not empty where the namespace's recorded configuration differs from the one captured at the start.
	Changed string
}

// Tail is the result of reading the output records past O.
type Tail struct {
	// Foreign is the first record past O that is not a byte-identical repeat of an earlier one; nil where all are.
	Foreign *Coordinates
}

// Coordinates name one record of one topic.
type Coordinates struct {
	Partition int32
	Offset    int64
}

// Want says what the machine must observe next.
type Want int

// The wants.
const (
	// WantLease: Observation.Lease and Pending.
	WantLease Want = iota
	// WantSource: Observation.Source, and Output for its identity alone.
	WantSource
	// WantPipeline: nothing beside Observation.Pipeline.
	WantPipeline
	// WantOutput: Observation.Output.
	WantOutput
	// WantRecheck: Lease, Source, Output and Changed.
	WantRecheck
	// WantTail: Observation.Tail, of the output records from Result.O up to the ends just observed.
	WantTail
	// WantNothing: the run has ended.
	WantNothing
)

// Move is what the shell does next.
type Move int

// The moves.
const (
	// MoveObserve: observe what Want says, at once.
	MoveObserve Move = iota
	// MoveWait: wait one poll interval, then observe again.
	MoveWait
	// MoveRequestStop: ask the lease holder to stop, then observe again.
	MoveRequestStop
	// MoveAcquire: take the writer lease, which is free, and keep it to the end of the run; then observe again.
	MoveAcquire
	// MoveCompare: the boundary stands: scan, compare, then observe the recheck.
	MoveCompare
	// MoveEnd: the run has ended; see Result.
	MoveEnd
)

// What excluded the writers (R22).
const (
	// ByLease: nobody else held the writer lease from before H was captured until after the comparison. A run that does not
	// hold it itself knows that at its end only.
	ByLease = "lease"
	// ByStatement: the operator says so, and no lease could be read.
	ByStatement = "statement"
)

// Result is what the machine knows, complete or not. Vectors are nil where not captured.
type Result struct {
	// Complete says that the boundary was reached and was still unmoved after the comparison.
	Complete bool
	// SourceStarts and H are the retained starts and the exclusive ends of the source.
	SourceID     string
	SourceStarts []int64
	H            []int64
	// OutputStarts and O are those of the output.
	OutputID     string
	OutputStarts []int64
	O            []int64
	// Worker and View are the frontiers last seen.
	Worker, View []int64
	// WritersExcludedBy is ByLease or ByStatement; empty while unknown, and where a writer was not excluded.
	WritersExcludedBy string
	// Checks are the completion checks that held.
	Checks []Check
	// Incomplete and Failures say why the run ended early.
	Incomplete []Reason
	Failures   []Reason
}
