package relaytest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/view/viewtest"
)

// SourcePartitions is how many source partitions Suite uses.
const SourcePartitions = 2

// The times of Suite's relays, in whole seconds of a clock that only tests move.
const (
	deliveryTimeout = 10 * time.Second
	leaseTTL        = 30 * time.Second
)

// Harness is one empty outbox, as Suite needs it.
type Harness struct {
	Outbox relay.Outbox
	Lister relay.Lister
	// Prepare writes the messages as one packed row of a source partition, in a transaction that stays open until
	// commit is called.
	Prepare func(t *testing.T, partition int32, messages []broker.Message) (commit func())
	// Elapse lets the store's clock run ahead by d.
	Elapse func(t *testing.T, d time.Duration)
}

// Memory opens a Store in memory for Suite.
func Memory(*testing.T) Harness {
	now := time.Unix(1_000_000, 0)
	store := NewStore(SourcePartitions, func() time.Time { return now })
	return Harness{
		Outbox: store, Lister: store,
		Prepare: func(_ *testing.T, partition int32, messages []broker.Message) func() {
			return func() { store.Append(partition, messages...) }
		},
		Elapse: func(_ *testing.T, d time.Duration) { now = now.Add(d) },
	}
}

// fixture is one scenario: an outbox, an output topic and a clock.
type fixture struct {
	Harness
	faulty    *Faulty
	namespace *manifests.Namespace
	log       *viewtest.Log
	now       time.Time
	// backoff is that of the relays: none unless a test is about it.
	backoff fault.Policy
	// maxEnvelopes bounds the units of work of the relays; 0 takes the default.
	maxEnvelopes int
}

func newFixture(t *testing.T, open func(*testing.T) Harness) *fixture {
	t.Helper()
	f := &fixture{Harness: open(t), namespace: viewtest.Namespace(), log: viewtest.NewLog(), now: time.Unix(0, 0), backoff: fault.Policy{Attempts: 1}}
	f.faulty = &Faulty{Outbox: f.Outbox}
	return f
}

// elapse lets d pass for the store and for every process.
func (f *fixture) elapse(t *testing.T, d time.Duration) {
	t.Helper()
	f.Elapse(t, d)
	f.now = f.now.Add(d)
}

func (f *fixture) key(id int) viewtest.Key { return viewtest.KeyOf(f.namespace, id) }

// commit leaves one packed row in the outbox.
func (f *fixture) commit(t *testing.T, partition int32, messages ...broker.Message) {
	t.Helper()
	f.Prepare(t, partition, messages)()
}

// relay starts a relay, as a new process would.
func (f *fixture) relay(t *testing.T, holder string, publisher broker.Publisher) *relay.Relay {
	t.Helper()
	r, err := relay.New(relay.Options{
		Outbox: f.faulty, Publisher: publisher, Holder: holder, Partitions: f.namespace.Spec.Output.Partitions,
		Now: func() time.Time { return f.now }, DeliveryTimeout: deliveryTimeout, LeaseTTL: leaseTTL,
		Backoff:      f.backoff,
		MaxEnvelopes: f.maxEnvelopes,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// publisher returns one whose outcomes follow fate.
func (f *fixture) publisher(fate func(int, broker.Message) Fate) *Publisher {
	return &Publisher{Log: f.log, Fate: fate}
}

// step wants a step without an error.
func step(t *testing.T, r *relay.Relay) (progress bool) {
	t.Helper()
	progress, wake, err := r.Step(t.Context())
	if err != nil {
		t.Fatalf("Step: %v", err)
	}
	if !progress && wake.IsZero() {
		t.Fatal("Step made no progress and named no wake time")
	}
	return progress
}

// drain steps r until it makes no progress.
func drain(t *testing.T, r *relay.Relay) {
	t.Helper()
	for range 1000 {
		if !step(t, r) {
			return
		}
	}
	t.Fatal("Step still makes progress after 1,000 steps")
}

// sent wants a source partition to stand at the given positions.
func (f *fixture) sent(t *testing.T, partition int32, sent, end int64) {
	t.Helper()
	positions, err := f.Outbox.Positions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := relay.Position{Partition: partition, Sent: sent, End: end}
	if len(positions) != SourcePartitions || positions[partition] != want {
		t.Errorf("positions %+v, want %+v", positions, want)
	}
}

// topic wants a partition of the output topic to hold exactly the messages, in order; an outbox may add headers after
// theirs.
func (f *fixture) topic(t *testing.T, partition int32, messages ...broker.Message) {
	t.Helper()
	var got, want []string
	for _, m := range messages {
		want = append(want, fmt.Sprintf("%s %s %q", m.Key, m.Value, m.Headers))
	}
	for i, r := range f.log.Records(partition) {
		headers := r.Headers
		if i < len(messages) {
			headers = headers[:min(len(headers), len(messages[i].Headers))]
		}
		got = append(got, fmt.Sprintf("%s %s %q", r.Key, r.Value, headers))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output partition %d (-want +got):\n%s", partition, diff)
	}
}

// materialize runs a view over the whole output topic and returns it; a violation fails the test.
func (f *fixture) materialize(t *testing.T) viewtest.State {
	t.Helper()
	memory := viewtest.Memory(t, f.namespace)
	for partition := range f.namespace.Spec.Output.Partitions {
		v := view.New(view.Options{
			Config: view.NewConfig(f.namespace), Partition: partition, Store: memory.Store, Opener: f.log,
			Now: func() time.Time { return f.now },
		})
		for progress := true; progress; {
			var err error
			if progress, _, err = v.Step(t.Context()); err != nil {
				t.Fatalf("materialize: %v", err)
			}
		}
	}
	return memory.Inspect(t)
}
