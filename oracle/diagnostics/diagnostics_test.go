package diagnostics

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/internal/testkit/schema"
	"amends.dev/amends/manifests"
)

// digest is some SHA-256.
var digest = strings.Repeat("0123456789abcdef", 4)

// conflict is an entry of a conflict.
func conflict(partition int32, offset int64, reason, payload string) Entry {
	return Entry{Partition: partition, Offset: offset, Reason: reason, Payload: payload, Fingerprint: PayloadFingerprint(payload)}
}

// whole is a file with every kind of entry.
func whole() *File {
	return &File{Name: "poison drill", TopicID: "AAAAAAAAAAAAAAAAAAAAAQ", Entries: []Entry{
		{Partition: 0, Offset: 1, Reason: "invalid_json", Fingerprint: digest},
		conflict(1, 0, Superseded, Canonical("widget", "zürich", "t'1", 1, "NEW", 0, -50)),
		conflict(1, 9223372036854775807, Ambiguous, Canonical("wid\u0085get", "\ufeff\n", "🦀", 9223372036854775807, "CANCEL", 1, 0)),
	}}
}

func TestCanonicalPayload(t *testing.T) {
	got := Canonical("a<&>\u2028", "b", "t", 2, "AMEND", -1, 9007199254740993)
	if want := "[\"a<&>\u2028\",\"b\",\"t\",\"2\",\"AMEND\",\"1969-12-31T23:59:59.999999999Z\",\"9007199254740993\"]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestR24RoundTrip: what is written reads back to the same, and fits the schema.
func TestR24RoundTrip(t *testing.T) {
	compiled := schema.Compile(t, "expected-diagnostics.json")
	for _, f := range []*File{whole(), {Name: "nothing"}} {
		data := Render(f)
		got, err := Parse("f.yaml", data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(f, got); diff != "" {
			t.Errorf("%s\n%s", diff, data)
		}
		var doc any
		if err := yaml.Unmarshal(data, &doc); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		if err = errors.Join(err, compiled.Validate(value)); err != nil {
			t.Error(err)
		}
	}
}

// TestAnyNameRoundTrips: whatever names contain.
func TestAnyNameRoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringN(1, 40, nameBytesMax).Filter(utf8.ValidString).Draw(t, "name")
		f := &File{Name: name, Entries: []Entry{conflict(0, 0, Superseded, name)}}
		got, err := Parse("f.yaml", Render(f))
		if err != nil || !cmp.Equal(f, got) {
			t.Fatalf("%v: %s", err, Render(f))
		}
	})
}

