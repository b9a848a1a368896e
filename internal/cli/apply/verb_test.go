package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/testkit/kafka"
)

// verb runs `apply args...` as the program does, with the world's connections in the environment.
func verb(t *testing.T, w *world, environment map[string]string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	env := map[string]string{"AMENDS_DATABASE_URL": w.url, "AMENDS_BROKERS": strings.Join(w.cluster.Seeds, ",")}
	for key, value := range environment {
		env[key] = value
	}
	var out, errs bytes.Buffer
	a := &app.App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Now: time.Now,
		Getenv: func(key string) string { return env[key] }}
	root := &cobra.Command{Use: "amendsctl", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().StringP("output", "o", "text", "")
	root.AddCommand(New(a))
	root.SetArgs(append([]string{"apply"}, args...))
	err = root.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestB112B113NothingIsCreatedFromABadManifest: the undamaged twin is applied last.
func TestB112B113NothingIsCreatedFromABadManifest(t *testing.T) {
	w := newWorld(t, kafkatest.Fake(t))
	before := w.state(t)
	for name, tc := range map[string]struct{ old, with, names string }{
		"B112 duplicate field":     {"reorderThreshold: 60", "reorderThreshold: 40, reorderThreshold: 60", "reorderThreshold"},
		"B112 duplicate stock key": {"item: bolt", "item: widget", "m.yaml:10"},
		"B112 one topic twice":     {w.other, w.source, "spec.output.topic"},
		"B113 misspelt field":      {"reorderThreshold: 60", "reorderTreshold: 40", "reorderTreshold"},
		"B113 other spelling":      {"openingBalance: 5", "Opening_Balance: 5", "Opening_Balance"},
		"B113 foreign field":       {"  ledgerOrigin", "  retentionMinutes: 100\n  ledgerOrigin", "retentionMinutes"},
	} {
		text := strings.Replace(w.manifest, tc.old, tc.with, 1)
		if text == w.manifest {
			t.Fatalf("%s: nothing replaced", name)
		}
		out, _, err := verb(t, w, nil, "--yes", write(t, text))
		wantCode(t, err, exit.ManifestInvalid)
		if !strings.Contains(err.Error(), tc.names) || out != "" {
			t.Errorf("%s: error %q does not name %s; output %q", name, err, tc.names, out)
		}
		if diff := cmp.Diff(before, w.state(t)); diff != "" {
			t.Fatalf("%s: changed (-want +got):\n%s", name, diff)
		}
	}
	_, _, err := verb(t, w, nil, "--yes", write(t, strings.Replace(w.manifest, "spec:", "spec:\n  semanticsVersion: 2", 1)))
	wantCode(t, err, exit.Refused)
	if diff := cmp.Diff(before, w.state(t)); diff != "" {
		t.Fatalf("R03: changed (-want +got):\n%s", diff)
	}
	out, _, err := verb(t, w, nil, "--yes", write(t, w.manifest))
	if err != nil || !strings.HasSuffix(out, "applied demo\n") || !strings.HasPrefix(out, "namespace demo, digest ") {
		t.Fatalf("undamaged twin: %v\n%s", err, out)
	}
}

func TestLookingChangesNothing(t *testing.T) {
	w := newWorld(t, kafkatest.Fake(t))
	path, before := write(t, w.manifest), w.state(t)
	out, _, err := verb(t, w, nil, "--dry-run", "-f", path)
	if err != nil || !strings.Contains(out, "plan: 5 to create") || !strings.HasSuffix(out, "nothing was changed\n") {
		t.Fatalf("dry run: %v\n%s", err, out)
	}
	out, _, err = verb(t, w, nil, "--dry-run", "-o", "json", "--manifest", path)
	var answer struct {
		ToCreate        int
		Applied, DryRun bool
	}
	if err != nil || json.Unmarshal([]byte(out), &answer) != nil || answer.ToCreate != 5 || answer.Applied || !answer.DryRun {
		t.Fatalf("dry run as JSON: %v\n%s", err, out)
	}
	out, _, err = verb(t, w, nil, path)
	wantCode(t, err, exit.Usage)
	if !strings.Contains(err.Error(), "--yes") || !strings.Contains(out, "plan: 5 to create") {
		t.Fatalf("without a terminal: %v\n%s", err, out)
	}
	for _, answer := range []string{"n\n", "\n", "", "yess\n"} {
		_, prompt, err := invoke(t, w, w.parse(t), options{}, answer, true)
		wantCode(t, err, exit.Error)
		if !strings.Contains(prompt, "[y/N]") {
			t.Fatalf("prompt %q", prompt)
		}
	}
	if diff := cmp.Diff(before, w.state(t)); diff != "" {
		t.Fatalf("looking changed (-want +got):\n%s", diff)
	}
	if out, _, err := invoke(t, w, w.parse(t), options{}, "yes\n", true); err != nil || !strings.HasSuffix(out, "applied demo\n") {
		t.Fatalf("confirmed: %v\n%s", err, out)
	}
}

func TestInterruptedPromptChangesNothing(t *testing.T) {
	w := newWorld(t, kafkatest.Fake(t))
	before := w.state(t)
	reader, writer := net.Pipe()
	defer func() { _ = reader.Close(); _ = writer.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := &app.App{Stdin: reader, Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, StdinTTY: true, Now: time.Now}
	if err := confirm(ctx, a, options{}); err == nil {
		t.Fatal("confirmed")
	}
	if diff := cmp.Diff(before, w.state(t)); diff != "" {
		t.Fatalf("changed (-want +got):\n%s", diff)
	}
}

// TestServersThatCannotBeUsed: one line that names what and what to do, and never a password.
func TestServersThatCannotBeUsed(t *testing.T) {
	w := newWorld(t, kafkatest.Fake(t))
	path := write(t, w.manifest)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		env  map[string]string
		code exit.Code
		says []string
	}{
		"no database setting": {map[string]string{"AMENDS_DATABASE_URL": ""}, exit.Usage, []string{"--database-url", "AMENDS_DATABASE_URL"}},
		"no broker setting":   {map[string]string{"AMENDS_BROKERS": ""}, exit.Usage, []string{"--brokers", "AMENDS_BROKERS"}},
		"database down": {map[string]string{"AMENDS_DATABASE_URL": "postgres://anna:hunter2@" + closed + "/demo"}, exit.Error,
			[]string{"anna@" + closed + "/demo", "start Postgres", "AMENDS_DATABASE_URL"}},
		"view database down": {map[string]string{"AMENDS_VIEW_DATABASE_URL": "postgres://anna:hunter2@" + closed + "/demo"}, exit.Error,
			[]string{"anna@" + closed + "/demo", "AMENDS_VIEW_DATABASE_URL"}},
		"no such database": {map[string]string{"AMENDS_DATABASE_URL": strings.Replace(w.url, "/test_", "/absent_", 1)}, exit.Error,
			[]string{"no such database", "createdb"}},
		"unreadable URL": {map[string]string{"AMENDS_DATABASE_URL": "postgres://anna:hunter2@host:port/demo"}, exit.Error,
			[]string{"cannot be read", "AMENDS_DATABASE_URL"}},
		"broker down": {map[string]string{"AMENDS_BROKERS": closed}, exit.Error, []string{closed, "start the broker", "AMENDS_BROKERS"}},
		"SASL user without password": {map[string]string{"AMENDS_SASL_USER": "anna"}, exit.Usage,
			[]string{"anna", "AMENDS_SASL_PASSWORD"}},
	} {
		started := time.Now()
		_, _, err := verb(t, w, tc.env, "--yes", path)
		if got := exit.Of(err); got != tc.code {
			t.Errorf("%s: exit code %d (%v), want %d", name, got, err, tc.code)
			continue
		}
		for _, part := range tc.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not say %q", name, err, part)
			}
		}
		if text := err.Error(); strings.Contains(text, "\n") || strings.Contains(text, "hunter2") {
			t.Errorf("%s: more than one line, or the password: %q", name, text)
		}
		if took := time.Since(started); took > 20*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}
