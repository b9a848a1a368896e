package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// errFault is what a stage sees of an injected fault.
var errFault = errors.New("injected fault")

// faults stand between the production stages and their durable parts, whatever these are. At most one fault is armed at
// a time. A stage that crashed sees nothing but errors until it is gone. It is safe for concurrent use.
type faults struct {
	mu    sync.Mutex
	point Point
	// dead says that the fault ends the stage; lost only its answer.
	crash bool
	fired chan struct{}
	dead  map[string]bool
	// usurp, where set, is called once at a place of the worker, before what the worker does there.
	usurp   func()
	usurpAt string
}

func newFaults() *faults { return &faults{dead: map[string]bool{}} }

// arm prepares a fault and returns a channel that is closed when it strikes.
func (f *faults) arm(p Point, crash bool) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.point, f.crash, f.fired = p, crash, make(chan struct{})
	return f.fired
}

// revive lets a stage that crashed be started again.
func (f *faults) revive(stage string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.point, f.fired = Point{}, nil
	delete(f.dead, stage)
}

// interpose calls usurp when the worker comes to a place.
func (f *faults) interpose(at string, usurp func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.usurpAt, f.usurp = at, usurp
}

// strikes reports whether the armed fault is at this place, and uses it up.
func (f *faults) strikes(stage, at string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fired == nil || f.point != (Point{Stage: stage, At: at}) {
		return false
	}
	f.dead[stage] = f.crash
	close(f.fired)
	f.point, f.fired = Point{}, nil
	return true
}

// gone is the error of everything that a dead stage tries.
func (f *faults) gone(stage string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead[stage] {
		return fmt.Errorf("the %s is dead: %w", stage, errFault)
	}
	return nil
}

// workerStore injects faults into a worker's store. Both a crash after the commit and a lost answer leave the outcome
// unknown to the worker (SC18).
func (f *faults) workerStore(s worker.Store) worker.Store {
	return &workertest.Faulty{Store: s, Fate: func(op workertest.Op, _ int32) workertest.Fate {
		switch {
		case f.gone(stageWorker) != nil:
			return workertest.Fail
		case op == workertest.OpBegin:
			f.pass(atBegin)
		case op != workertest.OpCommit:
		case f.strikes(stageWorker, beforeCommit):
			return workertest.Fail
		case f.strikes(stageWorker, afterCommit), f.strikes(stageWorker, commitDone):
			return workertest.LostDone
		case f.strikes(stageWorker, commitUndone):
			return workertest.LostUndone
		default:
			f.pass(atCommit)
		}
		return workertest.Proceed
	}}
}

// pass calls usurp where it waits for this place.
func (f *faults) pass(at string) {
	f.mu.Lock()
	var usurp func()
	if f.usurp != nil && f.usurpAt == at {
		usurp, f.usurp = f.usurp, nil
	}
	f.mu.Unlock()
	if usurp != nil {
		usurp()
	}
}

// outbox injects faults into a relay's outbox.
func (f *faults) outbox(o relay.Outbox) relay.Outbox { return &faultyOutbox{Outbox: o, faults: f} }

type faultyOutbox struct {
	relay.Outbox
	faults *faults
}

// Pending implements relay.Outbox: what it returns is published next.
func (o *faultyOutbox) Pending(ctx context.Context, partition int32, from int64, limit int) ([]relay.Envelope, error) {
	if o.faults.strikes(stageRelay, beforePublish) {
		return nil, errFault
	}
	if err := o.faults.gone(stageRelay); err != nil {
		return nil, err
	}
	return o.Outbox.Pending(ctx, partition, from, limit)
}

// Mark implements relay.Outbox: what it marks was published.
func (o *faultyOutbox) Mark(ctx context.Context, mark relay.Mark) error {
	if o.faults.strikes(stageRelay, beforeMark) || o.faults.strikes(stageRelay, acknowledgement) {
		return errFault
	}
	if err := o.faults.gone(stageRelay); err != nil {
		return err
	}
	return o.Outbox.Mark(ctx, mark)
}

// Release implements relay.Outbox: the dead give nothing up, their lease has to be waited out.
func (o *faultyOutbox) Release(ctx context.Context, holder string, term int64) error {
	if err := o.faults.gone(stageRelay); err != nil {
		return err
	}
	return o.Outbox.Release(ctx, holder, term)
}

// viewStore injects faults into a view's store.
func (f *faults) viewStore(s view.Store) view.Store { return &faultyView{Store: s, faults: f} }

type faultyView struct {
	view.Store
	faults *faults
}

// Begin implements view.Store.
func (s *faultyView) Begin(ctx context.Context, partition int32, expected int64) (view.Unit, error) {
	if err := s.faults.gone(stageView); err != nil {
		return nil, err
	}
	unit, err := s.Store.Begin(ctx, partition, expected)
	if err != nil {
		return nil, err
	}
	return &faultyViewUnit{Unit: unit, faults: s.faults}, nil
}

type faultyViewUnit struct {
	view.Unit
	faults *faults
}

// Commit implements view.Unit.
func (u *faultyViewUnit) Commit(ctx context.Context, changes view.Changes) error {
	if u.faults.strikes(stageView, beforeCommit) || u.faults.strikes(stageView, commitUndone) {
		u.Rollback(ctx)
		return errFault
	}
	if err := u.Unit.Commit(ctx, changes); err != nil {
		return err
	}
	if u.faults.strikes(stageView, afterCommit) || u.faults.strikes(stageView, commitDone) {
		return errFault
	}
	return nil
}
