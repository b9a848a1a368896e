package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// root is the repository root as seen from this package.
const root = "../.."

// everything matches all mutants.
var everything = regexp.MustCompile("")

// TestMutantsApply: every mutant still fits the source, and names tests that exist.
func TestMutantsApply(t *testing.T) {
	mutants, err := load(root, everything)
	if err != nil {
		t.Fatal(err)
	}
	if len(mutants) < 60 {
		t.Errorf("only %d mutants", len(mutants))
	}
	stages := map[string]int{}
	tests := map[string][]string{}
	for _, m := range mutants {
		stages[m.stage()]++
		if _, err := m.apply(root); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if _, err := m.packageOf(root); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		for _, s := range m.Kills {
			if tests[s.Package] == nil {
				tests[s.Package] = testsOf(t, s.Package)
			}
			for _, levels := range alternatives(s.Run) {
				if unmatched(levels[0], tests[s.Package]) != "" {
					t.Errorf("%s: no test of %s matches %s", m.name, s.Package, levels[0])
				}
			}
		}
	}
	for _, want := range []string{
		"stages/ledger", "stages/worker", "stages/relay", "stages/view", "stages/postgres", "stages/kafka", "vectorized",
		"oracle/arrow", "oracle/reference", "oracle/decode", "oracle/boundary", "oracle/compare", "oracle/report",
	} {
		if stages[want] == 0 {
			t.Errorf("no mutant of %s", want)
		}
	}
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w*)\(`)

// testsOf lists the test functions of a package.
func testsOf(t *testing.T, pkg string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range testFunction.FindAllSubmatch(text, -1) {
			names = append(names, string(match[1]))
		}
	}
	return names
}

// TestThreeForReal tries a mutant of three stages; the whole list takes a quarter of an hour and is run by hand.
func TestThreeForReal(t *testing.T) {
	var out strings.Builder
	s := settings{root: root, only: "^(003-alerts-by-presence|120-equal-version-is-applied|230-blocked-beats-incomplete)$", parallel: 1, timeout: time.Minute}
	if err := run(t.Context(), s, &out); err != nil || !strings.Contains(out.String(), "3 of 3 mutants killed (100.0 %), 0 survived, 0 in error") {
		t.Errorf("%v\n%s", err, &out)
	}
	if !strings.Contains(out.String(), "stages/ledger TestR11AlertRestated") {
		t.Errorf("the test that killed is not named:\n%s", &out)
	}
}

// A module of one package, with one function and one test.
const (
	source = "package p\n\n// Least is the smaller one.\nfunc Least(a, b int) int {\n\tif a < b {\n\t\treturn a\n\t}\n\treturn b\n}\n"
	proof  = "package p\n\nimport \"testing\"\n\nfunc TestLeast(t *testing.T) {\n\tfor _, c := range []struct{ a, b int }{{1, 2}, {2, 1}} {\n" +
		"\t\tt.Run(\"c\", func(t *testing.T) {\n\t\t\tif Least(c.a, c.b) != 1 {\n\t\t\t\tt.Error(\"wrong\")\n\t\t\t}\n\t\t})\n\t}\n}\n\nfunc TestOther(*testing.T) {}\n"
)

// module writes the module with the given mutants, by name.
func module(t *testing.T, mutants map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module example.test/p\n\ngo 1.26\n", "p/p.go": source, "p/p_test.go": proof}
	for name, text := range mutants {
		files[mutantsFolder+"/"+name+".yaml"] = text
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// yamlOf is a mutant file of the module.
func yamlOf(find, replace, more string) string {
	return "file: p/p.go\nfind: '" + find + "'\nreplace: '" + replace + "'\nkills:\n  - package: ./p\n    run: '^TestLeast$'\nreason: 'wrong'\n" + more
}

// TestOutcomes: what each kind of mutant ends in.
func TestOutcomes(t *testing.T) {
	files, want := map[string]string{}, map[string]string{}
	for i, c := range []struct{ find, replace, want string }{
		{"a < b", "a > b", "killed p TestLeast/c"},
		{"a < b", "a <= b", "survived"},
		{"return a", "return []int{}[a]", "killed p TestLeast/c"},
		{"if a < b {", "for a < b {}; if a < b {", "killed p TestLeast/c (hung)"},
		{"return a", "return c", "error does not compile"},
		{"a == b", "a != b", "error stale: fit it to the source: the text to find occurs 0 times"},
		{"return", "_ = 1; return", "error stale: fit it to the source: the text to find occurs 2 times"},
	} {
		name := fmt.Sprintf("%03d-mutant", i)
		files[name], want[name] = yamlOf(c.find, c.replace, ""), c.want
	}
	dir := module(t, files)
	mutants, err := load(dir, everything)
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{root: dir, temp: t.TempDir(), timeout: 5 * time.Second}
	reported := 0
	for _, r := range l.all(t.Context(), mutants, 2, func(result) { reported++ }) {
		if got := strings.TrimSpace(string(r.outcome) + " " + r.detail); !strings.HasPrefix(got, want[r.mutant.name]) {
			t.Errorf("%s: %s\nwant %s", r.mutant.name, got, want[r.mutant.name])
		}
	}
	if reported != len(want) {
		t.Errorf("%d of %d reported", reported, len(want))
	}
}

// TestVerdicts: which results are good enough.
func TestVerdicts(t *testing.T) {
	plain, equivalent := &mutant{name: "001-plain"}, &mutant{name: "002-same", Equivalent: "the same"}
	of := func(killedOnes int, more ...result) []result {
		for range killedOnes {
			more = append(more, result{mutant: plain, outcome: killed})
		}
		return more
	}
	for _, c := range []struct {
		name    string
		results []result
		want    string
	}{
		{"all killed", of(3), ""},
		{"95 %, with a reason", of(19, result{mutant: equivalent, outcome: survived}), ""},
		{"below 95 %", of(18, result{mutant: equivalent, outcome: survived}), "fewer than 95 % were killed"},
		{"no reason", of(19, result{mutant: plain, outcome: survived}), "no test finds 001-plain"},
		{"killed after all", of(19, result{mutant: equivalent, outcome: killed}), "not equivalent after all: 002-same"},
		{"not tried", of(19, result{mutant: plain, outcome: failed}), "1 mutants could not be tried"},
	} {
		if err := count(c.results).verdict(); (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestMarksWantTheirOwnTest: a test that stands for a mark has to find the fault, even where another one does.
func TestMarksWantTheirOwnTest(t *testing.T) {
	good := yamlOf("a < b", "a > b", "")
	other := "  - package: ./p\n    run: '^TestOther$'\n"
	marked := func(more string) string {
		return strings.Replace(good, "reason:", other+more+"reason:", 1)
	}
	dir := module(t, map[string]string{
		"001-first": strings.Replace(good, "reason:", "    marks: [\"R01 one\"]\nreason:", 1), "002-other": marked(""), "003-marked": marked("    marks: [\"R01 one\"]\n"),
	})
	var out strings.Builder
	err := run(t.Context(), settings{root: dir, timeout: time.Minute}, &out)
	if err == nil || !strings.Contains(err.Error(), "no test finds 003-marked") {
		t.Error(err)
	}
	for _, want := range []string{"001-first", "002-other", "^TestOther$ of ./p passes, and is to stand for R01 one", "2 of 3 mutants killed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// TestTwinsComeFirst: tests that fail without any fault prove nothing, nor do tests that do not exist.
func TestTwinsComeFirst(t *testing.T) {
	good := yamlOf("a < b", "a > b", "")
	dir := module(t, map[string]string{"001-mutant": good})
	if err := run(t.Context(), settings{root: dir, timeout: time.Minute}, io.Discard); err != nil {
		t.Fatalf("the undamaged twin: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "p", "p.go"), []byte(strings.Replace(source, "return b", "return b + 1", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), settings{root: dir, timeout: time.Minute}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "undamaged twin: TestLeast") {
		t.Errorf("a test that fails anyway: %v", err)
	}
	for _, other := range []string{"^TestMost$", "^TestLeast$|^TestMost$", "^TestLeast$/^d$"} {
		dir = module(t, map[string]string{"001-mutant": strings.Replace(good, "^TestLeast$", other, 1)})
		if err := run(t.Context(), settings{root: dir, timeout: time.Minute}, io.Discard); err == nil || !strings.Contains(err.Error(), "no test of ./p matches") {
			t.Errorf("%s does not exist: %v", other, err)
		}
	}
}

// TestUnmatched: every alternative of a pattern needs a test, down to its subtests.
func TestUnmatched(t *testing.T) {
	tests := []string{"TestA", "TestA/x", "TestA/x/deep", "TestB"}
	for run, want := range map[string]string{
		"^TestA$": "", "TestA|TestB": "", "^TestA$/^x$": "", "^TestA$/./^deep$": "", "^TestA$/^(x|y)$|^TestB": "", "^Test[A/]$": "",
		"^TestC$": "^TestC$", "TestA|TestC": "TestC", "^TestA$/^y$|TestB": "^TestA$/^y$", "^TestB$/x": "^TestB$/x",
	} {
		if got := unmatched(run, tests); got != want {
			t.Errorf("%s: %q, want %q", run, got, want)
		}
	}
}

// TestDamagedLists: a mutant file that is not right is an error, whichever mutants are asked for.
func TestDamagedLists(t *testing.T) {
	good := yamlOf("a < b", "a > b", "")
	for name, files := range map[string]map[string]string{
		"unknown member":  {"001-mutant": good + "severity: 1\n"},
		"no reason":       {"001-mutant": strings.Replace(good, "reason: 'wrong'", "reason: ''", 1)},
		"no tests":        {"001-mutant": strings.Split(good, "kills:")[0] + "reason: 'wrong'\n"},
		"changes nothing": {"001-mutant": yamlOf("a < b", "a < b", "")},
		"outside":         {"001-mutant": strings.Replace(good, "p/p.go", "../p.go", 1)},
		"no pattern":      {"001-mutant": strings.Replace(good, "^TestLeast$", "(", 1)},
		"number twice":    {"001-mutant": good, "001-other": good},
		"name":            {"1-mutant": good},
	} {
		if _, err := load(module(t, map[string]string{"001-mutant": good}), everything); err != nil {
			t.Fatalf("the undamaged twin: %v", err)
		}
		if _, err := load(module(t, files), regexp.MustCompile("^$|mutant")); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := load(module(t, map[string]string{"001-mutant": good}), regexp.MustCompile("nobody")); err == nil {
		t.Error("nothing matches: no error")
	}
}

// TestTable: the results replace what stood between the marks, and nothing else.
func TestTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	results := []result{
		{mutant: &mutant{name: "001-a", File: "stages/ledger/fold.go", Reason: "x | y"}, outcome: killed, detail: "stages/ledger TestA", took: time.Second},
		{mutant: &mutant{name: "002-b", File: "vectorized/fold.go", Reason: "z", Equivalent: "same"}, outcome: survived, detail: "same"},
	}
	write("before\n" + tableBegins + "old\n" + tableEnds + "after\n")
	for range 2 {
		if err := replaceTable(file, results); err != nil {
			t.Fatal(err)
		}
	}
	want := "before\n" + tableBegins + "\n1 of 2 mutants killed (50.0 %), 1 survived, 0 in error.\n\n" +
		"| Mutant | Stage | What it would do | Killed by | Seconds |\n|---|---|---|---|---:|\n" +
		"| 001-a | stages/ledger | x \\| y | `stages/ledger TestA` | 1.0 |\n| 002-b | vectorized | z | survived: same | 0.0 |\n\n" + tableEnds + "after\n"
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	write("no marks\n")
	if err := replaceTable(file, results); err == nil {
		t.Error("a page without marks was written")
	}
	if err := run(context.Background(), settings{root: root, only: "x", table: file}, io.Discard); err == nil {
		t.Error("a table of some mutants was asked for")
	}
}
