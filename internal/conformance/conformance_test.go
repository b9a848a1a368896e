package conformance_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corpus "amends.dev/amends/conformance"
	"amends.dev/amends/internal/conformance"
)

// update rewrites the traces beside the scenarios. Expectations are worked out by hand; nothing writes them.
var update = flag.Bool("update", false, "rewrite the traces of envelopes")

// corpusFolder is where traces are written.
const corpusFolder = "../../conformance/amends"

func load(t *testing.T) []*conformance.Scenario {
	t.Helper()
	folder, err := corpus.Amends()
	if err != nil {
		t.Fatal(err)
	}
	all, err := conformance.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// variants calls f for every variant, as a subtest of its own.
func variants(t *testing.T, f func(t *testing.T, s *conformance.Scenario, v *conformance.Variant)) {
	t.Helper()
	for _, s := range load(t) {
		for i := range s.Variants {
			t.Run(strings.TrimSuffix(s.ID+"/"+s.Variants[i].Name, "/"), func(t *testing.T) { f(t, s, &s.Variants[i]) })
		}
	}
}

// passes fails the test unless the outcome passed, or the variant is not for this level.
func passes(t *testing.T, v *conformance.Variant, out conformance.Outcome) {
	t.Helper()
	switch {
	case out.Result == conformance.Failed:
		t.Error(strings.Join(out.Faults, "\n"))
	case out.Result == conformance.NotRun && v.Pending == "" && v.Applies(out.Level):
		t.Errorf("not run: %s", out.Reason)
	}
}

func TestCore(t *testing.T) {
	variants(t, func(t *testing.T, s *conformance.Scenario, v *conformance.Variant) {
		out := conformance.Run(t.Context(), s, v, conformance.Core, nil)
		passes(t, v, out)
		if v.Pending == "" {
			checkTrace(t, s, v, out.Trace)
		}
	})
}

// checkTrace compares the envelopes byte for byte with the trace beside the scenario.
func checkTrace(t *testing.T, s *conformance.Scenario, v *conformance.Variant, trace []byte) {
	t.Helper()
	name := filepath.Join(corpusFolder, s.ID, v.TraceName())
	if *update {
		if err := os.WriteFile(name, trace, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	folder, err := corpus.Amends()
	if err != nil {
		t.Fatal(err)
	}
	want, err := fs.ReadFile(folder, s.ID+"/"+v.TraceName())
	if err != nil || !bytes.Equal(want, trace) {
		t.Errorf("the trace %s is another one (%v); go test ./internal/conformance -run TestCore -update writes it; it has now %d bytes", name, err, len(trace))
	}
}

func TestOracle(t *testing.T) {
	variants(t, func(t *testing.T, s *conformance.Scenario, v *conformance.Variant) {
		passes(t, v, conformance.Run(t.Context(), s, v, conformance.Oracle, nil))
	})
}

// readFile reads a file of the corpus.
func readFile(t *testing.T, folder fs.FS, name string) []byte {
	t.Helper()
	data, err := fs.ReadFile(folder, name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
