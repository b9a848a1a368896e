package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"amends.dev/amends/oracle/boundary"
)

// Text writes the report for people: the verdict in the first line, then what it rests on. At most limit rejections,
// conflicts and out-of-domain days are listed (0: all); differences are listed as the report holds them.
func Text(w io.Writer, r *Report, limit int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s%s\n", r.Status, r.Namespace, Verdict(r), scopeText(r))
	writeBasis(&b, r)
	writeCounts(&b, r)
	writeReasons(&b, "errors", r.Errors)
	writeReasons(&b, "incomplete", r.Incomplete)
	writeList(&b, "checks that held", len(r.Checks), 0, func(i int) string { return string(r.Checks[i].Phase) + ": " + r.Checks[i].Text })
	writeList(&b, "outside int64", len(r.OutOfDomain), limit, func(i int) string { return outOfDomainLine(r.OutOfDomain[i]) })
	writeDifferences(&b, r)
	if r.NotExplained != "" {
		b.WriteString(unexplained(r) + "\n")
	}
	known := r.reasons()
	writeList(&b, "conflicts", len(r.Conflicts), limit, func(i int) string {
		return strings.Join(append([]string{conflictLine(r.Conflicts[i])}, known.payloads(r.Conflicts[i])...), "\n    ")
	})
	writeList(&b, "rejections", len(r.Rejections), limit, func(i int) string { return rejectionLine(r.Rejections[i]) })
	writeExpected(&b, r, limit)
	writeTimings(&b, r)
	_, err := io.WriteString(w, visible(b.String()))
	return err
}

// writeBasis writes boundary, identity and judge.
func writeBasis(b *strings.Builder, r *Report) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, row := range basis(r) {
		fmt.Fprintf(t, "  %s\t%s\n", row.name, row.text)
	}
	flush(t)
}

// writeCounts writes the tallies of every family.
func writeCounts(b *strings.Builder, r *Report) {
	c := r.Counts
	if !r.Compared() {
		fmt.Fprintf(b, "counts: nothing was compared; %s known\n", plural(c.AmbiguousConflicts, "ambiguous conflict is", "ambiguous conflicts are"))
		return
	}
	fmt.Fprintf(b, "counts: %s\n", totals(c))
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "family\toracle\tview\tequal\tchanged\tmissing\textra\tuncertified\t")
	for _, f := range families(r.Counts) {
		y := f.tally
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", f.name, y.Oracle, y.View, y.Equal, y.Changed, y.Missing, y.Extra, y.Uncertified)
	}
	flush(t)
}

// writeReasons writes why a run ended early.
func writeReasons(b *strings.Builder, title string, reasons []boundary.Reason) {
	writeList(b, title, len(reasons), 0, func(i int) string { return describe(reasons[i]) })
}

// writeDifferences writes the listed differences and says how many there are.
func writeDifferences(b *strings.Builder, r *Report) {
	if r.Counts.Differences == 0 {
		return
	}
	fmt.Fprintf(b, "differences (%d of %d listed):\n", len(r.Differences), r.Counts.Differences)
	known := r.reasons()
	for _, d := range r.Differences {
		fmt.Fprintf(b, "  %s\n", differenceLine(d))
		for _, reason := range known.because(d) {
			fmt.Fprintf(b, "    %s\n", reason)
		}
	}
}

// writeExpected writes how the diagnostics compare with the expected ones.
func writeExpected(b *strings.Builder, r *Report, limit int) {
	e := r.Expected
	if e == nil {
		return
	}
	fmt.Fprintf(b, "expected diagnostics: %s\n", expectation(e))
	for line := range strings.Lines(expectedLines(e, limit)) {
		b.WriteString("  " + line)
	}
}

// writeTimings writes how long each phase took, and the throughput of those that have one.
func writeTimings(b *strings.Builder, r *Report) {
	var all []string
	for _, p := range phases(r) {
		text := fmt.Sprintf("%s %d", p.name, p.millis)
		if p.throughput != "" {
			text += " (" + p.throughput + ")"
		}
		all = append(all, text)
	}
	fmt.Fprintf(b, "timings (ms): %s\n", strings.Join(all, ", "))
}

// writeList writes at most limit lines under a title, and how many were left out.
func writeList(b *strings.Builder, title string, n, limit int, line func(i int) string) {
	if n == 0 {
		return
	}
	fmt.Fprintf(b, "%s (%d):\n", title, n)
	for i := range n {
		if limit > 0 && i == limit {
			fmt.Fprintf(b, "  … and %d more\n", n-limit)
			return
		}
		fmt.Fprintf(b, "  %s\n", line(i))
	}
}

// orUnknown says so where a run ended before something was known.
func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// flush completes a table; a strings.Builder never fails.
func flush(t *tabwriter.Writer) { _ = t.Flush() }
