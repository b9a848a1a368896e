package view

import (
	"context"
	"errors"
	"fmt"
)

// ErrMoved is returned where a partition's position is not the expected one: another view advanced it, or a commit
// of unknown outcome did happen. The caller reads the position again.
var ErrMoved = errors.New("view position moved")

// ErrWrongView is returned where the stored view belongs to another namespace, digest or output topic (R18, SC28).
var ErrWrongView = errors.New("view belongs to other output")

// StoppedError says that a partition was stopped by a protocol violation and stays stopped (S7, R36).
type StoppedError struct {
	Partition int32
	// Offset is that of the record which violated the protocol; the partition's position stays there.
	Offset int64
	Reason Reason
	// Detail is one line for the operator.
	Detail string
}

// Error implements error.
func (e *StoppedError) Error() string {
	return fmt.Sprintf("output partition %d stopped at offset %d: %s: %s", e.Partition, e.Offset, e.Reason, e.Detail)
}

// Store is the durable state of the view. Implementations: stages/postgres, and viewtest's in memory; viewtest.Suite
// is run over both.
type Store interface {
	// Position returns the exclusive position of a partition under its row's lock, so that a commit in flight is
	// waited for. A stopped partition is a *StoppedError.
	Position(ctx context.Context, partition int32) (int64, error)
	// Begin opens a unit of work: it locks the partition's progress row first and requires the expected position,
	// else it returns an error wrapping ErrMoved, or a *StoppedError.
	Begin(ctx context.Context, partition int32, expected int64) (Unit, error)
}

// Unit is one open unit of work of one partition. It is used by one goroutine.
type Unit interface {
	// Guards returns the guards of the IDs that have one. The IDs are distinct.
	Guards(ctx context.Context, ids []ID) (map[ID]Guard, error)
	// Commit writes all changes in one transaction. After an error the outcome may be unknown; the caller reads
	// Position before it goes on.
	Commit(ctx context.Context, changes Changes) error
	// Rollback abandons the unit; it is safe after Commit.
	Rollback(ctx context.Context)
}

// Changes is everything one unit of work writes.
type Changes struct {
	// Rows replace row and guard, at most one for each output ID.
	Rows []Envelope
	// Next is the exclusive position afterwards.
	Next int64
	// Applied and Ignored are added to the partition's counters.
	Applied, Ignored int64
	// Violation stops the partition, nil where there is none.
	Violation *Stop
}

// Stop is the durable evidence of a protocol violation (SC17).
type Stop struct {
	Problem Problem
	// Offset is the violating record's.
	Offset int64
	// OutputID and Version are those the record spells, empty and 0 where it is unreadable.
	OutputID string
	Version  int64
	// Key and Value are the record's raw bytes, at most 1 MiB of each; nil is null.
	Key, Value []byte
}
