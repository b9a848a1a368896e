package lint

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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
