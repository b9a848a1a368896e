package sim

import (
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/fault"
)

// idle is a life that cannot be stepped: dead, or frozen inside a call.
func (l *life) idle() bool {
	if l.dead || l.frozen {
		mark.Hit("sim.1 action without effect")
		return true
	}
	return false
}

// arm places the fault of a step.
func (l *life) arm(f *injection) {
	l.fault = nil
	if f != nil {
		placed := *f
		l.fault = &placed
	}
	clear(l.calls)
}

// stepped sorts the result of a step as the runner does: it backs off from an error, but one of class Stop ends the task
// for good, which no fault here deserves.
func (l *life) stepped(progress bool, wake time.Time, err error) (bool, time.Time) {
	w := l.world
	w.steps++
	if l.dead {
		w.log(l.name, "is dead")
		return false, time.Time{}
	}
	l.fault = nil
	if err != nil {
		w.log(l.name, "step failed, class %s: %v", fault.ClassOf(err), err)
	}
	if fault.ClassOf(err) == fault.Stop {
		w.fail("stop", "%s stops for good: %v", l.name, err)
	}
	return progress, wake
}

func (w *world) stepWorker(p *workerProcess, lane int, f *injection) (bool, time.Time) {
	l := p.life
	if l.idle() {
		return false, time.Time{}
	}
	l.arm(f)
	return l.stepped(p.lanes[lane].Step(w.ctx))
}

func (w *world) stepRelay(p *relayProcess, f *injection) (bool, time.Time) {
	l := p.life
	if l.idle() || p.relay == nil {
		return false, time.Time{}
	}
	l.arm(f)
	return l.stepped(p.relay.Step(w.ctx))
}

func (w *world) stepView(p *viewProcess, partition int, f *injection) (bool, time.Time) {
	l := p.life
	if l.idle() {
		return false, time.Time{}
	}
	l.arm(f)
	return l.stepped(p.views[partition].Step(w.ctx))
}
