package boundary

import (
	"strings"
	"testing"

	"amends.dev/amends/internal/mark"
)

// holding is a world whose run takes the lease under a name of its own.
func holding() *world {
	w := drained()
	w.lease.Term = 6
	w.config = func(c *Config) { c.Holder = "verify-1" }
	return w
}

// TestR22TheRunHoldsTheLease: a free lease is taken before H is captured, and a foreign one once its holder has stopped.
func TestR22TheRunHoldsTheLease(t *testing.T) {
	w := holding()
	_, r := run(t, w, nil)
	if !r.Complete || r.WritersExcludedBy != ByLease || w.lease.Holder != "verify-1" || !strings.Contains(r.Checks[0].Text, "held by this run, verify-1, under term 7") {
		t.Fatalf("%+v", r)
	}
	w = holding()
	w.lease = Lease{Held: true, Holder: "gen", Term: 6}
	_, r = run(t, w, map[int]func(*world){3: func(w *world) { w.lease.Held = false }})
	if !r.Complete || w.lease.Holder != "verify-1" || w.lease.Term != 7 {
		t.Errorf("%+v, lease %+v", r, w.lease)
	}
	// One that expired and that nobody took has kept everybody out.
	_, r = run(t, holding(), map[int]func(*world){-1: func(w *world) { w.lease.Held = false }})
	if !r.Complete {
		t.Errorf("%+v", r)
	}
}

// TestR22LeaseThatIsOnlyLookedAt: a role that may not take the lease proves as much by its term.
func TestR22LeaseThatIsOnlyLookedAt(t *testing.T) {
	w := holding()
	w.acquireDenied = true
	_, r := run(t, w, nil)
	if !r.Complete || r.WritersExcludedBy != ByLease || !strings.Contains(r.Checks[0].Text, "nobody holds the writer lease, term 6") {
		t.Fatalf("%+v", r)
	}
	w = holding()
	w.acquireDenied = true
	_, r = run(t, w, map[int]func(*world){-1: func(w *world) { w.lease = Lease{Holder: "gen", Term: 7} }}) // came and went
	expect(t, r, PhaseRecheck, "gen took the writer lease during the run (term 7)", -1, true)
	if r.WritersExcludedBy != "" {
		t.Errorf("a writer came, and %q excluded it", r.WritersExcludedBy)
	}
	w = holding()
	w.acquireDenied = true
	_, r = run(t, w, map[int]func(*world){-1: func(w *world) { w.lease.Unreadable = true }})
	if expect(t, r, PhaseRecheck, "can no longer be read", -1, true); r.WritersExcludedBy != "" {
		t.Errorf("nothing shows that %q excluded writers", r.WritersExcludedBy)
	}
}

// TestR22UnreadableLease: where no lease can be read, the operator has to say that writers are stopped.
func TestR22UnreadableLease(t *testing.T) {
	mark.Expect(t, "R22 lease unreadable")
	w := drained()
	w.lease.Unreadable = true
	_, r := run(t, w, nil)
	expect(t, r, PhaseWriter, "this role may not read the writer lease", -1, true)
	if r.WritersExcludedBy != "" {
		t.Errorf("writers excluded by %q", r.WritersExcludedBy)
	}
	w.config = func(c *Config) { c.WritersStopped = true }
	if _, r := run(t, w, nil); !r.Complete || r.WritersExcludedBy != ByStatement {
		t.Errorf("%+v", r)
	}
	// The statement does not outweigh a lease that is held.
	w = drained()
	w.lease, w.stopDenied = Lease{Held: true, Holder: "gen"}, true
	w.config = func(c *Config) { c.WritersStopped = true }
	_, r = run(t, w, nil)
	expect(t, r, PhaseWriter, "held by gen", -1, true)
}

// TestR22LeaseLost: whoever takes the lease from the run makes it INCOMPLETE, and so does a right that is gone.
func TestR22LeaseLost(t *testing.T) {
	mark.Expect(t, "R22 lease taken during the run")
	for _, c := range []struct {
		name  string
		event func(*world)
		want  string
	}{
		{"taken over", func(w *world) { w.lease = Lease{Held: true, Holder: "gen", Term: 8} }, "gen took the writer lease"},
		{"taken over and released", func(w *world) { w.lease = Lease{Holder: "gen", Term: 8} }, "gen took the writer lease"},
		{"right revoked", func(w *world) { w.lease = Lease{Unreadable: true} }, "can no longer be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, r := run(t, holding(), map[int]func(*world){-1: c.event})
			expect(t, r, PhaseRecheck, c.want, -1, true)
		})
	}
}

// TestR22LeaseThatCannotBeTaken: somebody else is always quicker, or the database does not do it.
func TestR22LeaseThatCannotBeTaken(t *testing.T) {
	_, r := run(t, holding(), map[int]func(*world){-2: func(*world) {}})
	expect(t, r, PhaseWriter, "is free and could not be taken within 10s", -1, true)
}

// TestR22PendingEffects: what intake has accepted and not published is waited for, with the lease left to it.
func TestR22PendingEffects(t *testing.T) {
	mark.Expect(t, "R22 effects pending")
	w := holding()
	w.pending = &Pending{Count: 2, First: "intake/a"}
	_, r := run(t, w, map[int]func(*world){4: func(w *world) { // intake came back, published and stopped
		w.pending, w.lease = &Pending{}, Lease{Holder: "intake", Term: 9}
	}})
	if !r.Complete || w.lease.Term != 10 || w.lease.Holder != "verify-1" {
		t.Fatalf("%+v, lease %+v", r, w.lease)
	}
	w = holding()
	w.pending = &Pending{Count: 2, First: "intake/a"}
	_, r = run(t, w, nil)
	expect(t, r, PhaseWriter, "effects pending: 2, the first intake/a", -1, true)
	if w.lease.Holder == "verify-1" {
		t.Error("the lease was taken while intake still needed it")
	}
	// They came to light after the lease was taken: nobody can publish them now.
	w = holding()
	_, r = run(t, w, map[int]func(*world){-2: func(w *world) {
		w.lease = Lease{Held: true, Holder: "verify-1", Term: 7}
		w.pending = &Pending{Count: 1, First: "intake/b"}
	}})
	expect(t, r, PhaseWriter, "effects pending: 1, the first intake/b", -1, true)

	w = drained()
	w.pending = &Pending{Unreadable: true}
	_, r = run(t, w, nil)
	expect(t, r, PhaseWriter, "may not read the pending effects", -1, true)
	w.config = func(c *Config) { c.WritersStopped = true }
	if _, r := run(t, w, nil); !r.Complete {
		t.Errorf("%+v", r)
	}
}
