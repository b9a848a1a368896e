package explain_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/explain"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/recordfile"
	"amends.dev/amends/oracle/engine"
	judge "amends.dev/amends/oracle/explain"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/vectorized/snapshot"
)

// tutorial is the folder of the tutorial's history.
const tutorial = "../../../docs/tutorial/history/"

// invoke runs the verb as a command of amendsctl.
func invoke(stdin string, args ...string) (stdout string, err error) {
	var out bytes.Buffer
	a := &app.App{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }}
	root := &cobra.Command{Use: "amendsctl", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().StringP("output", "o", "text", "")
	root.AddCommand(explain.New(a))
	root.SetArgs(append([]string{"explain"}, args...))
	err = root.ExecuteContext(context.Background())
	return out.String(), err
}

// TestSources: a record file, stdin and a snapshot of the same records give the same explanation.
func TestSources(t *testing.T) {
	data, err := os.ReadFile(tutorial + "amended.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want := document(t, "", "--records", tutorial+"amended.jsonl")
	if want.Key.Status != judge.Ready || len(want.Key.Days) != 3 || want.Source.Records != 4 || want.Versions != nil || want.View != nil {
		t.Fatalf("%+v", want)
	}
	for name, got := range map[string]judge.Document{
		"stdin":    document(t, string(data), "--records", "-"),
		"snapshot": document(t, "", "--records", exported(t)),
	} {
		if text(t, got.Key) != text(t, want.Key) || got.Source.Records != 4 || got.Digest != want.Digest {
			t.Errorf("%s: %s\nwant\n%s", name, text(t, got.Key), text(t, want.Key))
		}
	}
	if day := document(t, "", "--records", tutorial+"amended.jsonl", "--day", "2026-01-02"); len(day.Key.Days) != 1 || day.Day != "2026-01-02" {
		t.Errorf("%+v", day)
	}
	if few := document(t, "", "--records", tutorial+"amended.jsonl", "--limit", "2"); len(few.Key.Days) != 2 || few.Key.Omitted.Days != 1 || len(few.Key.Identities) != 2 {
		t.Errorf("%+v", few)
	}
}

// exported is the tutorial's history as a snapshot.
func exported(t *testing.T) string {
	t.Helper()
	manifest, err := os.ReadFile(tutorial + "manifest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ns := oracletest.Namespace(t, "manifest.yaml", manifest)
	dir := filepath.Join(t.TempDir(), "set")
	w, err := snapshot.Create(dir, ns, snapshot.Meta{
		Namespace: ns.Name, NamespaceDigest: ns.NamespaceDigest(), BusinessDigest: ns.BusinessDigest("id"),
		TopicID: "id", Starts: []int64{0}, Ends: []int64{4}, Isolation: snapshot.ReadCommitted,
	})
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range recordfile.ReadFile(tutorial + "amended.jsonl") {
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append([]engine.Record{{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// document runs the verb for the tutorial's key and reads its JSON.
func document(t *testing.T, stdin string, args ...string) judge.Document {
	t.Helper()
	out, err := invoke(stdin, append([]string{"key", "widget", "berlin", "-o", "json", "--manifest", tutorial + "manifest.yaml"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	var d judge.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return d
}

// text is a key as JSON, to be compared.
func text(t *testing.T, k judge.Key) string {
	t.Helper()
	b, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFailures have their exit code and say what is wrong.
func TestFailures(t *testing.T) {
	manifest, records := tutorial+"manifest.yaml", tutorial+"amended.jsonl"
	other := filepath.Join(t.TempDir(), "other.jsonl")
	if err := os.WriteFile(other, []byte(`{"topic":"another","partition":0,"offset":0,"key":null,"payload":null}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code exit.Code
		want string
	}{
		{[]string{}, exit.Usage, "needs a kind: key"},
		{[]string{"key", "widget", "berlin"}, exit.Usage, "no database given"},
		{[]string{"key", "widget", "berlin", "--records", records}, exit.Usage, "--manifest"},
		{[]string{"key", "widget", "berlin", "--records", records, "-n", "a"}, exit.Usage, "one of them"},
		{[]string{"key", "widget", "berlin", "--manifest", manifest, "-n", "a"}, exit.Usage, "one of them"},
		{[]string{"key", "widget", "berlin", "--manifest", "-", "--records", "-"}, exit.Usage, "stdin"},
		{[]string{"key", "widget", "berlin", "--manifest", manifest, "--records", records, "--day", "2026-02-30"}, exit.Usage, "YYYY-MM-DD"},
		{[]string{"key", "widget", "berlin", "--manifest", manifest, "--records", records, "--limit", "-1"}, exit.Usage, "negative"},
		{[]string{"key", "widget", "rome", "--manifest", manifest, "--records", records}, exit.Usage, "widget/rome"},
		{[]string{"key", "widget", "berlin", "--manifest", records, "--records", records}, exit.ManifestInvalid, "amended.jsonl"},
		{[]string{"key", "widget", "berlin", "--manifest", manifest, "--records", other}, exit.Error, "of topic \"another\""},
		{[]string{"key", "widget", "berlin", "--manifest", manifest, "--records", "gone.jsonl"}, exit.Error, "gone.jsonl"},
		{[]string{"key", "widget", "berlin", "--manifest", manifest, "--records", t.TempDir()}, exit.Error, "snapshot"},
		{[]string{"key", "widget", "berlin", "--manifest", manifest, "--records", manifest}, exit.Error, "manifest.yaml:1"},
	} {
		out, err := invoke("", c.args...)
		if err == nil || exit.Of(err) != c.code || !strings.Contains(err.Error(), c.want) || out != "" {
			t.Errorf("%q: exit %d, %v, %q; want %d and %q", c.args, exit.Of(err), err, out, c.code, c.want)
		}
	}
}
