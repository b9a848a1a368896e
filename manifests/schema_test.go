package manifests_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"amends.dev/amends/internal/testkit/schema"
	"amends.dev/amends/manifests"
	"amends.dev/amends/schemas"
)

// schemaCannot lists the bad manifests that the JSON Schema accepts, with what a schema cannot express. It validates
// values, after some YAML reader has turned text into them, and knows neither text nor other files.
var schemaCannot = map[string]string{
	"b112-duplicate-key":      "uniqueness by two fields of an item",
	"b112-same-topic":         "two fields that must differ",
	"b114-second-document":    "a reader hands over one document",
	"b116-octal":              "the reader has turned 0100 into 64",
	"b116-octal-o":            "the reader has turned 0o100 into 64",
	"b116-underscore":         "the reader has turned 1_000 into 1000",
	"b116-hex":                "the reader has turned 0x10 into 16",
	"b116-binary":             "the reader has turned 0b11 into 3",
	"b116-plus":               "the reader has turned +5 into 5",
	"b116-negative-zero-lead": "the reader has turned -01 into -1",
	"b116-point-zero":         "100.0 is an integer to JSON Schema",
	"b116-exponent":           "1e2 is an integer to JSON Schema",
	"b120-tag":                "the reader has resolved the tags",
	"b120-utf16-bom":          "the encoding of the text",
	"b120-utf16-be-bom":       "the encoding of the text",
	"name-time":               "a YAML 1.2 reader gives the string 2026-01-01, a YAML 1.1 reader a time",
	"name-bytes":              "length in bytes, not characters",
	"name-yaml11-boolean":     "a YAML 1.2 reader gives the string no, a YAML 1.1 reader a boolean",
	"name-yaml11-letter":      "a YAML 1.2 reader gives the string y, a YAML 1.1 reader a boolean",
	"name-sexagesimal":        "a YAML 1.2 reader gives the string 12:30, a YAML 1.1 reader a number",
	"name-merge":              "a reader gives the string << outside of keys",
	"origin-february":         "days of a month",
	"origin-early":            "the range of int64 nanoseconds",
	"origin-late":             "the range of int64 nanoseconds",
	"origin-year-zero":        "the range of int64 nanoseconds",
	"csv-digest":              "another file's content",
	"csv-empty":               "another file's content",
	"csv-faults":              "another file's content",
	"csv-header":              "another file's content",
	"csv-header-only":         "another file's content",
	"csv-quote":               "another file's content",
	"csv-missing":             "another file's existence",
}

// valueOf turns YAML nodes into JSON values as an editor does that checks YAML against a schema: times stay strings,
// and numbers keep their digits.
func valueOf(t testing.TB, n *yaml.Node) any {
	switch n.Kind {
	case yaml.DocumentNode:
		return valueOf(t, n.Content[0])
	case yaml.AliasNode:
		return valueOf(t, n.Alias)
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			m[n.Content[i].Value] = valueOf(t, n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		list := []any{}
		for _, child := range n.Content {
			list = append(list, valueOf(t, child))
		}
		return list
	}
	if n.Tag == "!!timestamp" || n.Tag == "!!merge" {
		return n.Value
	}
	if n.Tag == "!!int" && strings.Trim(n.Value, "0123456789") == "" && n.Value[0] != '0' {
		return json.Number(n.Value)
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return n.Value // unknown tags
	}
	switch v := v.(type) {
	case int:
		return json.Number(strconv.Itoa(v))
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return n.Value
		}
		return json.Number(strconv.FormatFloat(v, 'f', -1, 64))
	}
	return v
}

// schemaVerdict is what the schema says of a file: nil for valid; readable is false where no YAML reader gets that far.
func schemaVerdict(t testing.TB, compiled *jsonschema.Schema, path string) (readable bool, verdict error) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil || node.Kind == 0 {
		return false, err
	}
	var plain any // refuses duplicate fields and alias bombs
	if err := node.Decode(&plain); err != nil && (strings.Contains(err.Error(), "already defined") || strings.Contains(err.Error(), "excessive aliasing")) {
		return false, err
	}
	return true, compiled.Validate(valueOf(t, &node))
}

// TestSchemaAgrees: schema and parser accept the same manifests, but for the listed reasons, each of which is needed.
func TestSchemaAgrees(t *testing.T) {
	compiled := schema.Compile(t, "manifest.json")
	for _, path := range append(corpusFiles(t, "good"), "examples/demo.yaml") {
		if readable, verdict := schemaVerdict(t, compiled, path); verdict != nil || !readable {
			t.Errorf("%s is good, the schema says %v", path, verdict)
		}
	}
	unused := map[string]bool{}
	for name := range schemaCannot {
		unused[name] = true
	}
	refused := 0
	for _, path := range corpusFiles(t, "bad") {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		readable, verdict := schemaVerdict(t, compiled, path)
		switch reason, listed := schemaCannot[name]; {
		case !readable && listed, verdict != nil && listed:
			t.Errorf("%s is refused (%v) but listed as not expressible: %s", name, verdict, reason)
		case verdict == nil && readable && !listed:
			t.Errorf("%s is bad, the schema accepts it", name)
		case verdict != nil && readable:
			refused++
		}
		delete(unused, name)
	}
	if len(unused) > 0 || refused < 40 {
		t.Errorf("listed but not in the corpus: %v; refused by the schema itself: %d", unused, refused)
	}
}

// TestSchemaExamples: the examples that editors show are valid themselves and parse, and every field is described.
func TestSchemaExamples(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal(schemas.Manifest(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, example := range doc["examples"].([]any) {
		data, err := json.Marshal(example)
		if err != nil {
			t.Fatal(err)
		}
		if ns, problems := manifests.Parse("example", data, nil); ns == nil {
			t.Errorf("%s: %v", data, problems)
		}
	}
	for name, property := range doc["$defs"].(map[string]any) {
		if property.(map[string]any)["description"] == nil {
			t.Errorf("$defs/%s has no description", name)
		}
	}
	if doc["$id"] != "https://amends.dev/schemas/v1/manifest.json" {
		t.Errorf("$id is %v", doc["$id"])
	}
}
