package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/run"
)

// Stage is the worker's name in status and log.
const Stage = "worker"

// The defaults of Options.
const (
	// DefaultMaxBatch is the number of records in one unit of work. It counts only while there is a backlog: a day row that
	// several records change is written once, so 8,000 cost a fifth less CPU, in worker and Postgres together, than 2,000.
	DefaultMaxBatch = 8000
	// DefaultMaxInputBytes bounds the raw keys and values in one unit of work: all of them may have to be quarantined in
	// one statement, and Postgres takes no more than 1 GiB of it.
	DefaultMaxInputBytes = 64 << 20
	// DefaultMaxOutputBytes is the size of envelopes after which a unit of work ends early: one backdated record can
	// restate all days of its key (B043).
	DefaultMaxOutputBytes = 64 << 20
	// DefaultLargeOutput is the size of one envelope, in bytes, from which on the log tells of it: a quarter of what the
	// output topics take that apply creates. The status of a key names all its ambiguous revisions (S7, R10).
	DefaultLargeOutput = 8 << 20
	// DefaultCacheRows is the size of each partition's cache, in rows of about 150 bytes.
	DefaultCacheRows = 1 << 19
	// DefaultPollWait is how long one step waits for records, shared by the partitions of a lane.
	DefaultPollWait = 250 * time.Millisecond
	// DefaultIdle is the pause after a poll that found nothing, or while nothing is assigned.
	DefaultIdle = 5 * time.Millisecond
	// DefaultUnitTimeout bounds one unit of work from its lock to its commit, and any other call of the store. It is
	// above the time after which Postgres frees a frozen owner's lock.
	DefaultUnitTimeout = 45 * time.Second
	// DefaultLagInterval is the least time between two lag signals to the broker.
	DefaultLagInterval = time.Second
)

// assignmentCheck is how often a worker whose partitions all wait looks at its assignment.
const assignmentCheck = 250 * time.Millisecond

// Options are the parts of a Worker. Those up to Random are required.
type Options struct {
	Config     *ledger.Config
	Store      Store
	Opener     broker.Opener
	Membership broker.Membership
	// Now is the clock; Random returns a number in [0, n).
	Now    func() time.Time
	Random func(n int64) int64

	// Lane and Lanes share the assigned partitions among the workers of one process and membership: this one takes those
	// with partition % Lanes == Lane. Lanes 0 is one worker for all.
	Lane, Lanes int32
	// TakeOver lets the first installation of each partition ignore a higher generation: the group was recreated (R16).
	TakeOver bool
	// Backoff is fault.DefaultPolicy where it is the zero value.
	Backoff fault.Policy
	// Log takes one line for each change of a partition's state; nil discards.
	Log *slog.Logger

	// The rest have defaults, above, where they are 0. CacheRows below 0 caches nothing.
	MaxBatch, MaxInputBytes, MaxOutputBytes, LargeOutput, CacheRows int
	PollWait, Idle, UnitTimeout, LagInterval                        time.Duration
}

