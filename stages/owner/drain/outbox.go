package drain

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/relay"
)

// EffectHeader is the record header that carries the identity of the effect that published a record (R34).
const EffectHeader = "amends-effect"

// DefaultWindow is how many pending effects of a source partition are read at once.
const DefaultWindow = 1000

// Options are the parts of an Outbox. All but Window are required.
type Options struct {
	Store owner.Store
	Lease Lease
	// Prefixes are the source partitions of the relay: that of number i has the effects whose identity begins with
	// Prefixes[i]. No effect has two of them. The relay publishes each in the order of acceptance, and one that cannot be
	// published holds up no other.
	Prefixes []string
	// Message renders what an effect publishes, always the same; EffectHeader is added to it. The relay chooses the output
	// partition by the key. An error stops the source partition at this effect.
	Message func(effect owner.Effect) (broker.Message, error)
	// Acknowledged is the unit of work that records where the broker put the record of a pending effect: an event or
	// snapshot, and the effect's receipt, at the position and under the fence of the pending effect.
	Acknowledged func(effect owner.Pending, at relay.Receipt) (owner.Commit, error)
	// Window bounds one reading of a source partition.
	Window int
}

// Counts are what an Outbox has done since it was made.
type Counts struct {
	// Published are effects whose receipt was recorded.
	Published int64
	// Repeated are those of them that were handed out for publication more than once: the topic may hold more than one copy.
	Repeated int64
	// Foreign are copies acknowledged here of effects for which another process had recorded a receipt.
	Foreign int64
}

// Outbox implements relay.Outbox. It is safe for concurrent use.
type Outbox struct {
	options Options

	mu sync.Mutex // guards everything below, also while the store is asked
	// holder and term are of the lease as it was last acquired here, term 0 where it is not held.
	holder string
	term   int64
	// superseded is a term that turned out to be another's to follow: the lease is not believed until it is a later one.
	superseded int64
	// readUnder is the last term that was held here, under which everything was read that is in the partitions.
	readUnder  int64
	partitions []*partition

	countsMu sync.Mutex // guards counts, for readers that do not wait for the store
	counts   Counts
}

var _ relay.Outbox = (*Outbox)(nil)

// New returns an Outbox that has read nothing yet.
func New(options Options) (*Outbox, error) {
	o := &Outbox{options: options}
	if o.options.Window <= 0 {
		o.options.Window = DefaultWindow
	}
	switch {
	case options.Store == nil, options.Lease == nil, options.Message == nil, options.Acknowledged == nil:
		return nil, errors.New("drain needs a store, a lease, a rendering and a unit of work")
	case len(options.Prefixes) == 0:
		return nil, errors.New("drain needs at least one prefix of effects")
	}
	for range options.Prefixes {
		o.partitions = append(o.partitions, &partition{sent: 1, handed: map[string]int{}})
	}
	return o, nil
}

// Counts returns the counts so far.
func (o *Outbox) Counts() Counts {
	o.countsMu.Lock()
	defer o.countsMu.Unlock()
	return o.counts
}

