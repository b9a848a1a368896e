package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
)

// Text writes the report for people: the verdict in the first line, then what it rests on. At most limit rejections,
// conflicts and out-of-domain days are listed (0: all); differences are listed as the report holds them.
func Text(w io.Writer, r *Report, limit int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n", r.Status, r.Namespace, Verdict(r))
	writeBasis(&b, r)
	writeCounts(&b, r)
	writeReasons(&b, "errors", r.Errors)
	writeReasons(&b, "incomplete", r.Incomplete)
	writeList(&b, "outside int64", len(r.OutOfDomain), limit, func(i int) string {
		d := r.OutOfDomain[i]
		return fmt.Sprintf("%s %s: close %s", keyName(d.Item, d.Location), d.Day, d.Close)
	})
	writeDifferences(&b, r)
	writeList(&b, "conflicts", len(r.Conflicts), limit, func(i int) string {
		c := r.Conflicts[i]
		state := c.State
		if state == Ambiguous {
			state += "; the key is BLOCKED and its retained values are uncertified"
		}
		return fmt.Sprintf("%s %s revision %d: %s", keyName(c.Item, c.Location), plain(c.TxnID), c.Revision, state)
	})
	writeList(&b, "rejections", len(r.Rejections), limit, func(i int) string {
		j := r.Rejections[i]
		return fmt.Sprintf("partition %d offset %d: %s (fingerprint %s)", j.Partition, j.Offset, j.Reason, j.Fingerprint)
	})
	t := r.Timings
	fmt.Fprintf(&b, "timings (ms): writer %d, source %d, worker %d, relay %d, output %d, view %d, scan %d, compare %d, recheck %d, total %d\n",
		t.Writer, t.Source, t.Worker, t.Relay, t.Output, t.View, t.Scan, t.Compare, t.Recheck, t.Total)
	_, err := io.WriteString(w, b.String())
	return err
}

// Verdict is the first line's explanation of the status, in one sentence.
func Verdict(r *Report) string {
	c := r.Counts
	switch r.Status {
	case Error:
		if len(r.Errors) > 0 {
			return firstOf(r.Errors)
		}
		return fmt.Sprintf("%s outside int64", plural(int64(len(r.OutOfDomain)), "day closes", "days close"))
	case Incomplete:
		if len(r.Incomplete) == 0 {
			return "the boundary was not reached"
		}
		text := firstOf(r.Incomplete)
		if c.AmbiguousConflicts > 0 {
			text += fmt.Sprintf("; %s known", plural(c.AmbiguousConflicts, "unresolved conflict is", "unresolved conflicts are"))
		}
		return text
	case Blocked:
		return fmt.Sprintf("%s be certified (%s); %s on the rest",
			plural(c.BlockedKeys, "key cannot", "keys cannot"),
			plural(c.AmbiguousConflicts, "ambiguous revision", "ambiguous revisions"),
			plural(c.Differences, "difference", "differences"))
	case Drift:
		return fmt.Sprintf("%s; %s", plural(c.Differences, "difference", "differences"), compared(c))
	case Exclusions:
		return fmt.Sprintf("no difference, with %s and %s; %s", plural(c.Rejections, "rejection", "rejections"),
			plural(c.SupersededConflicts, "superseded conflict", "superseded conflicts"), compared(c))
	default:
		return "no difference; " + compared(c)
	}
}

// compared says how much the verdict rests on; an empty history is said in so many words (B124).
func compared(c Counts) string {
	return fmt.Sprintf("%s compared: %s, %s, %s", plural(c.Records, "record", "records"),
		plural(c.Balances.Oracle, "balance", "balances"), plural(c.Alerts.Oracle, "alert", "alerts"),
		plural(c.Statuses.Oracle, "status", "statuses"))
}

