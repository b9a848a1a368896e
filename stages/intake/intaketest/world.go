// Package intaketest is the world of an intake in memory: owner store, topics, writer lease and worker, each of which a
// test can make fail or hold back.
package intaketest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/memory"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/run"
)

// TopicID is that of the source topic.
const TopicID = "AAAAAAAAQACAAAAAAAAAAQ"

// Results is the topic that deliver_to may name.
const Results = "shop.results"

// ErrDown is what a part says that was made to fail.
var ErrDown = errors.New("it is down")

// World is everything around one intake.
type World struct {
	Config *ledger.Config
	// Store can be made to fail by Down.
	Store *Store
	// Source, Target and Statuses are the topics; the intake has no status topic where its options do not get one.
	Source, Target, Statuses *Topic
	Lease                    *Lease
	// Offered is the strongest level offered.
	Offered atomic.Value
	// Held stops the drain of publications, Silent the sending of statuses; Behind stops the worker.
	Held, Silent, Behind atomic.Bool
	attempts             atomic.Int64
}

// New is a world of namespace shop, with widgets and gadgets in Berlin, that offers published.
func New() *World {
	ns := &manifests.Namespace{Name: "shop", Spec: manifests.Spec{
		SemanticsVersion: manifests.SemanticsVersion,
		LedgerOrigin:     time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(),
		Source: manifests.Source{Topic: "shop.in", Partitions: 2, Partitioner: manifests.PartitionerMurmur2,
			MaxRecordBytes: manifests.DefaultMaxRecordBytes},
		Output: manifests.Output{Topic: "shop.out", Partitions: 2},
		StockKeys: []manifests.StockKey{
			{Item: "gadget", Location: "berlin", OpeningBalance: 100, ReorderThreshold: 60},
			{Item: "widget", Location: "berlin", OpeningBalance: 100, ReorderThreshold: 60},
		},
	}}
	w := &World{
		Config: ledger.NewConfig(ns, TopicID), Store: &Store{Store: memory.New()},
		Source: NewTopic(), Target: NewTopic(), Statuses: NewTopic(), Lease: &Lease{},
	}
	w.Offered.Store(durability.Published)
	return w
}

// Options are those of an intake in this world.
func (w *World) Options() intake.Options {
	return intake.Options{
		Config: w.Config, Offered: w.Offer, Store: w.Store, Publisher: w.Source, Lease: w.Lease, Holder: "test",
		Decisions: decisions{w}, Targets: map[string]intake.Target{Results: {Publisher: w.Target, Partitions: 1}},
		Zones: map[durability.Level][]string{durability.Stored: {"same-host"}, durability.Published: {"same-network"}},
		Clock: Clock(), Attempt: func() string { return fmt.Sprint(w.attempts.Add(1)) }, Patience: 2 * time.Second,
	}
}

// Offer is the strongest level offered now.
func (w *World) Offer() durability.Level {
	level, _ := w.Offered.Load().(durability.Level)
	return level
}

// Clock is the real one.
func Clock() intake.Clock {
	return intake.Clock{Now: time.Now, Sleep: func(ctx context.Context, d time.Duration) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
			return nil
		}
	}}
}

