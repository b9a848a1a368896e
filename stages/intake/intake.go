package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/drain"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/run"
)

// Defaults of Options.
const (
	// DefaultDeliveryTimeout is the publishers'.
	DefaultDeliveryTimeout = 5 * time.Second
	// DefaultLeaseTTL is how long the writer lease is asked for, and so how long the successor of a killed intake waits.
	DefaultLeaseTTL = 4 * DefaultDeliveryTimeout
	// DefaultQueue bounds the requests that wait to be kept, and those that wait to be published.
	DefaultQueue = 1000
	// DefaultBatch bounds one group commit, in requests.
	DefaultBatch = 200
	// DefaultBacklog bounds the requests that were kept and are not published.
	DefaultBacklog = 100_000
	// DefaultPatience is how long a commit without an answer is tried again, and its senders wait.
	DefaultPatience = 20 * time.Second
)

// Options are the parts of an Intake. Config, Store, Publisher, Lease, Decisions, Clock, Random, Attempt and Holder are
// required.
type Options struct {
	// Config is the namespace, prepared for decoding.
	Config *ledger.Config
	// Offered says which level is the strongest that is offered; it is asked for each request (R30).
	Offered func() durability.Level
	// Zones are the zone characteristics that are advertised with the levels.
	Zones map[durability.Level][]string
	Store owner.Store
	// Publisher publishes to the source topic what is not kept.
	Publisher broker.Publisher
	// Lease is the source topic's writer lease (R22), Holder this process's name in it.
	Lease     Lease
	Holder    string
	Decisions Decisions
	// Targets are the topics that deliver_to may name, by name.
	Targets map[string]Target
	// Status is the topic that receives the statuses of kept requests (R28); nil for none.
	Status *Target
	Clock  Clock
	// Attempt returns a text that no other call of any process returns.
	Attempt func() string
	Log     *slog.Logger
	// DeliveryTimeout is the publishers': the time after which no message of a Publish is still on its way.
	DeliveryTimeout time.Duration
	// LeaseTTL is at least four times DeliveryTimeout: what is left of it never falls below three quarters while it is kept,
	// and the drain asks for twice the delivery timeout.
	LeaseTTL time.Duration
	// Queue and Batch bound what waits and one group.
	Queue, Batch int
	// Backlog bounds what was kept and is not published: as many requests are accepted ahead of a source topic that does
	// not keep up, or is away, and those that are accepted within a second more. Then the others are told to come again.
	Backlog  int
	Patience time.Duration
}

// Target is a topic for decisions.
type Target struct {
	Publisher  broker.Publisher
	Partitions int32
}

// Intake accepts requests. Submit, Find and Status may be called from any goroutine.
type Intake struct {
	options  Options
	gate     gate
	keeper   *keeper
	commits  *queue[owner.Commit, owner.Result]
	directs  *queue[Record, broker.Ack]
	delivery *deliverer
	counts   Counts
	// ending cuts waits short.
	ending atomic.Bool
}

// Counts are what an intake has done since its start.
type Counts struct {
	// Kept and Direct are requests performed; Commits and Batches their group commits and publications.
	Kept, Direct, Commits, Batches atomic.Int64
	// Delivered are decisions published to targets, Statuses notifications published to the status topic.
	Delivered, Statuses atomic.Int64
}

