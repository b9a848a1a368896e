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

// The points at which a child process can be told to end or to freeze itself.
const (
	workerBeforeState   = "worker before state"
	workerBeforeInstall = "worker before installation"
	workerBeforeBegin   = "worker before begin"
	workerBeforeCommit  = "worker before commit"
	workerAfterCommit   = "worker after commit"
	relayBeforeMark     = "relay before mark"
	viewBeforeCommit    = "view before commit"
	viewAfterCommit     = "view after commit"
)

// freezeProcess stops this process until it is sent SIGCONT; nil where the system cannot.
var freezeProcess func()

// killer ends its process with SIGKILL at one point, when it was passed often enough.
type killer struct {
	point string
	left  atomic.Int64
	// freeze, where set, stops the process for a while instead; it returns when the process goes on.
	freeze func()
}

// newKiller kills at the pass of point that follows after passes. The empty point never comes.
func newKiller(point string, after int64) *killer {
	k := &killer{point: point}
	k.left.Store(after)
	return k
}

// at is called by the wrappers at each point. It reports whether the process was frozen at this pass; only one is.
func (k *killer) at(point string) (frozen bool) {
	if point != k.point {
		return false
	}
	left := k.left.Add(-1)
	switch {
	case left >= 0:
		return false
	case k.freeze == nil:
		k.end(point)
	case left < -1:
		return false
	}
	_, _ = fmt.Fprintln(os.Stderr, frozenAt(point))
	k.freeze()
	return true
}

// end kills the process.
func (k *killer) end(point string) {
	_, _ = fmt.Fprintln(os.Stderr, killedAt(point))
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // nothing happens after a SIGKILL, and nothing until it is delivered
}

// went says what became of the call that a frozen process made when it went on.
func (k *killer) went(frozen bool, err error) {
	if frozen {
		_, _ = fmt.Fprintf(os.Stderr, "%s%v\n", thawedAt(k.point), err)
	}
}

// killedAt is the last line of a child that ended itself.
func killedAt(point string) string { return "killed " + point }

// frozenAt is a line of a child that froze itself; thawedAt begins the one that says how the delayed call ended.
func frozenAt(point string) string { return "frozen " + point }
func thawedAt(point string) string { return "thawed " + point + ": " }

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

func (s workerStore) PartitionState(ctx context.Context, partition int32) (worker.PartitionState, error) {
	frozen := s.killer.at(workerBeforeState)
	state, err := s.Store.PartitionState(ctx, partition)
	s.killer.went(frozen, err)
	return state, err
}

func (s workerStore) InstallEpoch(ctx context.Context, in worker.Installation) (worker.PartitionState, error) {
	frozen := s.killer.at(workerBeforeInstall)
	state, err := s.Store.InstallEpoch(ctx, in)
	s.killer.went(frozen, err)
	return state, err
}

func (s workerStore) Begin(ctx context.Context, partition int32, epoch, frontier int64) (worker.Unit, error) {
	frozen := s.killer.at(workerBeforeBegin)
	unit, err := s.Store.Begin(ctx, partition, epoch, frontier)
	s.killer.went(frozen, err)
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
	frozen := u.killer.at(workerBeforeCommit)
	err := u.Unit.Commit(ctx, changes)
	u.killer.went(frozen, err)
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
	frozen := o.killer.at(relayBeforeMark)
	err := o.Outbox.Mark(ctx, mark)
	o.killer.went(frozen, err)
	return err
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
