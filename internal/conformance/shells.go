package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/rebuild"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/replay"
	"amends.dev/amends/stages/replay/memory"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

const (
	// stepsMax bounds every run: more steps are a livelock.
	stepsMax = 20_000
	// deliveryTimeout and leaseTTL are the relay's. A relay that crashed has its lease waited out.
	deliveryTimeout = 250 * time.Millisecond
	leaseTTL        = time.Second
)

// parts are the durable parts of a bench of shells.
type parts interface {
	workerStore() worker.Store
	outbox() relay.Outbox
	viewStore() view.Store
	replayStore() replay.Store
	committed(ctx context.Context) ([][]broker.Message, error)
	verify(ctx context.Context, topics topics, hurried bool, during func() error) (verdict, error)
	observe(ctx context.Context) (*observed, error)
	change(ctx context.Context, other *manifests.Namespace) error
	// fresh makes the parts of another namespace over the same source topic.
	fresh(ctx context.Context, ns *manifests.Namespace, output *topic) (parts, error)
	rebuildStore() rebuild.Store
	close()
}

// shells is a bench that steps the production shells of worker, relay and view one after the other, over topics in
// memory and given durable parts.
type shells struct {
	parts
	ns             *manifests.Namespace
	clock          verify.Clock
	source, output *topic
	opener, reader broker.Opener
	topicID        string
	faults         *faults
	maxBatch       int

	worker     *worker.Worker
	member     *workertest.Member
	generation int32
	relay      *relay.Relay
	relays     int
	views      []*view.View
	operations memory.Log
}

var _ bench = (*shells)(nil)

// newShells prepares the stages of a namespace; none has been started.
func newShells(ns *manifests.Namespace, clock verify.Clock, source, output *topic, p parts, maxBatch int) *shells {
	return &shells{
		parts: p, ns: ns, clock: clock, source: source, output: output, opener: source.at(), reader: output.at(),
		topicID: source.id(), faults: newFaults(), maxBatch: maxBatch, member: workertest.NewMember(),
	}
}

func (b *shells) namespace() *manifests.Namespace { return b.ns }

func (b *shells) sourceTopicID() string { return b.topicID }

func (b *shells) produce(ctx context.Context, all []broker.Message) error {
	b.source.Publish(ctx, all)
	return nil
}

func (b *shells) deliver(ctx context.Context, all []broker.Message) error {
	b.output.Publish(ctx, all)
	return nil
}

func (b *shells) trim(_ context.Context, t Trim) error {
	b.source.trim(t.Partition, t.Before)
	return nil
}

func (b *shells) recreate(context.Context) error {
	b.source.recreate()
	return nil
}

func (b *shells) verify(ctx context.Context, hurried bool, during func() error) (verdict, error) {
	return b.parts.verify(ctx, newTopics(b.source, b.output), hurried, during)
}

func (b *shells) close(ctx context.Context) {
	for _, stage := range []string{stageWorker, stageRelay, stageView} {
		_ = b.restart(context.WithoutCancel(ctx), stage) // it only lets go of what the stage holds
	}
	b.parts.close()
}

// run implements bench. The stages take turns, so that each finds what the one before it made.
func (b *shells) run(ctx context.Context, stages []string) error {
	for _, stage := range stages {
		if err := b.drain(ctx, stage); err != nil {
			return err
		}
	}
	return nil
}

// drain steps one stage until it has reached the end of its input, or has stopped for good.
func (b *shells) drain(ctx context.Context, stage string) error {
	for range stepsMax {
		done, err := b.done(ctx, stage)
		if done || err != nil {
			return err
		}
		if err := b.step(ctx, stage); err != nil {
			return fmt.Errorf("%s: %w", stage, err)
		}
	}
	return fmt.Errorf("%s: not at the end after %d steps", stage, stepsMax)
}

