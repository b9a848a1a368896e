package ownerconformance

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"amends.dev/amends/internal/testkit/schema"
)

// small is a file with one scenario of each kind.
const small = `{
 "protocol_version": 1, "kind": "DurableOwner", "model": "OrderedReplay", "description": "small",
 "scenarios": [
  {"id": "first", "owner_id": "o", "mode": "event_history", "fence": 1, "steps": [
   {"op": {"type": "commit", "commit": {"owner_id": "o", "expected_position": 0, "fence": 1, "inbox_id": "m", "ingress_fingerprint": "f",
     "state": {"append_events": [{"schema_version": 1, "codec_version": 2, "bytes": "x"}]}, "effects": [], "receipts": []}},
    "expect": {"result": {"outcome": "committed", "through": 1, "ack": "safe"},
     "image": {"position": 1, "fence": 1, "history": [{"position": 1, "payload": {"schema_version": 1, "codec_version": 2, "bytes": "x"}}], "snapshot": null,
      "inbox": [{"id": "m", "ingress_fingerprint": "f", "committed_through": 1}], "outbox": [], "receipts": [], "pending_effect_ids": []}}},
   {"op": {"type": "advance_fence", "fence": 18446744073709551615},
    "expect": {"result": {"outcome": "fence_advanced"},
     "image": {"position": 1, "fence": 18446744073709551615, "history": [{"position": 1, "payload": {"schema_version": 1, "codec_version": 2, "bytes": "x"}}], "snapshot": null,
      "inbox": [{"id": "m", "ingress_fingerprint": "f", "committed_through": 1}], "outbox": [], "receipts": [], "pending_effect_ids": []}}}]},
  {"id": "second", "owner_id": "o", "mode": "event_history", "fence": 1, "reconciliation_cases": [
   {"id": "c", "history": [{"position": 1, "type": "create", "entity_id": "a", "value": "1"}], "resume_from": null,
    "expected": {"through": 1, "projection_version": 1, "entries": [{"entity_id": "a", "value": "1"}]},
    "observed_projection": {"through": 1, "projection_version": 1, "entries": [{"entity_id": "a", "value": "1"}]},
    "expect": {"health": "healthy", "drift": false, "lag": 0, "transition_authority": "durable_owner", "reconciliation_effect_id": "reconcile/o/1"}}]}
 ]}`

// TestStrictReading: what is not in the layout is an error that names file, scenario and step.
func TestStrictReading(t *testing.T) {
	load := func(text string) ([]*File, error) {
		return Load(fstest.MapFS{"a.json": {Data: []byte(text)}, "README.md": {Data: []byte("not JSON")}})
	}
	files, err := load(small)
	if err != nil || len(files) != 1 || len(files[0].Scenarios) != 2 || files[0].Scenarios[0].Steps[1].Fence != 1<<64-1 {
		t.Fatalf("undamaged twin: %+v, %v", files, err)
	}
	for _, c := range []struct{ name, old, replaced, want string }{
		{"unknown operation", `"type": "advance_fence"`, `"type": "retire"`, `a.json: scenario 1 (first): step 2: op "retire": there is no such operation`},
		{"no operation", `"type": "advance_fence", `, ``, `a.json: scenario 1 (first): step 2: op ""`},
		{"unknown member of a step", `"op": {"type": "advance_fence"`, `"note": "", "op": {"type": "advance_fence"`, `a.json: scenario 1 (first): step 2`},
		{"unknown member of an operation", `"inbox_id": "m"`, `"inbox_id": "m", "more": 1`, `a.json: scenario 1 (first): step 1: op "commit"`},
		{"unknown member of an image", `"snapshot": null`, `"snapshot": null, "latest": null`, `step 1`},
		{"member in another case", `"inbox_id"`, `"Inbox_id"`, `step 1`},
		{"missing member of an image", `"outbox": [], `, ``, `a.json: scenario 1 (first): step 1: expect.image.outbox is missing`},
		{"missing member of a payload", `"codec_version": 2, `, ``, `op "commit": commit.state.append_events[0].codec_version is missing`},
		{"null for a list", `"effects": []`, `"effects": null`, `commit.effects is null`},
		{"null for a version", `"codec_version": 2`, `"codec_version": null`, `codec_version`},
		{"fraction", `"expected_position": 0`, `"expected_position": 0.5`, `step 1`},
		{"negative", `"expected_position": 0`, `"expected_position": -1`, `step 1`},
		{"too large", `18446744073709551615}`, `18446744073709551616}`, `step 2`},
		{"a number as text", `"expected_position": 0`, `"expected_position": "0"`, `step 1`},
		{"member twice", `"inbox_id": "m"`, `"inbox_id": "m", "inbox_id": "m"`, `scenario`},
		{"two states", `"state": {`, `"state": {"replace_snapshot": {"schema_version": 1, "codec_version": 2, "bytes": "x"}, `, `exactly one of`},
		{"no state", `"append_events": [{"schema_version": 1, "codec_version": 2, "bytes": "x"}]`, ``, `exactly one of`},
		{"fence of a receipt", `"type": "advance_fence"`, `"type": "record_receipt"`, `step 2: op "record_receipt": receipt is missing`},
		{"nothing happens", `"reconciliation_cases"`, `"steps": [], "reconciliation_cases_"`, `scenario 2 (second)`},
		{"a case without observation", `"observed_projection"`, `"observed"`, `scenario 2 (second)`},
		{"a finding without health", `"health": "healthy", `, ``, `reconciliation_cases[0].expect.health is missing`},
		{"the scenario twice", `"second"`, `"first"`, `"first" is there twice`},
		{"another protocol", `"protocol_version": 1`, `"protocol_version": 2`, `a.json: protocol_version 2`},
		{"another kind", `"DurableOwner"`, `"DurableClient"`, `kind "DurableClient"`},
		{"another model", `"OrderedReplay"`, `"Ordered"`, `there is no model "Ordered"`},
		{"something behind", `]}`, `]}`, ``},
	} {
		text := strings.Replace(small, c.old, c.replaced, 1)
		if c.want == "" {
			text += " {}"
		} else if text == small {
			t.Fatalf("%s: nothing to replace", c.name)
		}
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "a.json: ") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Load(fstest.MapFS{"README.md": {Data: []byte("nothing")}}); err == nil {
		t.Error("a folder without files")
	}
}

