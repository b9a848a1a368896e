package explain

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Text writes the document for people.
func Text(w io.Writer, d Document) error {
	var b strings.Builder
	k := d.Key
	fmt.Fprintf(&b, "%s in %s: %s; opening balance %d, reorder threshold %d\n",
		Show(Name{k.Item, k.Location}), d.Namespace, statusText(k)+retained(d.Source), k.OpeningBalance, k.ReorderThreshold)
	fmt.Fprintf(&b, "source: %s, %d records read", path(d.Source.Name), d.Source.Records)
	if len(d.Source.Through) > 0 {
		fmt.Fprintf(&b, ", offsets %v to %v", d.Source.From, d.Source.Through)
	}
	b.WriteString("\n")
	writeIdentities(&b, k)
	writeRejected(&b, k)
	writeDays(&b, d)
	writeVersions(&b, d)
	_, err := io.WriteString(w, b.String())
	return err
}

// statusText says the trust status and why.
func statusText(k Key) string {
	switch k.Status {
	case Blocked:
		var refs []string
		for _, i := range k.Identities {
			if i.Authority().State == Conflicting {
				refs = append(refs, fmt.Sprintf("%s@%d", Plain(i.TxnID), i.Authority().Revision))
			}
		}
		return "BLOCKED by " + strings.Join(refs, ", ") + ", nothing is computed from it until a higher revision resolves that"
	case Ready:
		return Ready
	default:
		return "no record of this key was accepted"
	}
}

// retained qualifies what is said of a history whose beginning is lost; empty where it is whole.
func retained(s Source) string {
	if !slices.ContainsFunc(s.From, func(offset int64) bool { return offset > 0 }) {
		return ""
	}
	return fmt.Sprintf(" in what is retained from offsets %v on, what came before is lost", s.From)
}

// writeIdentities writes every revision with what it counts for.
func writeIdentities(b *strings.Builder, k Key) {
	fmt.Fprintf(b, "identities (%d%s):\n", len(k.Identities), omitted(k.Omitted.Identities))
	t := table(b)
	for _, i := range k.Identities {
		if i.OmittedRevisions > 0 {
			fmt.Fprintf(t, "  %s\t%d lower revisions not listed\n", Plain(i.TxnID), i.OmittedRevisions)
		}
		for _, r := range i.Revisions {
			for _, p := range r.Payloads {
				fmt.Fprintf(t, "  %s\t@%d\t%s\t%s\t%+d\t%s\t%s\n", Plain(i.TxnID), r.Revision, words(r.State), p.Kind, p.Qty, p.ValidTime, records(p))
			}
		}
	}
	_ = t.Flush() // a strings.Builder never fails
}

// words is a state as text shows it.
func words(s State) string { return strings.ReplaceAll(string(s), "_", " ") }

// records lists where a payload was read.
func records(p Payload) string {
	var all []string
	for _, r := range p.Records {
		all = append(all, fmt.Sprintf("%d:%d", r.Partition, r.Offset))
	}
	text := "record " + all[0]
	if len(all) > 1 {
		text += ", again at " + strings.Join(all[1:], " ")
	}
	return text + omitted(p.OmittedRecords)
}

// writeRejected writes the rejected records.
func writeRejected(b *strings.Builder, k Key) {
	if len(k.Rejected) == 0 {
		return
	}
	fmt.Fprintf(b, "rejected records with this broker key (%d%s):\n", len(k.Rejected), omitted(k.Omitted.Rejected))
	for _, r := range k.Rejected {
		fmt.Fprintf(b, "  %d:%d %s\n", r.Partition, r.Offset, r.Reason)
	}
}

// writeDays writes the fold, each day with its contributions, its crossing test and what the view has.
func writeDays(b *strings.Builder, d Document) {
	k := d.Key
	if k.Status != Ready && d.Implied == nil {
		return
	}
	fmt.Fprintf(b, "days (%d%s):\n", len(k.Days), omitted(k.Omitted.Days))
	for _, day := range k.Days {
		fmt.Fprintf(b, "  %s  %s %+d = %s; %s\n", day.Day, day.Before, day.Movement, day.Close, Crossing(k, day))
		for _, c := range day.Contributions {
			fmt.Fprintf(b, "    %+d from %s@%d, record %d:%d\n", c.Qty, Plain(c.TxnID), c.Revision, c.Partition, c.Offset)
		}
		if day.OmittedContributions > 0 {
			fmt.Fprintf(b, "    and %d more\n", day.OmittedContributions)
		}
		if d.View != nil {
			fmt.Fprintf(b, "    view: %s\n", viewOf(d.View, day.Day))
		}
	}
	switch {
	case d.Implied != nil:
		from := "the opening balance"
		if d.Implied.From != "" {
			from = "the close of " + d.Implied.From
		}
		fmt.Fprintf(b, "  %s  no active transaction on this day: its close is %s, %s\n", d.Day, d.Implied.Close, from)
	case d.Day != "" && len(k.Days) == 0:
		fmt.Fprintf(b, "  %s  no active transaction on this day, which is before the ledger origin\n", d.Day)
	}
	writeOthers(b, d)
}

