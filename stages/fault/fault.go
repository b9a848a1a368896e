// Package fault sorts the errors of all stages into the classes of design section 6 and says when to try again (S9,
// R36). It is pure: clock and randomness come from the caller.
//
// A rejection is no error here: it is data, and goes to quarantine with the input's progress (S4).
package fault

import (
	"errors"
	"fmt"
)

// Class tells what a stage does about an error.
type Class int

// The classes of design section 6.
const (
	// Transient is infrastructure: unreachable, timed out, serialization failure, unknown commit. It is tried again
	// after a visible backoff, for ever (R36). It is the class of an error that nobody marked.
	Transient Class = iota
	// Fenced means that another owner holds what this one wrote to: this owner stops.
	Fenced
	// Stop is an overflow, a protocol violation or a bug: this partition stops, the reason is persisted, others go on.
	// It never resumes by itself.
	Stop
)

// String returns the class in one word.
func (c Class) String() string {
	switch c {
	case Transient:
		return "transient"
	case Fenced:
		return "fenced"
	case Stop:
		return "stop"
	default:
		return fmt.Sprintf("Class(%d)", int(c))
	}
}

// ErrUntried is wrapped by the error of a step that tried nothing, because what would have to be in place for it is not,
// and it is not known why or for how long. It is neither a failure nor a success: what failed before counts as failing
// still (R36).
var ErrUntried = errors.New("nothing was tried")

// marked is an error with its class.
type marked struct {
	class Class
	err   error
}

// Error implements error.
func (m *marked) Error() string { return m.err.Error() }

// Unwrap returns the marked error.
func (m *marked) Unwrap() error { return m.err }

// FaultClass returns the class.
func (m *marked) FaultClass() Class { return m.class }

// Mark attaches a class to err, with the same text; nil stays nil. The mark nearest to the outside counts.
func Mark(class Class, err error) error {
	if err == nil {
		return nil
	}
	return &marked{class: class, err: err}
}

// ClassOf returns the class of err: that of the first error in its tree that has a FaultClass method, else Transient.
func ClassOf(err error) Class {
	var classed interface{ FaultClass() Class }
	if errors.As(err, &classed) {
		return classed.FaultClass()
	}
	return Transient
}
