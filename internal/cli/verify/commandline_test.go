package verify_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/root"
	"amends.dev/amends/internal/exit"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
)

// amendsctl runs the program without a terminal.
func amendsctl(env map[string]string, args ...string) (code exit.Code, stdout, stderr string) {
	var out, errs bytes.Buffer
	a := &app.App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(name string) string { return env[name] }, Now: time.Now}
	code = root.Main(a, args)
	return code, out.String(), errs.String()
}

// TestUsage: what cannot be meant is exit code 2, before anything is connected to.
func TestUsage(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(manifest, []byte(strings.Join([]string{
		"apiVersion: amends.dev/v1", "kind: Namespace", "metadata: {name: shop}", "spec:", `  ledgerOrigin: "2026-01-01T00:00:00Z"`,
		"  source: {topic: in, partitions: 1}", "  output: {topic: out, partitions: 1}",
		"  stockKeys: [{item: a, location: b, openingBalance: 0, reorderThreshold: 0}]", ""}, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		code exit.Code
		want string
	}{
		{"verify", exit.Usage, "needs --quiesce"},
		{"verify --quiesce --timeout 0s", exit.Usage, "--timeout"},
		{"verify --quiesce --limit -1", exit.Usage, "--limit"},
		{"verify --quiesce --engine spark", exit.Usage, "want auto, arrow or reference"},
		{"verify --quiesce --progress loud", exit.Usage, "want auto, plain or off"},
		{"verify --quiesce --scope widget,berlin", exit.Usage, "want key=ITEM,LOCATION"},
		{"verify --quiesce --scope key=widget", exit.Usage, "want key=ITEM,LOCATION"},
		{"verify --quiesce --expect-diagnostics a --write-diagnostics b", exit.Usage, "exclude each other"},
		{"verify --quiesce --expect-diagnostics " + manifest + ".absent", exit.ManifestInvalid, "read expected diagnostics"},
		{"verify --quiesce -o pdf", exit.Usage, "want one of text, json"},
		{"verify --quiesce a b", exit.Usage, `verify wants [FILE], not "a" "b"`},
		{"verify --quiesce", exit.Usage, "no database given"},
		{"verify --quiesce -n other " + manifest, exit.Usage, "the manifest is of shop"},
		{"verify --quiesce " + manifest + ".absent", exit.ManifestInvalid, "read manifest"},
		{"verify --quiesce --database-url postgres://127.0.0.1:1/x --brokers 127.0.0.1:1", exit.Error, "127.0.0.1:1"},
		{"export", exit.Usage, "--out"},
		{"export --out x", exit.Usage, "no database given"},
	} {
		code, stdout, stderr := amendsctl(nil, strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(stderr, c.want) || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want %d, %q", c.args, code, stdout, stderr, c.code, c.want)
		}
	}
}

// TestCommandLine: the verbs as people call them, on real stages.
func TestCommandLine(t *testing.T) {
	p := newPipeline(t, kafkatest.Fake(t), 0)
	for _, stage := range []string{worker.Stage, relay.Stage, view.Stage} {
		p.start(stage)
	}
	env := map[string]string{"AMENDS_DATABASE_URL": p.url, "AMENDS_BROKERS": strings.Join(p.kafka.Brokers, ",")}
	p.produce(record("bolt", "oslo", "b1", 1, "NEW", "2026-01-02", 5))
	verify := func(code exit.Code, status report.Status) {
		t.Helper()
		gotCode, text, progress := amendsctl(env, "verify", "--quiesce", "-v")
		if gotCode != code || !strings.HasPrefix(text, string(status)+" shop: ") || !strings.Contains(progress, "s recheck") {
			t.Fatalf("exit %d, want %d %s\n%s\n%s", gotCode, code, status, text, progress)
		}
		gotCode, data, stderr := amendsctl(env, "verify", "--quiesce", "-n", "shop", "--engine", "reference", "-o", "json")
		var r report.Report
		if err := json.Unmarshal([]byte(data), &r); err != nil || gotCode != code || r.Status != status || r.ExitCode != code || stderr != "" {
			t.Fatalf("exit %d, %v, %s\n%s\n%s", gotCode, err, r.Status, data, stderr)
		}
		if r.Code == "" || r.Engine != "reference" {
			t.Errorf("code %q, engine %q", r.Code, r.Engine)
		}
	}
	verify(exit.OK, report.Pass)
	exec(t, p.viewDB, `UPDATE balance SET close = close + 1`)
	verify(exit.Drift, report.Drift)

	dir := filepath.Join(t.TempDir(), "history")
	code, data, stderr := amendsctl(env, "export", "--out", dir, "-o", "json")
	var exported struct {
		H       []int64
		Records int64
	}
	if err := json.Unmarshal([]byte(data), &exported); err != nil || code != exit.OK || exported.Records != 1 || len(exported.H) != 2 {
		t.Fatalf("exit %d, %v\n%s\n%s", code, err, data, stderr)
	}
	code, text, stderr := amendsctl(env, "export", "-n", "shop", "--out", dir)
	if code != exit.OK || !strings.Contains(text, "0 records added, 1 in "+dir) {
		t.Errorf("exit %d\n%s\n%s", code, text, stderr)
	}
	if code, _, stderr := amendsctl(env, "verify", "--quiesce", "-n", "absent"); code != exit.Error || !strings.Contains(stderr, "not applied") {
		t.Errorf("absent namespace: exit %d, %s", code, stderr)
	}
}
