package relaytest

import (
	"testing"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/relay"
)

// backoffAlone: while an output partition fails, the source partition that writes to it waits, visibly, and the others are
// published by the very next steps; it is tried again after its backoff, or as soon as a person asks (R36).
func backoffAlone(t *testing.T, f *fixture) {
	mark.Expect(t, "R36 partition waits, others go on")
	f.backoff = fault.DefaultPolicy
	bad, good := f.key(1).Balance(day1, 1, 10), f.key(2).Balance(day1, 1, 20)
	f.commit(t, 0, bad)
	f.commit(t, 1, good)
	tries, broken := 0, true
	r := f.relay(t, "r", f.publisher(func(_ int, m broker.Message) Fate {
		if m.Partition != bad.Partition {
			return Deliver
		}
		tries++
		if broken {
			return Reject
		}
		return Deliver
	}))
	told := 0
	steps := func() {
		for range 5 {
			if _, _, err := r.StepAlone(t.Context(), func(e *relay.PartitionError) { told += 1 + int(e.Partition) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	steps()
	f.sent(t, 0, 1, 2)
	f.sent(t, 1, 2, 2)
	if s := r.Status(); tries != 1 || told != 1 || s[0].Stall == nil || s[0].Stall.Attempts != 1 || s[1].Stall != nil {
		t.Errorf("%d tries, %d told, status %+v", tries, told, s)
	}
	r.Resume(0)
	steps()
	if tries != 2 {
		t.Errorf("%d tries after a resume", tries)
	}
	broken = false
	f.elapse(t, 100*time.Millisecond)
	steps()
	f.sent(t, 0, 2, 2)
	if s := r.Status(); s[0].Stall != nil {
		t.Errorf("still stalled: %+v", s[0].Stall)
	}
}
