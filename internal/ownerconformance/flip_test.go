package ownerconformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// leaf is one place in an expectation that can be falsified; falsify returns how to mend it.
type leaf struct {
	at      string
	falsify func() (mend func())
}

// leaves are the places in a tree, each falsified in one way: another text, another number, the other truth, something
// where nothing was, one element less, one element more.
func leaves(at string, node any, set func(any)) []leaf {
	replaced := func(what string, other any) leaf {
		return leaf{at + " " + what, func() func() {
			set(other)
			return func() { set(node) }
		}}
	}
	switch node := node.(type) {
	case map[string]any:
		var list []leaf
		for name, below := range node {
			list = append(list, leaves(at+"."+name, below, func(v any) { node[name] = v })...)
		}
		return list
	case []any:
		list := []leaf{replaced("one more", append(slices.Clone(node), another(at, node)))}
		if len(node) > 0 {
			list = append(list, replaced("one less", node[:len(node)-1]))
		}
		if len(node) > 1 && !bytes.HasSuffix([]byte(at), []byte(".entries")) { // whose order means nothing
			swapped := slices.Clone(node)
			swapped[0], swapped[1] = swapped[1], swapped[0]
			if !slices.EqualFunc(swapped, node, same) {
				list = append(list, replaced("another order", swapped))
			}
		}
		for i, below := range node {
			list = append(list, leaves(fmt.Sprintf("%s[%d]", at, i), below, func(v any) { node[i] = v })...)
		}
		return list
	case string:
		return []leaf{replaced("another text", node+"x")}
	case json.Number:
		if node == "0" {
			return []leaf{replaced("another number", json.Number("1"))}
		}
		digits := []byte(node)
		digits[len(digits)-1] ^= 1 // the last digit becomes its neighbour
		return []leaf{replaced("another number", json.Number(digits))}
	case bool:
		return []leaf{replaced("the other truth", !node)}
	case nil:
		return []leaf{replaced("something", map[string]any{"position": json.Number("1"), "payload": value()})}
	}
	return nil
}

func same(a, b any) bool {
	left, err := json.Marshal(a)
	if err != nil {
		return false
	}
	right, err := json.Marshal(b)
	return err == nil && bytes.Equal(left, right)
}

// value is a payload.
func value() map[string]any {
	return map[string]any{"schema_version": json.Number("1"), "codec_version": json.Number("1"), "bytes": "x"}
}

// another is an element for a list: a copy of its last, or one of the shape that belongs there.
func another(at string, list []any) any {
	if len(list) > 0 {
		if text, ok := list[len(list)-1].(string); ok {
			return text + "x"
		}
		return renamed(list[len(list)-1])
	}
	n := json.Number("1")
	for suffix, element := range map[string]any{
		".history":            map[string]any{"position": n, "payload": value()},
		".inbox":              map[string]any{"id": "x", "ingress_fingerprint": "x", "committed_through": n},
		".outbox":             map[string]any{"id": "x", "accepted_at": n, "payload": value()},
		".receipts":           map[string]any{"id": "x", "effect_id": "x", "outcome": "applied", "recorded_at": n, "fence": n, "payload": value()},
		".pending_effect_ids": "x",
		".entries":            map[string]any{"entity_id": "x", "value": "x"},
	} {
		if bytes.HasSuffix([]byte(at), []byte(suffix)) {
			return element
		}
	}
	return nil
}

// renamed is a copy of an element under another name.
func renamed(element any) any {
	copied := map[string]any{}
	for name, v := range element.(map[string]any) {
		copied[name] = v
	}
	if id, ok := copied["entity_id"].(string); ok {
		copied["entity_id"] = id + "x"
	}
	return copied
}

// tree reads a file as it is.
func tree(t *testing.T, folder fs.FS, name string) []any {
	t.Helper()
	text, err := fs.ReadFile(folder, name)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var document struct {
		Scenarios []any `json:"scenarios"`
	}
	if err := decoder.Decode(&document); err != nil {
		t.Fatal(err)
	}
	return document.Scenarios
}

// parsed is a part of a document, read as Load reads it.
func parsed[T any](t *testing.T, node any, parse func(raw jsontext.Value) (T, error)) T {
	t.Helper()
	text, err := json.Marshal(node)
	if err != nil {
		t.Fatal(err)
	}
	v, err := parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// part is a scenario up to one of its expectations.
type part struct {
	at string
	// expect are the expectations, which are falsified in place.
	expect map[string]any
	// scenario is the part as it is now.
	scenario func(t *testing.T) *Scenario
}

// parts are those of a scenario.
func parts(t *testing.T, scenario map[string]any) []part {
	whole := parsed(t, scenario, parseScenario)
	but := func(change func(s *Scenario)) *Scenario {
		s := &Scenario{ID: whole.ID, OwnerID: whole.OwnerID, Mode: whole.Mode, Fence: whole.Fence}
		change(s)
		return s
	}
	var list []part
	steps, _ := scenario["steps"].([]any)
	for i := range steps {
		step := steps[i].(map[string]any)
		list = append(list, part{fmt.Sprintf("step %d", i+1), map[string]any{"expect": step["expect"]}, func(t *testing.T) *Scenario {
			return but(func(s *Scenario) { s.Steps = append(slices.Clone(whole.Steps[:i]), parsed(t, step, parseStep)) })
		}})
	}
	alone := map[string]any{"id": "alone", "owner_id": whole.OwnerID, "mode": whole.Mode, "fence": whole.Fence}
	of := func(member string, node any) func(t *testing.T) *Scenario {
		return func(t *testing.T) *Scenario {
			copied := maps.Clone(alone)
			copied[member] = node
			return parsed(t, copied, parseScenario)
		}
	}
	if c, ok := scenario["fingerprint_case"].(map[string]any); ok {
		list = append(list, part{"fingerprint_case", map[string]any{"expect": c["expect"]}, of("fingerprint_case", c)})
	}
	cases, _ := scenario["reconciliation_cases"].([]any)
	for _, c := range cases {
		c := c.(map[string]any)
		expect := map[string]any{"expect": c["expect"], "expected": c["expected"]}
		list = append(list, part{fmt.Sprint("case ", c["id"]), expect, of("reconciliation_cases", []any{c})})
	}
	return list
}

// TestEveryFlippedExpectationFails falsifies every place of every expectation of both corpora in turn. The undamaged twin
// of each part passes first.
func TestEveryFlippedExpectationFails(t *testing.T) {
	t.Parallel()
	flipped := 0
	for name, folder := range corpora(t) {
		names, err := fs.Glob(folder, "*.json")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range names {
			for _, scenario := range tree(t, folder, file) {
				scenario := scenario.(map[string]any)
				for _, p := range parts(t, scenario) {
					if out := run(t.Context(), &File{}, p.scenario(t), Memory, "1"); out.Result != Passed {
						t.Fatalf("%s, %s, %s, %s: the undamaged twin: %q", name, file, scenario["id"], p.at, out.Faults)
					}
					for _, l := range leaves("", p.expect, nil) {
						mend := l.falsify()
						if out := run(t.Context(), &File{}, p.scenario(t), Memory, "1"); out.Result != Failed {
							t.Errorf("%s, %s, %s, %s: %s passes", name, file, scenario["id"], p.at, l.at)
						}
						mend()
						flipped++
					}
				}
			}
		}
	}
	t.Logf("%d expectations were falsified", flipped)
	if flipped < 5000 {
		t.Errorf("only %d expectations were falsified", flipped)
	}
}
