package load_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/manifests"
)

const corpus = "../../../testdata/manifests"

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestManifestBesideItsKeys: the stock-key file is found beside the manifest, from wherever the verb runs.
func TestManifestBesideItsKeys(t *testing.T) {
	ns, err := load.Manifest(&app.App{}, filepath.Join(corpus, "good", "keys-from.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(ns.Spec.StockKeys) != 1 || ns.Spec.StockKeys[0].Item != "widget" {
		t.Errorf("keys %v", ns.Spec.StockKeys)
	}
	_, err = load.Manifest(&app.App{}, filepath.Join(corpus, "bad", "csv-quote.yaml"))
	if err == nil || !strings.HasPrefix(err.Error(), filepath.Join(corpus, "bad", "keys", "quote.csv")+":2:4: ") {
		t.Errorf("the key file's problem does not name its path: %v", err)
	}
}

// TestManifestFromStdin reads "-", with a stock-key file in the current folder.
func TestManifestFromStdin(t *testing.T) {
	a := &app.App{Stdin: bytes.NewReader(read(t, filepath.Join(corpus, "good", "minimal.yaml")))}
	if ns, err := load.Manifest(a, "-"); err != nil || ns.Name != "demo" {
		t.Fatalf("%v, %v", ns, err)
	}
	a.Stdin = strings.NewReader("kind: [")
	if _, err := load.Manifest(a, "-"); err == nil || !strings.HasPrefix(err.Error(), "stdin:") || exit.Of(err) != exit.ManifestInvalid {
		t.Errorf("%v", err)
	}
	keys := "item,location,openingBalance,reorderThreshold\na,b,1,2\n"
	t.Chdir(t.TempDir())
	if err := os.WriteFile("keys.csv", []byte(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	a.Stdin = strings.NewReader(fmt.Sprintf("apiVersion: amends.dev/v1\nkind: Namespace\nmetadata: {name: demo}\nspec:\n"+
		"  ledgerOrigin: 2026-01-01T00:00:00Z\n  source: {topic: i, partitions: 1}\n  output: {topic: o, partitions: 1}\n"+
		"  stockKeysFrom: {file: keys.csv, sha256: \"%x\"}\n", sha256.Sum256([]byte(keys))))
	if ns, err := load.Manifest(a, "-"); err != nil || ns.Spec.StockKeys[0].OpeningBalance != 1 {
		t.Errorf("%v, %v", ns, err)
	}
}

// TestManifestCodes: what is wrong decides the exit code.
func TestManifestCodes(t *testing.T) {
	folder := t.TempDir()
	large := filepath.Join(folder, "large.yaml")
	if err := os.WriteFile(large, make([]byte, manifests.ManifestBytesMax+5), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]exit.Code{
		filepath.Join(corpus, "good", "minimal.yaml"):              exit.OK,
		filepath.Join(corpus, "bad", "many-at-once.yaml"):          exit.ManifestInvalid,
		filepath.Join(corpus, "bad", "b114-empty.yaml"):            exit.ManifestInvalid,
		filepath.Join(corpus, "bad", "r03-semantics-version.yaml"): exit.Refused,
		filepath.Join(corpus, "bad", "csv-missing.yaml"):           exit.ManifestInvalid,
		filepath.Join(folder, "none.yaml"):                         exit.ManifestInvalid,
		folder:                                                     exit.ManifestInvalid,
		large:                                                      exit.ManifestInvalid,
	} {
		ns, err := load.Manifest(&app.App{}, path)
		if got := exit.Of(err); got != want || (ns != nil) != (want == exit.OK) {
			t.Errorf("%s: exit %d, want %d: %v", path, got, want, err)
		}
	}
}

// TestManifestShowsAllProblems: every problem is one line of the error, and can be unwrapped.
func TestManifestShowsAllProblems(t *testing.T) {
	_, err := load.Manifest(&app.App{}, filepath.Join(corpus, "bad", "many-at-once.yaml"))
	var problems manifests.Problems
	if !errors.As(err, &problems) || len(problems) < 10 {
		t.Fatalf("%v", err)
	}
	for _, p := range problems {
		if !strings.Contains(err.Error(), "\n"+p.Error()) {
			t.Errorf("not shown: %v", p)
		}
	}
}

// TestManifestKeyFileIsRegular: a folder or device in the place of the stock-key file is an error, not a hang.
func TestManifestKeyFileIsRegular(t *testing.T) {
	folder := t.TempDir()
	text := strings.Replace(string(read(t, filepath.Join(corpus, "good", "keys-from.yaml"))), "keys/one.csv", "keys", 1)
	path := filepath.Join(folder, "m.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := load.Manifest(&app.App{}, path); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v", err)
	}
}

// TestFlags: the three ways to name the manifest, and their contradictions.
func TestFlags(t *testing.T) {
	f := func(want string, line ...string) {
		t.Helper()
		cmd := &cobra.Command{Use: "verb"}
		flags := load.AddFlags(cmd)
		if err := cmd.ParseFlags(line); err != nil {
			t.Fatal(err)
		}
		args := cmd.Flags().Args()
		path, err := flags.Path(args)
		if path != want || (err != nil) != (want == "") || (err != nil && exit.Of(err) != exit.Usage) {
			t.Errorf("%v: %q, %v", line, path, err)
		}
		if flags.Given(args) != (len(line) > 0) {
			t.Errorf("%v: given is %v", line, flags.Given(args))
		}
	}
	f("a.yaml", "a.yaml")
	f("a.yaml", "-f", "a.yaml")
	f("a.yaml", "--file=a.yaml")
	f("a.yaml", "--manifest", "a.yaml")
	f("-", "-f", "-")
	f("a.yaml", "a.yaml", "-f", "a.yaml", "--manifest", "a.yaml")
	f("", "a.yaml", "-f", "b.yaml")
	f("", "-f", "a.yaml", "--manifest", "b.yaml")
	f("", "a.yaml", "b.yaml")
	f("")
}