// TestMayBeLeftOut: of a result, through and ack; where they are given they are compared. No step but a commit makes an
// acknowledgement safe, so that withhold may be said of any.
func TestMayBeLeftOut(t *testing.T) {
	runs := func(text string) []Outcome {
		t.Helper()
		files, err := Load(fstest.MapFS{"a.json": {Data: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		return RunAll(t.Context(), files, Memory, func(Outcome) {})
	}
	withheld := strings.Replace(small, `"outcome": "fence_advanced"`, `"outcome": "fence_advanced", "ack": "withhold"`, 1)
	for _, text := range []string{small, withheld, strings.Replace(small, `, "through": 1, "ack": "safe"`, ``, 1)} {
		for _, out := range runs(text) {
			if out.Result != Passed {
				t.Errorf("%+v", out)
			}
		}
	}
	for _, more := range []string{`"through": 1`, `"ack": "safe"`} {
		text := strings.Replace(small, `"outcome": "fence_advanced"`, `"outcome": "fence_advanced", `+more, 1)
		if out := runs(text)[0]; out.Result != Failed || !strings.HasPrefix(out.Faults[0], "step 2 (advance_fence): result.") {
			t.Errorf("%s: %+v", more, out)
		}
	}
}

// TestSchema: both corpora, and the small file, are what the schema describes; the schema refuses what the reader refuses.
func TestSchema(t *testing.T) {
	compiled := schema.Compile(t, "durable-owner.json")
	check := func(text []byte) error {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return compiled.Validate(value)
	}
	for name, folder := range corpora(t) {
		names, err := fs.Glob(folder, "*.json")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range names {
			text, err := fs.ReadFile(folder, file)
			if err != nil {
				t.Fatal(err)
			}
			if err := check(text); err != nil {
				t.Errorf("%s, %s: %v", name, file, err)
			}
		}
	}
	if err := check([]byte(small)); err != nil {
		t.Fatalf("undamaged twin: %v", err)
	}
	for _, pair := range [][2]string{
		{`"type": "advance_fence"`, `"type": "retire"`},
		{`"type": "advance_fence"`, `"type": "record_receipt"`},
		{`"outbox": [], `, ``},
		{`"snapshot": null`, `"snapshot": null, "latest": null`},
		{`"expected_position": 0`, `"expected_position": 0.5`},
		{`18446744073709551615}`, `18446744073709551616}`},
		{`"committed"`, `"commit"`},
		{`"healthy"`, `"fine"`},
		{`"value": "1"}], "resume_from"`, `"worth": "1"}], "resume_from"`},
		{`"create", "entity_id": "a", "value": "1"`, `"create", "entity_id": "a"`},
		{`"reconcile/o/1"`, `"repair/o/1"`},
		{`"state": {`, `"state": {"replace_snapshot": {"schema_version": 1, "codec_version": 2, "bytes": "x"}, `},
	} {
		text := strings.Replace(small, pair[0], pair[1], 1)
		if text == small {
			t.Fatalf("nothing to replace: %s", pair[0])
		}
		if err := check([]byte(text)); err == nil {
			t.Errorf("the schema accepts %s", pair[1])
		}
	}
}

// TestOwnCorpusIsRich: every outcome that operations can lead to is in it, and both modes.
func TestOwnCorpusIsRich(t *testing.T) {
	files, err := Load(corpora(t)["own"])
	if err != nil {
		t.Fatal(err)
	}
	outcomes, modes := map[string]int{}, map[string]int{}
	for _, f := range files {
		for _, s := range f.Scenarios {
			modes[s.Mode]++
			for _, step := range s.Steps {
				outcomes[step.Result.Outcome]++
			}
		}
	}
	// position_exhausted takes 2^63 commits; the suite of stores places an owner there.
	for _, want := range []string{
		"committed", "duplicate", "aborted", "recovered", "fence_advanced", "receipt_recorded", "receipt_duplicate", "position_conflict", "stale_fence",
		"inbox_identity_conflict", "effect_identity_conflict", "receipt_identity_conflict", "effect_already_receipted", "unsupported_version",
		"mode_conflict", "invalid_identity", "unknown_owner", "unknown_effect",
	} {
		if outcomes[want] < 3 {
			t.Errorf("%s: %d steps", want, outcomes[want])
		}
	}
	if modes["event_history"] < 10 || modes["snapshot"] < 4 {
		t.Errorf("%v", modes)
	}
}
