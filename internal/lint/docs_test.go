package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRejectionsPage holds the page of rejection reasons to the list that programs read.
func TestRejectionsPage(t *testing.T) {
	list, err := os.ReadFile(filepath.Join(rootFolder, "schemas", "reasons.json"))
	if err != nil {
		t.Fatal(err)
	}
	var reasons []struct{ Reason, Description string }
	if err := json.Unmarshal(list, &reasons); err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, r := range reasons {
		fmt.Fprintf(&want, "| `%s` | %s |\n", r.Reason, r.Description)
	}
	page, err := os.ReadFile(filepath.Join(rootFolder, "docs", "reference", "rejections.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "|---|---|\n"+want.String()+"\n") {
		t.Errorf("docs/reference/rejections.md does not hold exactly these rows:\n%s", want.String())
	}
}

// unmapped finds packages that the file map of the architecture page covers neither by name nor by a folder above.
func unmapped(page string, sources []*source) []string {
	covered := func(dir string) bool {
		for ; dir != "."; dir = path.Dir(dir) {
			if strings.Contains(page, "`"+dir+"/`") {
				return true
			}
		}
		return false
	}
	missing := map[string]bool{}
	for _, s := range sources {
		if !covered(s.dir) {
			missing[s.dir+": not in the file map of docs/architecture.md"] = true
		}
	}
	return slices.Sorted(maps.Keys(missing))
}

func TestFileMap(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(rootFolder, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, fileMap, _ := strings.Cut(string(page), "\n## File map\n")
	fileMap, _, _ = strings.Cut(fileMap, "\n## ")
	holds(t, func(sources []*source) []string { return unmapped(fileMap, sources) })
}

func TestFileMapCatches(t *testing.T) {
	const page = "| `stages/view/` | the view |\n"
	for name, want := range map[string]int{"stages/view/view.go": 0, "stages/view/viewtest/suite.go": 0, "stages/relay/relay.go": 1} {
		s, err := newSource(name, []byte("package p\n"))
		if err != nil {
			t.Fatal(err)
		}
		if faults := unmapped(page, []*source{s}); len(faults) != want {
			t.Errorf("%s: faults %q, want %d", name, faults, want)
		}
	}
}
