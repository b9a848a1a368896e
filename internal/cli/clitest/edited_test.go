package clitest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestB122EditedManifest: an edited manifest of a namespace that has processed records is refused with every table
// untouched, whatever was edited; an edit that changes nothing of the meaning is a no-op with the same digest.
func TestB122EditedManifest(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	text, err := os.ReadFile(filepath.Join(w.dir, "shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	write := func(old, replacement string) {
		t.Helper()
		if !strings.Contains(string(text), old) {
			t.Fatalf("the manifest has no %s", old)
		}
		edited := strings.Replace(string(text), old, replacement, 1)
		if err := os.WriteFile(filepath.Join(w.dir, "edited.yaml"), []byte(edited), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := w.tables()
	untouched := func(what string) {
		t.Helper()
		if diff := cmp.Diff(before, w.tables()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	for _, edit := range [][2]string{
		{"reorderThreshold: 60", "reorderThreshold: 40"},
		{"openingBalance: 100", "openingBalance: 101"},
		{`ledgerOrigin: "2026-01-01T00:00:00Z"`, `ledgerOrigin: "2025-12-31T00:00:00Z"`},
		{"partitions: 2}", "partitions: 3}"},
		{"    - {item: gadget, location: paris, openingBalance: 50, reorderThreshold: 20}\n", ""},
	} {
		write(edit[0], edit[1])
		w.fails(5, `^refused: namespace shop: .*; nothing was touched$`, "apply", "--yes", "edited.yaml")
		w.fails(5, `the manifest has digest`, "status", "edited.yaml")
		untouched(edit[1])
	}
	const gadget = "    - {item: gadget, location: paris, openingBalance: 50, reorderThreshold: 20}\n"
	text = []byte(strings.Replace(string(text), gadget, "", 1) + gadget + "# the same keys, in another order\n")
	write("metadata: {name: shop}", "metadata:\n  name: shop   # and in another style")
	if o := w.must("apply", "--yes", "edited.yaml"); !strings.HasSuffix(o.stdout, "unchanged shop\n") {
		t.Errorf("a cosmetic edit: %s", o.stdout)
	}
	untouched("a cosmetic edit")
	digest := func(file string) string {
		return strings.ReplaceAll(w.must("validate", file, "-o", "json").stdout, file, "FILE")
	}
	if diff := cmp.Diff(digest("shop.yaml"), digest("edited.yaml")); diff != "" {
		t.Errorf("validate of the cosmetic edit (-want +got):\n%s", diff)
	}
	w.proves("shop", 2)
}
