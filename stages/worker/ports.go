package worker

import (
	"context"
	"errors"

	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
)

// ErrFenced is returned when the expected epoch, frontier or generation no longer holds: this owner must stop
// writing to the partition (S8, R16).
var ErrFenced = fault.Mark(fault.Fenced, errors.New("fenced"))

// ErrUnknownOutcome is returned by Unit.Commit when the commit may or may not have happened (S8, SC18). The caller
// drops its cache and reads PartitionState, which waits for a COMMIT in flight (R15).
var ErrUnknownOutcome = errors.New("commit outcome unknown")

// PartitionState is the durable row both epoch installation and every unit of work serialize on (S8).
type PartitionState struct {
	Partition int32
	// Epoch is the ownership epoch, 0 before the first owner.
	Epoch int64
	// Member and Generation are of the assignment under which the epoch was installed (R16).
	Member     string
	Generation int32
	// NextOffset is the exclusive source frontier.
	NextOffset int64
	// Stop is the persisted reason why processing stopped for good, nil while it runs (R36).
	Stop *Stop
}

// Stop is a stop that never resumes by itself: overflow, protocol violation or bug.
type Stop struct {
	// Reason is arithmetic_overflow, version_exhausted or internal_error.
	Reason string
	// Offset is the source record that could not be decided.
	Offset int64
	// Detail is one line for the operator.
	Detail string
}

// Installation asks for a new epoch by compare-and-swap (R16).
type Installation struct {
	Partition     int32
	ExpectedEpoch int64
	Member        string
	Generation    int32
	// TakeOver installs although the generation is lower or belongs to another member: a recreated group.
	TakeOver bool
}

// Store is the worker's durable state. Implementations: stages/postgres and the in-memory store of the simulator.
type Store interface {
	// PartitionState reads the row under its lock and so waits for a unit of work in flight.
	PartitionState(ctx context.Context, partition int32) (PartitionState, error)
	// InstallEpoch installs ExpectedEpoch+1, or returns an error wrapping ErrFenced.
	InstallEpoch(ctx context.Context, in Installation) (PartitionState, error)
	// Begin opens one unit of work: it locks the partition row first, then checks epoch and frontier (S8); a mismatch
	// is an error wrapping ErrFenced.
	Begin(ctx context.Context, partition int32, epoch, frontier int64) (Unit, error)
	// RecordStop persists why the partition stopped, under the same fence.
	RecordStop(ctx context.Context, partition int32, epoch, frontier int64, stop Stop) error
}

// Unit is one open unit of work. Reads see the state as of the lock. It is used by one goroutine.
type Unit interface {
	// Keys returns the status row (where one exists) and all day rows, sorted by day, of each key.
	Keys(ctx context.Context, keyIDs []int32) ([]ledger.KeyRow, []ledger.DayRow, error)
	// Authority returns the rows of the identities that exist.
	Authority(ctx context.Context, refs []ledger.IdentityRef) ([]ledger.AuthorityRow, error)
	// Evidence returns all evidence rows of the given revisions.
	Evidence(ctx context.Context, refs []ledger.RevisionRef) ([]ledger.EvidenceRow, error)
	// KeyAuthority returns every authority row of each key, for a full refold.
	KeyAuthority(ctx context.Context, keyIDs []int32) ([]ledger.AuthorityRow, error)
	// Commit writes all changes and commits. nil: committed. An error wrapping ErrUnknownOutcome: unknown. Any other
	// error: certainly not committed.
	Commit(ctx context.Context, changes ledger.Changes) error
	// Rollback abandons the unit; it is safe after Commit.
	Rollback(ctx context.Context)
}
