// Package oracletest is the test suite that every oracle engine passes: histories with their right results, hostile
// records with their reasons, and generators of both. It imports neither Arrow nor a broker client.
package oracletest

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/recordfile"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
)

// History is one folder of manifest.yaml, records.jsonl and expected.json.
type History struct {
	// Name is the folder's name.
	Name string
	// Dir is the folder.
	Dir string
	// Namespace is the parsed manifest.
	Namespace *manifests.Namespace
	// Records are all records in file order.
	Records []engine.Record
	// Expected is the right result.
	Expected *projection.Projection
}

// All returns the project's own histories and, where they are present, the shared ones. It fails if there are no own
// ones and logs what is absent.
func All(t *testing.T) []History {
	t.Helper()
	testdata := filepath.Join(Root(t), "testdata")
	histories := append(Load(t, filepath.Join(testdata, "histories")), Load(t, filepath.Join(testdata, "histories-overflow"))...)
	if len(histories) == 0 {
		t.Fatal("testdata/histories holds no history")
	}
	shared := os.Getenv("AMENDS_SHARED_CORPORA")
	if shared == "" {
		shared = filepath.Join(Root(t), "..", "shared", "corpora")
	}
	for _, corpus := range []string{"amends", "amends-overflow"} {
		dir := filepath.Join(shared, corpus)
		if _, err := os.Stat(dir); err != nil {
			t.Logf("shared histories are not tested: %v (set AMENDS_SHARED_CORPORA)", err)
			continue
		}
		histories = append(histories, Load(t, dir)...)
	}
	return histories
}

// Load reads every history below a folder. A folder without a history is left out.
func Load(t *testing.T, dir string) []History {
	t.Helper()
	manifestFiles, err := filepath.Glob(filepath.Join(dir, "*", "manifest.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	histories := make([]History, 0, len(manifestFiles))
	for _, file := range manifestFiles {
		histories = append(histories, load(t, file))
	}
	return histories
}

// load reads the history of one manifest file.
func load(t *testing.T, file string) History {
	t.Helper()
	dir := filepath.Dir(file)
	h := History{Name: filepath.Base(filepath.Dir(dir)) + "/" + filepath.Base(dir), Dir: dir}
	h.Namespace = Namespace(t, file, read(t, file))
	for r, err := range recordfile.ReadFile(filepath.Join(dir, "records.jsonl")) {
		if err != nil {
			t.Fatal(err)
		}
		h.Records = append(h.Records, engine.Record{
			Partition: r.Partition, Offset: r.Offset, BrokerTime: r.Timestamp, Key: r.Key, Value: r.Value,
		})
	}
	expected, err := projection.Parse(read(t, filepath.Join(dir, "expected.json")))
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	h.Expected = expected
	return h
}

// Namespace parses a manifest that must be valid.
func Namespace(t *testing.T, file string, data []byte) *manifests.Namespace {
	t.Helper()
	ns, problems := manifests.Parse(file, data, func(name string) ([]byte, error) {
		return os.ReadFile(filepath.Join(filepath.Dir(file), name))
	})
	if ns == nil {
		t.Fatalf("%s: %v", file, problems)
	}
	return ns
}

// read returns a file's content.
func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Root is the repository's root folder.
func Root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = parent
	}
}

// Of is a history of records held in memory.
func Of(records []engine.Record) engine.History {
	return func(context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			for _, r := range records {
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// TB is what checks need of a test; *testing.T and *rapid.T have it.
type TB interface {
	// Helper hides the caller from the position of a failure.
	Helper()
	// Errorf fails the test and goes on.
	Errorf(format string, args ...any)
	// Fatalf fails the test and ends it.
	Fatalf(format string, args ...any)
}

// Compute runs an engine over records that it must be able to read.
func Compute(t TB, e engine.Engine, ns *manifests.Namespace, records []engine.Record) *projection.Projection {
	t.Helper()
	got, err := e.Compute(context.Background(), ns, Of(records))
	if err != nil {
		t.Fatalf("%s: %v", e.Name(), err)
	}
	return got
}

// Equal fails the test unless two projections are the same, nil and empty slices told apart.
func Equal(t TB, what string, got, want *projection.Projection) {
	t.Helper()
	if reflect.DeepEqual(got, want) { // much faster than to look for differences
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: projection differs (-want +got):\n%s", what, diff)
	}
}

// RunHistories checks an engine against every history there is.
func RunHistories(t *testing.T, e engine.Engine) {
	for _, h := range All(t) {
		t.Run(h.Name, func(t *testing.T) {
			Equal(t, e.Name(), Compute(t, e, h.Namespace, h.Records), h.Expected)
		})
	}
}
