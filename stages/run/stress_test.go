package run_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/relay/relaytest"
	"amends.dev/amends/stages/run"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/view/viewtest"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// site is everything durable that the processes of a stress share, in memory.
type site struct {
	config    *ledger.Config
	source    *workertest.Log
	state     *workertest.Store
	namespace *manifests.Namespace
	outbox    relay.Outbox
	output    *viewtest.Log
	view      *viewtest.Store
	// generation is that of the newest assignment.
	generation atomic.Int32
	envelopes  int64
}

func newSite() *site {
	namespace := viewtest.Namespace()
	outbox := relaytest.NewStore(2, time.Now)
	s := &site{
		config: workertest.Config("stress", 2, 4), source: workertest.NewLog(), state: workertest.NewStore(2),
		namespace: namespace, outbox: outbox, output: viewtest.NewLog(), view: viewtest.NewStore(namespace.Spec.Output.Partitions),
		envelopes: 10_000,
	}
	s.source.Mix(s.config, rand.New(rand.NewPCG(1, 2)), 10_000, workertest.Spread{Keys: 4, Identities: 200, Days: 10})
	for n := range s.envelopes {
		outbox.Append(int32(n%2), viewtest.KeyOf(namespace, int(n%2)).Balance("2026-01-02", n/2+1, n))
	}
	return s
}

// process is one process with all stages, whose member the group has just given every partition.
func (s *site) process(t *testing.T) *run.Runner {
	member, generation := workertest.NewMember(), s.generation.Add(1)
	member.Assign(fmt.Sprint("m", generation), generation, 0, 1)
	w := worker.New(worker.Options{
		Config: s.config, Store: s.state, Opener: s.source, Membership: member, Now: time.Now, Random: rand.Int64N,
		MaxBatch: 5, PollWait: time.Millisecond,
	})
	r, err := relay.New(relay.Options{
		Outbox: s.outbox, Publisher: s.output, Holder: fmt.Sprint("r", generation), Partitions: s.namespace.Spec.Output.Partitions,
		Now: time.Now, MaxEnvelopes: 5, Standby: time.Millisecond,
	})
	if err != nil {
		t.Error(err)
		return run.New(run.Options{Now: time.Now, Random: rand.Int64N})
	}
	tasks := []run.Task{
		{Stage: worker.Stage, Step: w.Step, Status: w.Status, Close: func() { w.Close(); member.Close() }},
		{Stage: relay.Stage, Step: r.Step, Status: r.Status, Close: func() {
			if err := r.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}},
	}
	for partition := range s.namespace.Spec.Output.Partitions {
		v := view.New(view.Options{
			Config: view.NewConfig(s.namespace), Partition: partition, Store: s.view, Opener: s.output, Now: time.Now, MaxRecords: 5,
		})
		tasks = append(tasks, run.Task{Stage: view.Stage, Partition: partition, Step: v.Step, Close: v.Close,
			Status: func() []run.Status { return []run.Status{v.Status()} }})
	}
	return run.New(run.Options{Now: time.Now, Random: rand.Int64N}, tasks...)
}

// drained reports whether every stage has done all there is to do.
func (s *site) drained(t *testing.T) bool {
	for partition := range int32(2) {
		if state, _, _ := s.state.Peek(partition); state.NextOffset < s.source.Reach(partition) {
			return false
		}
	}
	positions, err := s.outbox.Positions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range positions {
		if p.Sent < p.End || p.Stopped != "" {
			return false
		}
	}
	for partition := range s.namespace.Spec.Output.Partitions {
		if s.view.Progress()[partition].Next < s.output.End(partition) {
			return false
		}
	}
	return true
}

// TestStartAndStopOfEveryStage: ten processes over the same stores start and stop all stages, fifty times each, at any
// moment of their work; each takes the partitions from the others. All end, all give back what they hold, nothing is
// left running, and the work gets done.
func TestStartAndStopOfEveryStage(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	s := newSite()
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			for range 50 {
				p := s.process(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.Int64N(int64(3*time.Millisecond))))
				go p.Status()
				p.Run(ctx)
				cancel()
				p.Status()
			}
		})
	}
	group.Wait()
	if n := s.source.OpenReaders(); n != 0 {
		t.Errorf("%d readers are left open", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var last sync.WaitGroup
	p := s.process(t)
	last.Go(func() { p.Run(ctx) })
	for !s.drained(t) && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if ctx.Err() != nil {
		t.Errorf("not drained: %+v", p.Status())
	}
	cancel()
	last.Wait()
	if stops := s.view.Stops(); len(stops) != 0 {
		t.Errorf("the view stopped: %+v", stops)
	}
}
