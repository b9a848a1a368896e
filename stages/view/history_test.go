package view_test

import (
	"cmp"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"amends.dev/amends/internal/recordfile"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/ledger/simulate"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/view/viewtest"
)

// TestHistories feeds the view what the worker's core publishes for each known history, in order, and then shuffled with
// every message twice: both end in the worker's own last committed outputs (S7).
func TestHistories(t *testing.T) {
	const root = "../.."
	corpora := cmp.Or(os.Getenv("AMENDS_SHARED_CORPORA"), filepath.Join(root, "..", "shared", "corpora"))
	total := 0
	for _, folder := range []string{filepath.Join(root, "testdata", "histories"), filepath.Join(corpora, "amends")} {
		manifestPaths, err := filepath.Glob(filepath.Join(folder, "*", "manifest.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		total += len(manifestPaths)
		for _, path := range manifestPaths {
			t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) { history(t, path) })
		}
	}
	if total == 0 {
		t.Error("no histories found")
	}
}

func history(t *testing.T, manifestPath string) {
	folder := filepath.Dir(manifestPath)
	text, err := os.ReadFile(manifestPath)
	if err != nil {
		t.Fatal(err)
	}
	namespace, problems := manifests.Parse(manifestPath, text, func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join(folder, name))
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	result, err := simulate.Run(ledger.NewConfig(namespace, simulate.TopicID), sourceRecords(filepath.Join(folder, "records.jsonl")))
	if err != nil || result.Stopped != nil {
		t.Fatalf("simulate: %v, stopped %v", err, result.Stopped)
	}
	var messages []broker.Message
	for _, e := range result.Envelopes {
		partition := ledger.PartitionOf(e.Key, namespace.Spec.Output.Partitions)
		messages = append(messages, broker.Message{Partition: partition, Key: e.Key, Value: e.Value})
	}
	want := shown(simulate.Facts{
		Balances: slices.Concat(result.Projection.Balances, result.Uncertified.Balances),
		Alerts:   slices.Concat(result.Projection.Alerts, result.Uncertified.Alerts),
	}, result.Projection.Statuses)
	equal := cmpopts.EquateEmpty()
	if diff := gocmp.Diff(want, materialized(t, namespace, messages), equal); diff != "" {
		t.Errorf("in order (-want +got):\n%s", diff)
	}
	random := rand.New(rand.NewPCG(uint64(len(messages)), 7))
	shuffled := slices.Concat(messages, messages)
	random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if diff := gocmp.Diff(want, materialized(t, namespace, shuffled), equal); diff != "" {
		t.Errorf("shuffled (-want +got):\n%s", diff)
	}
}

func sourceRecords(path string) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for r, err := range recordfile.ReadFile(path) {
			if !yield(ledger.Record{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value}, err) {
				return
			}
		}
	}
}

// projection is what is shown, sorted.
type projection struct {
	Facts    simulate.Facts
	Statuses []simulate.Status
}

func shown(facts simulate.Facts, statuses []simulate.Status) projection {
	slices.SortFunc(facts.Balances, func(a, b simulate.Balance) int {
		return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.Location, b.Location), cmp.Compare(a.Day, b.Day))
	})
	slices.SortFunc(facts.Alerts, func(a, b simulate.Alert) int {
		return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.Location, b.Location), cmp.Compare(a.Day, b.Day))
	})
	slices.SortFunc(statuses, func(a, b simulate.Status) int {
		return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.Location, b.Location))
	})
	return projection{Facts: facts, Statuses: statuses}
}

func materialized(t *testing.T, namespace *manifests.Namespace, messages []broker.Message) projection {
	t.Helper()
	log := viewtest.NewLog()
	log.Publish(t.Context(), messages)
	memory := viewtest.Memory(t, namespace)
	for partition := range namespace.Spec.Output.Partitions {
		v := view.New(view.Options{
			Config: view.NewConfig(namespace), Partition: partition, Store: memory.Store, Opener: log, Now: time.Now, MaxRecords: 3,
		})
		for progress := true; progress; {
			var err error
			if progress, _, err = v.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	var facts simulate.Facts
	var statuses []simulate.Status
	for id, row := range memory.Inspect(t).Rows {
		stock, day := namespace.Spec.StockKeys[id.KeyID], view.FormatDay(id.Day)
		switch {
		case id.Family == view.FamilyStatus:
			status := simulate.Status{Item: stock.Item, Location: stock.Location, Status: view.StatusReady}
			if row.Blocked() {
				status.Status = view.StatusBlocked
			}
			for _, c := range row.Conflicts {
				status.Conflicts = append(status.Conflicts, simulate.ConflictRef{TxnID: c.TxnID, Revision: c.Revision})
			}
			statuses = append(statuses, status)
		case !row.Present:
		case id.Family == view.FamilyBalance:
			facts.Balances = append(facts.Balances, simulate.Balance{Item: stock.Item, Location: stock.Location, Day: day, Close: row.Close})
		default:
			facts.Alerts = append(facts.Alerts, simulate.Alert{
				Item: stock.Item, Location: stock.Location, Day: day, Close: row.Close, Threshold: row.Threshold,
			})
		}
	}
	return shown(facts, statuses)
}
