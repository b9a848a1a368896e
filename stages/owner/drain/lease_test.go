package drain_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/drain"
	"amends.dev/amends/stages/relay/relaytest"
	"amends.dev/amends/stages/view/viewtest"
)

// TestR34LeaseThatCameBack: a process that read what is pending, could not send it, lost the lease and has it again, sends
// nothing that another process has sent meanwhile.
func TestR34LeaseThatCameBack(t *testing.T) {
	each(t, func(t *testing.T, store owner.Store) {
		mark.Expect(t, "R34 lease came back under another term")
		log, mine, other := viewtest.NewLog(), term(1), term(2)
		all := acceptAll(t, store, 0, messages(3))
		p, successor := start(t, "p", store, log, mine.lease()), start(t, "successor", store, log, other.lease())
		p.publisher.Fate = func(int, broker.Message) relaytest.Fate { return relaytest.Reject }
		if _, _, err := p.relay.Step(t.Context()); !errors.Is(err, relaytest.ErrPublish) {
			t.Fatalf("step: %v", err)
		}
		p.publisher.Fate, mine = nil, 0
		p.now = p.now.Add(time.Hour)
		p.drain(t) // stands by
		successor.drain(t)
		mine = 3
		p.now = p.now.Add(time.Hour)
		all = append(all, acceptAll(t, store, 1, messages(2))...)
		p.drain(t)
		if diff := cmp.Diff([]int{1, 1, 1, 1, 1}, copies(t, log, all)); diff != "" {
			t.Errorf("copies (-want +got):\n%s", diff)
		}
		receipted(t, store, log, all)
		if got, want := p.outbox.Counts(), (drain.Counts{Published: 2}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// TestKeptLease: a lease that somebody else keeps is believed as far as it goes.
func TestKeptLease(t *testing.T) {
	var held int64
	var left time.Duration
	var unknown error
	lease := drain.Kept(func() (int64, time.Duration, error) { return held, left, unknown })
	for _, c := range []struct {
		term int64
		left time.Duration
		held bool
	}{{0, 0, false}, {0, time.Hour, false}, {7, 20*time.Second - 1, false}, {7, 20 * time.Second, true}} {
		held, left = c.term, c.left
		grant, err := lease.Acquire(t.Context(), "p", 20*time.Second)
		if err != nil || grant.Held != c.held || grant.Term != c.term || !grant.Held && grant.Remaining <= 0 {
			t.Errorf("term %d for %v: %+v, %v", c.term, c.left, grant, err)
		}
	}
	unknown = fault.ErrUntried
	if grant, err := lease.Acquire(t.Context(), "p", 20*time.Second); err != nil || !grant.Held {
		t.Errorf("what is held for long enough is held, whoever answers: %+v, %v", grant, err)
	}
	held = 0
	if grant, err := lease.Acquire(t.Context(), "p", 20*time.Second); !errors.Is(err, fault.ErrUntried) || grant.Held {
		t.Errorf("nobody knows who has the lease: %+v, %v", grant, err)
	}
	if err := lease.Release(t.Context(), "p", 7); err != nil {
		t.Error(err)
	}
}
