package drain_test

import (
	"fmt"
	"testing"
	"time"

	"amends.dev/amends/stages/owner/drain"
	"amends.dev/amends/stages/owner/memory"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/view/viewtest"
)

// TestBehind: the drain is behind while more of a source partition is pending than it reads at once, whether all were read
// together or the partition by itself; one that stopped does not count, since nobody gets on with it.
func TestBehind(t *testing.T) {
	store, lease := memory.New(), term(1)
	o, err := drain.New(drain.Options{
		Store: store, Lease: lease.lease(), Prefixes: prefixes, Message: message, Acknowledged: published, Window: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Acquire(t.Context(), "p", time.Minute); err != nil {
		t.Fatal(err)
	}
	look := func(behind bool, pending ...int64) []relay.Position {
		t.Helper()
		positions, err := o.Positions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range positions {
			if p.End-p.Sent != pending[i] {
				t.Errorf("%d are read of partition %d, want %d", p.End-p.Sent, i, pending[i])
			}
		}
		if o.Behind() != behind {
			t.Errorf("behind %t with %v read", !behind, pending)
		}
		return positions
	}
	publish := func(positions []relay.Position, number int32) {
		t.Helper()
		from := positions[number].Sent
		envelopes, err := o.Pending(t.Context(), number, from, 100)
		if err != nil {
			t.Fatal(err)
		}
		receipts := make([]relay.Receipt, len(envelopes))
		err = o.Mark(t.Context(), relay.Mark{Holder: "p", Term: 1, Partition: number, From: from, Receipts: receipts})
		if err != nil {
			t.Fatal(err)
		}
	}
	look(false, 0, 0)
	acceptAll(t, store, 0, messages(8))
	acceptAll(t, store, 1, messages(2))
	publish(look(true, 3, 2), 0) // read together, and there is more
	publish(look(true, 3, 2), 0) // read by itself
	positions := look(false, 2, 2)
	publish(positions, 0)
	publish(positions, 1)
	look(false, 0, 0)

	for i, m := range messages(5) {
		_, unit := accept(t, 1, fmt.Sprint("late", i), m)
		commit(t, store, unit)
	}
	positions = look(true, 0, 3)
	stop := relay.Stop{Holder: "p", Term: 1, Partition: 1, From: positions[1].Sent, Reason: relay.ReasonOutboxDamaged}
	if err := o.RecordStop(t.Context(), stop); err != nil {
		t.Fatal(err)
	}
	look(false, 0, 3)
	o.Resume(1)
	log := viewtest.NewLog()
	look(true, 0, 3)
	startOver(t, "p", o, log).drain(t)
	look(false, 0, 0)
}
