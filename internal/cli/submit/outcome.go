package submit

import (
	"context"
	"errors"
	"fmt"

	"amends.dev/amends/internal/exit"
	"amends.dev/amends/stages/durability"
)

// refusedError is a refusal that all other transactions will get too, with what to do.
type refusedError struct {
	line           int
	answer, remedy string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("line %d: %s; %s", e.line, e.answer, e.remedy)
}

// outcome is how a run ended: interrupted, given up, at a line that cannot be read, with refusals, or well.
func (s *state) outcome(ctx context.Context, readErr error) error {
	var hopeless *refusedError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("stopped after %s%s: %w", counted(s.summary.Sent), s.again(), ctx.Err())
	case errors.As(s.err, &hopeless):
		return s.err
	case s.err != nil:
		return fmt.Errorf("%w%s", s.err, s.again())
	case readErr != nil:
		return fmt.Errorf("%w; it and what follows was not sent%s", readErr, s.again())
	case len(s.summary.Refused) > 0:
		return exit.Quiet(exit.Error)
	}
	return nil
}

// again says what running the same file again does. What is not kept cannot be found, and is sent again.
func (s *state) again() string {
	if s.options.level == string(durability.None) || s.summary.Performed[string(durability.None)] > 0 {
		return "; what was sent without being kept is sent a second time if the same file is run again"
	}
	return "; run it again to go on: what is kept is found, and not sent a second time"
}

// counted is a number of transactions in words.
func counted(n int) string {
	if n == 1 {
		return "1 transaction"
	}
	return fmt.Sprintf("%d transactions", n)
}
