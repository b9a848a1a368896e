package bench

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/testkit/python"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/synthetic"
)

// TestPeersFindTheSame runs the queries of other engines over a synthetic history: every count and sum is the oracle's.
// Which engines there are is the interpreter's matter; without DuckDB and Polars the test is skipped, unless they are
// required.
func TestPeersFindTheSame(t *testing.T) {
	interpreter := python.Interpreter(t, "duckdb", "polars")
	dir := t.TempDir()
	flags := historyFlags{config: synthetic.Config{Rows: 30_000, Keys: 60, Skew: 110, Partitions: 3, Seed: 5}, noRaw: true}
	h, err := flags.open(t.Context(), &app.App{Stderr: io.Discard}, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := arrow.Engine{}.ComputeColumns(t.Context(), h.namespace, h.snapshot.Typed(), arrow.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r.Checksum())
	if err != nil {
		t.Fatal(err)
	}
	want := numbers(t, text)
	if want["high_conf"] == "0" || want["lower_conf"] == "0" || want["alerts"] == "0" {
		t.Fatalf("the history is too simple: %s", text)
	}
	script := filepath.Join(dir, "peer.py")
	if err := os.WriteFile(script, []byte(peerScript), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range peers {
		if exec.Command(interpreter, "-c", "import "+p.module).Run() != nil {
			t.Logf("%s is not there", p.name)
			continue
		}
		files := filepath.Join(dir, setName, "part-*.parquet")
		out, err := exec.Command(interpreter, script, p.name, files, filepath.Join(dir, keysName), "2").Output()
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		if diff := cmp.Diff(want, numbers(t, out)); diff != "" {
			t.Errorf("%s:\n%s", p.name, diff)
		}
	}
}

// numbers reads an object of numbers, exactly.
func numbers(t *testing.T, text []byte) map[string]json.Number {
	t.Helper()
	var all map[string]json.Number
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return all
}
