package connect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

const manifest = `apiVersion: amends.dev/v1
kind: Namespace
metadata: {name: NAME}
spec:
  ledgerOrigin: "2026-01-01T00:00:00Z"
  source: {topic: in, partitions: 4}
  output: {topic: NAME.out, partitions: 2}
  stockKeys:
    - {item: widget, location: berlin, openingBalance: 100, reorderThreshold: 60}
`

func TestSelector(t *testing.T) {
	pool, err := To(pg.New(t), "", kafka.Config{}).Catalog(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	catalog := postgres.NewCatalog(pool)
	want := func(code exit.Code, name, says string, args ...string) {
		t.Helper()
		cmd := &cobra.Command{Use: "x"}
		selector := RegisterSelector(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		applied, err := selector.Applied(t.Context(), &app.App{Stdin: strings.NewReader("")}, catalog, cmd.Flags().Args())
		switch {
		case exit.Of(err) != code:
			t.Errorf("%v: %v, want exit code %d", args, err, code)
		case err != nil && !strings.Contains(err.Error(), says):
			t.Errorf("%v: %q does not say %q", args, err, says)
		case err == nil && applied.Name != name:
			t.Errorf("%v: %s, want %s", args, applied.Name, name)
		}
	}
	want(exit.Error, "", "amendsctl apply")
	record(t, catalog, "first")
	want(exit.OK, "first", "")
	record(t, catalog, "second")
	want(exit.Usage, "", "first, second")
	want(exit.OK, "second", "", "-n", "second")
	want(exit.Error, "", "third", "-n", "third")

	text := strings.ReplaceAll(manifest, "NAME", "first")
	same, other := write(t, text), write(t, strings.Replace(text, "openingBalance: 100", "openingBalance: 99", 1))
	want(exit.OK, "first", "", same)
	want(exit.OK, "first", "", "-f", same, "-n", "first")
	want(exit.Usage, "", "-n second", "-f", same, "-n", "second")
	want(exit.Refused, "", "digest", "--manifest", other)
	want(exit.ManifestInvalid, "", "read manifest", same+".absent")
	if _, err := pool.Exec(t.Context(), `UPDATE amends_first.stock_key SET opening_balance = 0`); err != nil {
		t.Fatal(err)
	}
	want(exit.Refused, "", "altered", "-n", "first")
}

func record(t *testing.T, catalog *postgres.Catalog, name string) {
	t.Helper()
	ns, problems := manifests.Parse("m.yaml", []byte(strings.ReplaceAll(manifest, "NAME", name)), nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if err := catalog.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := catalog.Record(t.Context(), ns, "in-id", "out-id"); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