// writeBasis writes boundary, identity and judge.
func writeBasis(b *strings.Builder, r *Report) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(t, "  %s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	row("H", "%v from %v, topic %s (%s)", r.Source.End, r.Source.Start, r.Source.Topic, r.Source.TopicID)
	row("O", "%v from %v, topic %s (%s)", r.Output.End, r.Output.Start, r.Output.Topic, r.Output.TopicID)
	row("frontiers", "worker %v, view %v", r.Frontiers.Worker, r.Frontiers.View)
	row("digest", "%s", r.Digest)
	row("business digest", "%s", r.BusinessDigest)
	row("ledger origin", "%s", r.LedgerOrigin)
	if r.ExperimentOf != "" {
		row("experiment", "another configuration over the history of namespace %s", r.ExperimentOf)
	}
	row("judged by", "%s; state built by %s", orUnknown(r.Engine), orUnknown(r.BuiltBy))
	row("writers excluded by", "%s", orUnknown(r.WritersExcludedBy))
	row("code", "%s, semantics version %d", orUnknown(r.Code), r.SemanticsVersion)
	flush(t)
}

// writeCounts writes the tallies of every family.
func writeCounts(b *strings.Builder, r *Report) {
	c := r.Counts
	fmt.Fprintf(b, "counts: %d records, %d differences, %d rejections, %d ambiguous and %d superseded conflicts, %d keys BLOCKED\n",
		c.Records, c.Differences, c.Rejections, c.AmbiguousConflicts, c.SupersededConflicts, c.BlockedKeys)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "family\toracle\tview\tequal\tchanged\tmissing\textra\tuncertified\t")
	for _, f := range []struct {
		name  string
		tally compare.Tally
	}{
		{"balances", c.Balances}, {"alerts", c.Alerts}, {"statuses", c.Statuses},
		{"quarantine", c.Quarantine}, {"conflict rows", c.ConflictRows},
	} {
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
	for _, d := range r.Differences {
		fmt.Fprintf(b, "  %s %s %s: oracle %s, view %s\n", d.Kind, d.Family, subject(d), value(d.Oracle), value(d.View))
	}
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

// subject names the fact that a difference is about.
func subject(d compare.Difference) string {
	switch d.Family {
	case compare.FamilyQuarantine:
		if d.Partition == nil || d.Offset == nil {
			return "unknown record"
		}
		return fmt.Sprintf("partition %d offset %d", *d.Partition, *d.Offset)
	case compare.FamilyConflict:
		return fmt.Sprintf("%s %s revision %d", keyName(d.Item, d.Location), plain(d.TxnID), d.Revision)
	case compare.FamilyStatus:
		return keyName(d.Item, d.Location)
	default:
		return keyName(d.Item, d.Location) + " " + d.Day
	}
}

// value shows one side of a difference.
func value(v *compare.Value) string {
	if v == nil {
		return "none"
	}
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if v.Close != nil {
		add("close=%d", *v.Close)
	}
	if v.Threshold != nil {
		add("threshold=%d", *v.Threshold)
	}
	if v.Status != "" {
		add("%s", v.Status)
	}
	for _, c := range v.Conflicts {
		add("%s@%d", plain(c.TxnID), c.Revision)
	}
	if v.Reason != "" {
		add("%s", v.Reason)
	}
	if v.TopicID != "" {
		add("topic=%s", v.TopicID)
	}
	if v.Key != nil && v.Value != nil {
		add("key=%s", blob(*v.Key))
		add("value=%s", blob(*v.Value))
	}
	if v.Recorded {
		add("recorded")
	}
	return strings.Join(parts, " ")
}

// blob shows the length and the beginning of the digest of raw bytes.
func blob(b compare.Blob) string {
	switch {
	case b.Length < 0:
		return "null"
	case b.SHA256 == "":
		return fmt.Sprintf("%dB(not kept)", b.Length)
	default:
		return fmt.Sprintf("%dB:%s", b.Length, b.SHA256[:min(12, len(b.SHA256))])
	}
}

// describe shows one reason.
func describe(r boundary.Reason) string {
	text := string(r.Phase) + ": "
	if r.Partition != nil {
		text += fmt.Sprintf("partition %d: ", *r.Partition)
	}
	return text + r.Reason
}

// firstOf shows the first of several reasons and counts the others.
func firstOf(reasons []boundary.Reason) string {
	text := describe(reasons[0])
	if n := len(reasons) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// plural is a count with its noun.
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
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
