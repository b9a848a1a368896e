// Package pipeline puts the production stages of one applied namespace together: the composition that `run`, `demo` and
// the end-to-end tests share, so that what is tested is what runs.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/run"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
)

// Names of the stages as `run` takes them, in pipeline order.
const (
	Worker = worker.Stage
	Relay  = relay.Stage
	View   = view.Stage
)

// All are the names of every stage.
func All() []string { return []string{Worker, Relay, View} }

// Options say which stages run and where.
type Options struct {
	// Applied is the namespace with its topic IDs, as the catalog proved it.
	Applied *postgres.Applied
	// StateURL and ViewURL are the databases of processing state and view.
	StateURL, ViewURL string
	Kafka             kafka.Config
	// Stages are names of All; empty means all of them.
	Stages []string
	// Holder names this process in leases; no two processes ever share one.
	Holder string
	// Lanes is the number of workers that share this process's partitions; 0 means one for each source partition, at
	// most 8.
	Lanes int32
	// TakeOver lets the worker ignore a higher generation once: the consumer group was recreated (R16).
	TakeOver bool
	Log      *slog.Logger
	// MaxBatch, DeliveryTimeout and Group are the stages' defaults where zero.
	MaxBatch        int
	DeliveryTimeout time.Duration
	Group           kafka.GroupOptions
	// The hooks replace a store or publisher by a wrapper; tests inject faults at the real parts through them. nil
	// leaves the part as it is.
	WrapWorkerStore func(worker.Store) worker.Store
	WrapOutbox      func(relay.Outbox) relay.Outbox
	WrapViewStore   func(view.Store) view.Store
}

// Pipeline is a set of stages that was started. Status may be called from any goroutine.
type Pipeline struct {
	options Options
	runner  *run.Runner
	// requests watches what people ask the stages to try again.
	requests *requests
	closers  []func()
}

