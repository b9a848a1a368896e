package boundary

import (
	"time"

	"amends.dev/amends/internal/mark"
)

// observeLease waits until nobody else holds the writer lease and intake has no effect pending, and then, where it may,
// takes the lease, so that nobody writes for as long as the run lasts (R22).
func (m *Machine) observeLease(at time.Duration, o Observation) Move {
	switch l := o.Lease; {
	case l.Unreadable && !m.cfg.WritersStopped:
		mark.Hit("R22 lease unreadable")
		m.incomplete(nil, nil, true, "this role may not read the writer lease, so that nothing shows that writers are stopped; "+
			"grant it SELECT on amends.writer_lease, or stop the writers and say so with --writers-stopped")
		return m.end()
	case l.Held && !m.mine(l):
		return m.awaitHolder(at, o)
	}
	if move, pending := m.awaitEffects(at, o); pending {
		return move
	}
	return m.exclude(at, o)
}

// mine says whether the run itself holds, or last held, the lease.
func (m *Machine) mine(l *Lease) bool { return m.cfg.Holder != "" && l.Holder == m.cfg.Holder }

// awaitHolder asks another holder to stop and waits for it.
func (m *Machine) awaitHolder(at time.Duration, o Observation) Move {
	l := o.Lease
	switch {
	case o.StopDenied:
		m.incomplete(nil, nil, true,
			"the writer lease is held by %s (term %d) and this role may not ask it to stop", l.Holder, l.Term)
		return m.end()
	case m.expired(at):
		m.incomplete(nil, nil, true, "the writer lease is still held by %s (term %d) after %s",
			l.Holder, l.Term, m.cfg.Timeout)
		return m.end()
	case !l.StopRequested:
		return MoveRequestStop
	default:
		return MoveWait
	}
}

// awaitEffects waits until intake has no effect pending. Only intake can bring them to the topic, and only while the run
// does not hold the lease. False says that there is nothing to wait for.
func (m *Machine) awaitEffects(at time.Duration, o Observation) (move Move, pending bool) {
	switch p := o.Pending; {
	case p == nil || !p.Unreadable && p.Count == 0:
		return 0, false
	case p.Unreadable && m.cfg.WritersStopped:
		return 0, false
	case p.Unreadable:
		m.incomplete(nil, nil, true, "this role may not read the pending effects of intake; grant it SELECT on the owner "+
			"tables, or see to it that there are none and say so with --writers-stopped")
	case m.mine(o.Lease) || m.expired(at):
		mark.Hit("R22 effects pending")
		m.incomplete(nil, nil, true, "intake has accepted what is not in the source topic yet; effects pending: %d, the first %s; "+
			"start intake, so that it publishes them, and verify again", p.Count, p.First)
	default:
		return MoveWait, true
	}
	return m.end(), true
}

// exclude takes the free lease where it may, and goes on once nobody else can write.
func (m *Machine) exclude(at time.Duration, o Observation) Move {
	l := o.Lease
	switch {
	case l.Unreadable:
		m.result.WritersExcludedBy = ByStatement
		m.held("the operator says that no writer runs; the writer lease cannot be read")
	case m.mine(l) && l.Held:
		m.result.WritersExcludedBy, m.term = ByLease, l.Term
		m.held("the writer lease is held by this run, %s, under term %d", l.Holder, l.Term)
	case m.cfg.Holder == "" || o.AcquireDenied:
		m.term = l.Term // whether that kept writers out is known at the end
		m.held("nobody holds the writer lease, term %d; this run only looks at it", l.Term)
	case m.expired(at):
		m.incomplete(nil, nil, true, "the writer lease is free and could not be taken within %s", m.cfg.Timeout)
		return m.end()
	default:
		return MoveAcquire
	}
	return m.enter(PhaseSource, MoveObserve)
}

// recheckLease proves that nobody else had the lease since the writers were excluded: a holder raises the term. A lease
// of this run's that expired and that nobody took kept everybody out all the same, and so did one that was only looked at.
func (m *Machine) recheckLease(l *Lease) {
	switch {
	case l.Unreadable && m.result.WritersExcludedBy == ByStatement:
	case l.Unreadable:
		m.incomplete(nil, nil, true, "the writer lease can no longer be read")
	case l.Term != m.term && m.result.WritersExcludedBy != ByStatement, l.Held && !m.mine(l):
		mark.Hit("R22 lease taken during the run")
		m.result.WritersExcludedBy = ""
		m.incomplete(nil, nil, true, "%s took the writer lease during the run (term %d)", l.Holder, l.Term)
	case m.result.WritersExcludedBy == "":
		m.result.WritersExcludedBy = ByLease
	}
}