// step does one step of a stage and lets time pass to when it wants to be woken. Faults are what stages back off from.
func (b *shells) step(ctx context.Context, stage string) error {
	var progress bool
	var wake time.Time
	var err error
	switch stage {
	case stageWorker:
		progress, wake, err = b.startedWorker().Step(ctx)
	case stageRelay:
		var r *relay.Relay
		if r, err = b.startedRelay(); err == nil {
			progress, wake, err = r.Step(ctx)
		}
	case stageView:
		for _, v := range b.startedViews() {
			var stopped *view.StoppedError
			moved, next, viewErr := v.Step(ctx)
			progress, wake = progress || moved, next
			if viewErr != nil && !errors.As(viewErr, &stopped) {
				err = viewErr
			}
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.Is(err, errFault):
		return err
	case err != nil:
		wake = b.clock.Now().Add(time.Millisecond)
	case progress:
		return nil
	}
	if delay := wake.Sub(b.clock.Now()); delay > 0 {
		return b.clock.Sleep(ctx, delay)
	}
	return nil
}

// done reports whether a stage has nothing left to do.
func (b *shells) done(ctx context.Context, stage string) (bool, error) {
	switch stage {
	case stageWorker:
		for p, end := range b.source.ends() {
			state, err := b.workerStore().PartitionState(ctx, int32(p))
			if err != nil || state.Stop == nil && state.NextOffset < end {
				return false, err
			}
		}
	case stageRelay:
		positions, err := b.outbox().Positions(ctx)
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(positions, func(p relay.Position) bool { return p.Sent < p.End }), nil
	case stageView:
		for p, end := range b.output.ends() {
			next, err := b.viewStore().Position(ctx, int32(p))
			var stopped *view.StoppedError
			switch {
			case errors.As(err, &stopped):
			case err != nil:
				return false, err
			case next < end:
				return false, nil
			}
		}
	}
	return true, nil
}

// startedWorker returns the worker, started under a new assignment of all partitions where there is none.
func (b *shells) startedWorker() *worker.Worker {
	if b.worker == nil {
		b.generation++
		var all []int32
		for p := range b.ns.Spec.Source.Partitions {
			all = append(all, p)
		}
		b.member.Assign(fmt.Sprintf("member-%d", b.generation), b.generation, all...)
		b.worker = worker.New(worker.Options{
			Config: ledger.NewConfig(b.ns, b.topicID), Store: b.faults.workerStore(b.workerStore()), Opener: b.opener,
			Membership: b.member, Now: b.clock.Now, Random: rand.New(rand.NewPCG(1, 1)).Int64N, MaxBatch: b.maxBatch,
			PollWait: time.Millisecond,
		})
	}
	return b.worker
}

func (b *shells) startedRelay() (*relay.Relay, error) {
	if b.relay != nil {
		return b.relay, nil
	}
	b.relays++
	var err error
	b.relay, err = relay.New(relay.Options{
		Outbox: b.faults.outbox(b.outbox()), Publisher: b.output, Holder: fmt.Sprintf("relay-%d", b.relays),
		Partitions: b.ns.Spec.Output.Partitions, Now: b.clock.Now, DeliveryTimeout: deliveryTimeout, LeaseTTL: leaseTTL,
		MaxEnvelopes: b.maxBatch,
	})
	return b.relay, err
}

func (b *shells) startedViews() []*view.View {
	if b.views == nil {
		for p := range b.ns.Spec.Output.Partitions {
			b.views = append(b.views, view.New(view.Options{
				Config: view.NewConfig(b.ns), Partition: p, Store: b.faults.viewStore(b.viewStore()), Opener: b.reader,
				Now: b.clock.Now, MaxRecords: b.maxBatch,
			}))
		}
	}
	return b.views
}

// restart implements bench: the next step of the stage is that of a new process.
func (b *shells) restart(ctx context.Context, stage string) error {
	switch stage {
	case stageWorker:
		if b.worker != nil {
			b.worker.Close() //nolint:contextcheck // a last lag signal, bounded by itself
			b.worker = nil
		}
	case stageRelay:
		if b.relay != nil {
			err := b.relay.Close(ctx)
			b.relay = nil
			if err != nil && !errors.Is(err, errFault) {
				return err
			}
		}
	case stageView:
		for _, v := range b.views {
			v.Close()
		}
		b.views = nil
	}
	return nil
}

// crash implements bench.
func (b *shells) crash(ctx context.Context, p Point) error {
	fired := b.faults.arm(p, true)
	for range stepsMax {
		if err := b.step(ctx, p.Stage); err != nil {
			return err
		}
		select {
		case <-fired:
			err := b.restart(ctx, p.Stage)
			b.faults.revive(p.Stage)
			return err
		default:
		}
	}
	return fmt.Errorf("%s never came to %s", p.Stage, p.At)
}

// lose implements bench.
func (b *shells) lose(ctx context.Context, p Point) error {
	fired := b.faults.arm(p, false)
	if err := b.drain(ctx, p.Stage); err != nil {
		return err
	}
	select {
	case <-fired:
		return nil
	default:
		return fmt.Errorf("%s never came to %s", p.Stage, p.At)
	}
}

// rebalance implements bench.
func (b *shells) rebalance(ctx context.Context, at string) error {
	u := newUsurper(b.workerStore())
	b.faults.interpose(at, func() { u.start(ctx, at) })
	for range stepsMax {
		if err := b.step(ctx, stageWorker); err != nil {
			return err
		}
		if u.started() {
			break
		}
	}
	if err := u.wait(ctx); err != nil {
		return err
	}
	for range 20 { // the former owner may try what it likes
		if err := b.step(ctx, stageWorker); err != nil {
			return err
		}
	}
	b.generation += 2
	if err := u.prevails(ctx); err != nil {
		return err
	}
	return b.restart(ctx, stageWorker)
}

// refuse implements bench.
func (b *shells) refuse(ctx context.Context, stage string) error {
	before, err := b.observe(ctx)
	if err != nil {
		return err
	}
	for range 20 {
		if err := b.step(ctx, stage); err != nil && !errors.Is(err, broker.ErrTopicChanged) {
			return err
		}
	}
	after, err := b.observe(ctx)
	if err != nil {
		return err
	}
	return unmoved(stage, before, after)
}
