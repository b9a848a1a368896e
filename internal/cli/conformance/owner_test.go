package conformance_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corpus "amends.dev/amends/conformance"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/testkit/pg"
)

// ownerCorpus writes our corpus into a folder, edited.
func ownerCorpus(t *testing.T, edit func(name, text string) string) string {
	t.Helper()
	folder, err := corpus.DurableOwner()
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(folder, "*.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range names {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(edit(name, string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// replaced edits the first place of one file.
func replaced(t *testing.T, file, old, other string) func(name, text string) string {
	return func(name, text string) string {
		if name != file {
			return text
		}
		if !strings.Contains(text, old) {
			t.Fatalf("%s has no %s", file, old)
		}
		return strings.Replace(text, old, other, 1)
	}
}

func TestDurableOwnerInMemory(t *testing.T) {
	stdout, stderr, code := invoke("durable-owner")
	if code != exit.OK || strings.Contains(stdout, "FAIL") || !strings.Contains(stdout, "checks on memory: all hold") || stderr != "" {
		t.Fatalf("exit %d, %s\n%s", code, stderr, stdout)
	}
	for _, name := range []string{"atomic_crash_boundary", "ordered_replay", "inbox_outbox_deduplication", "projection_fingerprint"} {
		if !strings.Contains(stdout, "\n"+name+".json  ") {
			t.Errorf("no row of %s in\n%s", name, stdout)
		}
	}
}

func TestDurableOwnerInPostgres(t *testing.T) {
	pg.New(t) // skips, or fails, where there is no Postgres
	stdout, stderr, code := invoke("durable-owner", "--store", "postgres")
	if code != exit.OK || !strings.Contains(stdout, "checks on postgres: all hold") {
		t.Errorf("exit %d, %s\n%s", code, stderr, stdout)
	}
}

// TestDurableOwnerFlipped: one wrong digit, and the file, the scenario, the step and the place are named.
func TestDurableOwnerFlipped(t *testing.T) {
	twin := ownerCorpus(t, unchanged)
	if stdout, stderr, code := invoke("durable-owner", "--corpus", twin); code != exit.OK {
		t.Fatalf("undamaged twin: exit %d, %s\n%s", code, stderr, stdout)
	}
	damaged := ownerCorpus(t, replaced(t, "ordered_replay.json", `"through": 3`, `"through": 4`))
	stdout, _, code := invoke("durable-owner", "--corpus", damaged)
	want := "FAIL ordered_replay.json, positions_are_assigned_by_the_store_without_gaps: step 1 (commit): result.through: want 4, found 3\n"
	if code != exit.Error || !strings.HasSuffix(stdout, want) || strings.Count(stdout, "FAIL") != 3 {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	stdout, _, code = invoke("durable-owner", "--corpus", damaged, "-o", "json")
	var document struct {
		Passed   bool
		Store    string
		Checks   int
		Outcomes []struct {
			File, Scenario, Result string
			Faults                 []string
		}
	}
	if err := json.Unmarshal([]byte(stdout), &document); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	failed := 0
	for _, out := range document.Outcomes {
		if out.Result == "FAIL" {
			failed++
		}
	}
	if code != exit.Error || document.Passed || document.Store != "memory" || document.Checks < 200 || failed != 1 {
		t.Errorf("exit %d, %+v", code, document)
	}
}

func TestDurableOwnerErrors(t *testing.T) {
	odd := ownerCorpus(t, replaced(t, "ordered_replay.json", `"type": "commit"`, `"type": "retire"`))
	for name, c := range map[string]struct {
		args []string
		code exit.Code
		want string
	}{
		"unknown store":     {[]string{"--store", "moon"}, exit.Usage, "moon"},
		"absent folder":     {[]string{"--corpus", "absent"}, exit.Error, "read the corpus: stat absent: no such file"},
		"a file":            {[]string{"--corpus", "owner_test.go"}, exit.Error, "owner_test.go is a file; name the folder"},
		"empty folder":      {[]string{"--corpus", t.TempDir()}, exit.Error, "no JSON file"},
		"unknown operation": {[]string{"--corpus", odd}, exit.Error, "ordered_replay.json: scenario 1 (positions_are_assigned_by_the_store_without_gaps): step 1: op \"retire\""},
		"no server":         {[]string{"--store", "postgres", "--database-url", "postgres://nobody@127.0.0.1:1/none"}, exit.Error, "start Postgres, or check --database-url"},
	} {
		stdout, stderr, code := invoke(append([]string{"durable-owner"}, c.args...)...)
		if code != c.code || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("%s: exit %d (want %d), %q, %q", name, code, c.code, stdout, stderr)
		}
	}
}
