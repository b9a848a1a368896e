package simulate_test

import (
	"bytes"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/recordfile"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/ledger/simulate"
)

// repositoryRoot is where the tests of this package find testdata and, beside it, shared corpora.
const repositoryRoot = "../../.."

func TestOwnHistories(t *testing.T) {
	if count := runHistories(t, filepath.Join(repositoryRoot, "testdata", "histories")); count < 6 {
		t.Errorf("want at least 6 histories, got %d", count)
	}
}

func TestSharedHistories(t *testing.T) {
	corpora := os.Getenv("AMENDS_SHARED_CORPORA")
	if corpora == "" {
		corpora = filepath.Join(repositoryRoot, "..", "shared", "corpora")
	}
	folder := filepath.Join(corpora, "amends")
	if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
		t.Logf("not tested: no shared histories at %s; AMENDS_SHARED_CORPORA names their folder", folder)
		return
	}
	if count := runHistories(t, folder); count == 0 {
		t.Errorf("no history in %s", folder)
	}
}

// runHistories checks every history of a folder and returns their number. A history is a folder with manifest.yaml,
// records.jsonl, expected.json (the projection) and optionally envelopes.jsonl (what is published, line by line).
func runHistories(t *testing.T, folder string) int {
	t.Helper()
	manifestPaths, err := filepath.Glob(filepath.Join(folder, "*", "manifest.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range manifestPaths {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) { checkHistory(t, filepath.Dir(path)) })
	}
	return len(manifestPaths)
}

// checkHistory simulates one history and compares projection and envelopes.
func checkHistory(t *testing.T, folder string) {
	t.Helper()
	result, err := simulate.Run(loadConfig(t, folder), records(filepath.Join(folder, "records.jsonl")))
	if err != nil {
		t.Fatal(err)
	}
	if result.Stopped != nil {
		t.Fatalf("stopped: %+v", *result.Stopped)
	}
	expected, err := os.ReadFile(filepath.Join(folder, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want simulate.Projection
	if err := json.Unmarshal(expected, &want, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, result.Projection); diff != "" {
		t.Errorf("projection (-want +got):\n%s", diff)
	}
	envelopes, err := os.ReadFile(filepath.Join(folder, "envelopes.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	for _, envelope := range result.Envelopes {
		got.Write(envelope.Value)
		got.WriteByte('\n')
	}
	if diff := cmp.Diff(string(envelopes), got.String()); diff != "" {
		t.Errorf("envelopes (-want +got):\n%s", diff)
	}
}

// loadConfig reads a history's manifest.
func loadConfig(t *testing.T, folder string) *ledger.Config {
	t.Helper()
	path := filepath.Join(folder, "manifest.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ns, problems := manifests.Parse(path, text, func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join(folder, name))
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return ledger.NewConfig(ns, simulate.TopicID)
}

// records reads a record file as source records.
func records(path string) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for r, err := range recordfile.ReadFile(path) {
			if !yield(ledger.Record{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value}, err) {
				return
			}
		}
	}
}
