package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/run"
)

// Defaults of Options.
const (
	// DefaultMaxEnvelopes bounds one unit of work.
	DefaultMaxEnvelopes = 10_000
	// DefaultIdle is the wait where nothing is pending.
	DefaultIdle = 20 * time.Millisecond
	// DefaultStandby is the longest wait for another relay's lease between two looks at it.
	DefaultStandby = time.Second
	// DefaultDeliveryTimeout is the publisher's.
	DefaultDeliveryTimeout = 10 * time.Second
	// DefaultLeaseTTL is how long a lease is asked for.
	DefaultLeaseTTL = 30 * time.Second
)

// Options are the parts of a Relay. Outbox, Publisher, Holder, Partitions and Now are required.
type Options struct {
	Outbox    Outbox
	Publisher broker.Publisher
	// Holder names this process in the lease; no two processes ever share one.
	Holder string
	// Partitions is the output topic's partition count.
	Partitions int32
	// Now is the clock; its times carry a monotonic reading.
	Now func() time.Time
	// DeliveryTimeout is the publisher's: the time after which no message of a Publish is still on its way.
	DeliveryTimeout time.Duration
	// LeaseTTL is at least twice DeliveryTimeout.
	LeaseTTL time.Duration
	// MaxEnvelopes bounds one unit of work.
	MaxEnvelopes int
	// Stopped, where set, is told about each partition that this relay stops for good.
	Stopped func(Stop)
	// Idle and Standby bound the waits for work and for another relay's lease.
	Idle, Standby time.Duration
	// Backoff is what a source partition waits by after a failed publication; fault.DefaultPolicy where it is zero.
	Backoff fault.Policy
	// Random returns a number in [0, n) and spreads these waits; nil spreads nothing.
	Random func(n int64) int64
}

// Relay publishes the outbox of one namespace. Any number may run: one holds the lease, the others stand by. All but
// Status is used by one goroutine.
type Relay struct {
	options Options
	lease   Lease
	// last is the source partition served last.
	last int32
	// unsettled are the source partitions of which messages of a failed Publish may still be on their way.
	unsettled map[int32]bool
	// stalls are the source partitions whose last publication failed.
	stalls map[int32]*fault.Stall

	mu     sync.Mutex
	status []run.Status       // guarded by mu
	asked  map[int32]struct{} // guarded by mu: partitions that a person wants tried now
}

// Stage is the relay's name in status and log.
const Stage = "relay"

// Status returns what the last Step saw of every source partition: sequences of the outbox, and the lease's term as the
// epoch while this relay holds it. It may be called from any goroutine.
func (r *Relay) Status() []run.Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.status)
}

func (r *Relay) saw(positions []Position) {
	all := make([]run.Status, 0, len(positions))
	for _, p := range positions {
		s := run.Status{Stage: Stage, Partition: p.Partition, Frontier: p.Sent, Epoch: r.lease.Term, Owner: r.options.Holder}
		if p.Sent < p.End {
			s.Stall = r.stalls[p.Partition]
		}
		if p.Stopped != "" {
			s.Stall = &fault.Stall{Reason: p.Stopped}
		}
		all = append(all, s.Against(p.End, r.options.Now()))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = all
}

// standby notes that this relay does not hold the lease.
func (r *Relay) standby() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.status {
		r.status[i].Epoch, r.status[i].Owner = 0, ""
	}
}

