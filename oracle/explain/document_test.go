package explain_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"amends.dev/amends/internal/testkit/schema"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/explain"
)

// update writes the golden files anew.
var update = flag.Bool("update", false, "write the golden files of testdata anew")

// envelope is an output record's value about the widget, as the worker writes it.
func envelope(cause, id, payload, source, kind, version string) []byte {
	return []byte(`{"cause":` + cause + `,"namespace":"shop","output_id":` + id + `,"payload":` + payload +
		`,"schema_version":1,"source":` + source + `,"type":"` + kind + `","version":` + version + `}`)
}

// stated are the envelopes of the widget's first day: stated, restated, and the status.
func stated() [][]byte {
	const id, status = `["shop","balance","widget","berlin","2026-01-01"]`, `["shop","key-status","widget","berlin"]`
	first, second := `{"offset":0,"partition":0,"topic_id":"AAAAAAAAAAAAAAAAAAAAAA"}`, `{"offset":3,"partition":0,"topic_id":"AAAAAAAAAAAAAAAAAAAAAA"}`
	return [][]byte{
		envelope(`{"revision":1,"txn_id":"i1"}`, id, `{"close":50,"day":"2026-01-01","item":"widget","location":"berlin"}`, first, "BalanceStated", "1"),
		envelope(`{"revision":1,"txn_id":"i1"}`, status, `{"conflicts":[],"item":"widget","location":"berlin","status":"READY"}`, first, "KeyStatusStated", "1"),
		envelope(`{"revision":2,"txn_id":"i1"}`, id, `{"close":70,"day":"2026-01-01","item":"widget","location":"berlin"}`, second, "BalanceStated", "2"),
		envelope(`null`, `["shop","alert","widget","berlin","2026-01-01"]`, `null`, second, "AlertRetracted", "2"),
	}
}

// gather observes the envelopes as records of the widget from offset 10, the first of them twice, beside a view at a frontier.
func gather(t *testing.T, rows []explain.Fact, frontier int64) []explain.Version {
	t.Helper()
	e := explain.NewEnvelopes("shop", widget)
	values := stated()
	values = append(values, values[0])
	for i, value := range values {
		if err := e.Observe(0, int64(10+i), decode.BrokerKey("widget", "berlin"), value); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Observe(0, 9, decode.BrokerKey("bolt", "oslo"), []byte("of another key")); err != nil {
		t.Fatal(err)
	}
	return e.Versions(rows, frontier)
}

// sample is a document with everything in it but a conflict.
func sample(t *testing.T) explain.Document {
	t.Helper()
	k := collect(t, record(0, "i1", 1, "NEW", "2026-01-01T09:00:00Z", -50), record(1, "c 2", 1, "CANCEL", "2026-01-02T09:00:00Z", 0),
		record(2, "i1", 1, "NEW", "2026-01-01T09:00:00Z", -50), record(3, "i1", 2, "AMEND", "2026-01-01T09:00:00.5Z", -30),
		record(4, "i3", 1, "NEW", "2026-01-03T00:00:00Z", -20), record(5, "bad", 0, "NEW", "2026-01-03T00:00:00Z", 1))
	seventy, frontier, end := int64(70), int64(13), int64(15)
	rows := []explain.Fact{
		{Family: explain.FamilyStatus, Version: 1, Present: true, Status: explain.Ready},
		{Family: explain.FamilyBalance, Day: "2026-01-01", Version: 2, Present: true, Close: &seventy},
	}
	return explain.Document{
		SchemaVersion: explain.SchemaVersion, Namespace: "shop", Digest: "aa",
		Source: explain.Source{Name: "in", TopicID: "S", From: []int64{0}, Through: []int64{6}, Records: 6},
		Key:    k, Versions: gather(t, rows, frontier), View: rows, ViewFrontier: &frontier, OutputEnd: &end,
	}
}

// documents are documents by the name of their golden files.
func documents(t *testing.T) map[string]explain.Document {
	t.Helper()
	ready := sample(t)
	blocked := ready
	blocked.Key = collect(t, record(0, "t", 2, "NEW", "2026-01-01T00:00:00Z", 5), record(1, "t", 2, "AMEND", "2026-01-02T00:00:00Z", 6))
	blocked.Versions, blocked.View, blocked.ViewFrontier, blocked.OutputEnd = nil, nil, nil, nil
	blocked.Source = explain.Source{Name: "history.jsonl", From: []int64{}, Through: []int64{}, Records: 2}
	untouched := blocked
	untouched.Key = collect(t)
	lost := untouched
	lost.Source = explain.Source{Name: "in", TopicID: "S", From: []int64{5, 0}, Through: []int64{7, 3}, Records: 5}
	return map[string]explain.Document{"ready": ready, "blocked": blocked, "untouched": untouched, "day": ready.OnDay("2026-01-03"),
		"early": ready.OnDay("2025-12-31"), "quiet": untouched.OnDay("2026-01-03"), "between": ready.OnDay("2026-01-02"), "lost": lost}
}

// TestGolden: text as it was looked at.
func TestGolden(t *testing.T) {
	for name, d := range documents(t) {
		var b bytes.Buffer
		if err := explain.Text(&b, d); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if b.String() != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, b.String(), want)
		}
	}
}

