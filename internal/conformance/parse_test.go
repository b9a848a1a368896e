package conformance_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	corpus "amends.dev/amends/conformance"
	"amends.dev/amends/internal/conformance"
	"amends.dev/amends/internal/testkit/schema"
)

// good is a complete scenario.
const good = `id: SC01
title: A title
section: S5
manifest: {stockKeys: [{item: widget, location: berlin, openingBalance: 100, reorderThreshold: 60}]}
steps:
  - produce:
      - {txn: t1, rev: 1, kind: NEW, time: "2026-01-01T10:00:00Z", qty: -50}
  - crash: {stage: worker, at: before_commit}
expect:
  balances: [{day: 2026-01-01, close: 50}]
  alerts: []
  statuses: [{status: READY}]
  supersededConflicts: []
  rejections: []
  envelopes: []
  verdict: PASS
`

func parse(text string) ([]*conformance.Scenario, error) {
	return conformance.Load(fstest.MapFS{"SC01/scenario.yaml": &fstest.MapFile{Data: []byte(text)}})
}

func TestParse(t *testing.T) {
	all, err := parse(good)
	if err != nil {
		t.Fatalf("undamaged twin: %v", err)
	}
	v := all[0].Variants[0]
	if b := v.Expect.Balances[0]; b.Item != "widget" || b.Location != "berlin" || b.Close != 50 {
		t.Errorf("the only stock key was not filled in: %+v", b)
	}
	if v.Manifest.LedgerOrigin != "2026-01-01T00:00:00Z" || v.Manifest.Partitions != 1 || len(v.Levels) != len(conformance.Levels()) {
		t.Errorf("defaults: %+v, levels %v", v.Manifest, v.Levels)
	}
}

func TestParseRefuses(t *testing.T) {
	if _, err := parse(good); err != nil {
		t.Fatalf("undamaged twin: %v", err)
	}
	for name, c := range map[string]struct{ old, replacement, want string }{
		"unknown member":     {"title:", "titel:", "titel"},
		"duplicate member":   {"title: A title", "title: A\ntitle: B", "twice"},
		"fraction":           {"qty: -50", "qty: -50.0", "quote it"},
		"octal":              {"close: 50", "close: 050", "quote it"},
		"boolean":            {"title: A title", "title: true", "quote it"},
		"alias":              {"title: A title", "title: &a A\nsection: *a", "alias"},
		"two things":         {"  - crash: ", "  - restart: worker\n    crash: ", "one thing"},
		"unknown stage":      {"stage: worker", "stage: walker", "walker"},
		"unknown place":      {"at: before_commit", "at: before_mark", "before_mark"},
		"unknown level":      {"section: S5", "section: S5\nlevels: [moon]", "moon"},
		"other folder":       {"id: SC01", "id: SC02", "SC02"},
		"no verdict":         {"  verdict: PASS\n", "", "required"},
		"no envelopes":       {"  envelopes: []\n", "", "required"},
		"half a key":         {"{day: 2026-01-01,", "{item: widget, day: 2026-01-01,", "together"},
		"record of nothing":  {"txn: t1, ", "", "txn, rev"},
		"null key":           {"txn: t1, rev: 1,", "key: null, value: x, rev: 1,", "null key"},
		"manifest":           {"item: widget, location: berlin, opening", "item: '', location: berlin, opening", "manifest"},
		"no manifest":        {"manifest: {", "pending: {", ""},
		"absent manifest":    {"manifest: {stockKeys: [{item: widget, location: berlin, openingBalance: 100, reorderThreshold: 60}]}", "manifest: m.yaml", "m.yaml"},
		"not YAML":           {"title:", "\ttitle:", "yaml"},
		"variants and steps": {"section: S5", "section: S5\nvariants: [{name: a, steps: [], expect: {}}]", "either"},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%s: %q is not in the twin", name, c.old)
		}
		if _, err := parse(strings.Replace(good, c.old, c.replacement, 1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: want an error with %q, got %v", name, c.want, err)
		}
	}
	if _, err := conformance.Load(fstest.MapFS{}); err == nil {
		t.Error("an empty folder is no corpus")
	}
}

// TestSchema: every scenario is valid by schemas/scenario.json, and what the schema must refuse is not.
func TestSchema(t *testing.T) {
	compiled := schema.Compile(t, "scenario.json")
	valid := func(yaml []byte) error {
		data, err := conformance.JSON(yaml)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		return compiled.Validate(value)
	}
	folder, err := corpus.Amends()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range load(t) {
		data := readFile(t, folder, s.ID+"/scenario.yaml")
		if err := valid(data); err != nil {
			t.Errorf("%s: %v", s.ID, err)
		}
	}
	if err := valid([]byte(good)); err != nil {
		t.Fatalf("undamaged twin: %v", err)
	}
	for name, c := range map[string][2]string{
		"unknown member": {"title:", "titel:"},
		"two things":     {"  - crash: ", "  - restart: worker\n    crash: "},
		"no verdict":     {"  verdict: PASS\n", ""},
		"verdict":        {"verdict: PASS", "verdict: PASSED"},
		"no steps":       {"steps:", "levels: [core]\nvariants:"},
	} {
		if err := valid([]byte(strings.Replace(good, c[0], c[1], 1))); err == nil {
			t.Errorf("%s: the schema accepts it", name)
		}
	}
}

// TestEveryScenarioOfTheContract: SC01 to SC28 are there, and none is pending without a reason known here.
func TestEveryScenarioOfTheContract(t *testing.T) {
	pending := map[string]bool{}
	all := load(t)
	if len(all) != 28 {
		t.Errorf("%d scenarios, want 28", len(all))
	}
	for _, s := range all {
		if (s.Pending != "") != pending[s.ID] {
			t.Errorf("%s: pending %q", s.ID, s.Pending)
		}
		for _, v := range s.Variants {
			if s.Pending == "" && v.Pending != "" && v.Name != "exact diagnostics" {
				t.Errorf("%s (%s): pending %q", s.ID, v.Name, v.Pending)
			}
		}
	}
}

// TestNamedTestsExist: the tests that the README names as evidence are there.
func TestNamedTestsExist(t *testing.T) {
	readme, err := os.ReadFile("../../conformance/README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../e2e/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var source []byte
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
	}
	names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllSubmatch(readme, -1)
	if len(names) < 5 {
		t.Errorf("only %d tests are named", len(names))
	}
	for _, name := range names {
		if !bytes.Contains(source, append([]byte("func "), append(name[1], '(')...)) {
			t.Errorf("there is no %s in internal/e2e", name[1])
		}
	}
}
