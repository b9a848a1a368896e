// Package invariant states what must hold whatever the input was. A broken invariant is a bug of this program: it is
// returned as an error of its own class, which stops the partition concerned and lets others go on (design section
// 6), and never a panic, because no data may bring the process down. The checks are always on.
package invariant

import (
	"errors"
	"fmt"
)

// Violation is a broken invariant. It is an error of class bug: retrying cannot help, and the text is for whoever
// repairs the program.
type Violation struct {
	// Message says which invariant is broken, with the values that break it.
	Message string
}

// Error implements error.
func (v *Violation) Error() string { return "invariant violated: " + v.Message }

// Check returns nil where the condition holds and otherwise a *Violation with the formatted message. Its arguments
// are evaluated and boxed even where the condition holds: in loops over records, test the condition first and call
// Violated.
func Check(holds bool, format string, args ...any) error {
	if holds {
		return nil
	}
	return Violated(format, args...)
}

// Violated returns a *Violation with the formatted message, for conditions tested by the caller.
func Violated(format string, args ...any) error {
	return &Violation{Message: fmt.Sprintf(format, args...)}
}

// Is reports whether err is, or wraps, a broken invariant.
func Is(err error) bool {
	var violation *Violation
	return errors.As(err, &violation)
}
