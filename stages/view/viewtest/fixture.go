package viewtest

import (
	"context"
	"errors"
	"testing"
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/view"
)

// Harness is one empty view of a namespace, as Suite needs it.
type Harness struct {
	Store view.Store
	// Inspect reads everything that is durable.
	Inspect func(t *testing.T) State
}

// State is everything durable in a view.
type State struct {
	// Rows are the last applied envelopes by output ID, withdrawn ones included.
	Rows map[view.ID]view.Envelope
	// Progress and Stops are by output partition.
	Progress map[int32]Progress
	Stops    map[int32]view.Stop
}

// Memory opens a Store in memory for Suite.
func Memory(_ *testing.T, namespace *manifests.Namespace) Harness {
	store := NewStore(namespace.Spec.Output.Partitions)
	return Harness{Store: store, Inspect: func(*testing.T) State {
		return State{Rows: store.Rows(), Progress: store.Progress(), Stops: store.Stops()}
	}}
}

// Namespace is the namespace of Suite: three stock keys over two output partitions. Key 1 maps to partition 0, keys 0
// and 2 to partition 1. Names hold what encodings get wrong: a quote, markup, U+2028 and a control character.
func Namespace() *manifests.Namespace {
	return &manifests.Namespace{Name: "demo", Spec: manifests.Spec{
		SemanticsVersion: 1,
		Source:           manifests.Source{Topic: "demo.transactions", Partitions: 2},
		Output:           manifests.Output{Topic: "demo.outputs", Partitions: 2},
		StockKeys: []manifests.StockKey{
			{Item: "A", Location: "<L>\u2028"},
			{Item: "A", Location: "L"},
			{Item: "b\"\\\x01", Location: "L"},
		},
	}}
}

// KeyOf builds messages of one stock key of a namespace.
func KeyOf(namespace *manifests.Namespace, keyID int) Key {
	stock := namespace.Spec.StockKeys[keyID]
	return Key{
		Namespace: namespace.Name, Item: stock.Item, Location: stock.Location,
		Partitions: namespace.Spec.Output.Partitions,
	}
}

// fixture is one scenario: a namespace, its output topic and its view.
type fixture struct {
	Harness
	namespace *manifests.Namespace
	config    *view.Config
	log       *Log
	faulty    *Faulty
	// maxRecords bounds the fetches of the views; 0 takes the default.
	maxRecords int
}

func newFixture(t *testing.T, open func(*testing.T, *manifests.Namespace) Harness) *fixture {
	t.Helper()
	namespace := Namespace()
	f := &fixture{Harness: open(t, namespace), namespace: namespace, config: view.NewConfig(namespace), log: NewLog()}
	f.faulty = &Faulty{Store: f.Store}
	return f
}

func (f *fixture) key(id int) Key { return KeyOf(f.namespace, id) }

func (f *fixture) publish(messages ...broker.Message) { f.log.Publish(context.Background(), messages) }

// view starts a view of a partition, as a new process would.
func (f *fixture) view(partition int32) *view.View {
	return view.New(view.Options{
		Config: f.config, Partition: partition, Store: f.faulty, Opener: f.log,
		Now: func() time.Time { return time.Unix(0, 0) }, MaxRecords: f.maxRecords,
	})
}

// drain steps v until it makes no progress.
func (f *fixture) drain(t *testing.T, v *view.View) {
	t.Helper()
	for range 1000 {
		progress, wake, err := v.Step(t.Context())
		if err != nil {
			t.Fatalf("Step: %v", err)
		}
		if !progress {
			if wake.IsZero() {
				t.Fatal("Step made no progress and named no wake time")
			}
			return
		}
	}
	t.Fatal("Step still makes progress after 1,000 steps")
}

// drainAll runs a fresh view of each partition to the end, as after a restart.
func (f *fixture) drainAll(t *testing.T) {
	t.Helper()
	for partition := range f.config.Partitions() {
		f.drain(t, f.view(partition))
	}
}

// stop steps v until it stops and returns why.
func (f *fixture) stop(t *testing.T, v *view.View) *view.StoppedError {
	t.Helper()
	for range 1000 {
		progress, _, err := v.Step(t.Context())
		var stopped *view.StoppedError
		switch {
		case errors.As(err, &stopped):
			return stopped
		case err != nil:
			t.Fatalf("Step: %v, want a stop", err)
		case !progress:
			t.Fatal("Step made no progress, want a stop")
		}
	}
	t.Fatal("no stop after 1,000 steps")
	return nil
}

// fails wants the next step of v to fail with the injected fault.
func (f *fixture) fails(t *testing.T, v *view.View) {
	t.Helper()
	if _, _, err := v.Step(t.Context()); !errors.Is(err, ErrInjected) {
		t.Fatalf("Step: %v, want the injected fault", err)
	}
}

// row returns what is stored for an output ID.
func (f *fixture) row(t *testing.T, id view.ID) view.Envelope {
	t.Helper()
	row, ok := f.Inspect(t).Rows[id]
	if !ok {
		t.Fatalf("no row for %v", id)
	}
	return row
}

// at wants a partition's position and counters.
func (f *fixture) at(t *testing.T, partition int32, want Progress) {
	t.Helper()
	if got := f.Inspect(t).Progress[partition]; got != want {
		t.Errorf("partition %d at %+v, want %+v", partition, got, want)
	}
}

// shows wants a row's version, presence and close.
func shows(t *testing.T, row view.Envelope, version int64, present bool, closing int64) {
	t.Helper()
	if row.Version != version || row.Present != present || row.Close != closing {
		t.Errorf("row %v is version %d present %v close %d, want version %d present %v close %d",
			row.ID, row.Version, row.Present, row.Close, version, present, closing)
	}
}
