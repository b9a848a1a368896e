package report

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"amends.dev/amends/internal/testkit/schema"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/diagnostics"
)

// update writes the golden files anew.
var update = flag.Bool("update", false, "write the golden files of testdata anew")

// rendered is a report in a format.
func rendered(t *testing.T, r *Report, f Format, limit int) string {
	t.Helper()
	var b bytes.Buffer
	if err := Render(&b, r, f, limit); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// everyReport is one report for each verdict and cause, and the rich ones.
func everyReport(t *testing.T) map[string]*Report {
	t.Helper()
	all := reports()
	all["drifted"], all["blocked-and-drifted"], all["hostile"] = drifted(t), blockedAndDrifted(t), hostile(t)
	return all
}

// TestGolden: every format of the rich report as it was looked at; and twice the same.
func TestGolden(t *testing.T) {
	for name, r := range map[string]*Report{"drifted": drifted(t), "blocked-and-drifted": blockedAndDrifted(t)} {
		for format, ext := range map[Format]string{FormatText: "txt", FormatJSON: "json", FormatMarkdown: "md", FormatJUnit: "xml", FormatHTML: "html"} {
			got := rendered(t, r, format, 100)
			if again := rendered(t, r, format, 100); again != got {
				t.Errorf("%s %s is not deterministic", name, format)
			}
			path := filepath.Join("testdata", name+"."+ext)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s: got\n%s", path, got)
			}
		}
	}
}

func TestFormats(t *testing.T) {
	for _, name := range Formats() {
		if f, err := ParseFormat(name); err != nil || string(f) != name || rendered(t, sample(), f, 0) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), "junit") {
		t.Errorf("an unknown format: %v", err)
	}
	if err := Render(io.Discard, sample(), "xml", 0); err == nil {
		t.Error("an unknown format was rendered")
	}
}

