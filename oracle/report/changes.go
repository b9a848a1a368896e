package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"amends.dev/amends/oracle/compare"
)

// Changes are what one report says otherwise than an earlier one.
type Changes struct {
	SchemaVersion int  `json:"schemaVersion"`
	From          Side `json:"from"`
	To            Side `json:"to"`
	// Counts are those that differ.
	Counts []CountChange `json:"counts"`
	// Appeared are listed differences that only the later report has, Vanished those that only the earlier one has, and
	// Altered those that both have with other values, as the later one has them.
	Appeared []compare.Difference `json:"appeared"`
	Vanished []compare.Difference `json:"vanished"`
	Altered  []compare.Difference `json:"altered"`
	// Persisting counts the listed differences that both have with the same values.
	Persisting int64 `json:"persisting"`
	// Complete says that both reports list all of their differences; otherwise what appeared or vanished may only have
	// entered or left the list, or, where a side compared nothing, is not known: then nothing is listed.
	Complete bool `json:"complete"`
}

// Side is one of two reports that are compared.
type Side struct {
	Kept      int64  `json:"kept"`
	Began     string `json:"began"`
	Namespace string `json:"namespace"`
	Status    Status `json:"status"`
	// Compared says that the verification came to a comparison: otherwise its counts and differences say nothing (SC25).
	Compared bool `json:"compared"`
	// Digest is the namespace digest: where it differs, the reports are about unlike namespaces.
	Digest string `json:"digest"`
	Engine string `json:"engine"`
	Code   string `json:"code"`
	// H and O are the exclusive ends that were judged.
	H []int64 `json:"h"`
	O []int64 `json:"o"`
}

// CountChange is a count that differs.
type CountChange struct {
	Name string `json:"name"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

// Compare says what changed from one report to another.
func Compare(from, to *Report) Changes {
	c := Changes{
		SchemaVersion: SchemaVersion, From: side(from), To: side(to), Counts: []CountChange{},
		Appeared: []compare.Difference{}, Vanished: []compare.Difference{}, Altered: []compare.Difference{},
	}
	if !c.From.Compared || !c.To.Compared {
		return c
	}
	c.Complete = int64(len(from.Differences)) == from.Counts.Differences && int64(len(to.Differences)) == to.Counts.Differences
	earlier := counts(from)
	for i, now := range counts(to) {
		if earlier[i].n != now.n {
			c.Counts = append(c.Counts, CountChange{now.name, earlier[i].n, now.n})
		}
	}
	c.differences(from.Differences, to.Differences)
	return c
}

// differences sorts the listed differences of both reports.
func (c *Changes) differences(from, to []compare.Difference) {
	before, after := map[string]string{}, map[string]bool{}
	for _, d := range from {
		before[about(d)] = differenceLine(d)
	}
	for _, d := range to {
		after[about(d)] = true
		switch line, known := before[about(d)]; {
		case !known:
			c.Appeared = append(c.Appeared, d)
		case line != differenceLine(d):
			c.Altered = append(c.Altered, d)
		default:
			c.Persisting++
		}
	}
	for _, d := range from {
		if !after[about(d)] {
			c.Vanished = append(c.Vanished, d)
		}
	}
}

// about identifies the fact that a difference is about.
func about(d compare.Difference) string { return string(d.Family) + " " + subject(d) }

// side is what identifies a report.
func side(r *Report) Side {
	return Side{
		Kept: r.Kept, Began: r.Began, Namespace: r.Namespace, Status: r.Status, Compared: r.Compared(), Digest: r.Digest,
		Engine: r.Engine, Code: r.Code, H: r.Source.End, O: r.Output.End,
	}
}

// counted is a count with its name.
type counted struct {
	name string
	n    int64
}

// counts are all counts of a report, always in the same order.
func counts(r *Report) []counted {
	c := r.Counts
	all := []counted{
		{"records", c.Records}, {"differences", c.Differences}, {"rejections", c.Rejections},
		{"ambiguous conflicts", c.AmbiguousConflicts}, {"superseded conflicts", c.SupersededConflicts}, {"blocked keys", c.BlockedKeys},
	}
	for _, f := range families(c) {
		t := f.tally
		for _, part := range []counted{
			{"oracle", t.Oracle}, {"view", t.View}, {"equal", t.Equal}, {"changed", t.Changed}, {"missing", t.Missing}, {"extra", t.Extra},
			{"uncertified", t.Uncertified},
		} {
			all = append(all, counted{f.name + " " + part.name, part.n})
		}
	}
	return all
}

// ChangesJSON writes the changes as one indented JSON document.
func ChangesJSON(w io.Writer, c Changes) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(c)
}

// ChangesText writes the changes for people: the verdicts in the first line.
func ChangesText(w io.Writer, c Changes) error {
	var b strings.Builder
	verdict := string(c.From.Status) + " became " + string(c.To.Status)
	if c.From.Status == c.To.Status {
		verdict = string(c.To.Status) + " stayed"
	}
	fmt.Fprintf(&b, "%s: %s\n", c.To.Namespace, verdict)
	for _, s := range []struct {
		name string
		side Side
	}{{"from", c.From}, {"to", c.To}} {
		fmt.Fprintf(&b, "  %-4s  verification %d, %s: %s, H %v, O %v, judged by %s, code %s\n", s.name, s.side.Kept, s.side.Began,
			s.side.Status, s.side.H, s.side.O, orUnknown(s.side.Engine), orUnknown(s.side.Code))
	}
	if c.From.Digest != c.To.Digest {
		fmt.Fprintf(&b, "these are unlike namespaces: digest %s, now %s\n", c.From.Digest, c.To.Digest)
	}
	if c.From.Compared && c.To.Compared {
		writeChanges(&b, c)
	}
	for _, s := range []Side{c.From, c.To} {
		if !s.Compared {
			fmt.Fprintf(&b, "nothing was compared in verification %d: what appeared or vanished is not known\n", s.Kept)
		}
	}
	_, err := io.WriteString(w, visible(b.String()))
	return err
}

// writeChanges writes what changed between two comparisons.
func writeChanges(b *strings.Builder, c Changes) {
	writeList(b, "counts that changed", len(c.Counts), 0, func(i int) string {
		return fmt.Sprintf("%s %d, now %d", c.Counts[i].Name, c.Counts[i].From, c.Counts[i].To)
	})
	for _, part := range []struct {
		title string
		all   []compare.Difference
	}{{"differences that appeared", c.Appeared}, {"differences that vanished", c.Vanished}, {"differences with other values", c.Altered}} {
		writeList(b, part.title, len(part.all), 0, func(i int) string { return differenceLine(part.all[i]) })
	}
	fmt.Fprintf(b, "differences that persist: %d\n", c.Persisting)
	if !c.Complete {
		b.WriteString("not all differences are listed in both: what appeared or vanished may only have entered or left a list\n")
	}
}
