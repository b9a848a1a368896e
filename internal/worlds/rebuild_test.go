package worlds

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/oracle/derive"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/rebuild"
	"amends.dev/amends/stages/rebuild/dataset"
	"amends.dev/amends/stages/rebuild/memory"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
	"amends.dev/amends/vectorized/derived"
)

const rebuiltTopicID = "AAAAAAAAAAAAAAAAAAAAAQ"

// derivedSet derives the records below ends into a dataset and opens it.
func derivedSet(ctx context.Context, dir string, cfg *ledger.Config, records []engine.Record, ends []int64) (*dataset.Set, error) {
	ns := cfg.Namespace()
	w, err := derived.Create(dir, derived.Meta{
		BusinessDigest: ns.BusinessDigest(cfg.SourceTopicID()), TopicID: cfg.SourceTopicID(), Ends: ends,
		Engine: derive.Engine, Decoder: derive.Decoder, Code: "test",
	})
	if err != nil {
		return nil, err
	}
	source := func(partition int32) engine.History {
		return func(context.Context) iter.Seq2[engine.Record, error] {
			return func(yield func(engine.Record, error) bool) {
				for _, r := range records {
					if r.Partition == partition && r.Offset < ends[partition] && !yield(r, nil) {
						return
					}
				}
			}
		}
	}
	if err := derive.Run(ctx, w, ns, source, 2); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return dataset.Open(dir, cfg)
}

// loadAll loads a dataset into a worker's store.
func loadAll(ctx context.Context, cfg *ledger.Config, set rebuild.Dataset, store rebuild.Store) error {
	loader, err := rebuild.NewLoader(cfg, set, store, "rebuild/test", set.Meta().Ends)
	if err != nil {
		return err
	}
	for p := range cfg.Namespace().Spec.Source.Partitions {
		if loaded, err := loader.Partition(ctx, p); err != nil || !loaded {
			return fmt.Errorf("partition %d: loaded %t: %w", p, loaded, err)
		}
		if loaded, err := loader.Partition(ctx, p); err != nil || loaded {
			return fmt.Errorf("partition %d once more: loaded %t: %w", p, loaded, err)
		}
	}
	return nil
}

// sourceLog is the history as the worker reads it.
func sourceLog(records []engine.Record) *workertest.Log {
	log := workertest.NewLog()
	for _, r := range records {
		log.AppendGap(r.Partition, r.Offset-log.End(r.Partition))
		log.Append(r.Partition, r.Key, r.Value)
	}
	return log
}

// streamOn steps a worker until every partition is at the end of the log or stopped.
func streamOn(ctx context.Context, cfg *ledger.Config, store worker.Store, log *workertest.Log, batch int) error {
	member := workertest.NewMember()
	partitions := make([]int32, cfg.Namespace().Spec.Source.Partitions)
	for p := range partitions {
		partitions[p] = int32(p)
	}
	member.Assign("member", 1, partitions...)
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	w := worker.New(worker.Options{Config: cfg, Store: store, Opener: log, Membership: member, Now: func() time.Time { return now },
		Random: rand.New(rand.NewPCG(1, 1)).Int64N, PollWait: time.Millisecond, MaxBatch: batch})
	defer w.Close() //nolint:contextcheck // a last lag signal, bounded by itself
	for range 10_000 {
		progress, wake, err := w.Step(ctx)
		if err != nil {
			return err
		}
		if !progress && wake.After(now) {
			now = wake
		}
		done := true
		for _, p := range partitions {
			state, err := store.PartitionState(ctx, p)
			if err != nil {
				return err
			}
			done = done && state.Epoch > 0 && (state.Stop != nil || state.NextOffset >= log.Reach(p))
		}
		if done {
			return nil
		}
	}
	return errors.New("the worker does not come to the end")
}

