package relay_test

import (
	"context"
	"testing"
	"time"

	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/relay/relaytest"
	"amends.dev/amends/stages/view/viewtest"
)

// slowLease is an outbox whose answer to a request for the lease takes a while to arrive.
type slowLease struct {
	relay.Outbox
	answered func()
}

// Acquire implements relay.Outbox.
func (s *slowLease) Acquire(ctx context.Context, holder string, ttl time.Duration) (relay.Grant, error) {
	grant, err := s.Outbox.Acquire(ctx, holder, ttl)
	s.answered()
	return grant, err
}

// TestR17TrustCountsFromBeforeTheRequest: the store's term began before the answer was under way, so what is left of it
// when a slow answer arrives does not suffice for a delivery.
func TestR17TrustCountsFromBeforeTheRequest(t *testing.T) {
	const delivery, ttl = 10 * time.Second, 30 * time.Second
	for _, c := range []struct {
		name  string
		delay time.Duration
		sent  int
	}{
		{"the undamaged twin", ttl - delivery - time.Second, 1},
		{"a slow answer", ttl - delivery, 0},
	} {
		now := time.Unix(0, 0)
		store := relaytest.NewStore(1, func() time.Time { return now })
		namespace := viewtest.Namespace()
		store.Append(0, viewtest.KeyOf(namespace, 1).Balance("2026-01-02", 1, 10))
		publisher := &relaytest.Publisher{Log: viewtest.NewLog()}
		r, err := relay.New(relay.Options{
			Outbox: &slowLease{store, func() { now = now.Add(c.delay) }}, Publisher: publisher, Holder: "r",
			Partitions: namespace.Spec.Output.Partitions, Now: func() time.Time { return now }, DeliveryTimeout: delivery, LeaseTTL: ttl,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Step(t.Context()); err != nil || publisher.Sent != c.sent {
			t.Errorf("%s: %d sent, want %d, error %v", c.name, publisher.Sent, c.sent, err)
		}
	}
}