// New returns a Relay that holds no lease yet. The error says which option is wrong.
func New(options Options) (*Relay, error) {
	o := options
	o.DeliveryTimeout = orDefault(o.DeliveryTimeout, DefaultDeliveryTimeout)
	o.LeaseTTL = orDefault(o.LeaseTTL, DefaultLeaseTTL)
	o.Idle = orDefault(o.Idle, DefaultIdle)
	o.Standby = orDefault(o.Standby, DefaultStandby)
	if o.MaxEnvelopes <= 0 {
		o.MaxEnvelopes = DefaultMaxEnvelopes
	}
	switch {
	case o.LeaseTTL < 2*o.DeliveryTimeout:
		return nil, fmt.Errorf("relay lease of %v is less than twice the delivery timeout of %v", o.LeaseTTL, o.DeliveryTimeout)
	case o.Holder == "" || o.Partitions < 1:
		return nil, fmt.Errorf("relay needs a holder and partitions, got %q and %d", o.Holder, o.Partitions)
	}
	if o.Backoff == (fault.Policy{}) {
		o.Backoff = fault.DefaultPolicy
	}
	if o.Random == nil {
		o.Random = func(n int64) int64 { return n - 1 }
	}
	return &Relay{options: o, last: -1, unsettled: map[int32]bool{}, stalls: map[int32]*fault.Stall{}}, nil
}

func orDefault(set, otherwise time.Duration) time.Duration {
	if set > 0 {
		return set
	}
	return otherwise
}

// Step does one bounded unit of work: it takes or renews the lease where that is due, or publishes and marks a run of one
// source partition. progress asks for another Step at once, otherwise not before wake. An error is a fault to back off
// from, unless it is a *PartitionError, which this relay backs off from itself while others go on, or its fault.Class is
// Stop: an output topic that is another one now, a publisher that breaks its contract.
// Neither losing the lease nor a damaged outbox is an error: the relay stands by, or persists that the source partition
// stopped and serves the others.
func (r *Relay) Step(ctx context.Context) (progress bool, wake time.Time, err error) {
	now := r.options.Now()
	if r.lease.Due(now, r.options.LeaseTTL, r.options.DeliveryTimeout) {
		wait, err := r.acquire(ctx, now)
		if err != nil || wait > 0 {
			return false, now.Add(wait), err
		}
	}
	positions, err := r.options.Outbox.Positions(ctx)
	if err != nil {
		return false, time.Time{}, fmt.Errorf("read relay positions: %w", err)
	}
	r.saw(positions)
	position, pending := Pick(r.ready(positions), r.last)
	if !pending {
		return false, r.options.Now().Add(r.options.Idle), nil
	}
	r.last = position.Partition
	err = r.publish(ctx, position)
	switch {
	case err == nil:
		delete(r.stalls, position.Partition)
	case errors.Is(err, ErrLeaseLost):
		mark.Hit("R17 mark refused")
		r.lease = Lease{}
	case errors.Is(err, ErrMoved):
	default:
		err = fmt.Errorf("relay source partition %d: %w", position.Partition, err)
		return false, r.options.Now(), r.failed(position.Partition, err)
	}
	return true, time.Time{}, nil
}

// classify marks what no retry can clear.
func classify(err error) error {
	if errors.Is(err, broker.ErrTopicChanged) || invariant.Is(err) {
		return fault.Mark(fault.Stop, err)
	}
	return err
}

// Holding reports the lease's term, 0 while the relay stands by.
func (r *Relay) Holding() int64 { return r.lease.Term }

// Close gives the lease up, so that a successor need not wait it out. Where messages may still be on their way it is left
// to expire.
func (r *Relay) Close(ctx context.Context) error {
	lease := r.lease
	r.lease = Lease{}
	if lease.Term == 0 || len(r.unsettled) > 0 {
		return nil
	}
	if err := r.options.Outbox.Release(ctx, r.options.Holder, lease.Term); err != nil {
		return fmt.Errorf("release the relay lease: %w", err)
	}
	return nil
}

// acquire takes or renews the lease. A positive wait says to stand by: another relay holds it.
func (r *Relay) acquire(ctx context.Context, now time.Time) (wait time.Duration, err error) {
	r.lease = Lease{}
	grant, err := r.options.Outbox.Acquire(ctx, r.options.Holder, r.options.LeaseTTL)
	if err != nil {
		r.standby()
		return 0, fmt.Errorf("acquire the relay lease: %w", err)
	}
	if !grant.Held {
		clear(r.stalls)
		r.standby()
		return max(r.options.Idle, min(grant.Remaining, r.options.Standby)), nil
	}
	r.lease = Lease{Term: grant.Term, Until: now.Add(r.options.LeaseTTL)}
	return 0, nil
}

