package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/source"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/replay"
)

// brokerTimeout is the least delivery timeout that a broker client allows; a crashed relay's lease is three of them.
const brokerTimeout = time.Second

// sessionTimeout is how long the group waits for a worker that does not leave it.
const sessionTimeout = 6 * time.Second

// runPipeline runs the stages as production composes them, over a broker and Postgres.
func runPipeline(ctx context.Context, servers *Servers, name string, v *Variant) ([]string, error) {
	ns, err := v.Manifest.Namespace(name)
	if err != nil {
		return nil, err
	}
	b := &piped{ns: ns, servers: servers, faults: newFaults()}
	defer b.close(ctx)
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	return play(ctx, b, v)
}

// piped is a bench that starts production pipelines and ends them.
type piped struct {
	*database
	ns             *manifests.Namespace
	servers        *Servers
	admin          *kafka.Admin
	judgeTopics    *source.Client
	source, output kafka.Topic
	applied        *postgres.Applied
	faults         *faults
	// holders counts pipelines: each is a process of its own to the leases.
	holders  int
	takeOver bool
}

var _ bench = (*piped)(nil)

// open creates topics and applies the namespace.
func (b *piped) open(ctx context.Context) (err error) {
	if b.admin, err = kafka.NewAdmin(b.servers.Brokers); err != nil {
		return err
	}
	spec := b.ns.Spec
	if b.source.ID == "" { // a rebuild has the source topic of another bench
		if b.source, err = b.create(ctx, spec.Source.Topic, spec.Source.Partitions); err != nil {
			return err
		}
	}
	if b.output, err = b.create(ctx, spec.Output.Topic, spec.Output.Partitions); err != nil {
		return err
	}
	if b.judgeTopics, err = source.Open(b.servers.Judge); err != nil {
		return err
	}
	if b.database, err = newDatabase(ctx, b.servers, b.ns, b.source.ID, b.output.ID); err != nil {
		return err
	}
	b.applied, err = postgres.NewCatalog(b.pools[0]).Load(ctx, b.ns.Name)
	return err
}

func (b *piped) create(ctx context.Context, name string, partitions int32) (kafka.Topic, error) {
	info, err := b.admin.Create(ctx, name, partitions)
	if err != nil {
		return kafka.Topic{}, err
	}
	return kafka.Topic{Name: name, ID: info.ID, Partitions: partitions}, nil
}

func (b *piped) close(context.Context) {
	if b.database != nil {
		b.database.close()
	}
	if b.judgeTopics != nil {
		b.judgeTopics.Close()
	}
	if b.admin != nil {
		b.admin.Close()
	}
}

func (b *piped) namespace() *manifests.Namespace { return b.ns }

func (b *piped) sourceTopicID() string { return b.applied.SourceTopicID }

func (b *piped) produce(ctx context.Context, all []broker.Message) error {
	return b.publish(ctx, b.source, all)
}

func (b *piped) deliver(ctx context.Context, all []broker.Message) error {
	return b.publish(ctx, b.output, all)
}

// publish appends messages in order and waits for every acknowledgement.
func (b *piped) publish(ctx context.Context, topic kafka.Topic, all []broker.Message) error {
	publisher, err := kafka.NewPublisher(ctx, b.servers.Brokers, topic, patience)
	if err != nil {
		return err
	}
	defer publisher.Close()
	for _, ack := range publisher.Publish(ctx, all) {
		if ack.Err != nil {
			return fmt.Errorf("publish to %s: %w", topic.Name, ack.Err)
		}
	}
	return nil
}

// pipeline is one process with some stages. The returned function ends it.
func (b *piped) pipeline(ctx context.Context, stages []string) (*pipeline.Pipeline, func(), error) {
	b.holders++
	p, err := pipeline.New(ctx, pipeline.Options{
		Applied: b.applied, StateURL: b.servers.DatabaseURL, ViewURL: b.servers.DatabaseURL, Kafka: b.servers.Brokers,
		Stages: stages, Holder: fmt.Sprintf("%s-%d", b.ns.Name, b.holders), Lanes: 1, TakeOver: b.takeOver,
		DeliveryTimeout: brokerTimeout, Group: kafka.GroupOptions{SessionTimeout: sessionTimeout},
		WrapWorkerStore: b.faults.workerStore, WrapOutbox: b.faults.outbox, WrapViewStore: b.faults.viewStore,
	})
	if err != nil {
		return nil, nil, err
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(running)
	}()
	return p, func() { cancel(); <-ended }, nil
}

