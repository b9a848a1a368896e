package e2e_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"

	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
)

// The points at which a child process can be told to end itself.
const (
	workerBeforeCommit = "worker before commit"
	workerAfterCommit  = "worker after commit"
	relayBeforeMark    = "relay before mark"
	viewBeforeCommit   = "view before commit"
	viewAfterCommit    = "view after commit"
)

// killer ends its process with SIGKILL at one point, when it was passed often enough.
type killer struct {
	point string
	left  atomic.Int64
}

// newKiller kills at the pass of point that follows after passes. The empty point never comes.
func newKiller(point string, after int64) *killer {
	k := &killer{point: point}
	k.left.Store(after)
	return k
}

// at is called by the wrappers at each point.
func (k *killer) at(point string) {
	if point != k.point || k.left.Add(-1) >= 0 {
		return
	}
	_, _ = fmt.Fprintln(os.Stderr, killedAt(point))
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // nothing happens after a SIGKILL, and nothing until it is delivered
}

// killedAt is the last line of a child that ended itself.
func killedAt(point string) string { return "killed " + point }

// wrap hangs the killer into the stages' durable parts.
func (k *killer) wrap(o *pipeline.Options) {
	o.WrapWorkerStore = func(s worker.Store) worker.Store { return workerStore{s, k} }
	o.WrapOutbox = func(s relay.Outbox) relay.Outbox { return outbox{s, k} }
	o.WrapViewStore = func(s view.Store) view.Store { return viewStore{s, k} }
}

type workerStore struct {
	worker.Store
	killer *killer
}

func (s workerStore) Begin(ctx context.Context, partition int32, epoch, frontier int64) (worker.Unit, error) {
	unit, err := s.Store.Begin(ctx, partition, epoch, frontier)
	if err != nil {
		return nil, err
	}
	return workerUnit{unit, s.killer}, nil
}

type workerUnit struct {
	worker.Unit
	killer *killer
}

func (u workerUnit) Commit(ctx context.Context, changes ledger.Changes) error {
	u.killer.at(workerBeforeCommit)
	err := u.Unit.Commit(ctx, changes)
	if err == nil {
		u.killer.at(workerAfterCommit)
	}
	return err
}

type outbox struct {
	relay.Outbox
	killer *killer
}

func (o outbox) Mark(ctx context.Context, mark relay.Mark) error {
	o.killer.at(relayBeforeMark)
	return o.Outbox.Mark(ctx, mark)
}

type viewStore struct {
	view.Store
	killer *killer
}

func (s viewStore) Begin(ctx context.Context, partition int32, expected int64) (view.Unit, error) {
	unit, err := s.Store.Begin(ctx, partition, expected)
	if err != nil {
		return nil, err
	}
	return viewUnit{unit, s.killer}, nil
}

type viewUnit struct {
	view.Unit
	killer *killer
}

func (u viewUnit) Commit(ctx context.Context, changes view.Changes) error {
	u.killer.at(viewBeforeCommit)
	err := u.Unit.Commit(ctx, changes)
	if err == nil {
		u.killer.at(viewAfterCommit)
	}
	return err
}
