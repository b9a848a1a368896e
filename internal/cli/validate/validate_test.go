package validate_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/validate"
	"amends.dev/amends/internal/exit"
)

const corpus = "../../../testdata/manifests"

// run executes the verb below a root that has the persistent output flag, as amendsctl's has.
func run(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	var out bytes.Buffer
	a := &app.App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out}
	root := &cobra.Command{Use: "amendsctl", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().StringP("output", "o", "text", "")
	root.AddCommand(validate.New(a))
	root.SetArgs(append([]string{"validate"}, args...))
	err = root.Execute()
	return out.String(), err
}

// TestOK: a good manifest is one line with what apply will record.
func TestOK(t *testing.T) {
	path := filepath.Join(corpus, "good", "minimal.yaml")
	const digest = "14fc0d2bd51bd9772eb98d3e6e93fb08c6d82b3f14f8224929597807f1c3ce75"
	out, err := run(t, path)
	if want := "ok " + path + ": namespace demo, 1 stock key, digest " + digest + "\n"; err != nil || out != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
	out, err = run(t, "-f", path, "-o", "json")
	var doc map[string]any
	if err != nil || json.Unmarshal([]byte(out), &doc) != nil {
		t.Fatalf("%s, %v", out, err)
	}
	if doc["valid"] != true || doc["digest"] != digest || doc["stockKeys"] != 1.0 || doc["ledgerOrigin"] != "2026-01-01T00:00:00Z" {
		t.Errorf("%s", out)
	}
}

// TestBad: exit code 4 under every format, all problems in the error, and field by field in JSON.
func TestBad(t *testing.T) {
	path := filepath.Join(corpus, "bad", "many-at-once.yaml")
	out, err := run(t, path)
	if exit.Of(err) != exit.ManifestInvalid || out != "" {
		t.Fatalf("%q, %v", out, err)
	}
	if want := path + `:12:56: spec.stockKeys[3].openingBalance: want a whole number, got "100.5"`; !strings.Contains(err.Error(), want) {
		t.Errorf("%v lacks %s", err, want)
	}
	out, err = run(t, path, "-o", "json")
	var doc struct {
		Valid    *bool
		Problems []struct {
			File, Path, Message string
			Line, Column        int
		}
	}
	if exit.Of(err) != exit.ManifestInvalid || json.Unmarshal([]byte(out), &doc) != nil {
		t.Fatalf("%s, %v", out, err)
	}
	if doc.Valid == nil || *doc.Valid || len(doc.Problems) != 11 || doc.Problems[9].Line != 12 || doc.Problems[9].Column != 56 {
		t.Errorf("%s", out)
	}
}

// TestUsage: no file is a fault of usage, a missing one of the manifest, in both formats.
func TestUsage(t *testing.T) {
	if _, err := run(t); exit.Of(err) != exit.Usage {
		t.Errorf("%v", err)
	}
	out, err := run(t, "none.yaml", "-o", "json")
	if exit.Of(err) != exit.ManifestInvalid || !strings.Contains(out, "none.yaml") || !json.Valid([]byte(out)) {
		t.Errorf("%s, %v", out, err)
	}
}