// Acquire implements relay.Outbox.
func (o *Outbox) Acquire(ctx context.Context, holder string, ttl time.Duration) (relay.Grant, error) {
	grant, err := o.options.Lease.Acquire(ctx, holder, ttl)
	if err != nil {
		return relay.Grant{}, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if grant.Held && grant.Term <= o.superseded { // whoever keeps the lease has not noticed yet
		grant = relay.Grant{Term: grant.Term, Remaining: ttl}
	}
	if grant.Held {
		if grant.Term != o.readUnder {
			o.readAnew()
		}
		o.holder, o.term, o.readUnder = holder, grant.Term, grant.Term
	} else if o.holder == holder {
		o.term = 0
	}
	return grant, nil
}

// Release implements relay.Outbox.
func (o *Outbox) Release(ctx context.Context, holder string, term int64) error {
	o.mu.Lock()
	var owed error
	if o.holder == holder && o.term == term {
		owed = o.settleOwed(ctx)
		o.term = 0
	}
	o.mu.Unlock()
	return errors.Join(owed, o.options.Lease.Release(ctx, holder, term))
}

// Positions implements relay.Outbox. A source partition ends where what was read of it does; more is read once all of it
// was sent.
func (o *Outbox) Positions(ctx context.Context) ([]relay.Position, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.settleOwed(ctx); err != nil {
		return nil, err
	}
	if err := o.read(ctx); err != nil {
		return nil, err
	}
	positions := make([]relay.Position, len(o.partitions))
	for i, p := range o.partitions {
		positions[i] = relay.Position{
			Partition: int32(i), Sent: p.sent, End: p.sent + int64(len(p.window)), Stopped: p.stopped,
		}
	}
	return positions, nil
}

// Pending implements relay.Outbox. The fences of the owners are at the lease's term by its return.
func (o *Outbox) Pending(ctx context.Context, number int32, from int64, limit int) ([]relay.Envelope, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, err := o.partition(number)
	if err != nil {
		return nil, err
	}
	at := from - p.sent
	if at < 0 || at > int64(len(p.window)) || limit < 0 {
		return nil, fmt.Errorf("read from sequence %d: %w", from, relay.ErrMoved)
	}
	window := p.window[at:]
	window = window[:min(limit, len(window))]
	if err := o.fence(ctx, window); err != nil {
		return nil, err
	}
	envelopes := make([]relay.Envelope, 0, len(window))
	for i := range window {
		message, err := o.options.Message(window[i].Effect)
		if err != nil {
			if i > 0 {
				break // what stands before it is sent first
			}
			return nil, invariant.Violated("effect %q of owner %q: %v", window[i].ID, window[i].OwnerID, err)
		}
		p.handed[window[i].ID]++
		headers := append(message.Headers[:len(message.Headers):len(message.Headers)],
			broker.Header{Key: EffectHeader, Value: []byte(window[i].ID)})
		envelopes = append(envelopes, relay.Envelope{Seq: from + int64(i), Key: message.Key, Value: message.Value, Headers: headers})
	}
	return envelopes, nil
}

// RecordStop implements relay.Outbox. The stop is not kept: the effect stays pending, and so the next process finds it,
// judges it anew, and stops there too, or not.
func (o *Outbox) RecordStop(_ context.Context, stop relay.Stop) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, err := o.expect(stop.Holder, stop.Term, stop.Partition, stop.From)
	if err != nil {
		return err
	}
	p.stopped, p.detail = stop.Reason, stop.Detail
	return nil
}

// StopDetail is one line about why a source partition stopped, empty where it has not. It may be called from any goroutine.
func (o *Outbox) StopDetail(number int32) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, err := o.partition(number)
	if err != nil {
		return ""
	}
	return p.detail
}

// Resume forgets that a source partition stopped, from any goroutine: its first pending effect is judged anew, and stops it
// again where it still cannot be published (R36).
func (o *Outbox) Resume(number int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, err := o.partition(number)
	if err != nil || p.stopped == "" {
		return
	}
	p.stopped, p.detail = "", ""
	p.restart()
}

// Mark implements relay.Outbox, but for this: where some owners have another state than was read, what can be recorded is
// recorded all the same.
func (o *Outbox) Mark(ctx context.Context, m relay.Mark) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	p, err := o.expect(m.Holder, m.Term, m.Partition, m.From)
	if err != nil {
		return err
	}
	if len(m.Receipts) > len(p.window) {
		return fmt.Errorf("%d receipts for %d effects from sequence %d: %w", len(m.Receipts), len(p.window), m.From, relay.ErrMoved)
	}
	for i, receipt := range m.Receipts {
		p.owed = append(p.owed, acknowledged{effect: p.window[i], at: receipt})
	}
	if err := o.settle(ctx, p); err != nil {
		p.restart()
		return err
	}
	p.advance(len(m.Receipts))
	return nil
}

// partition returns a source partition by its number.
func (o *Outbox) partition(number int32) (*partition, error) {
	if number < 0 || int(number) >= len(o.partitions) {
		return nil, invariant.Violated("there is no source partition %d to drain", number)
	}
	return o.partitions[number], nil
}

// expect wants the lease and the sent-through sequence to be those given.
func (o *Outbox) expect(holder string, term int64, number int32, from int64) (*partition, error) {
	p, err := o.partition(number)
	switch {
	case err != nil:
		return nil, err
	case o.term == 0 || o.holder != holder || o.term != term:
		return nil, fmt.Errorf("term %d of %s: %w", term, holder, relay.ErrLeaseLost)
	case from != p.sent:
		return nil, fmt.Errorf("sent through %d, expected %d: %w", p.sent, from, relay.ErrMoved)
	}
	return p, nil
}
