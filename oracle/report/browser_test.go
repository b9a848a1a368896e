package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"amends.dev/amends/internal/testkit/chromium"
)

// seen is what a browser makes of a page.
type seen struct {
	// Values are the texts of elements that claim to show a JSON value, by its pointer.
	Values [][2]string
	// Width is how wide the document is, Frame how wide its frame.
	Width, Frame int
	Scripts      int
	Loaded       int
	Background   []float64
	Colours      map[string][]float64
	Headings     string
	BadCells     int
	Unnamed      int
	Repeated     []string
}

// probe looks at a page as it was laid out.
const probe = `(() => {
  const style = e => d.defaultView.getComputedStyle(e);
  const rgb = c => c.match(/[0-9.]+/g).map(Number);
  const all = s => [...d.querySelectorAll(s)];
  const ids = all("[id]").map(e => e.id);
  const colours = {};
  for (const s of ["body", ".muted", ".status", ".alarm", "dt", ".axis", ".limit"]) {
    const e = d.querySelector(s);
    if (e) colours[s] = rgb(e.namespaceURI.includes("svg") ? style(e).fill : style(e).color);
  }
  return {
    Values: all("[data-json]").map(e => [e.dataset.json, e.textContent]),
    Width: d.documentElement.scrollWidth, Frame: d.documentElement.clientWidth,
    Scripts: d.scripts.length, Loaded: d.defaultView.performance.getEntriesByType("resource").length,
    Background: rgb(style(d.body).backgroundColor), Colours: colours,
    Headings: all("h1,h2,h3").map(e => e.tagName[1]).join(""),
    BadCells: all("th:not([scope])").length + all("table").filter(t => !t.tHead || t.tHead.rows.length != 1 || [...t.tBodies[0].rows].some(r => [...r.cells].reduce((n, c) => n + c.colSpan, 0) != t.tHead.rows[0].cells.length)).length,
    Unnamed: all("svg").filter(e => e.getAttribute("aria-hidden") != "true" && !(e.getAttribute("aria-labelledby") || "").split(" ").every(id => d.getElementById(id))).length,
    Repeated: ids.filter((id, i) => ids.indexOf(id) != i),
  };
})()`

// view is how a report is looked at.
type view struct {
	name  string
	r     *Report
	width int
	dark  bool
}

// TestHTMLInABrowser: in a real browser, at the width of a desk and of a phone, in light and dark, the page has no script
// and no error, loads nothing, fits, is readable, and every number on it is the one of the JSON.
func TestHTMLInABrowser(t *testing.T) {
	chromium.Path(t)
	for _, v := range []view{
		{"drifted", drifted(t), 1100, false}, {"drifted", drifted(t), 360, true},
		{"hostile", hostile(t), 360, false}, {"incomplete", reports()["combined"], 360, true},
	} {
		t.Run(fmt.Sprintf("%s %d %t", v.name, v.width, v.dark), func(t *testing.T) {
			for _, fault := range look(t, v, rendered(t, v.r, FormatHTML, 0)) {
				t.Error(fault)
			}
		})
	}
}

// TestHTMLInABrowserCatches: the same look finds a script, an error, a wide element, a wrong number, a missing one, a cell
// without scope, a picture without a name and text that cannot be read.
func TestHTMLInABrowserCatches(t *testing.T) {
	chromium.Path(t)
	v := view{"damaged", drifted(t), 360, false}
	page := rendered(t, v.r, FormatHTML, 0)
	damage := func(from, to string) {
		if !strings.Contains(page, from) {
			t.Fatalf("the page lacks %q", from)
		}
		page = strings.Replace(page, from, to, 1)
	}
	damage("</main>", `<script>broken()</script><img src="/gone.png" alt=""><p style="width:2000px">wide</p></main>`)
	damage(`data-json="/counts/records">13<`, `data-json="/counts/records">14<`)
	damage(`data-json="/timings/scanMs"`, `data-other="/timings/scanMs"`)
	damage(`<th scope="row">balances`, `<th>balances`)
	damage(`aria-labelledby="chart-`, `aria-labelledby="gone-`)
	damage("--muted:#57606a", "--muted:#d0d0d0")
	found := strings.Join(look(t, v, page), "\n")
	for _, want := range []string{"1 scripts", "console [\"", "is 2", `/counts/records shows "14", the JSON has "13"`, "/timings/scanMs is not shown", "1 bad tables", "1 unnamed", ".muted has contrast"} {
		if !strings.Contains(found, want) {
			t.Errorf("%q was not found:\n%s", want, found)
		}
	}
}