// TestRichReportsMatchSchema: explanations, conflicts with payloads, scope and expected diagnostics included.
func TestRichReportsMatchSchema(t *testing.T) {
	compiled := schema.Compile(t, "report.json")
	for name, r := range everyReport(t) {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(rendered(t, r, FormatJSON, 0)))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		back, err := Parse([]byte(rendered(t, r, FormatJSON, 0)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, want := rendered(t, back, FormatHTML, 0), rendered(t, r, FormatHTML, 0); got != want {
			t.Errorf("%s: the report that was read back looks otherwise", name)
		}
	}
}

// TestJUnitShowsTheVerdict: there is a failure or an error exactly where the exit code is not 0, over every report and
// with diagnostics that are expected or not.
func TestJUnitShowsTheVerdict(t *testing.T) {
	all := everyReport(t)
	exact, stale := reports()["exclusions"], reports()["pass"]
	exact.Expect("f.yaml", &diagnostics.File{Name: "exact", Entries: exact.Diagnostics()})
	stale.Expect("f.yaml", &diagnostics.File{Name: "stale", Entries: reports()["exclusions"].Diagnostics()})
	all["exact"], all["stale"] = exact, stale
	if exact.ExitCode != 0 || stale.ExitCode != 10 {
		t.Fatalf("exit codes %d and %d", exact.ExitCode, stale.ExitCode)
	}
	for name, r := range all {
		text := rendered(t, r, FormatJUnit, 0)
		var doc junitSuites
		if err := xml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		s := doc.Suite
		if bad := s.Failures + s.Errors; (bad == 0) != (r.ExitCode == 0) {
			t.Errorf("%s: exit code %d with %d failures and errors", name, r.ExitCode, bad)
		}
		failures, faults, skipped := strings.Count(text, "<failure"), strings.Count(text, "<error"), strings.Count(text, "<skipped")
		if s.Tests != len(s.Cases) || s.Tests != strings.Count(text, "<testcase") || s.Failures != failures || s.Errors != faults || s.Skipped != skipped {
			t.Errorf("%s: the suite counts %d, %d, %d, %d; the document has %d cases, %d, %d, %d", name, s.Tests, s.Failures, s.Errors, s.Skipped, len(s.Cases), failures, faults, skipped)
		}
		if judged := r.Status != Error && r.Status != Incomplete; judged != (s.Errors == 0) || r.Compared() != (s.Skipped == 0) {
			t.Errorf("%s: %s with %d errors and %d skipped", name, r.Status, s.Errors, s.Skipped)
		}
		for _, c := range s.Cases {
			if passed := c.Failure == nil && c.Error == nil && c.Skipped == nil; passed && !r.Compared() && c.Name != "boundary" {
				t.Errorf("%s: %s passed, and nothing was compared", name, c.Name)
			}
		}
		if r.ExitCode != 0 && !strings.Contains(text, `type="`+string(r.Status)+`"`) && name != "stale" {
			t.Errorf("%s: no case has the type %s", name, r.Status)
		}
	}
}

// TestMarkdownFitsAComment: whatever the report's size, within the limit, whole, and saying what was left out.
func TestMarkdownFitsAComment(t *testing.T) {
	r := hostile(t)
	for range 4000 {
		r.Rejections = append(r.Rejections, r.Rejections[0])
		r.Differences = append(r.Differences, r.Differences[0])
		r.Errors = append(r.Errors, boundary.Reason{Phase: boundary.PhaseScan, Reason: strings.Repeat(hostileName, 50)})
		r.Conflicts = append(r.Conflicts, r.Conflicts[0])
	}
	r.Judge()
	text := rendered(t, r, FormatMarkdown, 0)
	if len(text) > markdownBytesMax || !strings.Contains(text, "more that do not fit") {
		t.Errorf("%d bytes", len(text))
	}
	if open, closed := strings.Count(text, "<details>"), strings.Count(text, "</details>"); open != closed || open == 0 {
		t.Errorf("%d <details>, %d </details>", open, closed)
	}
}

// TestMarkdownBeginsWithTheStatus: as it is spelt everywhere, so that a search through comments finds it.
func TestMarkdownBeginsWithTheStatus(t *testing.T) {
	seen := map[Status]bool{}
	for name, r := range everyReport(t) {
		seen[r.Status] = true
		if text := rendered(t, r, FormatMarkdown, 0); !strings.HasPrefix(text, "**"+string(r.Status)+" ") {
			t.Errorf("%s begins %.60s", name, text)
		}
	}
	if !seen[Exclusions] {
		t.Error("no report with exclusions")
	}
}

// TestMarkdownTables: every row of a table has as many cells as its head, whatever the names.
func TestMarkdownTables(t *testing.T) {
	for name, r := range everyReport(t) {
		cells := 0
		for line := range strings.Lines(rendered(t, r, FormatMarkdown, 0)) {
			switch n := strings.Count(line, "|"); {
			case !strings.HasPrefix(line, "|"):
				cells = 0
			case cells == 0:
				cells = n
			case n != cells:
				t.Errorf("%s: %d bars, want %d: %s", name, n, cells, line)
			}
		}
	}
}

// TestHostileNames: what breaks out of one format or misleads a reader never stands in it raw; and it is still there,
// quoted.
func TestHostileNames(t *testing.T) {
	r := hostile(t)
	for _, format := range []Format{FormatText, FormatMarkdown, FormatJUnit, FormatHTML} {
		text := rendered(t, r, format, 0)
		for _, c := range text {
			if c < ' ' && c != '\n' && c != '\t' || c == '\u202e' || c == '\u2028' {
				t.Errorf("%s holds %U", format, c)
				break
			}
		}
		if !strings.Contains(text, "onerror") {
			t.Errorf("%s: the name is gone", format)
		}
	}
	for format, forbidden := range map[Format][]string{
		FormatMarkdown: {"<img", "<script", "</script", "<!--", "`", "](", "*_", "@["},
		FormatHTML:     {"<img", "<script", "</script", "]]>", "javascript:"},
		FormatJUnit:    {"<img", "</script", "]]>", "<!--"},
	} {
		text := rendered(t, r, format, 0)
		for _, bad := range forbidden {
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %q", format, bad)
			}
		}
	}
}

// TestHTMLNeedsNothingElse: no script, no reference to anything outside, and the same elements in every report.
func TestHTMLNeedsNothingElse(t *testing.T) {
	outside := regexp.MustCompile(`(?i)<(script|link|img|iframe|object|embed|base)|<[a-z][^<>]*\s(src|href|action|on[a-z]+)\s*=|url\(|@import|https?://`)
	for name, r := range everyReport(t) {
		text := rendered(t, r, FormatHTML, 0)
		if found := outside.FindString(text); found != "" {
			t.Errorf("%s: %q", name, found)
		}
		if strings.Contains(text, "ZgotmplZ") {
			t.Errorf("%s: the template refused a value", name)
		}
		for _, want := range []string{"<!DOCTYPE html>", `<html lang="en">`, "<title>" + string(r.Status), `name="viewport"`, "<h1>", `scope="row"`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", name, want)
			}
		}
		if strings.Count(text, "<svg") != strings.Count(text, `role="img"`)+strings.Count(text, `aria-hidden="true"`) {
			t.Errorf("%s: a picture has neither a name nor is it hidden from readers", name)
		}
	}
}

