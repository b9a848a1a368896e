package sim

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
)

// sabotageSeeds is how many seeds a damage may take to be found.
const sabotageSeeds = 500

// TestCheckersCanFail: each checker finds a damage made for it within the seeds of every test run, and the finding is
// shortened to something that a person reads; the same seed without the damage finds nothing.
func TestCheckersCanFail(t *testing.T) {
	mark.Expect(t, "sim.3 finding of a checker")
	for _, c := range sabotages() {
		t.Run(c.name, func(t *testing.T) {
			found := false
			for seed := uint64(1); seed <= sabotageSeeds && !found; seed++ {
				s, err := newScenario(seed)
				if err != nil {
					t.Fatal(err)
				}
				result, err := run(t.Context(), s, c.damage)
				if err != nil {
					t.Fatal(err)
				}
				if result.Failure == nil {
					continue
				}
				if !slices.Contains(c.by, result.Failure.Checker) {
					t.Fatalf("seed %d: found by %s (%s), want one of %q", seed, result.Failure.Checker, result.Failure.Detail, c.by)
				}
				found = true
				if twin, err := run(t.Context(), s, wraps{}); err != nil || twin.Failure != nil {
					t.Fatalf("seed %d without the damage: %v, %v", seed, err, twin)
				}
				if raceDetector {
					continue // shortening shows no race that finding did not
				}
				short, err := shorten(t.Context(), s, c.damage)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("seed %d: %s: %s; %d actions and %d events became %d and %d in %d runs", seed, result.Failure.Checker,
					result.Failure.Detail, len(s.actions), len(s.events), len(short.Actions), len(short.Events), short.Runs)
				if len(short.Actions) > 30 || len(short.Events) > 12 {
					t.Errorf("not short: %d actions, %d events\n%q", len(short.Actions), len(short.Events), short.Actions)
				}
			}
			if !found {
				t.Errorf("not found within %d seeds", sabotageSeeds)
			}
		})
	}
}

// sabotage is one damage with the checkers that may find it first.
type sabotage struct {
	name   string
	by     []string
	damage wraps
}

func sabotages() []sabotage {
	changed := func(change func(*ledger.Changes)) wraps {
		return wraps{onWorker: func(_ *world, s worker.Store) worker.Store { return &changingStore{Store: s, change: change} }}
	}
	return []sabotage{
		{"frontier lowers at a take-over", []string{"frontier"}, wraps{onWorker: func(w *world, s worker.Store) worker.Store { return &rewindingStore{s, w} }}},
		{"reader skips a record", []string{"frontier"}, wraps{onSource: func(o broker.Opener) broker.Opener { return skippingOpener{o} }}},
		{"fence check dropped", []string{"epoch", "versions", "frontier"}, wraps{onWorker: func(_ *world, s worker.Store) worker.Store { return unfencedStore{s} }}},
		{"overlay merged before the commit is known", []string{"versions", "evidence", "stop", "verdict"}, wraps{onOuterWorker: func(_ *world, s worker.Store) worker.Store {
			return &overlayStore{Store: s, left: map[int32][]ledger.Changes{}}
		}}},
		{"version reset on reappearance", []string{"versions", "outbox"}, changed(resetVersions)},
		{"quarantine forgotten", []string{"quarantine"}, changed(func(c *ledger.Changes) { c.Quarantine = nil })},
		{"evidence forgotten", []string{"evidence"}, changed(func(c *ledger.Changes) { c.Evidence = nil })},
		{"conflict rows forgotten", []string{findingVerdict}, changed(func(c *ledger.Changes) { c.Conflicts = nil })},
		{"envelope lost from the unit of work", []string{"versions", findingVerdict}, changed(func(c *ledger.Changes) { c.Envelopes = c.Envelopes[:max(0, len(c.Envelopes)-1)] })},
		{"envelope written twice", []string{"outbox"}, changed(func(c *ledger.Changes) {
			c.Envelopes = append(c.Envelopes, c.Envelopes...)
		})},
		{"marked sent before the acknowledgement", []string{"sent"}, wraps{onPublisher: func(_ *world, p broker.Publisher) broker.Publisher { return hastyPublisher{p} }}},
		{"published out of order", []string{"order"}, wraps{onPublisher: func(_ *world, p broker.Publisher) broker.Publisher { return reversingPublisher{p} }}},
		{"published under another form", []string{"order"}, wraps{onPublisher: func(_ *world, p broker.Publisher) broker.Publisher { return renderingPublisher{p} }}},
		{"lease not asked for", []string{"lease"}, wraps{onOutbox: func(_ *world, o relay.Outbox) relay.Outbox { return leaselessOutbox{o} }}},
		{"guard skipped on withdrawal", []string{"view"}, wraps{onView: func(w *world, s view.Store) view.Store { return guardlessStore{s, w} }}},
		{"position commits without the rows", []string{"view"}, wraps{onView: func(_ *world, s view.Store) view.Store { return forgetfulStore{s} }}},
		{"partition never owned again", []string{findingLiveness}, wraps{onWorker: func(_ *world, s worker.Store) worker.Store { return stuckStore{s} }}},
		{"stop at nothing", []string{"stop"}, wraps{onWorker: func(_ *world, s worker.Store) worker.Store { return stoppingStore{s} }}},
	}
}