// New returns an Intake that holds no lease yet: it performs nothing before its Tasks run. The error says which option is
// wrong.
func New(options Options) (*Intake, error) {
	o := options
	o.DeliveryTimeout = orDefault(o.DeliveryTimeout, DefaultDeliveryTimeout)
	o.LeaseTTL = orDefault(o.LeaseTTL, DefaultLeaseTTL)
	o.Patience = orDefault(o.Patience, DefaultPatience)
	if o.Queue <= 0 {
		o.Queue = DefaultQueue
	}
	if o.Batch <= 0 {
		o.Batch = DefaultBatch
	}
	if o.Backlog <= 0 {
		o.Backlog = DefaultBacklog
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.LeaseTTL < 4*o.DeliveryTimeout {
		return nil, fmt.Errorf("writer lease of %v is less than four times the delivery timeout of %v", o.LeaseTTL, o.DeliveryTimeout)
	}
	i := &Intake{options: o}
	i.keeper = &keeper{options: &i.options, gate: &i.gate}
	i.commits = newQueue(o.Queue, o.Batch, i.commit, i.probe)
	i.commits.gather = i.gather
	i.directs = newQueue(o.Queue, o.Batch, i.publish, nil) // only a record shows whether a record can be published
	i.delivery = newDeliverer(i)
	return i, nil
}

func orDefault(set, otherwise time.Duration) time.Duration {
	if set > 0 {
		return set
	}
	return otherwise
}

// Names of the intake's tasks.
const (
	stageCommit  = "intake-commit"
	stageDirect  = "intake-direct"
	stageDeliver = "intake-deliver"
)

// Stages are the names of Tasks.
func Stages() []string { return []string{stageCommit, stageDirect, stageDeliver, stageStatus} }

// LeaseTask keeps the writer lease. It ends before Close.
func (i *Intake) LeaseTask() run.Task {
	return run.Task{Stage: Stage, Step: i.keeper.Step, Status: i.keeper.status}
}

// Tasks are what else has to run while requests are performed: the group commits, the direct publications, the deliveries
// and the notifications. They end after the server that calls Submit, and after Close.
func (i *Intake) Tasks() []run.Task {
	tasks := []run.Task{{Stage: stageCommit, Step: i.commits.Step}, {Stage: stageDirect, Step: i.directs.Step}}
	if len(i.options.Targets) > 0 {
		tasks = append(tasks, i.delivery.task())
	}
	if i.options.Status != nil {
		tasks = append(tasks, newNotifier(i).task())
	}
	return tasks
}

// EndWaits answers those who wait for a decision, now and later, with what is there: a process that ends does not wait for
// workers.
func (i *Intake) EndWaits() { i.ending.Store(true) }

// Close drains the publications of what was accepted, at most until ctx ends, and gives the writer lease up. It is called
// when nothing submits any more and the lease's task has ended, while the drain still runs.
func (i *Intake) Close(ctx context.Context) error { return i.keeper.close(ctx) }

// Ready reports whether this process is the one to send requests to, and if not, why. It is while it performs them or
// can say to each why not: a backlog that is full is answered with 503 (see Full), and turns nobody away who asks for no
// durability, or reads a handle.
func (i *Intake) Ready() (bool, string) {
	if since := i.gate.silence(); !since.IsZero() {
		return false, noAnswer(since)
	}
	if i.commits.failing.Load() {
		return false, "the owner store does not answer"
	}
	switch open, _, _, why := i.gate.state(); {
	case !open && why == "":
		return false, "the writer lease is not held yet"
	case !open:
		return false, why
	case !i.trusted():
		return false, "the writer lease could not be renewed"
	}
	return true, ""
}

// Full reports whether as many kept requests wait to be published as may. It says nothing of readiness: only one process
// writes, so that whoever takes it out of service leaves senders without any answer, where each is due one with the
// durability field (R30).
func (i *Intake) Full() bool { return i.gate.backlog() >= i.options.Backlog }

func (i *Intake) fullDetail() string {
	return fmt.Sprintf("%d kept requests wait to be published", i.gate.backlog())
}

// Waiting is how many requests wait to be kept and to be published.
func (i *Intake) Waiting() (kept, direct int) { return i.commits.length(), i.directs.length() }

// Unpublished is how many requests were kept and are not published, as counted within the last second, at most the bound.
func (i *Intake) Unpublished() int { return i.gate.backlog() }

// Done are the counts since the start.
func (i *Intake) Done() *Counts { return &i.counts }

// trusted reports whether a publication that begins now ends within the writer lease.
func (i *Intake) trusted() bool {
	return i.gate.trusted(i.options.Clock.Now(), i.options.DeliveryTimeout)
}

// Outbox shows the pending publications to a relay, each source partition by itself. The relay's lease is the writer lease,
// which the intake keeps; it asks for twice the delivery timeout.
func (i *Intake) Outbox() (*drain.Outbox, error) {
	ns := i.options.Config.Namespace()
	return drain.New(drain.Options{
		Store: i.options.Store, Prefixes: PublishPrefixes(ns.Name, ns.Spec.Source.Partitions), Message: Message,
		Lease: drain.Kept(func() (int64, time.Duration, error) {
			term, left := i.gate.holding(i.options.Clock.Now())
			return term, left, i.gate.unknown()
		}),
		Acknowledged: func(p owner.Pending, at relay.Receipt) (owner.Commit, error) {
			unit, err := acknowledged(p, at, i.options.Clock.Now())
			if err != nil {
				return unit, err
			}
			return unit, i.notify(&unit, durability.Published, &Coordinates{Partition: at.Partition, Offset: at.Offset}, false)
		},
	})
}

// commit makes a group of requests durable in one transaction. While it is not known what became of it, it asks again:
// a unit of work that was committed is then a duplicate of itself.
func (i *Intake) commit(ctx context.Context, group []owner.Commit) ([]owner.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, i.options.Patience)
	defer cancel()
	pause := 20 * time.Millisecond
	for {
		results, err := i.options.Store.Commit(ctx, group...)
		if err == nil {
			i.counts.Commits.Add(1)
			return results, nil
		}
		i.commits.failing.Store(true)
		i.options.Log.Warn("commit has no answer", "requests", len(group), "error", err)
		if ctx.Err() != nil || fault.ClassOf(err) == fault.Stop {
			return nil, err
		}
		if sleepErr := i.options.Clock.Sleep(ctx, pause); sleepErr != nil {
			return nil, errors.Join(err, sleepErr)
		}
		pause = min(2*pause, time.Second)
	}
}

