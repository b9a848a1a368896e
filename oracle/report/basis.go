package report

import (
	"fmt"
	"strings"

	"amends.dev/amends/oracle/compare"
)

// TypedColumns stands behind a snapshot's folder in Report.JudgedFrom where its typed columns were judged.
const TypedColumns = ", typed columns"

// fact is one thing that a verdict rests on, in words.
type fact struct{ name, text string }

// basis is what the verdict rests on: boundary, identity and judge.
func basis(r *Report) []fact {
	var all []fact
	add := func(name, format string, args ...any) {
		all = append(all, fact{name, fmt.Sprintf(format, args...)})
	}
	add("H", "%v from %v, topic %s (%s)", r.Source.End, r.Source.Start, r.Source.Topic, r.Source.TopicID)
	add("O", "%v from %v, topic %s (%s)", r.Output.End, r.Output.Start, r.Output.Topic, r.Output.TopicID)
	add("frontiers", "worker %v, view %v", r.Frontiers.Worker, r.Frontiers.View)
	all = append(all, identity(r)...)
	add("writers excluded by", "%s", orUnknown(r.WritersExcludedBy))
	add("code", "%s, semantics version %d", orUnknown(r.Code), r.SemanticsVersion)
	if r.Began != "" {
		add("began", "%s", r.Began)
	}
	add("kept as", "%s", keptAs(r))
	return all
}

// identity is what was judged, and by what.
func identity(r *Report) []fact {
	all := []fact{
		{"digest", r.Digest}, {"business digest", r.BusinessDigest}, {"ledger origin", r.LedgerOrigin},
		{"judged by", orUnknown(r.Engine) + "; state built by " + orUnknown(r.BuiltBy)},
	}
	if r.ExperimentOf != "" {
		all = append(all, fact{"experiment", "with the history of " + r.ExperimentOf + " under another business configuration"})
	}
	if r.JudgedFrom != "" && r.JudgedFrom != "topic" {
		folder, typed := strings.CutSuffix(r.JudgedFrom, TypedColumns)
		text := "snapshot " + plain(folder)
		if typed {
			text += TypedColumns
		}
		all = append(all, fact{"judged from", text})
	}
	return all
}

// keptAs says under which number the report is kept, or that it is not.
func keptAs(r *Report) string {
	switch {
	case r.Kept > 0:
		return fmt.Sprintf("verification %d", r.Kept)
	case r.NotKept != "":
		return "not kept: " + r.NotKept
	default:
		return "not kept"
	}
}

// phase is how long a phase took; throughput is empty where it has none.
type phase struct {
	name, member string
	millis       int64
	throughput   string
}

// phases are the timings in the order in which the phases come, the total last.
func phases(r *Report) []phase {
	t := r.Timings
	facts := int64(0)
	for _, f := range families(r.Counts) {
		if f.facts != compare.FamilyGuard { // they are of the same rows
			facts += f.tally.Oracle
		}
	}
	return []phase{
		{"writer", "writerMs", t.Writer, ""}, {"source", "sourceMs", t.Source, ""}, {"worker", "workerMs", t.Worker, ""},
		{"relay", "relayMs", t.Relay, ""}, {"output", "outputMs", t.Output, ""}, {"view", "viewMs", t.View, ""},
		{"scan", "scanMs", t.Scan, rate(r.Counts.Records, t.Scan, "records")},
		{"compare", "compareMs", t.Compare, rate(facts, t.Compare, "facts")},
		{"explain", "explainMs", t.Explain, ""}, {"recheck", "recheckMs", t.Recheck, ""},
		{"total", "totalMs", t.Total, rate(r.Counts.Records, t.Total, "records")},
	}
}

// rate is a throughput per second; empty where there is nothing to divide.
func rate(n, millis int64, what string) string {
	if n == 0 || millis == 0 || n > 1<<50 {
		return ""
	}
	return fmt.Sprintf("%d %s/s", n*1000/millis, what)
}
