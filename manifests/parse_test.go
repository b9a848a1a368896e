package manifests_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/manifests"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata/manifests")

const corpus = "../testdata/manifests"

// readBeside reads stock-key files from the folder of the corpus file being parsed. The messages of a missing file
// must not hold the machine's own wording.
func readBeside(dir string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s: no such file", name)
		}
		return data, err
	}
}

// parseFile parses one corpus file under its base name.
func parseFile(t *testing.T, path string) (*manifests.Namespace, manifests.Problems) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return manifests.Parse(filepath.Base(path), data, readBeside(filepath.Dir(path)))
}

// golden compares text with the file, or rewrites the file with -update.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs.\n--- want\n%s--- got\n%s", path, want, got)
	}
}

func corpusFiles(t *testing.T, kind string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpus, kind, "*.yaml"))
	if err != nil || len(files) < 15 {
		t.Fatalf("corpus %s: %d files, %v", kind, len(files), err)
	}
	return files
}

// TestB112ToB120Bad parses every bad manifest and compares all its messages. No message may span lines.
func TestB112ToB120Bad(t *testing.T) {
	if ns, problems := parseFile(t, corpus+"/good/minimal.yaml"); ns == nil {
		t.Fatalf("the undamaged twin does not parse: %v", problems)
	}
	for _, path := range corpusFiles(t, "bad") {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			ns, problems := parseFile(t, path)
			if ns != nil || len(problems) == 0 {
				t.Fatalf("accepted: %s", ns.SpecJSON())
			}
			text := problems.Error() + "\n"
			if n := strings.Count(text, "\n"); n != len(problems) {
				t.Errorf("%d problems in %d lines", len(problems), n)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".golden", text)
		})
	}
}

// TestGood parses every good manifest and compares what it resolves to, with its digests.
func TestGood(t *testing.T) {
	for _, path := range corpusFiles(t, "good") {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".yaml"), func(t *testing.T) {
			ns, problems := parseFile(t, path)
			if ns == nil {
				t.Fatal(problems)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".golden", describe(ns))
		})
	}
}

// describe renders everything a parsed namespace says.
func describe(ns *manifests.Namespace) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name %s\norigin %s\nnamespace digest %s\nbusiness digest %s\nspec %s\n", ns.Name, ns.Spec.LedgerOriginText(),
		ns.NamespaceDigest(), ns.BusinessDigest("AAAAAAAAAAAAAAAAAAAAAQ"), ns.SpecJSON())
	for i, k := range ns.Spec.StockKeys {
		fmt.Fprintf(&b, "key %d %+q %+q %d %d\n", i, k.Item, k.Location, k.OpeningBalance, k.ReorderThreshold)
	}
	return b.String()
}

// TestExampleDemo holds the demo manifest to what the demo and the README say of it.
func TestExampleDemo(t *testing.T) {
	ns, problems := parseFile(t, "examples/demo.yaml")
	if ns == nil {
		t.Fatal(problems)
	}
	s := ns.Spec
	if ns.Name != "demo" || s.Source.Topic != "demo.transactions" || s.Output.Topic != "demo.outputs" ||
		s.Source.Partitions != 4 || s.Output.Partitions != 4 || len(s.StockKeys) != 21 {
		t.Errorf("unexpected: %s, %d keys", ns.SpecJSON(), len(s.StockKeys))
	}
	id, ok := ns.KeyID("widget", "berlin")
	want := manifests.StockKey{Item: "widget", Location: "berlin", OpeningBalance: 100, ReorderThreshold: 60}
	if !ok || s.StockKeys[id] != want {
		t.Errorf("widget/berlin is %v, %v", id, ok)
	}
}

// TestB115Bounds feeds what blows up naive readers: each must be refused in two seconds and little memory.
func TestB115Bounds(t *testing.T) {
	bomb, err := os.ReadFile(corpus + "/bad/b115-bomb.yaml")
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string][]byte{
		"alias bomb":         bomb,
		"flow nesting":       []byte(strings.Repeat("[", 10_000)),
		"closed nesting":     []byte(strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999)),
		"flow maps":          []byte(strings.Repeat("{a: ", 9_000) + strings.Repeat("}", 9_000)),
		"block nesting":      []byte(strings.Repeat("- ", 9_999) + "a"),
		"indented":           indented(3_000),
		"explicit keys":      []byte(strings.Repeat("? ", 9_999) + "a"),
		"too large":          make([]byte, manifests.ManifestBytesMax+1),
		"comments":           []byte(strings.Repeat("#\n", 1<<19)),
		"documents":          []byte(strings.Repeat("---\n", 1<<18)),
		"one long scalar":    []byte("a: " + strings.Repeat("x", manifests.ManifestBytesMax-10)),
		"many unknown":       []byte("spec:" + strings.Repeat("\n  a: 1", 1<<16)),
		"long unknown":       []byte(strings.Repeat("k", 1<<20) + ": 1"),
		"unclosed quote":     []byte(`a: "` + strings.Repeat("x\n", 1<<20)),
		"anchors everywhere": []byte("a:" + strings.Repeat("\n - &a x", 1<<16)),
	}
	for name, data := range inputs {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			ns, problems := manifests.Parse("in.yaml", data, nil)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			if ns != nil || len(problems) == 0 {
				t.Error("accepted")
			}
			if took > 2*time.Second || allocated > 200 {
				t.Errorf("took %v and allocated %d MiB in all", took, allocated)
			}
			t.Logf("%v, %d MiB: %.100s", took.Round(time.Millisecond), allocated, problems.Error())
		})
	}
}

func indented(levels int) []byte {
	var b strings.Builder
	for i := range levels {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return []byte(b.String())
}

// TestProblemsAreBounded: a fault on each of many lines gives a bounded list whose last line counts the rest.
func TestProblemsAreBounded(t *testing.T) {
	_, problems := manifests.Parse("in.yaml", []byte("spec: {stockKeys: ["+strings.Repeat("1, ", 5000)+"]}"), nil)
	last := problems[len(problems)-1].Error()
	if len(problems) != 1001 || !strings.Contains(last, "more problems not shown") {
		t.Errorf("%d problems, last %q", len(problems), last)
	}
}

// TestR03UnsupportedVersion: another semantics version is told from a broken manifest.
func TestR03UnsupportedVersion(t *testing.T) {
	_, problems := parseFile(t, corpus+"/bad/r03-semantics-version.yaml")
	if !problems.UnsupportedVersionOnly() {
		t.Errorf("not told apart: %v", problems)
	}
	_, problems = parseFile(t, corpus+"/bad/semantics-version-zero.yaml")
	if problems.UnsupportedVersionOnly() {
		t.Errorf("told apart: %v", problems)
	}
	if manifests.Problems(nil).UnsupportedVersionOnly() || manifests.Problems(nil).Err() != nil {
		t.Error("no problem is no problem")
	}
}