// TestSchema: documents match schemas/explain.json, which accepts nothing else.
func TestSchema(t *testing.T) {
	compiled := schema.Compile(t, "explain.json")
	for name, d := range documents(t) {
		var b bytes.Buffer
		if err := explain.JSON(&b, d); err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(&b)
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		doc.(map[string]any)["key"].(map[string]any)["surplus"] = 1
		if compiled.Validate(doc) == nil {
			t.Errorf("%s: the schema accepts an unknown member", name)
		}
	}
}

// TestVersionsInView: each version says what became of it in the view, and a repeat is counted.
func TestVersionsInView(t *testing.T) {
	seventy, other := int64(70), int64(71)
	balance := func(version int64, present bool, value *int64) []explain.Fact {
		return []explain.Fact{{Family: explain.FamilyBalance, Day: "2026-01-01", Version: version, Present: present, Close: value}}
	}
	for _, c := range []struct {
		rows     []explain.Fact
		frontier int64
		first    explain.InView
		second   explain.InView
	}{
		{balance(2, true, &seventy), 15, explain.Passed, explain.Applied},
		{balance(2, true, &other), 15, explain.Passed, explain.Differs},
		{balance(2, false, &seventy), 15, explain.Passed, explain.Differs},
		{balance(3, true, &other), 15, explain.Passed, explain.Passed},
		{balance(1, true, &other), 12, explain.Differs, explain.Awaited},
		{balance(1, true, &other), 13, explain.Differs, explain.Lacking},
		{[]explain.Fact{}, 10, explain.Awaited, explain.Awaited},
		{[]explain.Fact{}, 11, explain.Lacking, explain.Awaited},
		{[]explain.Fact{}, 15, explain.Lacking, explain.Lacking},
		{nil, 15, "", ""},
	} {
		var got []explain.InView
		for _, v := range gather(t, c.rows, c.frontier) {
			if v.Family == explain.FamilyBalance {
				got = append(got, v.InView)
			}
		}
		if len(got) != 2 || got[0] != c.first || got[1] != c.second {
			t.Errorf("%+v: %q, want %q, %q", c.rows, got, c.first, c.second)
		}
	}
	if v := gather(t, nil, 0); len(v) != 4 || v[0].Family != explain.FamilyStatus || v[1].Copies != 1 || v[1].Offset != 10 {
		t.Errorf("%+v", v)
	}
}

