package equivalence

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"amends.dev/amends/oracle/compare"
)

// Text writes a report for people: the outcome first.
func Text(w io.Writer, r *Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s and %s", r.Status, r.Old.Namespace, r.New.Namespace)
	if r.Experiment {
		b.WriteString(", an experiment: their configurations differ")
	}
	switch r.Status {
	case Equal:
		n := r.Counts.Balances.Equal + r.Counts.Alerts.Equal + r.Counts.Statuses.Equal
		fmt.Fprintf(&b, ": %d facts compared, all equal", n)
	case Drift:
		n := r.Counts.Balances.differences() + r.Counts.Alerts.differences() + r.Counts.Statuses.differences()
		fmt.Fprintf(&b, ": %s", counted(n, "difference", "differences"))
	case Incomplete, Error:
	}
	b.WriteString("\n")
	for _, reason := range r.Reasons {
		fmt.Fprintf(&b, "  %s\n", reason)
	}
	fmt.Fprintf(&b, "  H        %v, source topic ID %s\n  old      %s, built by %s\n  new      %s, built by %s\n",
		r.Through, r.SourceTopicID, r.Old.Namespace, r.Old.BuiltBy, r.New.Namespace, r.New.BuiltBy)
	if r.Status == Equal || r.Status == Drift {
		writeCounts(&b, r)
	}
	for _, d := range r.Differences {
		fmt.Fprintf(&b, "  %s %s %s/%s", d.Kind, d.Family, d.Item, d.Location)
		if d.Day != "" {
			b.WriteString(" " + d.Day)
		}
		fmt.Fprintf(&b, ": old %s, new %s\n", valueText(d.Old), valueText(d.New))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	return nil
}

// counted is a number of things in words.
func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func (t Tally) differences() int64 { return t.Changed + t.Missing + t.Extra }

func writeCounts(b *strings.Builder, r *Report) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "family\told\tnew\tequal\tchanged\tmissing\textra\t")
	for _, row := range []struct {
		name string
		t    Tally
	}{{"balances", r.Counts.Balances}, {"alerts", r.Counts.Alerts}, {"statuses", r.Counts.Statuses}} {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", row.name, row.t.Old, row.t.New, row.t.Equal, row.t.Changed, row.t.Missing, row.t.Extra)
	}
	_ = t.Flush() // a strings.Builder takes everything
	if r.BlockedKeys > 0 {
		fmt.Fprintf(b, "  %s BLOCKED: statuses are compared, retained values are not\n", counted(r.BlockedKeys, "key is", "keys are"))
	}
}

// valueText is one side of a difference in words.
func valueText(v *compare.Value) string {
	if v == nil {
		return "none"
	}
	var parts []string
	if v.Close != nil {
		parts = append(parts, fmt.Sprintf("close=%d", *v.Close))
	}
	if v.Threshold != nil {
		parts = append(parts, fmt.Sprintf("threshold=%d", *v.Threshold))
	}
	if v.Status != "" {
		parts = append(parts, v.Status)
	}
	for _, c := range v.Conflicts {
		parts = append(parts, fmt.Sprintf("%s@%d", c.TxnID, c.Revision))
	}
	return strings.Join(parts, " ")
}
