package plan

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/apply"
	"amends.dev/amends/internal/cli/connect"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/kafka"
)

const manifest = `apiVersion: amends.dev/v1
kind: Namespace
metadata: {name: demo}
spec:
  ledgerOrigin: "2026-01-01T00:00:00Z"
  source: {topic: in, partitions: 4}
  output: {topic: out, partitions: 2}
  stockKeys:
    - {item: widget, location: berlin, openingBalance: 100, reorderThreshold: 60}
`

// verb runs `plan args...` with the manifest on stdin.
func verb(t *testing.T, c connect.Connections, text string, args ...string) (string, error) {
	t.Helper()
	env := map[string]string{"AMENDS_DATABASE_URL": c.StateURL(), "AMENDS_BROKERS": strings.Join(c.Kafka.Brokers, ",")}
	var out bytes.Buffer
	a := &app.App{Stdin: strings.NewReader(text), Stdout: &out, Stderr: &bytes.Buffer{}, Now: time.Now,
		Getenv: func(key string) string { return env[key] }}
	root := &cobra.Command{Use: "amendsctl", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().StringP("output", "o", "text", "")
	root.AddCommand(New(a))
	root.SetArgs(append([]string{"plan", "-f", "-"}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestMain(m *testing.M) { os.Exit(kafkatest.Main(m)) }

func TestPlan(t *testing.T) {
	cluster := kafkatest.Fake(t)
	c := connect.To(pg.New(t), "", kafka.Config{Brokers: cluster.Seeds})
	deps, closeAll, err := apply.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll()
	want := func(text string, code exit.Code, says string, args ...string) string {
		t.Helper()
		out, err := verb(t, c, text, args...)
		if got := exit.Of(err); got != code || !strings.Contains(out, says) {
			t.Errorf("plan %v: exit code %d (%v), want %d and %q in\n%s", args, got, err, code, says, out)
		}
		return out
	}
	want(manifest, exit.OK, "plan: 5 to create, 0 unchanged, 0 refused")
	want(manifest, exit.ChangesPending, "plan: 5 to create", "--detailed-exitcode")
	var p manifests.Plan
	if err := json.Unmarshal([]byte(want(manifest, exit.ChangesPending, "{", "--detailed-exitcode", "-o", "json")), &p); err != nil || p.ToCreate != 5 {
		t.Errorf("JSON: %v, %+v", err, p)
	}
	if entries, err := deps.Catalog.List(t.Context()); err != nil || len(entries) != 0 {
		t.Fatalf("planning recorded %v, %v", entries, err)
	}
	for _, schema := range []string{"amends", "amends_demo", "amends_demo_view"} {
		if there, err := deps.Catalog.SchemaExists(t.Context(), schema); there || err != nil {
			t.Errorf("planning made schema %s: %t, %v", schema, there, err)
		}
	}
	if info, err := deps.Topics.Describe(t.Context(), "in"); info != nil || err != nil {
		t.Errorf("planning made topic %v, %v", info, err)
	}
	ns, problems := manifests.Parse("m.yaml", []byte(manifest), nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := apply.Do(t.Context(), deps, ns); err != nil {
		t.Fatal(err)
	}
	want(manifest, exit.OK, "plan: 0 to create, 5 unchanged, 0 refused", "--detailed-exitcode")
	changed := strings.Replace(manifest, "openingBalance: 100", "openingBalance: 101", 1)
	for _, args := range [][]string{nil, {"--detailed-exitcode"}} {
		want(changed, exit.Refused, "immutable", args...)
	}
	if err := json.Unmarshal([]byte(want(changed, exit.Refused, "{", "-o", "json")), &p); err != nil || p.Refused != 1 {
		t.Errorf("JSON: %v, %+v", err, p)
	}
	want("kind: x", exit.ManifestInvalid, "")
}