// gatherYields bounds how often the others go first while a group is gathered.
const gatherYields = 10

// gather lets those go first that are being performed and are not in the group yet: one commit of many costs little more
// than one of a few. It does not wait for what is not there: a sleep, however short, is as long as a commit.
func (i *Intake) gather(have func() int) {
	for range gatherYields {
		if _, inside, _, _ := i.gate.state(); have() >= min(inside, i.options.Batch) {
			return
		}
		runtime.Gosched()
	}
}

// probe asks the store something small.
func (i *Intake) probe(ctx context.Context) error {
	_, err := i.options.Store.Pending(ctx, PublishPrefix(i.options.Config.Namespace().Name), 1)
	if err != nil {
		return fmt.Errorf("publications of namespace %s: %w", i.options.Config.Namespace().Name, err)
	}
	return nil
}

// errNotTrusted refuses a publication that the lease does not cover.
var errNotTrusted = fmt.Errorf("%w: the writer lease ends too soon", errUntouched)

// publish sends a group of records that are not kept (R31). The error stands for all of them.
func (i *Intake) publish(ctx context.Context, group []Record) ([]broker.Ack, error) {
	if !i.trusted() {
		return nil, errNotTrusted
	}
	messages := make([]broker.Message, len(group))
	for n, r := range group {
		messages[n] = broker.Message{Partition: r.Partition, Key: r.Key, Value: r.Value}
	}
	acks := i.options.Publisher.Publish(ctx, messages)
	failed := 0
	var failure error
	for _, ack := range acks {
		if ack.Err != nil {
			failed, failure = failed+1, ack.Err
		}
	}
	i.gate.settle(failed == 0)
	i.counts.Batches.Add(1)
	if failed == len(group) && failure != nil {
		return nil, failure
	}
	return acks, nil
}