// during runs stages until is holds.
func (b *piped) during(ctx context.Context, stages []string, is func() (bool, error)) error {
	p, stop, err := b.pipeline(ctx, stages)
	if err != nil {
		return err
	}
	defer stop()
	for deadline := b.servers.Clock.Now().Add(patience); ; {
		done, err := is()
		if done || err != nil {
			return err
		}
		if b.servers.Clock.Now().After(deadline) {
			return errors.Join(fmt.Errorf("%v not at the end after %v", stages, patience), p.Fault())
		}
		if err := b.servers.Clock.Sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}

// run implements bench.
func (b *piped) run(ctx context.Context, stages []string) error {
	return b.during(ctx, stages, func() (bool, error) { return b.done(ctx, stages) })
}

// done reports whether the stages, in pipeline order, have nothing left to do.
func (b *piped) done(ctx context.Context, stages []string) (bool, error) {
	for _, stage := range stages {
		done, err := b.stageDone(ctx, stage)
		if !done || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (b *piped) stageDone(ctx context.Context, stage string) (bool, error) {
	if stage == stageRelay {
		positions, err := b.relay.Positions(ctx)
		return !slices.ContainsFunc(positions, func(p relay.Position) bool { return p.Sent < p.End }), err
	}
	topic := b.source.Name
	if stage == stageView {
		topic = b.output.Name
	}
	info, err := b.admin.Describe(ctx, topic)
	if err != nil || info == nil {
		return false, errors.Join(err, fmt.Errorf("describe %s", topic))
	}
	o, err := b.observe(ctx)
	if err != nil {
		return false, err
	}
	frontiers := o.frontiers
	if stage == stageView {
		frontiers = o.viewFrontiers
	}
	for p, end := range info.Ends {
		stopped := slices.ContainsFunc(o.stops, func(s Stop) bool { return s.Stage == stage && s.Partition == int32(p) })
		if frontiers[p] < end && !stopped {
			return false, nil
		}
	}
	return true, nil
}

// crash implements bench.
func (b *piped) crash(ctx context.Context, p Point) error {
	defer b.faults.revive(p.Stage)
	return b.until(ctx, p, true, func() (bool, error) { return true, nil })
}

// lose implements bench.
func (b *piped) lose(ctx context.Context, p Point) error {
	return b.until(ctx, p, false, func() (bool, error) { return b.done(ctx, []string{p.Stage}) })
}

// until runs a stage until an armed fault has struck and then is holds.
func (b *piped) until(ctx context.Context, p Point, crash bool, is func() (bool, error)) error {
	fired := b.faults.arm(p, crash)
	return b.during(ctx, []string{p.Stage}, func() (bool, error) {
		select {
		case <-fired:
			return is()
		default:
			return false, nil
		}
	})
}

// restart implements bench: every run is a process of its own.
func (b *piped) restart(context.Context, string) error { return nil }

// rebalance implements bench. The group itself would wait for the former owner; the new owner does not.
func (b *piped) rebalance(ctx context.Context, at string) error {
	u := newUsurper(b.worker)
	b.faults.interpose(at, func() { u.start(ctx, at) })
	err := b.during(ctx, []string{stageWorker}, func() (bool, error) {
		if !u.started() {
			return false, nil
		}
		if err := u.wait(ctx); err != nil {
			return false, err
		}
		return true, b.servers.Clock.Sleep(ctx, haste) // the former owner may try what it likes
	})
	b.takeOver = true
	return errors.Join(err, u.prevails(ctx))
}

// refuse implements bench.
func (b *piped) refuse(ctx context.Context, stage string) error {
	before, err := b.observe(ctx)
	if err != nil {
		return err
	}
	deadline := b.servers.Clock.Now().Add(haste)
	err = b.during(ctx, []string{stage}, func() (bool, error) { return b.servers.Clock.Now().After(deadline), nil })
	if err != nil && !errors.Is(err, broker.ErrTopicChanged) {
		return err
	}
	after, err := b.observe(ctx)
	if err != nil {
		return err
	}
	return unmoved(stage, before, after)
}

// trim implements bench.
func (b *piped) trim(ctx context.Context, t Trim) error {
	if b.servers.Topics == nil {
		return fmt.Errorf("removing records from a topic: %w", errUnsupported)
	}
	return b.servers.Topics.DeleteRecords(ctx, b.source.Name, t.Partition, t.Before)
}

// recreate implements bench. What is produced from now on goes to the new topic.
func (b *piped) recreate(ctx context.Context) error {
	if b.servers.Topics == nil {
		return fmt.Errorf("deleting a topic: %w", errUnsupported)
	}
	if err := b.servers.Topics.Recreate(ctx, b.source.Name, b.source.Partitions); err != nil {
		return err
	}
	info, err := b.admin.Describe(ctx, b.source.Name)
	if err != nil || info == nil {
		return errors.Join(err, fmt.Errorf("describe %s", b.source.Name))
	}
	b.source.ID = info.ID
	return nil
}

// replay implements bench.
func (b *piped) replay(ctx context.Context, r replay.Range) (replay.Report, error) {
	return pipeline.Replay(ctx, pipeline.Replaying{
		Applied: b.applied, State: b.state, Kafka: b.servers.Brokers, Range: r,
	})
}

// verify implements bench.
func (b *piped) verify(ctx context.Context, hurried bool, during func() error) (verdict, error) {
	return b.verifyWith(ctx, b.judgeTopics, hurried, during)
}