func (o *Options) setDefaults() {
	if o.Lanes == 0 {
		o.Lanes = 1
	}
	if o.Backoff == (fault.Policy{}) {
		o.Backoff = fault.DefaultPolicy
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	setDefault(&o.MaxBatch, DefaultMaxBatch)
	setDefault(&o.MaxInputBytes, DefaultMaxInputBytes)
	setDefault(&o.MaxOutputBytes, DefaultMaxOutputBytes)
	setDefault(&o.LargeOutput, DefaultLargeOutput)
	setDefault(&o.CacheRows, DefaultCacheRows)
	setDefault(&o.PollWait, DefaultPollWait)
	setDefault(&o.Idle, DefaultIdle)
	setDefault(&o.UnitTimeout, DefaultUnitTimeout)
	setDefault(&o.LagInterval, DefaultLagInterval)
}

func setDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// Worker processes the partitions that the group assigns to this member. Step and Close are used by one goroutine,
// Status by any.
type Worker struct {
	options Options
	// assignment is the newest one adopted; superseded is closed when there is a newer one.
	assignment broker.Assignment
	superseded <-chan struct{}
	partitions map[int32]*partition
	// takenOver are the partitions for which TakeOver is used up.
	takenOver map[int32]struct{}
	// last is the partition of the previous step: the next one is after it.
	last int32
	// quiet counts polls in a row that found nothing.
	quiet int
	// noPlace is set while the member has no place in the group.
	noPlace *fault.Stall

	lag     map[int32]int64
	lagNext time.Time

	mu     sync.Mutex
	status []run.Status       // guarded by mu
	asked  map[int32]struct{} // guarded by mu: partitions that a person wants tried now
}

// New returns a Worker that owns nothing yet.
func New(options Options) *Worker {
	options.setDefaults()
	return &Worker{
		options: options, partitions: make(map[int32]*partition), takenOver: make(map[int32]struct{}),
		lag: make(map[int32]int64), last: -1,
	}
}

// Step does one bounded unit of work for one partition: acquire it, or poll once and commit what came, or persist why it
// stopped. progress asks for another Step at once, otherwise not before wake. Faults are kept by partition, visible in
// Status, and do not hold up other partitions; the only error is that of an ended ctx. The end of ctx cuts a unit of work
// short, which may be waiting for a lock: all of it is rolled back, or all of it committed (S8).
func (w *Worker) Step(ctx context.Context) (progress bool, wake time.Time, err error) {
	if err := ctx.Err(); err != nil {
		return false, time.Time{}, err
	}
	w.adopt()
	w.resumed()
	p, wake := w.due()
	if p == nil {
		w.publish()
		w.signalLag(ctx)
		return false, wake, nil
	}
	w.last = p.id
	progress, err = w.work(ctx, p)
	switch {
	case err != nil && ctx.Err() != nil:
		cut(p, err)
	case err != nil:
		w.failed(p, err)
	case progress:
		w.quiet = 0
	default:
		w.quiet++
	}
	w.publish()
	w.signalLag(ctx)
	_, wake = w.due()
	return progress, wake, nil
}

// cut drops what the end of the context cut short: nothing is wrong with the partition.
func cut(p *partition, err error) {
	p.reset()
	if errors.Is(err, ErrUnknownOutcome) {
		p.phase = rereading
	}
}

// Close releases all readers and tells the broker the last frontiers. It leaves the membership to its owner.
func (w *Worker) Close() {
	w.lagNext = time.Time{}
	w.signalLag(context.Background())
	for _, p := range w.partitions {
		p.reset()
	}
	clear(w.partitions)
	w.assignment, w.superseded = broker.Assignment{}, nil
	w.publish()
}

// Status returns the state of every partition of this lane, sorted.
func (w *Worker) Status() []run.Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.status)
}

