package sim

import (
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
)

// wraps damage the parts of a run, for the tests that want each checker to find something. nil damages nothing.
type wraps struct {
	// onWorker stands between the faults and the store, onOuterWorker between the stage and the faults.
	onWorker, onOuterWorker func(*world, worker.Store) worker.Store
	onSource                func(broker.Opener) broker.Opener
	onOutbox                func(*world, relay.Outbox) relay.Outbox
	onPublisher             func(*world, broker.Publisher) broker.Publisher
	onView                  func(*world, view.Store) view.Store
}

func (w *wraps) worker(world *world, s worker.Store) worker.Store {
	if w.onWorker == nil {
		return s
	}
	return w.onWorker(world, s)
}

func (w *wraps) outerWorker(world *world, s worker.Store) worker.Store {
	if w.onOuterWorker == nil {
		return s
	}
	return w.onOuterWorker(world, s)
}

func (w *wraps) source(o broker.Opener) broker.Opener {
	if w.onSource == nil {
		return o
	}
	return w.onSource(o)
}

func (w *wraps) outbox(world *world, o relay.Outbox) relay.Outbox {
	if w.onOutbox == nil {
		return o
	}
	return w.onOutbox(world, o)
}

func (w *wraps) publisher(world *world, p broker.Publisher) broker.Publisher {
	if w.onPublisher == nil {
		return p
	}
	return w.onPublisher(world, p)
}

func (w *wraps) view(world *world, s view.Store) view.Store {
	if w.onView == nil {
		return s
	}
	return w.onView(world, s)
}
