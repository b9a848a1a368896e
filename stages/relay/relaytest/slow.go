package relaytest

import (
	"context"

	"amends.dev/amends/stages/relay"
)

// slowOutbox lets time pass while the outbox is read.
type slowOutbox struct {
	relay.Outbox
	slow func()
}

func (s *slowOutbox) Pending(ctx context.Context, partition int32, from int64, limit int) ([]relay.Envelope, error) {
	s.slow()
	return s.Outbox.Pending(ctx, partition, from, limit)
}

// gapOutbox hides the first envelope of every run of two, as a damaged outbox would.
type gapOutbox struct{ relay.Outbox }

func (g *gapOutbox) Pending(ctx context.Context, partition int32, from int64, limit int) ([]relay.Envelope, error) {
	envelopes, err := g.Outbox.Pending(ctx, partition, from, limit)
	if len(envelopes) == 2 {
		envelopes = envelopes[1:]
	}
	return envelopes, err
}
