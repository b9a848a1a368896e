package root

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"amends.dev/amends/internal/exit"
)

// TestCodesAreDocumented holds help and reference page to one table.
func TestCodesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| code | meaning |\n|---|---|\n")
	for _, c := range codes {
		fmt.Fprintf(&want, "| %d | %s |\n", c.code, c.meaning)
	}
	if !strings.Contains(string(page), want.String()+"\n") {
		t.Errorf("docs/reference/exit-codes.md does not hold exactly this table:\n%s", want.String())
	}
}

// TestCodesAreComplete holds the table to the constants of package exit.
func TestCodesAreComplete(t *testing.T) {
	all := []exit.Code{
		exit.OK, exit.Error, exit.Usage, exit.ChangesPending, exit.ManifestInvalid, exit.Refused, exit.Exclusions,
		exit.Blocked, exit.Drift, exit.Incomplete, exit.Internal, exit.Interrupted, exit.Terminated,
	}
	if len(all) != len(codes) {
		t.Fatalf("%d codes in the table, want %d", len(codes), len(all))
	}
	for i, code := range all {
		if codes[i].code != code {
			t.Errorf("row %d of the table is code %d, want %d", i, codes[i].code, code)
		}
	}
}
