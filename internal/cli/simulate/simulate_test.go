package simulate_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/simulate"
	"amends.dev/amends/internal/exit"
)

// invoke runs the verb and returns its stdout and error.
func invoke(stdin string, args ...string) (string, error) {
	var stdout bytes.Buffer
	a := &app.App{Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: io.Discard, Getenv: func(string) string { return "" }}
	cmd := simulate.New(a)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.Execute()
	return stdout.String(), err
}

// own is the folder of the project's histories.
const own = "../../../testdata/histories"

// document is the printed shape.
type document struct {
	Envelopes   []json.RawMessage `json:"envelopes"`
	Projection  json.RawMessage   `json:"projection"`
	Uncertified struct {
		Balances, Alerts []json.RawMessage
	} `json:"uncertified"`
	Stopped *struct {
		Partition, Offset int64
		Reason            string
	} `json:"stopped"`
}

// parse decodes the output strictly.
func parse(t *testing.T, text string) document {
	t.Helper()
	var doc document
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&doc); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return doc
}

func TestPrintsWhatTheFixtureExpects(t *testing.T) {
	for _, name := range []string{"h100", "h104", "h107"} {
		folder := filepath.Join(own, name)
		out, err := invoke("", filepath.Join(folder, "manifest.yaml"), "--records", filepath.Join(folder, "records.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		doc := parse(t, out)
		want, err := os.ReadFile(filepath.Join(folder, "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		if string(doc.Projection)+"\n" != string(want) {
			t.Errorf("%s: want %s, got %s", name, want, doc.Projection)
		}
		envelopes, err := os.ReadFile(filepath.Join(folder, "envelopes.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.ReplaceAll(strings.TrimSpace(string(envelopes)), "\n", ",\n"); !strings.Contains(out, want) {
			t.Errorf("%s: the envelopes are not printed byte for byte: %s", name, out)
		}
		if doc.Stopped != nil || strings.Contains(out, "stopped") {
			t.Errorf("%s: stopped", name)
		}
	}
}

func TestR13UncertifiedRowsAreApart(t *testing.T) {
	folder := filepath.Join(own, "h104")
	out, err := invoke("", "--manifest", filepath.Join(folder, "manifest.yaml"), "--records", filepath.Join(folder, "records.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	doc := parse(t, out)
	if len(doc.Uncertified.Balances) != 2 || len(doc.Uncertified.Alerts) != 1 || !strings.Contains(string(doc.Projection), `"balances": []`) {
		t.Errorf("want the retained rows of the blocked key under uncertified only, got %s", out)
	}
}

// overflowing is B085: a key opens 7 below the bound of int64.
const overflowing = `apiVersion: amends.dev/v1
kind: Namespace
metadata: {name: demo}
spec:
  ledgerOrigin: "2026-01-01T00:00:00Z"
  source: {topic: a, partitions: 1, partitioner: murmur2}
  output: {topic: b, partitions: 1}
  stockKeys: [{item: A, location: L, openingBalance: 9223372036854775800, reorderThreshold: 0}]
`

// line is a record of that key.
func line(offset, qty, txn string) string {
	payload := `{"txn_id":"` + txn + `","revision":1,"kind":"NEW","stock_key":{"item":"A","location":"L"},` +
		`"valid_time":"2026-01-01T10:00:00Z","qty":` + qty + `,"source_time":"2026-01-01T10:00:00Z"}`
	quoted, err := json.Marshal(payload)
	if err != nil {
		panic(err) // a string always marshals
	}
	return `{"partition":0,"offset":` + offset + `,"key":"[\"A\",\"L\"]","payload":` + string(quoted) + "}\n"
}

func TestB085R09StopIsPrintedAndExits1(t *testing.T) {
	manifest := filepath.Join(t.TempDir(), "m.yaml")
	if err := os.WriteFile(manifest, []byte(overflowing), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := invoke(line("3", "7", "a"), "-f", manifest, "--records", "-")
	if err != nil || len(parse(t, out).Envelopes) != 2 {
		t.Fatalf("undamaged twin: %v, %s", err, out)
	}
	out, err = invoke(line("3", "7", "a")+line("5", "10", "b")+line("6", "-20", "c"), "-f", manifest, "--records", "-")
	if exit.Of(err) != exit.Error || !strings.Contains(err.Error(), "9223372036854775817") {
		t.Errorf("want exit 1 naming the exact close, got %v", err)
	}
	doc := parse(t, out)
	if doc.Stopped == nil || doc.Stopped.Offset != 5 || doc.Stopped.Reason != "arithmetic_overflow" {
		t.Errorf("got %+v", doc.Stopped)
	}
	if len(doc.Envelopes) != 2 || !strings.Contains(string(doc.Projection), "9223372036854775807") {
		t.Errorf("want what was decided before, got %s", out)
	}
}

func TestErrors(t *testing.T) {
	folder := filepath.Join(own, "h100")
	manifest, records := filepath.Join(folder, "manifest.yaml"), filepath.Join(folder, "records.jsonl")
	other := filepath.Join(t.TempDir(), "other.jsonl")
	if err := os.WriteFile(other, []byte(`{"topic":"other","partition":0,"offset":0,"key":null,"payload":null}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		code exit.Code
		want string
	}{
		"no records":      {[]string{manifest}, exit.Usage, "--records"},
		"no manifest":     {[]string{"--records", records}, exit.Usage, "manifest"},
		"both from stdin": {[]string{"-", "--records", "-"}, exit.Usage, "stdin"},
		"not a manifest":  {[]string{records, "--records", records}, exit.ManifestInvalid, ""},
		"absent file":     {[]string{manifest, "--records", records + "x"}, exit.Error, "no such file"},
		"other topic":     {[]string{manifest, "--records", other}, exit.Error, `the record is of topic "other", and the manifest's source topic is "h100.transactions"`},
		"not records":     {[]string{manifest, "--records", manifest}, exit.Error, "manifest.yaml:1: not JSON"},
	} {
		if out, err := invoke("", c.args...); exit.Of(err) != c.code || !strings.Contains(err.Error(), c.want) || out != "" {
			t.Errorf("%s: want exit %d with %q and no output, got %v, %q", name, c.code, c.want, err, out)
		}
	}
}