// adopt takes over the newest assignment. Partitions that are gone are forgotten at once; partitions that stay are acquired
// again under the newer generation, by their next step.
func (w *Worker) adopt() {
	if w.superseded != nil {
		select {
		case <-w.superseded:
		default:
			return
		}
	}
	former := w.assignment
	w.assignment, w.superseded = w.options.Membership.Current()
	mine := make(map[int32]bool)
	for _, id := range w.assignment.Partitions {
		if id%w.options.Lanes == w.options.Lane {
			mine[id] = true
		}
	}
	for id, p := range w.partitions {
		if !mine[id] || former.Member != w.assignment.Member {
			p.reset()
			delete(w.partitions, id)
			delete(w.lag, id)
			w.options.Log.Info("partition revoked", "partition", id, "generation", w.assignment.Generation)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(mine)) {
		p := w.partitions[id]
		if p == nil {
			p = &partition{id: id, cache: ledger.NewCache(max(0, w.options.CacheRows))}
			w.partitions[id] = p
		}
		if p.phase == acquiring {
			p.tryNow(w.options.Now()) // a newer assignment is worth it, for a fenced owner above all
		}
	}
}

// due returns the next partition, after the last one in a round, that may be worked on now; where there is none, when to
// look again.
func (w *Worker) due() (*partition, time.Time) {
	now := w.options.Now()
	wake := now.Add(w.options.Idle)
	if len(w.partitions) == 0 {
		return nil, wake
	}
	ids := slices.Sorted(maps.Keys(w.partitions))
	first, _ := slices.BinarySearch(ids, w.last+1)
	earliest := time.Time{}
	for i := range ids {
		p := w.partitions[ids[(first+i)%len(ids)]]
		at := p.readyAt()
		if !at.After(now) {
			return p, now
		}
		if earliest.IsZero() || at.Before(earliest) {
			earliest = at
		}
	}
	if look := now.Add(assignmentCheck); earliest.After(look) {
		earliest = look
	}
	return nil, earliest
}

// failed sorts an error into what to do about the partition, and makes it visible (design section 6, R36).
func (w *Worker) failed(p *partition, err error) {
	now, policy := w.options.Now(), w.options.Backoff
	reason := fmt.Sprintf("%v", err)
	class := fault.ClassOf(err)
	former := p.stall
	p.reset()
	p.stall = policy.Failed(former, reason, now, w.options.Random)
	if class == fault.Fenced {
		mark.Hit("S8 owner fenced")
		p.phase = acquiring
	}
	switch {
	case errors.Is(err, ErrUnknownOutcome):
		p.phase = rereading
	case errors.Is(err, errNotNewer), errors.Is(err, broker.ErrTopicChanged), errors.Is(err, broker.ErrOffsetOutOfRange):
		p.stall = policy.Lasting(former, reason, now)
	case class == fault.Stop && p.stop == nil:
		p.phase, p.stop, p.stopAt = stopping, &Stop{Reason: StopInternal, Offset: p.frontier, Detail: reason}, now
		var bug *undecidable
		if errors.As(err, &bug) {
			p.stop.Offset = bug.offset
		}
		p.stall = nil
	}
	if p.phase == acquiring {
		p.epoch, p.stop = 0, nil
	}
	w.options.Log.Warn("partition failed", "partition", p.id, "class", class.String(), "epoch", p.epoch,
		"frontier", p.frontier, "error", err)
}

// signalLag tells the broker how far this lane is. It is a signal for people's tools: a failure means nothing here.
func (w *Worker) signalLag(ctx context.Context) {
	now := w.options.Now()
	if len(w.lag) == 0 || now.Before(w.lagNext) {
		return
	}
	w.lagNext = now.Add(w.options.LagInterval)
	ctx, cancel := context.WithTimeout(ctx, w.options.LagInterval)
	defer cancel()
	if err := w.options.Membership.CommitLag(ctx, w.lag); err != nil {
		w.options.Log.Debug("lag signal failed", "error", err)
		return
	}
	clear(w.lag)
}

// publish makes the state of all partitions visible to Status. A lane that owns nothing because the member has lost its
// place in the group says so under its own number: nothing else would tell it from one that has nothing to do.
func (w *Worker) publish() {
	status := make([]run.Status, 0, len(w.partitions)+1)
	if stall := w.outside(); stall != nil {
		status = append(status, run.Status{Stage: Stage, Partition: w.options.Lane, Stall: stall})
	}
	for _, id := range slices.Sorted(maps.Keys(w.partitions)) {
		p := w.partitions[id]
		s := run.Status{
			Stage: Stage, Partition: id, Frontier: p.frontier, Epoch: p.epoch, Stall: p.visibleStall(),
			RecordMillis: p.recordMillis,
		}
		if p.epoch > 0 {
			s.Owner = p.member
		}
		status = append(status, s)
	}
	w.mu.Lock()
	w.status = status
	w.mu.Unlock()
}

// outside returns why the member has no place in the group, nil while it has one. A member that has lost its place owns
// nothing; the group's client tries to get back by itself.
func (w *Worker) outside() *fault.Stall {
	err, now := w.options.Membership.Fault(), w.options.Now()
	if err == nil || len(w.partitions) > 0 {
		w.noPlace = nil
		return nil
	}
	since := now
	if w.noPlace != nil {
		since = w.noPlace.Since
	} else {
		w.options.Log.Warn("no place in the group", "error", err)
	}
	reason := "no place in the consumer group: " + err.Error()
	w.noPlace = &fault.Stall{Reason: reason, Since: since, Attempts: w.options.Backoff.Attempts, NextTry: now.Add(assignmentCheck)}
	return w.noPlace
}