// alike strips what a bulk rebuild may have otherwise (R26): versions, sequences and attribution, withdrawn days, and
// what is retained of BLOCKED keys.
func alike(t *rapid.T, tables workertest.Tables) (workertest.Tables, map[string]string) {
	blocked := map[int32]bool{}
	for i := range tables.Keys {
		blocked[tables.Keys[i].KeyID] = len(tables.Keys[i].Conflicts) > 0
		tables.Keys[i].StatusVersion = 0
	}
	tables.Days = slices.DeleteFunc(tables.Days, func(d ledger.DayRow) bool { return d.Active == 0 || blocked[d.KeyID] })
	for i := range tables.Days {
		tables.Days[i].BalanceVersion, tables.Days[i].AlertVersion = 0, 0
	}
	for i := range tables.Partitions {
		tables.Partitions[i].OutboxNext = 0
	}
	shown := viewOf(t, tables.Outbox)
	tables.Outbox = nil
	tables.Sort()
	return tables, shown
}

// viewOf is what the outbox amounts to: the payload of every output that is not withdrawn, but those of BLOCKED keys.
func viewOf(t *rapid.T, outbox []workertest.OutboxRow) map[string]string {
	type envelope struct {
		OutputID json.RawMessage `json:"output_id"`
		Payload  json.RawMessage `json:"payload"`
		Version  int64           `json:"version"`
	}
	latest, blocked := map[string]envelope{}, map[string]bool{}
	for _, row := range outbox {
		var e envelope
		if err := json.Unmarshal(row.Value, &e); err != nil {
			t.Fatal(err)
		}
		if e.Version != latest[string(e.OutputID)].Version+1 {
			t.Fatalf("version %d of %s after %d", e.Version, e.OutputID, latest[string(e.OutputID)].Version)
		}
		latest[string(e.OutputID)] = e
		if strings.Contains(string(e.OutputID), `"key-status"`) {
			blocked[string(row.Key)] = strings.Contains(string(e.Payload), `"BLOCKED"`)
		}
	}
	shown := map[string]string{}
	for id, e := range latest {
		var parts []string
		if err := json.Unmarshal([]byte(id), &parts); err != nil {
			t.Fatal(err)
		}
		frozen := blocked[string(ledger.BrokerKey(parts[2], parts[3]))] && parts[1] != "key-status"
		if string(e.Payload) != "null" && !frozen {
			shown[id] = string(e.Payload)
		}
	}
	return shown
}

// TestR26BulkEqualsStream: a random history, bulk at a random H, then the worker goes on: equal to streaming from the
// beginning, in every row but for what R26 leaves out.
func TestR26BulkEqualsStream(t *testing.T) {
	mark.Expect(t, "R26 conflict derived")
	root, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		c := oracletest.Cases().Draw(t, "case")
		cfg, log := ledger.NewConfig(c.Namespace, rebuiltTopicID), sourceLog(c.Records)
		partitions := c.Namespace.Spec.Source.Partitions
		streamed := workertest.NewStore(partitions)
		if err := streamOn(t.Context(), cfg, streamed, log, 7); err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(streamed.Tables().Partitions, func(p workertest.PartitionRow) bool { return p.StopReason != "" }) {
			return // a worker that stopped has no equal (R09)
		}
		ends := make([]int64, partitions)
		for p := range ends {
			ends[p] = rapid.Int64Range(0, log.Reach(int32(p))).Draw(t, "H")
		}
		set, err := derivedSet(t.Context(), filepath.Join(root, fmt.Sprint(n)), cfg, c.Records, ends)
		if err != nil {
			t.Fatal(err)
		}
		rebuilt := workertest.NewStore(partitions)
		if err := loadAll(t.Context(), cfg, set, memory.Store{Worker: rebuilt}); err != nil {
			t.Fatal(err)
		}
		if err := streamOn(t.Context(), cfg, rebuilt, log, 7); err != nil {
			t.Fatal(err)
		}
		wantTables, wantView := alike(t, streamed.Tables())
		gotTables, gotView := alike(t, rebuilt.Tables())
		if diff := cmp.Diff(wantTables, gotTables); diff != "" {
			t.Fatalf("H %v: tables (-streamed +rebuilt):\n%s", ends, diff)
		}
		if diff := cmp.Diff(wantView, gotView); diff != "" {
			t.Fatalf("H %v: view (-streamed +rebuilt):\n%s", ends, diff)
		}
	})
}