// Start runs an intake and the drain of its publications until the test ends, and waits until it is ready.
func (w *World) Start(t testing.TB, options intake.Options) *intake.Intake {
	t.Helper()
	i, err := intake.New(options)
	if err != nil {
		t.Fatal(err)
	}
	outbox, err := i.Outbox()
	if err != nil {
		t.Fatal(err)
	}
	drain, err := relay.New(relay.Options{
		Outbox: outbox, Publisher: w.Source, Holder: "test", Partitions: w.Config.Namespace().Spec.Source.Partitions,
		Now: time.Now, DeliveryTimeout: intake.DefaultDeliveryTimeout, LeaseTTL: 2 * intake.DefaultDeliveryTimeout,
		Idle: time.Millisecond, Standby: 5 * time.Millisecond, Random: func(n int64) int64 { return n / 2 },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	tasks := append(i.Tasks(), i.LeaseTask(), run.Task{Stage: "drain", Step: unless(&w.Held, drain.Step)})
	for n := range tasks {
		if tasks[n].Stage == "intake-status" {
			tasks[n].Step = unless(&w.Silent, tasks[n].Step)
		}
	}
	group.Go(func() {
		run.New(run.Options{Now: time.Now, Random: func(n int64) int64 { return n / 2 }}, tasks...).Run(ctx)
	})
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	Eventually(t, "the intake to be ready", func() bool { ready, _ := i.Ready(); return ready })
	return i
}

// taskStep is that of a run.Task.
type taskStep = func(ctx context.Context) (progress bool, wake time.Time, err error)

// unless takes steps while stopped is not set.
func unless(stopped *atomic.Bool, step taskStep) taskStep {
	return func(ctx context.Context) (bool, time.Time, error) {
		if stopped.Load() {
			return false, time.Now().Add(time.Millisecond), nil
		}
		return step(ctx)
	}
}

// Store is a store that can be away.
type Store struct {
	owner.Store
	down atomic.Bool
	// Cut makes the next commit happen without an answer.
	Cut atomic.Bool
	// Slow holds every commit back while it is locked; Entered counts the calls.
	Slow    sync.RWMutex
	Entered atomic.Int64
}

// Down makes every call fail, or not.
func (s *Store) Down(down bool) { s.down.Store(down) }

// Commit implements owner.Store.
func (s *Store) Commit(ctx context.Context, commits ...owner.Commit) ([]owner.Result, error) {
	s.Entered.Add(1)
	s.Slow.RLock()
	defer s.Slow.RUnlock()
	if s.down.Load() {
		return nil, ErrDown
	}
	results, err := s.Store.Commit(ctx, commits...)
	if s.Cut.CompareAndSwap(true, false) {
		return nil, ErrDown
	}
	return results, err
}

// Image implements owner.Store.
func (s *Store) Image(ctx context.Context, ownerID string) (*owner.Image, error) {
	if s.down.Load() {
		return nil, ErrDown
	}
	return s.Store.Image(ctx, ownerID)
}

// Pending implements owner.Store.
func (s *Store) Pending(ctx context.Context, prefix string, limit int) ([]owner.Pending, error) {
	if s.down.Load() {
		return nil, ErrDown
	}
	return s.Store.Pending(ctx, prefix, limit)
}

// Count is how many requests of the intake are kept, by looking at each of the IDs.
func (s *Store) Count(t testing.TB, author string, requestIDs ...string) int {
	t.Helper()
	count := 0
	for _, id := range requestIDs {
		image, err := s.Store.Image(context.Background(), intake.OwnerID("shop", author, id))
		if err != nil {
			t.Fatal(err)
		}
		if image != nil {
			count++
		}
	}
	return count
}

// Topic is a topic in memory; it implements broker.Publisher.
type Topic struct {
	mu      sync.Mutex
	records map[int32][]broker.Message
	down    bool
}

// NewTopic is an empty topic.
func NewTopic() *Topic { return &Topic{records: map[int32][]broker.Message{}} }

// Down makes every publication fail, or not.
func (t *Topic) Down(down bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.down = down
}

// Publish implements broker.Publisher.
func (t *Topic) Publish(_ context.Context, messages []broker.Message) []broker.Ack {
	t.mu.Lock()
	defer t.mu.Unlock()
	acks := make([]broker.Ack, len(messages))
	for i, m := range messages {
		if t.down {
			acks[i].Err = ErrDown
			continue
		}
		acks[i].Offset = int64(len(t.records[m.Partition]))
		t.records[m.Partition] = append(t.records[m.Partition], m)
	}
	return acks
}

// At is the record at a place, nil where none is.
func (t *Topic) At(at intake.Coordinates) *broker.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	if records := t.records[at.Partition]; at.Offset >= 0 && at.Offset < int64(len(records)) {
		return &records[at.Offset]
	}
	return nil
}

// All are the records of all partitions.
func (t *Topic) All() []broker.Message {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []broker.Message
	for _, records := range t.records {
		all = append(all, records...)
	}
	return all
}

// Holding is how many records have a value that contains a text.
func (t *Topic) Holding(text string) int {
	count := 0
	for _, m := range t.All() {
		if strings.Contains(string(m.Value), text) {
			count++
		}
	}
	return count
}

// decisions is a worker that has decided whatever is in the topic, unless it is behind.
type decisions struct{ world *World }

// Decision implements intake.Decisions.
func (d decisions) Decision(_ context.Context, at intake.Coordinates, _ []byte) (*intake.Decision, error) {
	m := d.world.Source.At(at)
	if m == nil || d.world.Behind.Load() {
		return nil, nil
	}
	_, reason := d.world.Config.Decode(ledger.Record{Partition: at.Partition, Offset: at.Offset, Key: m.Key, Value: m.Value})
	if reason != ledger.ReasonNone {
		return &intake.Decision{Outcome: intake.Quarantined, Reason: string(reason)}, nil
	}
	return &intake.Decision{Outcome: intake.Accepted, Authority: intake.Current, Outputs: []intake.Output{
		{OutputID: `["shop","balance","widget","berlin","2026-01-01"]`, Type: "BalanceStated", Version: 1},
	}}, nil
}

// Eventually waits until is holds.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if is() {
			return
		}
	}
	t.Fatalf("waited a minute for %s", what)
}