// changingStore changes what every unit of work commits.
type changingStore struct {
	worker.Store
	change func(*ledger.Changes)
}

func (s *changingStore) Begin(ctx context.Context, partition int32, epoch, frontier int64) (worker.Unit, error) {
	unit, err := s.Store.Begin(ctx, partition, epoch, frontier)
	return changingUnit{unit, s.change}, err
}

type changingUnit struct {
	worker.Unit
	change func(*ledger.Changes)
}

func (u changingUnit) Commit(ctx context.Context, c ledger.Changes) error {
	u.change(&c)
	return u.Unit.Commit(ctx, c)
}

// resetVersions gives every statement of a balance that was withdrawn version 1.
func resetVersions(c *ledger.Changes) {
	c.Envelopes = slices.Clone(c.Envelopes)
	for i, e := range c.Envelopes {
		if at := bytes.LastIndex(e.Value, []byte(`"version":`)); bytes.Contains(e.Value, []byte(`"BalanceStated"`)) && e.Value[at+10] >= '3' {
			c.Envelopes[i].Value = append(slices.Clone(e.Value[:at]), `"version":1}`...)
		}
	}
}

// rewindingStore sets the frontier back whenever a third epoch is installed.
type rewindingStore struct {
	worker.Store
	w *world
}

func (s *rewindingStore) InstallEpoch(ctx context.Context, in worker.Installation) (worker.PartitionState, error) {
	if in.ExpectedEpoch >= 2 {
		state, _, _ := s.w.state.Peek(in.Partition)
		s.w.state.Rewind(in.Partition, max(0, state.NextOffset-1))
	}
	return s.Store.InstallEpoch(ctx, in)
}

// skippingOpener loses the second record of a fetch of three.
type skippingOpener struct{ broker.Opener }

func (o skippingOpener) Open(ctx context.Context, partition int32, from int64) (broker.Reader, error) {
	r, err := o.Opener.Open(ctx, partition, from)
	return skippingReader{r}, err
}

type skippingReader struct{ broker.Reader }

func (r skippingReader) Poll(ctx context.Context, most int) (broker.Fetch, error) {
	f, err := r.Reader.Poll(ctx, most)
	if len(f.Records) >= 3 {
		f.Records = slices.Delete(f.Records, 1, 2)
	}
	return f, err
}

// unfencedStore begins a unit of work whatever epoch the caller believes in.
type unfencedStore struct{ worker.Store }

func (s unfencedStore) Begin(ctx context.Context, partition int32, _, frontier int64) (worker.Unit, error) {
	state, err := s.PartitionState(ctx, partition)
	if err != nil {
		return nil, err
	}
	return s.Store.Begin(ctx, partition, state.Epoch, frontier)
}

// overlayStore shows the rows of units of work whose outcome is unknown as if they had committed.
type overlayStore struct {
	worker.Store
	left map[int32][]ledger.Changes
}

func (s *overlayStore) Begin(ctx context.Context, partition int32, epoch, frontier int64) (worker.Unit, error) {
	unit, err := s.Store.Begin(ctx, partition, epoch, frontier)
	return overlayUnit{unit, s, partition}, err
}

type overlayUnit struct {
	worker.Unit
	store     *overlayStore
	partition int32
}

func (u overlayUnit) Commit(ctx context.Context, c ledger.Changes) error {
	err := u.Unit.Commit(ctx, c)
	if errors.Is(err, worker.ErrUnknownOutcome) {
		u.store.left[u.partition] = append(u.store.left[u.partition], c)
	}
	return err
}