// publish sends a run that follows position and marks what was acknowledged.
func (r *Relay) publish(ctx context.Context, position Position) error {
	envelopes, err := r.read(ctx, position)
	if err != nil || len(envelopes) == 0 {
		return err
	}
	messages := r.messages(envelopes)
	if !r.lease.Allows(r.options.Now(), r.options.DeliveryTimeout) {
		mark.Hit("R17 lease too short to send")
		return nil // the next step renews first
	}
	// Once begun, a publication runs to its end and is marked, also when ctx ends: cutting it short only makes repeats.
	// It takes the delivery timeout at most, and a mark that waits for a lock is given up soon after the end.
	receipts, failure := Prefix(messages, r.options.Publisher.Publish(context.WithoutCancel(ctx), messages))
	ctx, cancel := outlasting(ctx, markGrace)
	defer cancel()
	r.settle(position.Partition, failure)
	if len(receipts) > 0 {
		err = r.options.Outbox.Mark(ctx, Mark{
			Holder: r.options.Holder, Term: r.lease.Term,
			Partition: position.Partition, From: position.Sent, Receipts: receipts,
		})
		if err != nil {
			return fmt.Errorf("mark %d envelopes from sequence %d on as sent: %w", len(receipts), position.Sent, err)
		}
	}
	if failure != nil {
		mark.Hit("SC20 publication not acknowledged")
		failure = fmt.Errorf("sequence %d: %w", position.Sent+int64(len(receipts)), failure)
		return &PartitionError{Partition: position.Partition, Err: failure}
	}
	return nil
}

// markGrace is how long a mark may take after the end of the context.
const markGrace = 2 * time.Second

// outlasting returns a context that ends a while after ctx does.
func outlasting(ctx context.Context, while time.Duration) (context.Context, context.CancelFunc) {
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer, end := context.WithTimeout(inner, while)
		defer end()
		<-timer.Done()
		cancel()
	})
	return inner, func() { stop(); cancel() }
}

// read returns the run that follows position. Where the outbox is damaged there it stops the partition and returns none.
func (r *Relay) read(ctx context.Context, position Position) ([]Envelope, error) {
	limit := int(min(int64(r.options.MaxEnvelopes), position.End-position.Sent))
	envelopes, err := r.options.Outbox.Pending(ctx, position.Partition, position.Sent, limit)
	if err == nil {
		err = Check(position, envelopes)
	}
	switch {
	case err == nil:
		return envelopes, nil
	case !invariant.Is(err):
		return nil, fmt.Errorf("read the outbox from sequence %d: %w", position.Sent, err)
	}
	mark.Hit("R36 damaged outbox")
	stop := Stop{
		Holder: r.options.Holder, Term: r.lease.Term, Partition: position.Partition, From: position.Sent,
		Reason: ReasonOutboxDamaged, Detail: err.Error(),
	}
	if err = r.options.Outbox.RecordStop(ctx, stop); err != nil {
		return nil, fmt.Errorf("record the stop at sequence %d: %w", position.Sent, err)
	}
	if r.options.Stopped != nil {
		r.options.Stopped(stop)
	}
	return nil, nil
}

func (r *Relay) messages(envelopes []Envelope) []broker.Message {
	mark.Hit("relay.1 sent as stored")
	messages := make([]broker.Message, 0, len(envelopes))
	for _, e := range envelopes {
		messages = append(messages, broker.Message{
			Partition: ledger.PartitionOf(e.Key, r.options.Partitions), Key: e.Key, Value: e.Value, Headers: e.Headers,
		})
	}
	return messages
}
