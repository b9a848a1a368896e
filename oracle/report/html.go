package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/explain"
)

//go:embed page.html
var pageText string

// page is the template of the HTML report. It escapes by context; nothing in a report is trusted as HTML.
var page = template.Must(template.New("report").Parse(pageText))

// HTML writes the report as one page that needs nothing else: no script, no file, no network. At most limit rejections,
// conflicts and out-of-domain days are listed (0: all). An element with a data-json attribute shows exactly the value
// that the JSON form has at that pointer.
func HTML(w io.Writer, r *Report, limit int) error {
	var b strings.Builder
	if err := page.Execute(&b, newPage(r, limit)); err != nil {
		return err
	}
	_, err := io.WriteString(w, visible(b.String()))
	return err
}

// The page as its template sees it: texts in the order in which they are shown.
type (
	pageModel struct {
		Report                 *Report
		Verdict                string
		Tone                   string
		Kept                   string
		Identity               []fact
		SourceRows, OutputRows []partitionRow
		Families               []familyRow
		Compared               bool
		Reasons                []string
		Drift                  []driftKey
		Evidence               []evidenceRow
		Blocked                []conflictView
		Superseded             []conflictView
		Rejections             []indexed[Rejection]
		OutOfDomain            []indexed[outOfDomainView]
		MoreConflicts          int
		MoreRejections         int
		MoreOutOfDomain        int
		Expectation            string
		Expected               []string
		Scope                  string
		Phases                 []phaseRow
	}
	// indexed is an element with its index in the JSON.
	indexed[T any] struct {
		Index int
		Value T
	}
	partitionRow struct {
		Partition int
		// Start, End and Frontier are texts; empty where they are not known.
		Start, End, Frontier string
	}
	familyRow struct {
		Name, Member string
		Tally        compare.Tally
	}
	outOfDomainView struct{ Key, Day, Close string }
	phaseRow        struct {
		Name, Member, Throughput string
		Millis                   int64
		// Permille is the part of the total, for the bar.
		Permille int64
	}
)

// Name and Text let the template read a fact.
func (f fact) Name() string { return f.name }

// Text is what the fact says.
func (f fact) Text() string { return f.text }

// newPage prepares everything that is shown.
func newPage(r *Report, limit int) *pageModel {
	p := &pageModel{
		Report: r, Verdict: Verdict(r), Tone: strings.ToLower(string(r.Status)), Kept: keptAs(r), Identity: identity(r),
		SourceRows: partitionRows(r.Source, r.Frontiers.Worker), OutputRows: partitionRows(r.Output, r.Frontiers.View),
		Compared: r.Compared(), Scope: strings.TrimPrefix(scopeText(r), "; scope "),
	}
	for _, f := range families(r.Counts) {
		p.Families = append(p.Families, familyRow{f.name, f.member, f.tally})
	}
	for _, reason := range r.Errors {
		p.Reasons = append(p.Reasons, describe(reason))
	}
	for _, reason := range r.Incomplete {
		p.Reasons = append(p.Reasons, describe(reason))
	}
	p.Drift, p.Evidence = drift(r)
	p.Blocked, p.Superseded, p.MoreConflicts = conflictViews(r, limit)
	p.Rejections, p.MoreRejections = firstIndexed(r.Rejections, limit)
	days := make([]outOfDomainView, 0, len(r.OutOfDomain))
	for _, d := range r.OutOfDomain {
		days = append(days, outOfDomainView{keyName(d.Item, d.Location), d.Day, d.Close})
	}
	p.OutOfDomain, p.MoreOutOfDomain = firstIndexed(days, limit)
	if r.Expected != nil {
		p.Expectation = expectation(r.Expected)
		p.Expected = strings.Split(strings.TrimSpace(expectedLines(r.Expected, limit)), "\n")
	}
	for _, f := range phases(r) {
		row := phaseRow{Name: f.name, Member: f.member, Throughput: f.throughput, Millis: f.millis}
		if r.Timings.Total > 0 && f.millis < 1<<50 {
			row.Permille = min(1000, f.millis*1000/r.Timings.Total)
		}
		p.Phases = append(p.Phases, row)
	}
	return p
}

// firstIndexed is the first limit elements (0: all) with their indexes, and how many were left out.
func firstIndexed[T any](all []T, limit int) ([]indexed[T], int) {
	n := len(all)
	if limit > 0 {
		n = min(n, limit)
	}
	out := make([]indexed[T], 0, n)
	for i, v := range all[:n] {
		out = append(out, indexed[T]{i, v})
	}
	return out, len(all) - n
}

// partitionRows joins the vectors of a topic.
func partitionRows(t Range, frontiers []int64) []partitionRow {
	var rows []partitionRow
	at := func(v []int64, i int) string {
		if i >= len(v) {
			return ""
		}
		return strconv.FormatInt(v[i], 10)
	}
	for i := range max(len(t.Start), len(t.End), len(frontiers)) {
		rows = append(rows, partitionRow{i, at(t.Start, i), at(t.End, i), at(frontiers, i)})
	}
	return rows
}

// conflictView is a conflict with its payloads side by side.
type conflictView struct {
	Index              int
	Key, TxnID         string
	Revision           int64
	Columns            []payloadView
	Canonical          []Payload
	Explained, Blocked bool
}

// payloadView is one of the contradicting payloads.
type payloadView struct {
	// Name is its number within the revision, from 1.
	Name, Pointer, Kind, ValidTime, Records string
	Qty                                     int64
}

// conflictViews are the listed conflicts, ambiguous and superseded, and how many were left out.
func conflictViews(r *Report, limit int) (blocked, superseded []conflictView, more int) {
	known := r.reasons()
	shown, more := firstIndexed(r.Conflicts, limit)
	for _, c := range shown {
		v := conflictView{
			Index: c.Index, Key: keyName(c.Value.Item, c.Value.Location), TxnID: plain(c.Value.TxnID), Revision: c.Value.Revision,
			Canonical: c.Value.Payloads, Blocked: c.Value.State == Ambiguous,
		}
		if k, index := known.of(c.Value.Item, c.Value.Location); k != nil {
			v.Columns = payloadViews(k, fmt.Sprintf("/explanations/%d", index), c.Value)
			v.Explained = len(v.Columns) > 0
		}
		if v.Blocked {
			blocked = append(blocked, v)
		} else {
			superseded = append(superseded, v)
		}
	}
	return blocked, superseded, more
}

// payloadViews are the payloads of a conflict in the explanation at a pointer.
func payloadViews(k *explain.Key, pointer string, c Conflict) []payloadView {
	var all []payloadView
	for i, id := range k.Identities {
		for j, revision := range id.Revisions {
			if id.TxnID != c.TxnID || revision.Revision != c.Revision {
				continue
			}
			for n, p := range revision.Payloads {
				var places []string
				for _, at := range p.Records {
					places = append(places, fmt.Sprintf("%d:%d", at.Partition, at.Offset))
				}
				if p.OmittedRecords > 0 {
					places = append(places, fmt.Sprintf("and %d more", p.OmittedRecords))
				}
				all = append(all, payloadView{
					Name: strconv.Itoa(n + 1), Pointer: fmt.Sprintf("%s/identities/%d/revisions/%d/payloads/%d", pointer, i, j, n),
					Kind: p.Kind, ValidTime: p.ValidTime, Qty: p.Qty, Records: strings.Join(places, " "),
				})
			}
		}
	}
	return all
}
