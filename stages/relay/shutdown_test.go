package relay_test

import (
	"context"
	"testing"
	"time"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/relay/relaytest"
	"amends.dev/amends/stages/view/viewtest"
)

// impatient is an outbox and a publisher that do nothing once their context has ended, as a database's and a broker's do.
type impatient struct {
	relay.Outbox
	publisher *relaytest.Publisher
}

// Mark implements relay.Outbox.
func (i *impatient) Mark(ctx context.Context, mark relay.Mark) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return i.Outbox.Mark(ctx, mark)
}

// Publish implements broker.Publisher.
func (i *impatient) Publish(ctx context.Context, messages []broker.Message) []broker.Ack {
	acks := i.publisher.Publish(ctx, messages)
	if ctx.Err() != nil {
		for j := range acks {
			acks[j].Err = ctx.Err()
		}
	}
	return acks
}

// TestS9ShutdownFinishesAPublication: a shutdown in the middle of a publication waits for the acknowledgements and marks
// them, so that the next process repeats nothing.
func TestS9ShutdownFinishesAPublication(t *testing.T) {
	for _, shutdown := range []bool{false, true} {
		now := time.Unix(0, 0)
		store := relaytest.NewStore(1, func() time.Time { return now })
		namespace := viewtest.Namespace()
		store.Append(0, viewtest.KeyOf(namespace, 1).Balance("2026-01-02", 1, 10))
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		outside := &impatient{store, &relaytest.Publisher{Log: viewtest.NewLog(), Before: func() {
			if shutdown {
				cancel()
			}
		}}}
		r, err := relay.New(relay.Options{
			Outbox: outside, Publisher: outside, Holder: "r", Partitions: namespace.Spec.Output.Partitions,
			Now: func() time.Time { return now },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Step(ctx); err != nil {
			t.Errorf("shutdown %v: %v", shutdown, err)
		}
		if receipts := store.Receipts(0); len(receipts) != 1 {
			t.Errorf("shutdown %v: %d envelopes are marked, want 1", shutdown, len(receipts))
		}
	}
}
