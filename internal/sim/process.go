package sim

import (
	"fmt"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// life is one incarnation of a process. Its calls pass through gate.go.
type life struct {
	world *world
	// name is that of the process and its incarnation: no two lives ever share one.
	name string
	// dead: nothing that it does has an effect any more. frozen: it is inside a call, and others go on.
	dead, frozen bool
	// fault is that of the current step, nil once it struck; calls counts the calls of the step.
	fault *injection
	calls map[op]int
}

// process is a place where a life can be.
type process struct {
	stage string
	index int
	lives int
	*life
	// closers are what ends a life in an orderly way.
	closers []closer
}

// closer is a stage that gives back what it holds.
type closer interface{ Close() }

// relayCloser makes a closer of a relay.
type relayCloser struct{ p *relayProcess }

// Close implements closer. A lease that cannot be given up expires.
func (c relayCloser) Close() { _ = c.p.relay.Close(c.p.world.ctx) }

// reborn starts the next incarnation.
func (p *process) reborn(w *world) {
	p.lives++
	if p.life != nil {
		w.log(p.name, "starts again")
	}
	p.life = &life{world: w, name: fmt.Sprintf("%s%d.%d", p.stage, p.index+1, p.lives), calls: map[op]int{}}
}

// workerProcess is a member of the group with its lanes.
type workerProcess struct {
	process
	member *workertest.Member
	lanes  []*worker.Worker
	// queued are assignments whose callback did not run yet; delivered are those whose did.
	queued, delivered []broker.Assignment
}

func (w *world) startWorker(p *workerProcess) {
	p.reborn(w)
	p.member, p.queued, p.delivered = workertest.NewMember(), nil, nil
	p.lanes, p.closers = nil, nil
	random := newRandom(w.seed, purposeRun+uint64(p.index)<<4+uint64(p.lives)<<12)
	for lane := range w.shape.lanes {
		stage := worker.New(worker.Options{
			Config: w.config, Store: w.wraps.outerWorker(w, &workerStore{life: p.life, inner: w.wraps.worker(w, w.state)}),
			Opener: &opener{life: p.life, inner: w.wraps.source(w.source)}, Membership: p.member,
			Now: w.now, Random: func(n int64) int64 { return int64(random.below(int(n))) },
			Lane: lane, Lanes: w.shape.lanes,
			MaxBatch: w.shape.maxBatch, MaxOutputBytes: w.shape.maxOutputBytes, CacheRows: w.shape.cacheRows,
		})
		p.lanes, p.closers = append(p.lanes, stage), append(p.closers, stage)
	}
}

// relayProcess is one of the relays that compete for the lease.
type relayProcess struct {
	process
	relay *relay.Relay
}

func (w *world) startRelay(p *relayProcess) {
	p.reborn(w)
	p.relay, p.closers = nil, nil
	r, err := relay.New(relay.Options{
		Outbox:    &outboxStore{life: p.life, inner: w.wraps.outbox(w, w.outbox)},
		Publisher: w.wraps.publisher(w, &publisher{life: p.life}),
		Holder:    p.name, Partitions: w.namespace.Spec.Output.Partitions, Now: w.now, MaxEnvelopes: w.shape.maxEnvelopes,
		DeliveryTimeout: deliveryTimeout, LeaseTTL: leaseTTL,
	})
	if err != nil {
		w.fail("simulator", "start a relay: %v", err)
		return
	}
	p.relay = r
	p.closers = []closer{relayCloser{p}}
}

// viewProcess materializes every output partition.
type viewProcess struct {
	process
	views []*view.View
}

func (w *world) startView(p *viewProcess) {
	p.reborn(w)
	p.views, p.closers = nil, nil
	for partition := range w.namespace.Spec.Output.Partitions {
		stage := view.New(view.Options{
			Config: w.viewConfig, Partition: partition, Store: &viewStore{life: p.life, inner: w.wraps.view(w, w.view)},
			Opener: &opener{life: p.life, inner: w.output}, Now: w.now, MaxRecords: w.shape.maxRecords,
		})
		p.views, p.closers = append(p.views, stage), append(p.closers, stage)
	}
}

// restart ends a process, orderly or not, and starts it again. A frozen one cannot be ended in an orderly way: it is
// killed, and what it was about to do never happens.
func (p *process) restart(orderly bool) {
	p.world.log(p.name, "is ended, orderly: %v", orderly)
	if orderly && !p.dead && !p.frozen {
		for _, c := range p.closers {
			c.Close()
		}
	}
	p.life.dead = true
	p.world.release(p.life)
}
