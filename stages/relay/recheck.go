package relay

import (
	"context"
	"errors"
	"fmt"

	"amends.dev/amends/internal/invariant"
)

// ErrCauseStands is wrapped where the cause of a persisted stop was looked into and still stands (R36).
var ErrCauseStands = errors.New("the cause stands")

// Recheck reads again what a stopped source partition would publish next, and publishes nothing. nil says that the cause is
// gone; an error that wraps ErrCauseStands, that it is not; any other, that it could not be found out.
func Recheck(ctx context.Context, outbox Outbox, position Position) error {
	if position.Sent >= position.End {
		return nil
	}
	limit := int(min(DefaultMaxEnvelopes, position.End-position.Sent))
	envelopes, err := outbox.Pending(ctx, position.Partition, position.Sent, limit)
	if err == nil {
		err = Check(position, envelopes)
	}
	if invariant.Is(err) {
		return fmt.Errorf("source partition %d: %s: %w: %w", position.Partition, position.Stopped, err, ErrCauseStands)
	}
	return err
}