// TestFaultsAreNamed damages a whole file in one place: line, column, field and what to write.
func TestFaultsAreNamed(t *testing.T) {
	data := string(Render(whole()))
	if _, err := Parse("f.yaml", []byte(data)); err != nil {
		t.Fatalf("the undamaged twin: %v", err)
	}
	for _, c := range []struct{ name, from, to, want string }{
		{"unknown field", "      reason: invalid_json", "      raeson: invalid_json", "f.yaml:11:7: spec.entries[0]: unknown field \"raeson\""},
		{"twice", "      reason: invalid_json", "      reason: invalid_json\n      reason: invalid_json", "f.yaml:12:7: spec.entries[0].reason: duplicate field"},
		{"unknown reason", "invalid_json", "bad", "f.yaml:11:15: spec.entries[0].reason: unknown reason \"bad\"; want one of null_value,"},
		{"missing", "      offset: 1\n", "", "f.yaml:9:7: spec.entries[0].offset: required field is missing"},
		{"B116 fraction", "offset: 1\n", "offset: 1.5\n", "spec.entries[0].offset: want a whole number, got \"1.5\""},
		{"B116 octal", "offset: 1\n", "offset: 010\n", "without leading zeros"},
		{"string", "offset: 1\n", "offset: '1'\n", "want a whole number, got the string \"1\""},
		{"too large", "partition: 0", "partition: 2147483648", "from 0 to 2147483647"},
		{"null", "offset: 1\n", "offset: null\n", "want a whole number, got no value"},
		{"fingerprint", digest, digest[1:], "want a SHA-256 as 64 lower-case"},
		{"payload of a rejection", "      reason: invalid_json", "      reason: invalid_json\n      payload: x", "a rejection has no canonical payload"},
		{"conflict without payload", "      reason: invalid_json", "      reason: superseded_conflict", "spec.entries[0].payload: required field is missing"},
		{"payload altered", `"-50"]`, `"-51"]`, "this is not the SHA-256 of the payload; that is "},
		{"kind", "ExpectedDiagnostics", "Namespace", "f.yaml:3:7: kind: want ExpectedDiagnostics"},
		{"version", "amends.dev/v1", "amends.dev/v2", "apiVersion: want amends.dev/v1"},
		{"name", "'poison drill'", "''", "metadata.name: want 1 to 253 bytes"},
		{"number as a name", "'poison drill'", "007", "metadata.name: want a string, but YAML reads 007 as something else; quote it"},
		{"anchor", "'poison drill'", "&a x", "anchors and aliases are not supported"},
		{"tag", "'poison drill'", "!!str x", "tags are not supported"},
		{"second document", "    - partition: 1", "---\n    - partition: 1", "second document"},
		{"syntax", "  entries:", "  entries: [", "not valid YAML"},
		{"no entries", "  entries:\n", "  entries: x\n", "not valid YAML"},
		{"repeated entry", "  entries:\n", "  entries:\n    - {partition: 0, offset: 1, reason: invalid_json, fingerprint: '" + digest + "'}\n", "spec.entries[1]: the same entry as on line 9"},
	} {
		damaged := strings.Replace(data, c.from, c.to, 1)
		_, err := Parse("f.yaml", []byte(damaged))
		var problems manifests.Problems
		if damaged == data || !errors.As(err, &problems) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for _, odd := range []string{"", "# nothing\n", "null\n", "[]\n", "0: [:!00 \xef", "a: {b: {c: {d: {e: {f: {g: {h: {i: 1}}}}}}}}", "\xff\xfe"} {
		if f, err := Parse("f.yaml", []byte(odd)); err == nil {
			t.Errorf("%q was read: %+v", odd, f)
		}
	}
}

// TestR24ExactAsASet: one too many, one too few, and one that differs in any field.
func TestR24ExactAsASet(t *testing.T) {
	mark.Expect(t, "R24 not the expected diagnostics")
	found := whole().Entries
	if missing, unexpected := Compare(found, found); len(missing)+len(unexpected) != 0 {
		t.Fatalf("the undamaged twin: %v, %v", missing, unexpected)
	}
	extra := Entry{Partition: 7, Reason: "null_value", Fingerprint: digest}
	if missing, unexpected := Compare(append(slices.Clone(found), extra), found); !slices.Equal(missing, []Entry{extra}) || len(unexpected) != 0 {
		t.Errorf("one expected too many: %v, %v", missing, unexpected)
	}
	if missing, unexpected := Compare(found[1:], found); len(missing) != 0 || !slices.Equal(unexpected, found[:1]) {
		t.Errorf("one expected too few: %v, %v", missing, unexpected)
	}
	for i, alter := range []func(*Entry){
		func(e *Entry) { e.Partition++ }, func(e *Entry) { e.Offset++ }, func(e *Entry) { e.Reason = Ambiguous },
		func(e *Entry) { e.Fingerprint = digest }, func(e *Entry) { e.Payload += "x" },
	} {
		expected := slices.Clone(found)
		alter(&expected[1])
		slices.SortFunc(expected, Order)
		if missing, unexpected := Compare(expected, found); len(missing) != 1 || !slices.Equal(unexpected, found[1:2]) {
			t.Errorf("alteration %d: %v, %v", i, missing, unexpected)
		}
	}
}
