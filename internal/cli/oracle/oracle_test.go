package oracle_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/oracle"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/vectorized/snapshot"
)

// invoke runs the verb and returns its streams and its exit code.
func invoke(stdin string, args ...string) (stdout, stderr string, code exit.Code) {
	var out, errs bytes.Buffer
	a := &app.App{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }}
	cmd := oracle.New(a)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(context.Background())
	if err != nil {
		errs.WriteString(err.Error())
	}
	return out.String(), errs.String(), exit.Of(err)
}

// export writes a history as a snapshot.
func export(t *testing.T, h oracletest.History, records []engine.Record) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	partitions := h.Namespace.Spec.Source.Partitions
	meta := snapshot.Meta{
		Namespace: h.Namespace.Name, NamespaceDigest: h.Namespace.NamespaceDigest(), BusinessDigest: h.Namespace.BusinessDigest("id"),
		TopicID: "id", Starts: make([]int64, partitions), Ends: make([]int64, partitions), Isolation: snapshot.ReadCommitted,
	}
	for _, r := range records {
		meta.Ends[r.Partition] = r.Offset + 1
	}
	w, err := snapshot.Create(dir, h.Namespace, meta)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append(records); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestHistories compares what is printed with expected.json, byte for byte, from the record file and from a snapshot.
func TestHistories(t *testing.T) {
	for _, h := range oracletest.All(t) {
		want, err := os.ReadFile(filepath.Join(h.Dir, "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		manifest := filepath.Join(h.Dir, "manifest.yaml")
		set := export(t, h, h.Records)
		for _, engine := range []string{"arrow", "reference"} {
			for _, records := range []string{filepath.Join(h.Dir, "records.jsonl"), set} {
				stdout, stderr, code := invoke("", "--manifest", manifest, "--records", records, "--engine", engine)
				if code != exit.OK || stdout != string(want) {
					t.Errorf("%s, %s, %s: exit %d, %s\n%s\nwant\n%s", h.Name, engine, records, code, stderr, stdout, want)
				}
			}
		}
	}
}

// TestNotes says what was not read.
func TestNotes(t *testing.T) {
	h := oracletest.All(t)[0]
	manifest := filepath.Join(h.Dir, "manifest.yaml")
	set := export(t, h, h.Records)
	if _, stderr, _ := invoke("", manifest, "--records", set); stderr != "raw: not read\n" {
		t.Errorf("arrow: %q", stderr)
	}
	if _, stderr, _ := invoke("", manifest, "--records", set, "--engine", "reference"); stderr != "typed: not read\n" {
		t.Errorf("reference: %q", stderr)
	}
}

// TestOtherConfiguration computes a snapshot under a manifest with another origin: the typed columns hold another
// judgement and must not be used.
func TestOtherConfiguration(t *testing.T) {
	h := oracletest.All(t)[0]
	set := export(t, h, h.Records)
	data, err := os.ReadFile(filepath.Join(h.Dir, "manifest.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(data), "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z", 1)
	if other == string(data) {
		t.Fatal("the manifest has another origin than this test changes")
	}
	manifest := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(manifest, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	want, _, code := invoke("", manifest, "--records", filepath.Join(h.Dir, "records.jsonl"), "--engine", "reference")
	if code != exit.OK || !strings.Contains(want, "before_ledger_origin") {
		t.Fatalf("exit %d: %s", code, want)
	}
	got, stderr, code := invoke("", manifest, "--records", set)
	if code != exit.OK || got != want || !strings.HasPrefix(stderr, "typed: not read") {
		t.Errorf("exit %d, %s\n%s\nwant\n%s", code, stderr, got, want)
	}
}

// TestOtherPartitions: the history of a topic with another number of partitions is not that of the manifest's.
func TestOtherPartitions(t *testing.T) {
	h := oracletest.All(t)[0]
	set := export(t, h, h.Records)
	data, err := os.ReadFile(filepath.Join(h.Dir, "manifest.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	one := fmt.Sprintf("partitions: %d", h.Namespace.Spec.Source.Partitions)
	if !strings.Contains(string(data), one) {
		t.Fatalf("the manifest has no %s", one)
	}
	manifest := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(manifest, []byte(strings.Replace(string(data), one, "partitions: 7", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"arrow", "reference"} {
		stdout, stderr, code := invoke("", manifest, "--records", set, "--engine", engine)
		if code != exit.Error || stdout != "" || !strings.Contains(stderr, "of the manifest is 7") {
			t.Errorf("%s: exit %d, %q, %s", engine, code, stdout, stderr)
		}
	}
}

func TestStdin(t *testing.T) {
	h := oracletest.All(t)[0]
	data, err := os.ReadFile(filepath.Join(h.Dir, "records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	want, _, _ := invoke("", filepath.Join(h.Dir, "manifest.yaml"), "--records", filepath.Join(h.Dir, "records.jsonl"))
	if got, stderr, code := invoke(string(data), filepath.Join(h.Dir, "manifest.yaml"), "--records", "-"); code != exit.OK || got != want || got == "" {
		t.Errorf("exit %d, %s: %s", code, stderr, got)
	}
}

// TestFailures have their exit code, print no projection, and name what is wrong.
func TestFailures(t *testing.T) {
	h := oracletest.All(t)[0]
	manifest := filepath.Join(h.Dir, "manifest.yaml")
	records := filepath.Join(h.Dir, "records.jsonl")
	damaged := export(t, h, h.Records)
	parts, err := filepath.Glob(filepath.Join(damaged, "part-*.parquet"))
	if err != nil || len(parts) == 0 {
		t.Fatal(parts, err)
	}
	if err := os.Truncate(parts[0], 100); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "broken.jsonl")
	if err := os.WriteFile(broken, []byte("{\"partition\":0}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		code exit.Code
		text string
	}{
		{"no manifest", []string{"--records", records}, exit.Usage, "no manifest"},
		{"no records", []string{manifest}, exit.Usage, "--records"},
		{"both stdin", []string{"-", "--records", "-"}, exit.Usage, "stdin"},
		{"unknown engine", []string{manifest, "--records", records, "--engine", "duck"}, exit.Usage, "duck"},
		{"bad manifest", []string{records, "--records", records}, exit.ManifestInvalid, "records.jsonl"},
		{"absent manifest", []string{"absent.yaml", "--records", records}, exit.ManifestInvalid, "absent.yaml"},
		{"absent records", []string{manifest, "--records", "absent.jsonl"}, exit.Error, "absent.jsonl"},
		{"no snapshot", []string{manifest, "--records", h.Dir}, exit.Error, "snapshot.json"},
		{"damaged snapshot", []string{manifest, "--records", damaged}, exit.Error, filepath.Base(parts[0])},
		{"broken records", []string{manifest, "--records", broken}, exit.Error, "broken.jsonl:1"},
	} {
		stdout, stderr, code := invoke("", c.args...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.text) {
			t.Errorf("%s: exit %d (want %d), stdout %q, stderr %q", c.name, code, c.code, stdout, stderr)
		}
	}
	if _, stderr, code := invoke("", manifest, "--records", damaged, "--engine", "reference"); code != exit.OK {
		t.Errorf("reference needs no typed file: exit %d, %s", code, stderr)
	}
}