// New connects what the chosen stages need and checks topics and layouts. Close, or the end of Run, releases it.
func New(ctx context.Context, options Options) (*Pipeline, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	options.Log = options.Log.With("namespace", options.Applied.Name)
	if len(options.Stages) == 0 {
		options.Stages = All()
	}
	p := &Pipeline{options: options}
	if err := p.checkTopics(ctx); err != nil {
		return nil, err
	}
	var tasks []run.Task
	for _, name := range options.Stages {
		build, ok := map[string]func(context.Context) ([]run.Task, error){
			Worker: p.worker, Relay: p.relay, View: p.view,
		}[name]
		if !ok {
			p.Close()
			return nil, fmt.Errorf("unknown stage %q, want worker, relay or view", name)
		}
		built, err := build(ctx)
		if err != nil {
			p.Close()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		tasks = append(tasks, built...)
	}
	if err := p.watchRequests(ctx); err != nil {
		p.Close()
		return nil, err
	}
	p.runner = run.New(run.Options{Now: time.Now, Random: rand.Int64N, Log: options.Log}, tasks...)
	return p, nil
}

// checkTopics proves that source and output topic still are those that the namespace was applied to (S2, SC28). A stage
// alone would find out only when it reads or writes, and a worker never where its topic is gone: the group assigns it
// nothing.
func (p *Pipeline) checkTopics(ctx context.Context) error {
	admin, err := kafka.NewAdmin(p.options.Kafka)
	if err != nil {
		return err
	}
	defer admin.Close()
	return errors.Join(admin.CheckTopic(ctx, p.source()), admin.CheckTopic(ctx, p.output()))
}

// Run steps the stages until ctx ends, lets each finish the unit of work it is in, and releases everything.
func (p *Pipeline) Run(ctx context.Context) {
	watched := p.requests.follow(ctx, p.runner)
	p.runner.Run(ctx)
	<-watched
	p.Close()
}

// Status returns the state of every stage and partition of this process.
func (p *Pipeline) Status() []run.Status { return p.runner.Status() }

// Close releases connections. Run calls it; a Pipeline that never ran needs it.
func (p *Pipeline) Close() {
	for i := len(p.closers) - 1; i >= 0; i-- {
		p.closers[i]()
	}
	p.closers = nil
}

// closeGrace bounds the closing of a pool. One waits for its connections whose statements were cut short until the server
// has ended them, for up to a quarter of a minute each; the end of the process closes them as well.
const closeGrace = 2 * time.Second

// within does something, and waits for its end for so long at most.
func within(limit time.Duration, do func()) {
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

func (p *Pipeline) closer(f func()) { p.closers = append(p.closers, f) }

func (p *Pipeline) source() kafka.Topic {
	s := p.options.Applied.Namespace.Spec.Source
	return kafka.Topic{Name: s.Topic, ID: p.options.Applied.SourceTopicID, Partitions: s.Partitions}
}

func (p *Pipeline) output() kafka.Topic {
	o := p.options.Applied.Namespace.Spec.Output
	return kafka.Topic{Name: o.Topic, ID: p.options.Applied.OutputTopicID, Partitions: o.Partitions}
}

// state opens a pool on the namespace's processing state.
func (p *Pipeline) state(ctx context.Context, application string, conns int32) (*postgres.Pool, error) {
	schema := p.options.Applied.Namespace.StateSchema()
	return p.pool(ctx, p.options.StateURL, schema, postgres.KindNamespace, application, conns)
}

func (p *Pipeline) pool(ctx context.Context, url, schema string, kind postgres.Kind, application string, conns int32) (*postgres.Pool, error) {
	pool, err := postgres.Connect(ctx, postgres.Options{
		URL: url, Schema: schema, Application: postgres.ApplicationName(application, p.options.Applied.Name), MaxConns: conns,
	})
	if err != nil {
		return nil, err
	}
	p.closer(func() { within(closeGrace, pool.Close) })
	if err := postgres.CheckLayout(ctx, pool, kind, schema); err != nil {
		return nil, err
	}
	return pool, nil
}

// GroupName is the consumer group of a namespace's workers.
func GroupName(namespace string) string { return "amends." + namespace + ".worker" }

func (p *Pipeline) worker(ctx context.Context) ([]run.Task, error) {
	ns := p.options.Applied.Namespace
	lanes := p.options.Lanes
	if lanes == 0 {
		lanes = min(ns.Spec.Source.Partitions, 8)
	}
	pool, err := p.state(ctx, Worker, lanes+1)
	if err != nil {
		return nil, err
	}
	membership, err := kafka.Join(p.options.Kafka, GroupName(ns.Name), ns.Spec.Source.Topic, p.options.Group)
	if err != nil {
		return nil, err
	}
	p.closer(membership.Close)
	var store worker.Store = postgres.NewWorkerStore(pool, p.options.Applied.SourceTopicID)
	if p.options.WrapWorkerStore != nil {
		store = p.options.WrapWorkerStore(store)
	}
	config := ledger.NewConfig(ns, p.options.Applied.SourceTopicID)
	var tasks []run.Task
	for lane := range lanes {
		w := worker.New(worker.Options{
			Config: config, Store: store, Opener: kafka.NewOpener(p.options.Kafka, p.source()),
			Membership: membership, Now: time.Now, Random: rand.Int64N, Lane: lane, Lanes: lanes,
			TakeOver: p.options.TakeOver, MaxBatch: p.options.MaxBatch, Log: p.options.Log,
		})
		covers := func(partition int32) bool { return partition%lanes == lane }
		tasks = append(tasks, run.Task{
			Stage: Worker, Partition: lane, Step: w.Step, Status: w.Status, Covers: covers, Resume: w.Resume, Close: w.Close,
		})
	}
	return tasks, nil
}

func (p *Pipeline) relay(ctx context.Context) ([]run.Task, error) {
	pool, err := p.state(ctx, Relay, 2)
	if err != nil {
		return nil, err
	}
	timeout := p.options.DeliveryTimeout
	if timeout == 0 {
		timeout = relay.DefaultDeliveryTimeout
	}
	publisher, err := kafka.NewPublisher(ctx, p.options.Kafka, p.output(), timeout)
	if err != nil {
		return nil, err
	}
	p.closer(publisher.Close)
	var outbox relay.Outbox = postgres.NewRelayStore(pool)
	if p.options.WrapOutbox != nil {
		outbox = p.options.WrapOutbox(outbox)
	}
	r, err := relay.New(relay.Options{
		Outbox: outbox, Publisher: publisher, Holder: p.options.Holder, Partitions: p.output().Partitions, Now: time.Now,
		DeliveryTimeout: timeout, LeaseTTL: 3 * timeout, Random: rand.Int64N,
		Stopped: func(s relay.Stop) {
			p.options.Log.Error("partition stopped", "stage", Relay, "partition", s.Partition, "sequence", s.From, "reason", s.Reason, "detail", s.Detail)
		},
	})
	if err != nil {
		return nil, err
	}
	release := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second) // ctx has ended by then
		defer cancel()
		if err := r.Close(ctx); err != nil {
			p.options.Log.Warn("relay lease not given up; it will expire", "error", err)
		}
	}
	told := func(e *relay.PartitionError) {
		p.options.Log.Warn("publication failed", "stage", Relay, "partition", e.Partition, "error", e)
	}
	step := func(ctx context.Context) (bool, time.Time, error) { return r.StepAlone(ctx, told) }
	every := func(int32) bool { return true }
	return []run.Task{{Stage: Relay, Step: step, Status: r.Status, Covers: every, Resume: r.Resume, Close: release}}, nil
}

func (p *Pipeline) view(ctx context.Context) ([]run.Task, error) {
	ns := p.options.Applied.Namespace
	partitions := ns.Spec.Output.Partitions
	pool, err := p.pool(ctx, p.options.ViewURL, ns.ViewSchema(), postgres.KindView, View, min(partitions, 8)+1)
	if err != nil {
		return nil, err
	}
	var store view.Store = postgres.NewViewStore(pool, postgres.ViewIdentity{
		Namespace: ns.Name, Digest: ns.NamespaceDigest(), OutputTopicID: p.options.Applied.OutputTopicID,
	})
	if p.options.WrapViewStore != nil {
		store = p.options.WrapViewStore(store)
	}
	config := view.NewConfig(ns)
	var tasks []run.Task
	for partition := range partitions {
		v := view.New(view.Options{
			Config: config, Partition: partition, Store: store, Opener: kafka.NewOpener(p.options.Kafka, p.output()),
			Now: time.Now,
		})
		status := func() []run.Status { return []run.Status{v.Status()} }
		tasks = append(tasks, run.Task{Stage: View, Partition: partition, Step: v.Step, Status: status, Close: v.Close})
	}
	return tasks, nil
}

// Fault joins the reasons why tasks of this process stand still, nil while none does.
func (p *Pipeline) Fault() error {
	var errs []error
	for _, s := range p.Status() {
		if s.Stall != nil {
			errs = append(errs, fmt.Errorf("%s partition %d: %s", s.Stage, s.Partition, s.Stall.Reason))
		}
	}
	return errors.Join(errs...)
}