func (u overlayUnit) Keys(ctx context.Context, ids []int32) ([]ledger.KeyRow, []ledger.DayRow, error) {
	keys, days, err := u.Unit.Keys(ctx, ids)
	for _, c := range u.store.left[u.partition] {
		for _, row := range slices.Concat(c.NewDays, c.ChangedDays) {
			same := func(d ledger.DayRow) bool { return d.KeyID == row.KeyID && d.Day == row.Day }
			if i := slices.IndexFunc(days, same); i >= 0 {
				days[i] = row
			}
		}
	}
	return keys, days, err
}

// hastyPublisher acknowledges what the broker did not.
type hastyPublisher struct{ broker.Publisher }

func (p hastyPublisher) Publish(ctx context.Context, messages []broker.Message) []broker.Ack {
	acks := p.Publisher.Publish(ctx, messages)
	for i := range acks {
		if errors.Is(acks[i].Err, errBroker) {
			acks[i] = broker.Ack{}
		}
	}
	return acks
}

// reversingPublisher sends the messages of a publication in reverse, and answers in order.
type reversingPublisher struct{ broker.Publisher }

func (p reversingPublisher) Publish(ctx context.Context, messages []broker.Message) []broker.Ack {
	reversed := slices.Clone(messages)
	slices.Reverse(reversed)
	acks := p.Publisher.Publish(ctx, reversed)
	slices.Reverse(acks)
	return acks
}

// renderingPublisher renders instead of sending what was committed.
type renderingPublisher struct{ broker.Publisher }

func (p renderingPublisher) Publish(ctx context.Context, messages []broker.Message) []broker.Ack {
	messages = slices.Clone(messages)
	for i := range messages {
		messages[i].Value = append(slices.Clone(messages[i].Value), '\n')
	}
	return p.Publisher.Publish(ctx, messages)
}

// leaselessOutbox grants the lease to whoever asks.
type leaselessOutbox struct{ relay.Outbox }

func (o leaselessOutbox) Acquire(ctx context.Context, holder string, ttl time.Duration) (relay.Grant, error) {
	g, err := o.Outbox.Acquire(ctx, holder, ttl)
	return relay.Grant{Held: true, Term: g.Term}, err
}

// guardlessStore forgets the version of what was withdrawn.
type guardlessStore struct {
	view.Store
	w *world
}

func (s guardlessStore) Begin(ctx context.Context, partition int32, expected int64) (view.Unit, error) {
	unit, err := s.Store.Begin(ctx, partition, expected)
	return guardlessUnit{unit, s.w}, err
}

type guardlessUnit struct {
	view.Unit
	w *world
}

func (u guardlessUnit) Guards(ctx context.Context, ids []view.ID) (map[view.ID]view.Guard, error) {
	guards, err := u.Unit.Guards(ctx, ids)
	for id := range guards {
		if row, ok := u.w.view.Row(id); ok && !row.Present {
			delete(guards, id)
		}
	}
	return guards, err
}

// forgetfulStore loses the rows of units of work with several of them.
type forgetfulStore struct{ view.Store }

func (s forgetfulStore) Begin(ctx context.Context, partition int32, expected int64) (view.Unit, error) {
	unit, err := s.Store.Begin(ctx, partition, expected)
	return forgetfulUnit{unit}, err
}

type forgetfulUnit struct{ view.Unit }

func (u forgetfulUnit) Commit(ctx context.Context, c view.Changes) error {
	if len(c.Rows) > 1 {
		c.Rows = c.Rows[1:]
	}
	return u.Unit.Commit(ctx, c)
}

// stuckStore never installs a fourth epoch.
type stuckStore struct{ worker.Store }

func (s stuckStore) InstallEpoch(ctx context.Context, in worker.Installation) (worker.PartitionState, error) {
	if in.ExpectedEpoch >= 3 {
		return worker.PartitionState{}, errLost
	}
	return s.Store.InstallEpoch(ctx, in)
}

// stoppingStore stops a partition for good where a worker only had to begin again.
type stoppingStore struct{ worker.Store }

func (s stoppingStore) Begin(ctx context.Context, partition int32, epoch, frontier int64) (worker.Unit, error) {
	if frontier > 5 {
		stop := worker.Stop{Reason: worker.StopInternal, Offset: frontier, Detail: "sabotage"}
		return nil, errors.Join(worker.ErrFenced, s.RecordStop(ctx, partition, epoch, frontier, stop))
	}
	return s.Store.Begin(ctx, partition, epoch, frontier)
}
