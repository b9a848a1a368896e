package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corpus "amends.dev/amends/conformance"
	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/conformance"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/testkit/pg"
)

// invoke runs the verb and returns its streams and its exit code.
func invoke(args ...string) (stdout, stderr string, code exit.Code) {
	var out, errs bytes.Buffer
	a := &app.App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Now: time.Now}
	cmd := conformance.New(a)
	cmd.PersistentFlags().StringP("output", "o", "text", "")
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(context.Background())
	if err != nil {
		errs.WriteString(err.Error())
	}
	return out.String(), errs.String(), exit.Of(err)
}

// copied writes some scenarios into a folder, edited.
func copied(t *testing.T, edit func(name, text string) string, ids ...string) string {
	t.Helper()
	folder, err := corpus.Amends()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, id := range ids {
		err := fs.WalkDir(folder, id, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(folder, name)
			if err != nil {
				return err
			}
			to := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			return os.WriteFile(to, []byte(edit(name, string(text))), 0o600)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func unchanged(_, text string) string { return text }

func TestOwnCorpusWithoutServers(t *testing.T) {
	stdout, stderr, code := invoke("amends", "--levels", "core,oracle")
	if code != exit.OK || strings.Contains(stdout, "FAIL") {
		t.Fatalf("exit %d, %s\n%s", code, stderr, stdout)
	}
	for _, line := range []string{
		"SC02  Quantity amendment                               ok    ok",
		"SC22  Malformed input and atomic quarantine            ok    ok",
		"SC23  Replay into intact state                         ok    ok",
	} {
		if !strings.Contains(stdout, line) {
			t.Errorf("no line %q in\n%s", line, stdout)
		}
	}
	if lines := strings.Count(stdout, "\nSC"); lines != 28 {
		t.Errorf("%d scenarios in the table, want 28", lines)
	}
}

// TestFlippedExpectationFails: 50 becomes 51 in one place, and nothing else is different.
func TestFlippedExpectationFails(t *testing.T) {
	twin := copied(t, unchanged, "SC02", "SC17")
	if stdout, stderr, code := invoke("amends", twin, "--levels", "core,oracle"); code != exit.OK {
		t.Fatalf("undamaged twin: exit %d, %s\n%s", code, stderr, stdout)
	}
	damaged := copied(t, func(name, text string) string {
		if name != "SC02/scenario.yaml" {
			return text
		}
		before, after, found := strings.Cut(text, "{day: 2026-01-03, close: 100}")
		if !found {
			t.Fatal("the close of Day 3 is not there")
		}
		return before + "{day: 2026-01-03, close: 101}" + after
	}, "SC02", "SC17")
	stdout, stderr, code := invoke("amends", damaged, "--levels", "core,oracle")
	if code != exit.Error || !strings.Contains(stdout, "FAIL SC02 at oracle") || !strings.Contains(stdout, "Close:101") || strings.Contains(stdout, "FAIL SC17") {
		t.Errorf("exit %d, %s\n%s", code, stderr, stdout)
	}
	stdout, _, code = invoke("amends", damaged, "--levels", "core,oracle", "-o", "json")
	var document struct {
		Passed    bool `json:"passed"`
		Scenarios []struct {
			ID     string            `json:"id"`
			Levels map[string]string `json:"levels"`
		} `json:"scenarios"`
		Outcomes []struct {
			Scenario string   `json:"scenario"`
			Faults   []string `json:"faults"`
		} `json:"outcomes"`
	}
	if err := json.Unmarshal([]byte(stdout), &document); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	if code != exit.Error || document.Passed || len(document.Scenarios) != 2 || document.Scenarios[0].Levels["core"] != "FAIL" || len(document.Outcomes[0].Faults) == 0 {
		t.Errorf("exit %d, %+v", code, document)
	}
}

func TestOnServers(t *testing.T) {
	pg.New(t) // skips, or fails, where there is no Postgres
	stdout, stderr, code := invoke("amends", copied(t, unchanged, "SC02", "SC18"))
	if code != exit.OK || !strings.Contains(stdout, "SC18  Crash before or after worker commit  ok    ok      ok     ok") {
		t.Errorf("exit %d, %s\n%s", code, stderr, stdout)
	}
}

func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code exit.Code
		want string
	}{
		"unknown level": {[]string{"amends", "--levels", "core,moon"}, exit.Usage, "moon"},
		"no level":      {[]string{"amends", "--levels", ""}, exit.Usage, "level"},
		"absent folder": {[]string{"amends", "absent", "--levels", "core"}, exit.Error, "read the corpus: stat absent"},
		"bad scenario":  {[]string{"amends", copied(t, func(_, text string) string { return "x: y\n" + text }, "SC01"), "--levels", "core"}, exit.Error, "SC01/scenario.yaml"},
	} {
		if stdout, stderr, code := invoke(c.args...); code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d (want %d), %q, %q", name, code, c.code, stdout, stderr)
		}
	}
}
