package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository root as seen from here.
const root = "../.."

// TestPage: data and code hold together, and docs/evidence.md is what they give.
func TestPage(t *testing.T) {
	page, faults, _, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
	written, err := os.ReadFile(filepath.Join(root, pageName))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, written) {
		t.Errorf("%s is out of date: go run ./internal/evidence", pageName)
	}
}

// TestMarksAreLinked: every mark has a mutant of its function that a test of its rows finds, or a reason why there is none.
func TestMarksAreLinked(t *testing.T) {
	_, _, unlinked, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range unlinked {
		t.Error(fault)
	}
}

// small is a document without faults, and the code that it is about.
func small(t *testing.T) (*document, *code) {
	t.Helper()
	c := newCode()
	for name, text := range map[string]string{
		"stages/a/doc.go": "// Package a is small.\n//\n// Invariants:\n//\n//  1. One holds.\n//\n// Not promised: two.\npackage a\n",
		"stages/a/a.go":   "package a\n\nimport \"x/mark\"\n\nfunc f() { mark.Hit(\"R09 stop\") }\n",
		"stages/a/a_test.go": "package a\n\nimport (\"testing\"; \"x/mark\")\n\nfunc TestMain(m *testing.M) {}\n" +
			"func TestA(t *testing.T) { mark.Expect(t, \"R09 stop\"); t.Run(\"some case\", nil) }\nfunc helper() {}\n",
	} {
		if err := c.read(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	absent := map[string]string{}
	for _, key := range columnKeys {
		absent[key] = "does not apply"
	}
	d := &document{packages: map[string]string{"a": "stages/a"}, unmutated: map[string]string{}, scenarios: map[string]*scenario{"SC01": {}}}
	d.sections = []*section{{Title: "all", IDs: words{"R08-09", "a.1"}, Absent: absent, Marked: true, Rows: []row{
		{ID: "R08", Says: "eight", Unmarked: "too large"}, {ID: "R09", Says: "nine", Model: words{"a.TestA", "a.TestA/some_case/deeper"}},
		{ID: "a.1", Says: "one", Model: words{"a.TestA"}, Unmarked: "SQL", Mutants: words{"001"}},
	}}}
	d.mutants = []*mutant{{name: "001-no-stop", File: "stages/a/a.go", Find: `mark.Hit("R09 stop")`,
		Kills: []kill{{Package: "./stages/a", Run: "^TestA$", Marks: []string{"R09 stop"}}}}}
	return d, c
}

// allFaults are those of data, code and links.
func allFaults(d *document, c *code) []string {
	return slices.Concat(d.faults(), c.faults(d), c.linkFaults(d))
}

// TestFaultsAreFound: each way in which data and code can part is a fault; the undamaged twin has none.
func TestFaultsAreFound(t *testing.T) {
	d, c := small(t)
	d.attach(c.hits)
	if faults := allFaults(d, c); len(faults) != 0 {
		t.Fatalf("the undamaged twin: %q", faults)
	}
	if got := d.sections[0].Rows[1].Marks; len(got) != 1 {
		t.Errorf("marks %q", got)
	}
	for want, damage := range map[string]func(d *document, c *code){
		"want R08":                   func(d *document, _ *code) { d.sections[0].Rows = d.sections[0].Rows[1:] },
		"has rows for R10":           func(d *document, _ *code) { d.sections[0].Rows[0].ID = "R10" },
		"R08: says nothing":          func(d *document, _ *code) { d.sections[0].Rows[0].Says = "" },
		"neither test nor reason":    func(d *document, _ *code) { delete(d.sections[0].Absent, "verifier") },
		`no column "operators"`:      func(d *document, _ *code) { d.sections[0].Rows[0].Not = map[string]string{"operators": "no"} },
		"no scenario SC99":           func(d *document, _ *code) { d.sections[0].Rows[0].Scenarios = words{"SC99"} },
		"no package is called b":     func(d *document, _ *code) { d.sections[0].Rows[0].Model = words{"b.TestA"} },
		"has no test TestB":          func(d *document, _ *code) { d.sections[0].Rows[0].Postgres = words{"a.TestB"} },
		"has no test TestMain":       func(d *document, _ *code) { d.sections[0].Rows[0].Postgres = words{"a.TestMain"} },
		"no subtest other":           func(d *document, _ *code) { d.sections[0].Rows[0].Operator = words{"a.TestA/other"} },
		`no production code hits`:    func(d *document, _ *code) { d.sections[0].Rows[0].Marks = []string{"R08 gone"} },
		"in none of the row's pack":  func(d *document, _ *code) { d.sections[0].Rows[0].Marks = []string{"R09 stop"} },
		"invariant without a row":    func(_ *document, c *code) { c.invariants = append(c.invariants, "a.2") },
		"no test expects the mark":   func(_ *document, c *code) { c.hits["R01 new"] = []place{{file: "stages/a/a.go"}} },
		"neither a mark nor a reaso": func(d *document, _ *code) { d.sections[0].Rows[0].Unmarked = "" },
		"a.1: mutant 002: there is":  func(d *document, _ *code) { d.sections[0].Rows[2].Mutants = words{"002"} },
		"R08: mutant 001: no test ":  func(d *document, _ *code) { d.sections[0].Rows[0].Mutants = words{"001"} },
		"no mutant is linked to th":  func(d *document, _ *code) { d.mutants[0].Kills[0].Marks = nil },
		"has a mutant, and a reaso":  func(d *document, _ *code) { d.unmutated["R09 stop"] = "no" },
		"and no such mark":           func(d *document, _ *code) { d.unmutated["R09 gone"] = "no" },
		"not change the function t":  func(d *document, _ *code) { d.mutants[0].Find = "package a" },
		"is not ^Test$":              func(d *document, _ *code) { d.mutants[0].Kills[0].Run = "^TestA$|^TestB$" },
		"that it runs, expects the":  func(d *document, _ *code) { d.mutants[0].Kills[0].Package = "./stages/b" },
		"is no test of the mark's ":  func(d *document, _ *code) { d.mutants[0].Kills[0].Run = "^TestX$" },
		"is expected and hit nowher": func(_ *document, c *code) { c.expects["R01 old"] = []string{"stages/a/a_test.go"} },
	} {
		d, c := small(t)
		damage(d, c)
		d.attach(c.hits)
		if faults := allFaults(d, c); len(faults) == 0 || !strings.Contains(strings.Join(faults, "\n"), want) {
			t.Errorf("want a fault with %q, found %q", want, faults)
		}
	}
}

// TestScenarioLevels: a row gets the tests of the levels at which its scenarios run today, and no others.
func TestScenarioLevels(t *testing.T) {
	d := &document{scenarios: map[string]*scenario{
		"SC01": {}, "SC02": {Pending: "later"}, "SC03": {Levels: []string{"core"}},
	}}
	for id, want := range map[string][columns]int{
		"SC01": {1, 1, 1, 1, 2, 0}, "SC02": {}, "SC03": {1, 0, 0, 0, 0, 0},
	} {
		r := row{Scenarios: words{id}}
		d.complete(&r)
		for c := range columns {
			if got := len(r.tests(c)); got != want[c] {
				t.Errorf("%s: %d tests for %s, want %d", id, got, columnNames[c], want[c])
			}
		}
	}
}

// TestUnmarkedAreListed: an id without a mark is in the page with its reason, where marks are wanted.
func TestUnmarkedAreListed(t *testing.T) {
	d, c := small(t)
	d.attach(c.hits)
	page := string(render(d))
	if !strings.Contains(page, "| R08 | too large |  |\n| a.1 | SQL | 001 |\n") || !strings.Contains(page, "Marks: `R09 stop`.") {
		t.Error(page)
	}
}