// TestViewOfDaysWithoutActivity: what the view shows on a day on which nothing is active is said, withdrawn facts are not,
// and a day that was asked for is answered.
func TestViewOfDaysWithoutActivity(t *testing.T) {
	text := func(d explain.Document) string {
		var b strings.Builder
		if err := explain.Text(&b, d); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const shows = "THE VIEW SHOWS"
	d := sample(t)
	if got := text(d); strings.Contains(got, shows) {
		t.Fatalf("the undamaged view:\n%s", got)
	}
	seven := int64(7)
	d.View = append(d.View, explain.Fact{Family: explain.FamilyBalance, Day: "2026-01-09", Version: 3, Present: true, Close: &seven},
		explain.Fact{Family: explain.FamilyAlert, Day: "2026-01-10", Version: 4})
	const want = "  2026-01-09  THE VIEW SHOWS what no active transaction makes: balance version 3 close 7\n"
	if got := text(d); strings.Count(got, want) != 1 || strings.Count(got, shows) != 1 {
		t.Errorf("all days:\n%s", got)
	}
	if got := text(d.OnDay("2026-01-09")); !strings.Contains(got, "2026-01-09  no active transaction on this day: its close is 50, the close of 2026-01-03\n"+want) {
		t.Errorf("that day:\n%s", got)
	}
	if got := text(d.OnDay("2026-01-10")); !strings.Contains(got, "2026-01-10  no active transaction on this day: its close is 50, the close of 2026-01-03\n") || strings.Contains(got, shows) {
		t.Errorf("another day:\n%s", got)
	}
	if got := text(d.OnDay("2026-01-03")); strings.Contains(got, "no active transaction") {
		t.Errorf("a day with activity:\n%s", got)
	}
	d.Key = d.Key.Limited(1, nil)
	if got := text(d); strings.Contains(got, shows) {
		t.Errorf("some days left out:\n%s", got)
	}
}

// TestLimitedVersions: of each fact the highest versions are kept, and the rest is counted and said.
func TestLimitedVersions(t *testing.T) {
	d := sample(t)
	if got := d.Limited(2); len(got.Versions) != 4 || got.OmittedVersions != 0 {
		t.Fatalf("nothing to leave out: %+v", got.Versions)
	}
	got := d.Limited(1)
	if len(got.Versions) != 3 || got.OmittedVersions != 1 || got.Versions[1].Family != explain.FamilyBalance || got.Versions[1].Version != 2 || len(got.Key.Days) != 1 {
		t.Errorf("%d left out: %+v", got.OmittedVersions, got.Versions)
	}
	if len(d.Versions) != 4 || d.OmittedVersions != 0 || d.Limited(0).OmittedVersions != 0 {
		t.Errorf("the document changed: %+v", d)
	}
	var b strings.Builder
	if err := explain.Text(&b, got); err != nil || !strings.Contains(b.String(), "output versions (3, 1 more not listed):") {
		t.Errorf("%v:\n%s", err, b.String())
	}
	if d.Versions = nil; d.Limited(1).Versions != nil {
		t.Error("a history without an output topic has versions")
	}
}

// TestEnvelopesThatCannotBeRead name their place.
func TestEnvelopesThatCannotBeRead(t *testing.T) {
	good := string(stated()[0])
	for _, c := range []struct{ from, to, want string }{
		{"", "", ""},
		{`"namespace":"shop"`, `"namespace":"other"`, "namespace other"},
		{`"balance"`, `"sum"`, "unknown output ID"},
		{`"version":1`, `"version":1,"surplus":1`, "surplus"},
		{`{"cause"`, `"cause"`, "offset 7"},
	} {
		err := explain.NewEnvelopes("shop", widget).Observe(0, 7, decode.BrokerKey("widget", "berlin"), []byte(strings.Replace(good, c.from, c.to, 1)))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "partition 0 offset 7")) {
			t.Errorf("%q: %v", c.to, err)
		}
	}
}

func TestNamesCannotMislead(t *testing.T) {
	for in, want := range map[string]string{"a": "a", "": `""`, "a/b": `"a/b"`, "a b": `"a b"`, "é": "é", "\u202e": `"\u202e"`, "a\nPASS": `"a\nPASS"`} {
		if got := explain.Plain(in); got != want {
			t.Errorf("Plain(%q) = %s, want %s", in, got, want)
		}
	}
}
