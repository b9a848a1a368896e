// Package exit names the process exit codes of amendsctl (design section 8) and carries them on errors.
package exit

import (
	"errors"
	"fmt"
)

// Code is a process exit status.
type Code int

// The documented exit codes. They are the same under every output format.
const (
	OK              Code = 0
	Error           Code = 1
	Usage           Code = 2
	ChangesPending  Code = 3
	ManifestInvalid Code = 4
	Refused         Code = 5
	Exclusions      Code = 10
	Blocked         Code = 11
	Drift           Code = 12
	Incomplete      Code = 13
	Internal        Code = 70
	Interrupted     Code = 130
	Terminated      Code = 143
)

// Coded is an error that fixes the exit code. Silent ones were already reported on stdout (a verdict, say).
type Coded struct {
	Code   Code
	Silent bool
	Err    error
}

// Error implements error.
func (c *Coded) Error() string {
	if c.Err == nil {
		return fmt.Sprintf("exit %d", c.Code)
	}
	return c.Err.Error()
}

// Unwrap returns the cause.
func (c *Coded) Unwrap() error { return c.Err }

// With attaches a code to err; a nil err stays nil.
func With(code Code, err error) error {
	if err == nil {
		return nil
	}
	return &Coded{Code: code, Err: err}
}

// Quiet is an exit code whose explanation was already written; nil for OK.
func Quiet(code Code) error {
	if code == OK {
		return nil
	}
	return &Coded{Code: code, Silent: true}
}

// Of returns the code of err: OK for nil, Error where none is attached.
func Of(err error) Code {
	if err == nil {
		return OK
	}
	var coded *Coded
	if errors.As(err, &coded) {
		return coded.Code
	}
	return Error
}
