// Package schema compiles the project's JSON Schemas for tests.
package schema

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"amends.dev/amends/schemas"
)

// Compile returns the schema of that file name in schemas/, as "report.json". It ends the test where there is none or
// where it is not a schema.
func Compile(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	text, err := schemas.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(name, document); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return compiled
}