// look shows a page and returns what is wrong with it.
func look(t *testing.T, v view, page string) []string {
	t.Helper()
	var s seen
	var faults []string
	console := chromium.Probe(t, []byte(page), v.width, v.dark, probe, &s)
	if len(console) > 0 || s.Scripts != 0 || s.Loaded != 0 {
		faults = append(faults, fmt.Sprintf("%d scripts, %d resources, console %q", s.Scripts, s.Loaded, console))
	}
	if s.Width > s.Frame || s.Frame > v.width {
		faults = append(faults, fmt.Sprintf("the page is %d wide in a frame of %d", s.Width, s.Frame))
	}
	if s.BadCells > 0 || s.Unnamed > 0 || len(s.Repeated) > 0 || !strings.HasPrefix(s.Headings, "12") || strings.Contains(s.Headings, "13") {
		faults = append(faults, fmt.Sprintf("%d bad tables or cells, %d unnamed pictures, repeated ids %q, headings %s", s.BadCells, s.Unnamed, s.Repeated, s.Headings))
	}
	return append(append(faults, colourFaults(s, v.dark)...), valueFaults(t, v.r, s.Values)...)
}

// colourFaults wants a dark page where that is asked for and a contrast of at least 4.5 for every text (WCAG 2, AA).
func colourFaults(s seen, dark bool) []string {
	var faults []string
	background := luminance(s.Background)
	if (background < 0.2) != dark {
		faults = append(faults, fmt.Sprintf("dark %t, background %v", dark, s.Background))
	}
	for name, colour := range s.Colours {
		if name == ".status" { // on a ground of its own, whose colours are those of other texts the other way round
			continue
		}
		high, low := max(background, luminance(colour)), min(background, luminance(colour))
		if ratio := (high + 0.05) / (low + 0.05); ratio < 4.5 {
			faults = append(faults, fmt.Sprintf("%s has contrast %.2f", name, ratio))
		}
	}
	return faults
}

// luminance is a colour's relative luminance, without the exponent's exact curve: near enough for a bound.
func luminance(rgb []float64) float64 {
	linear := func(v float64) float64 { v /= 255; return v * v * (0.8 + 0.2*v) }
	return 0.2126*linear(rgb[0]) + 0.7152*linear(rgb[1]) + 0.0722*linear(rgb[2])
}

// valueFaults compares what is shown with the JSON, both ways: what claims to be a JSON value is that value, and every
// count, time and listed close is shown.
func valueFaults(t *testing.T, r *Report, shown [][2]string) []string {
	t.Helper()
	var faults []string
	want := map[string]string{}
	dec := json.NewDecoder(strings.NewReader(rendered(t, r, FormatJSON, 0)))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	flatten("", doc, want)
	have := map[string]bool{}
	for _, v := range shown {
		have[v[0]] = true
		if text, ok := want[v[0]]; !ok || visible(text) != v[1] {
			faults = append(faults, fmt.Sprintf("%s shows %q, the JSON has %q", v[0], v[1], text))
		}
	}
	for _, pointer := range slices.Sorted(maps.Keys(want)) {
		number := r.Compared() && strings.HasPrefix(pointer, "/counts/") || strings.HasPrefix(pointer, "/timings/") ||
			strings.HasPrefix(pointer, "/differences/") && strings.HasSuffix(pointer, "/close")
		if number && !have[pointer] {
			faults = append(faults, pointer+" is not shown")
		}
	}
	if len(have) < 25 {
		faults = append(faults, fmt.Sprintf("only %d values are shown", len(have)))
	}
	return faults
}

// flatten lists the leaves of a JSON document by pointer.
func flatten(pointer string, v any, into map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			flatten(pointer+"/"+name, member, into)
		}
	case []any:
		for i, element := range v {
			flatten(pointer+"/"+strconv.Itoa(i), element, into)
		}
	default:
		into[pointer] = fmt.Sprint(v)
	}
}
