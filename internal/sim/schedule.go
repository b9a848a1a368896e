package sim

import (
	"slices"
	"time"
)

// swarm is what may go wrong in one run, and how often: a random subset with random weights, because a run in which
// everything fails at once never gets far enough to show the subtle faults (swarm testing).
type swarm struct {
	// faulty is how many steps in a hundred have a fault.
	faulty int
	// modes are the weights of the modes; 0 is off.
	modes [broken + 1]int
	// kinds are the weights of the actions.
	kinds [marker + 1]int
	// span is the most actions taken while somebody is frozen.
	span int
	// stories is how many are woven in.
	stories int
}

func drawSwarm(r *random) swarm {
	s := swarm{faulty: pick(r, 0, 8, 25, 50, 80), span: pick(r, 5, 20, 60)}
	for m := range s.modes {
		if r.percent(60) {
			s.modes[m] = r.between(1, 8)
		}
	}
	steps := r.between(20, 60)
	s.kinds[stepWorker], s.kinds[stepRelay], s.kinds[stepView] = steps, r.between(5, steps), r.between(5, steps)
	s.kinds[produce] = r.between(3, 20)
	s.kinds[deliver] = r.between(3, 15)
	for _, k := range []kind{pass, rebalance, deliverOld, deliverEmpty, restartWorker, restartRelay, restartView, flush, marker} {
		if r.oneIn(2) {
			s.kinds[k] = r.between(1, 6)
		}
	}
	s.stories = pick(r, 0, 1, 3)
	return s
}

// drawSchedule draws the actions of the chaos phase.
func drawSchedule(r *random, s *scenario) []action {
	w := drawSwarm(r)
	actions := make([]action, r.between(200, 600))
	for i := range actions {
		actions[i] = w.draw(r, s)
	}
	for range w.stories {
		actions = slices.Insert(actions, r.below(len(actions)), w.thereAndBack(r, s)...)
	}
	return actions
}

// thereAndBack is a story that chance tells too rarely: A owns everything and fills its cache, B takes over while A hears
// nothing of it, and A gets everything back without ever having seen an assignment in between (R15: A, B, A).
func (w *swarm) thereAndBack(r *random, s *scenario) []action {
	a := r.below(s.shape.workers)
	b := (a + 1) % s.shape.workers
	var story []action
	hear := func(actor int) {
		for range 8 {
			story = append(story, action{kind: deliver, actor: actor})
		}
	}
	turn := func(actor int) {
		story = append(story, action{kind: produce, arg: r.between(2, 8)})
		for i := range r.between(4, 24) {
			story = append(story, action{kind: stepWorker, actor: actor, arg: i % int(s.shape.lanes)})
			if r.oneIn(4) {
				story = append(story, w.draw(r, s))
			}
		}
	}
	story = append(story, action{kind: rebalance, arg: 1 << a})
	hear(a)
	turn(a)
	story = append(story, action{kind: rebalance, arg: 1 << b})
	hear(b)
	turn(b)
	story = append(story, action{kind: rebalance, arg: 1 << a})
	hear(a)
	turn(a)
	return story
}

func (w *swarm) draw(r *random, s *scenario) action {
	a := action{kind: kind(r.weighted(w.kinds[:]))}
	switch a.kind {
	case stepWorker:
		a.actor, a.arg = r.below(s.shape.workers), r.below(int(s.shape.lanes))
		a.fault = w.fault(r, workerFaults)
	case stepRelay:
		a.actor = r.below(s.shape.relays)
		a.fault = w.fault(r, relayFaults)
	case stepView:
		a.actor, a.arg = r.below(s.shape.views), r.below(int(s.namespace.Spec.Output.Partitions))
		a.fault = w.fault(r, viewFaults)
	case produce, flush:
		a.arg = r.between(1, 8)
	case pass:
		a.wait = pick(r, 20*time.Millisecond, 300*time.Millisecond, 2*time.Second, 11*time.Second, 35*time.Second)
	case rebalance:
		a.arg = r.between(1, 1<<s.shape.workers-1)
	case deliver, deliverEmpty:
		a.actor = r.below(s.shape.workers)
	case deliverOld:
		a.actor, a.arg = r.below(s.shape.workers), r.below(4)
	case restartWorker:
		a.actor, a.arg = r.below(s.shape.workers), r.below(2)
	case restartRelay:
		a.actor, a.arg = r.below(s.shape.relays), r.below(2)
	case restartView:
		a.actor, a.arg = r.below(s.shape.views), r.below(2)
	case marker:
		a.arg = r.below(int(s.namespace.Spec.Output.Partitions))
	}
	return a
}

// placed are the calls of one stage with the modes that each may have.
type placed struct {
	op    op
	modes []mode
}

// anywhere are the modes of every call, written of those that write to a database, read of those that do not.
var (
	anywhere = []mode{crashBefore, crashAfter, frozen, slow}
	written  = append([]mode{failed, lostUndone, lostDone}, anywhere...)
	read     = append([]mode{failed, lostUndone}, anywhere...)
	inUnit   = append([]mode{cut}, written...)
	polled   = append([]mode{nothing, short, broken}, anywhere...)

	workerFaults = []placed{
		{opCommit, inUnit}, {opCommit, inUnit}, {opCommit, inUnit}, {opBegin, read}, {opRead, inUnit}, {opState, read}, {opInstall, written},
		{opInstall, written}, {opStop, written}, {opPoll, polled}, {opOpen, []mode{broken, crashBefore, frozen}},
	}
	relayFaults = []placed{
		{opPublish, append([]mode{rejected, unacknowledged, late, twice}, anywhere...)},
		{opPublish, []mode{rejected, unacknowledged, late, twice}},
		{opAppend, anywhere}, {opMark, written}, {opMark, written}, {opPending, read}, {opAcquire, written}, {opPositions, read},
	}
	viewFaults = []placed{
		{opCommit, inUnit}, {opCommit, inUnit}, {opBegin, read}, {opRead, inUnit}, {opPosition, read}, {opPoll, polled},
		{opOpen, []mode{broken, crashBefore, frozen}},
	}
)

// sqlstates are what a healthy server refuses healthy statements with.
var sqlstates = []string{"40001", "40P01", "57P01", "53300"}

// fault draws a fault of a stage, or none.
func (w *swarm) fault(r *random, places []placed) *injection {
	if !r.percent(w.faulty) {
		return nil
	}
	place := pick(r, places...)
	weights := make([]int, len(place.modes))
	total := 0
	for i, m := range place.modes {
		weights[i] = w.modes[m]
		total += w.modes[m]
	}
	if total == 0 {
		return nil
	}
	f := &injection{op: place.op, mode: place.modes[r.weighted(weights)]}
	if f.op == opRead || f.op == opAppend || f.mode >= rejected && f.mode <= twice {
		f.nth = r.below(4)
	}
	switch f.mode {
	case failed:
		f.code = pick(r, sqlstates...)
	case frozen, cut:
		f.span = r.between(1, w.span)
		f.delay = pick(r, 0, time.Second, 40*time.Second)
	case slow:
		f.delay = pick(r, 100*time.Millisecond, 4*time.Second, 9*time.Second, 25*time.Second)
		if f.op == opPublish || f.op == opAppend {
			f.delay = min(f.delay, deliveryTimeout-time.Second) // longer is a failure
		}
	default:
	}
	return f
}
