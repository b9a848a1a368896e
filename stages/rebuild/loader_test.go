package rebuild_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/rebuild"
	"amends.dev/amends/stages/rebuild/memory"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

const topicID = "AAAAAAAAAAAAAAAAAAAAAQ"

// empty is a dataset without rows.
type empty struct{ meta rebuild.Meta }

func (e empty) Meta() rebuild.Meta { return e.meta }

func none[T any](func(T, error) bool) {}

func (empty) Authority(context.Context, int32) iter.Seq2[ledger.AuthorityRow, error] {
	return none[ledger.AuthorityRow]
}

func (empty) Evidence(context.Context, int32) iter.Seq2[ledger.EvidenceRow, error] {
	return none[ledger.EvidenceRow]
}

func (empty) Conflicts(context.Context, int32) iter.Seq2[rebuild.Conflict, error] {
	return none[rebuild.Conflict]
}

func (empty) Days(context.Context, int32) iter.Seq2[rebuild.Day, error] { return none[rebuild.Day] }

func (empty) Statuses(context.Context, int32) iter.Seq2[rebuild.Status, error] {
	return none[rebuild.Status]
}

func (empty) Quarantine(context.Context, int32) iter.Seq2[ledger.QuarantineRow, error] {
	return none[ledger.QuarantineRow]
}

func namespace(t *testing.T) *ledger.Config {
	t.Helper()
	ns, err := manifests.New("n", manifests.Spec{
		LedgerOrigin: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(),
		Source:       manifests.Source{Topic: "in", Partitions: 2}, Output: manifests.Output{Topic: "out", Partitions: 1},
		StockKeys: []manifests.StockKey{{Item: "a", Location: "x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return ledger.NewConfig(ns, topicID)
}

func dataset(cfg *ledger.Config) empty {
	return empty{rebuild.Meta{
		BusinessDigest: cfg.Namespace().BusinessDigest(topicID), TopicID: topicID, Ends: []int64{5, 0}, Accepted: []int64{0, 0}, Rejected: []int64{0, 0},
	}}
}

// TestRebuild3AnotherNamespace: a dataset of another configuration, topic, H or partition count is for another namespace.
func TestRebuild3AnotherNamespace(t *testing.T) {
	mark.Expect(t, "rebuild.3 another configuration")
	cfg := namespace(t)
	store := memory.Store{Worker: workertest.NewStore(2)}
	if _, err := rebuild.NewLoader(cfg, dataset(cfg), store, "m", []int64{5, 0}); err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(m *rebuild.Meta){
		"configuration": func(m *rebuild.Meta) { m.BusinessDigest = "x" },
		"topic":         func(m *rebuild.Meta) { m.TopicID = "x" },
		"H":             func(m *rebuild.Meta) { m.Ends = []int64{6, 0} },
	} {
		d := dataset(cfg)
		damage(&d.meta)
		if _, err := rebuild.NewLoader(cfg, d, store, "m", []int64{5, 0}); !errors.Is(err, rebuild.ErrDataset) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d := dataset(cfg)
	d.meta.Ends = []int64{5}
	if _, err := rebuild.NewLoader(cfg, d, store, "m", []int64{5}); !errors.Is(err, rebuild.ErrDataset) {
		t.Errorf("partitions: %v", err)
	}
}

// careless is a store that loads over whatever is there.
type careless struct {
	memory.Store
	loads int
}

func (c *careless) Load(context.Context, rebuild.Load) error {
	c.loads++
	return nil
}

// TestRebuild2OnlyUntouched: a partition is loaded once, an empty one too; one that has an owner, a frontier, a stop, or was
// loaded by another rebuild, is left as it is.
func TestRebuild2OnlyUntouched(t *testing.T) {
	mark.Expect(t, "rebuild.2 loaded before")
	mark.Expect(t, "rebuild.2 not untouched")
	cfg := namespace(t)
	loader := func(store worker.Store, member string) *rebuild.Loader {
		l, err := rebuild.NewLoader(cfg, dataset(cfg), memory.Store{Worker: store}, member, []int64{5, 0})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	store := workertest.NewStore(2)
	for partition, end := range []int64{5, 0} {
		for _, want := range []bool{true, false} {
			if loaded, err := loader(store, "m").Partition(t.Context(), int32(partition)); err != nil || loaded != want {
				t.Fatalf("partition %d: loaded %t, %v", partition, loaded, err)
			}
		}
		state, err := store.PartitionState(t.Context(), int32(partition))
		if err != nil || state.Epoch != 1 || state.NextOffset != end {
			t.Fatalf("%+v, %v", state, err)
		}
		if _, err := loader(store, "other").Partition(t.Context(), int32(partition)); !errors.Is(err, rebuild.ErrNotEmpty) {
			t.Errorf("another rebuild: %v", err)
		}
	}
	longer := dataset(cfg)
	longer.meta.Ends = []int64{6, 0}
	l, err := rebuild.NewLoader(cfg, longer, memory.Store{Worker: store}, "m", []int64{6, 0})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Partition(t.Context(), 0); !errors.Is(err, rebuild.ErrNotEmpty) {
		t.Errorf("the same rebuild, through another H: %v", err)
	}
	owned := workertest.NewStore(2)
	if _, err := owned.InstallEpoch(t.Context(), worker.Installation{Member: "w", Generation: 1}); err != nil {
		t.Fatal(err)
	}
	eager := &careless{Store: memory.Store{Worker: owned}}
	l, err = rebuild.NewLoader(cfg, dataset(cfg), eager, "m", []int64{5, 0})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Partition(t.Context(), 0); !errors.Is(err, rebuild.ErrNotEmpty) || eager.loads > 0 {
		t.Errorf("a partition with an owner: %v, loaded %d times", err, eager.loads)
	}
	stopped := workertest.NewStore(2)
	if err := stopped.RecordStop(t.Context(), 0, 0, 0, worker.Stop{Reason: "internal_error"}); err != nil {
		t.Fatal(err)
	}
	if _, err := loader(stopped, "m").Partition(t.Context(), 0); !errors.Is(err, rebuild.ErrNotEmpty) {
		t.Errorf("a stopped partition: %v", err)
	}
}