// TestChart: steps, threshold, crossings and the view's closes stay within the picture, for quantities of any size.
func TestChart(t *testing.T) {
	r := drifted(t)
	k := &r.Explanations[keyIndex(r, "widget")]
	seven := int64(-7)
	c := newChart(k, 3, map[string]*int64{"2026-01-02": &seven, "2026-01-03": nil})
	if len(c.View) != 1 || c.Low != "-7" || c.ID != "chart-3" || !strings.Contains(c.View[0].Text, "the view shows -7, the oracle 50") {
		t.Errorf("%+v", c)
	}
	crossing := 0
	for _, d := range k.Days {
		if d.Crossing {
			crossing++
		}
	}
	if crossing < 2 || len(c.Crossings) != crossing {
		t.Errorf("%d crossings drawn of %d", len(c.Crossings), crossing)
	}
	k.Days[0].Close.Lsh(k.Days[0].Close, 200)
	big := newChart(k, 0, nil)
	if !strings.HasPrefix(big.Path, "M6 ") || !strings.Contains(big.Path, "V18H") || len(big.High) < 60 {
		t.Errorf("%+v", big)
	}
	if newChart(&r.Explanations[1-keyIndex(r, "widget")], 0, nil) != nil {
		t.Error("a key without days has a picture")
	}
	for in, want := range map[int64]string{0: "0", 10: "1", 15: "1.5", -15: "-1.5"} {
		if got := tenths(in); got != want {
			t.Errorf("tenths(%d) = %s, want %s", in, got, want)
		}
	}
}

// TestBecause: a drifted day names the records behind the oracle's close, and the revision that left the day.
func TestBecause(t *testing.T) {
	r := drifted(t)
	want := map[string]string{
		"2026-01-01": "100 -30 = 70; no crossing: the close is not below 60|-30 by issue-1@2 at 0:3",
		"2026-01-20": "no active transaction on this day|issue-6@1 at 0:6 gave way to CANCEL@2 at 0:7",
	}
	seen := map[string]bool{}
	for _, d := range r.Differences {
		if d.Family == compare.FamilyBalance {
			seen[d.Day] = true
			if w := want[d.Day]; w != "" && strings.Join(r.reasons().because(d), "|") != w {
				t.Errorf("%s: %q, want %q", d.Day, r.reasons().because(d), w)
			}
		}
	}
	for day := range want {
		if !seen[day] {
			t.Errorf("%s is not listed: %v", day, slices.Sorted(maps.Keys(seen)))
		}
	}
	if got := shorten(make([]string, 9)); len(got) != reasonsListed+1 || got[reasonsListed] != "and 3 more" {
		t.Errorf("%q", got)
	}
}

func TestRate(t *testing.T) {
	for _, c := range []struct {
		n, millis int64
		want      string
	}{{0, 5, ""}, {5, 0, ""}, {5, 1000, "5 records/s"}, {1_000_000, 333, "3003003 records/s"}} {
		if got := rate(c.n, c.millis, "records"); got != c.want {
			t.Errorf("rate(%d, %d) = %q, want %q", c.n, c.millis, got, c.want)
		}
	}
}

// TestSC25NoCleanCounts: where nothing was compared no format shows counts of differences, clean ones least of all; a
// close outside 64 bits is an ERROR of a comparison that was made.
func TestSC25NoCleanCounts(t *testing.T) {
	shows := func(r *Report, f Format) bool {
		text := rendered(t, r, f, 0)
		return strings.Contains(text, "uncertified") && strings.Contains(text, "differences")
	}
	for _, f := range []Format{FormatText, FormatMarkdown, FormatHTML} {
		for name, want := range map[string]bool{"pass": true, "overflow": true, "incomplete": false, "error": false} {
			if got := shows(reports()[name], f); got != want {
				t.Errorf("%s of %s: counts shown %t, want %t", f, name, got, want)
			}
		}
	}
}
