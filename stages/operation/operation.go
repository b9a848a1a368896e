// Package operation keeps the steps of administrative work (replay, rebuild) durably, so that work cut off in the middle
// is found again and goes on. Log is the port; Owned implements it on the durable owner: one owner for each operation
// (R29), a step is an event, and an operation is open while its effect "<id>/done" is pending.
package operation

import (
	"context"
	"errors"
)

// ErrConflict is wrapped where an operation or step of that name was recorded with other content.
var ErrConflict = errors.New("recorded with other content")

// Operation is one administrative operation.
type Operation struct {
	// ID is unique in the namespace and stable over restarts, for example "rebuild/new".
	ID string
	// Request is what was asked for, as JSON; a later Begin must ask for the same bytes.
	Request []byte
	// Steps are those recorded so far, in order.
	Steps []Step
	// Done says that the operation was finished.
	Done bool
}

// Step is one thing done. Detail is JSON.
type Step struct {
	Name   string
	Detail []byte
}

// Log keeps operations. An error other than ErrConflict is infrastructure; asking again is safe.
type Log interface {
	// Begin starts an operation, or finds it with its steps. An error wraps ErrConflict where the request differs.
	Begin(ctx context.Context, id string, request []byte) (Operation, error)
	// Record adds a step. The same step again does nothing; other detail under its name is ErrConflict.
	Record(ctx context.Context, id string, step Step) error
	// Finish closes the operation with its outcome as JSON. Again with the same outcome it does nothing.
	Finish(ctx context.Context, id string, outcome []byte) error
	// Find returns the operation, nil where it was never begun.
	Find(ctx context.Context, id string) (*Operation, error)
	// Open returns the operations that are not finished, oldest first, without their steps.
	Open(ctx context.Context) ([]Operation, error)
}