// writeOthers writes what the view shows on days on which the oracle has nothing. Where days are left out it is not known
// which those are.
func writeOthers(b *strings.Builder, d Document) {
	if d.Day == "" && d.Key.Omitted.Days > 0 {
		return
	}
	for _, f := range d.View {
		if f.Present && f.Day != "" && !slices.ContainsFunc(d.Key.Days, func(day Day) bool { return day.Day == f.Day }) {
			fmt.Fprintf(b, "  %s  THE VIEW SHOWS what no active transaction makes: %s\n", f.Day, factText(f))
		}
	}
}

// Crossing is the crossing test of a day in words, with its numbers (S5).
func Crossing(k Key, d Day) string {
	switch {
	case !d.InDomain:
		return "outside 64 bits"
	case d.Crossing:
		return fmt.Sprintf("crossing: opened at %s, not below %d, and closed below", d.Before, k.ReorderThreshold)
	case d.Close.IsInt64() && d.Close.Int64() < k.ReorderThreshold:
		return fmt.Sprintf("no crossing: opened below %d already", k.ReorderThreshold)
	default:
		return fmt.Sprintf("no crossing: the close is not below %d", k.ReorderThreshold)
	}
}

// viewOf is what the view shows of a day.
func viewOf(rows []Fact, day string) string {
	var parts []string
	for _, f := range rows {
		if f.Day == day {
			parts = append(parts, factText(f))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

// factText is one fact on one line.
func factText(f Fact) string {
	text := fmt.Sprintf("%s version %d", f.Family, f.Version)
	if !f.Present {
		return text + " withdrawn"
	}
	if f.Close != nil {
		text += fmt.Sprintf(" close %d", *f.Close)
	}
	if f.Threshold != nil {
		text += fmt.Sprintf(" threshold %d", *f.Threshold)
	}
	if f.Status != "" {
		text += " " + f.Status
	}
	for _, c := range f.Conflicts {
		text += fmt.Sprintf(" %s@%d", Plain(c.TxnID), c.Revision)
	}
	return text
}

// writeVersions writes the output versions with what triggered each.
func writeVersions(b *strings.Builder, d Document) {
	if d.Versions == nil {
		b.WriteString("output versions: none, a history without servers has no output topic\n")
		return
	}
	fmt.Fprintf(b, "output versions (%d%s):\n", len(d.Versions), omitted(d.OmittedVersions))
	t := table(b)
	for _, v := range d.Versions {
		cause := "no single revision"
		if v.Cause != nil {
			cause = fmt.Sprintf("%s@%d", Plain(v.Cause.TxnID), v.Cause.Revision)
		}
		day := v.Day
		if day == "" {
			day = "-"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\tat %d:%d%s\tby %s, record %d:%d\t%s\n", day, v.Type, factText(v.Fact),
			v.Partition, v.Offset, copies(v.Copies), cause, v.SourcePartition, v.SourceOffset, inView(v.InView))
	}
	_ = t.Flush() // a strings.Builder never fails
}

// copies says that an envelope was repeated.
func copies(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// inView is what the view makes of a version, in words.
func inView(v InView) string {
	switch v {
	case Applied:
		return "the view has it"
	case Passed:
		return "the view has a later one"
	case Awaited:
		return "the view has not come to it yet"
	case Lacking:
		return "THE VIEW LACKS IT, and is past that offset"
	case Differs:
		return "THE VIEW HAS OTHER CONTENT"
	default:
		return ""
	}
}

// omitted says how many were left out.
func omitted(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d more not listed", n)
}

// table aligns columns.
func table(b *strings.Builder) *tabwriter.Writer { return tabwriter.NewWriter(b, 0, 0, 2, ' ', 0) }
