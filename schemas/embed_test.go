package schemas_test

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"amends.dev/amends/schemas"
)

// TestDocuments: every embedded document is JSON, and every schema names itself.
func TestDocuments(t *testing.T) {
	names, err := fs.Glob(schemas.Files(), "*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		data, err := schemas.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(data, &doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		object, _ := doc.(map[string]any)
		if id, _ := object["$id"].(string); object["$schema"] != nil && !strings.HasPrefix(id, "https://amends.dev/schemas/") {
			t.Errorf("%s has the $id %q", name, id)
		}
	}
	if _, err := schemas.Read("none.json"); err == nil {
		t.Error("a document that does not exist was read")
	}
	if len(schemas.Manifest()) == 0 {
		t.Error("no manifest schema")
	}
}
