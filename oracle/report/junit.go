package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"amends.dev/amends/oracle/boundary"
)

// The JUnit document: one suite, with a case for each thing that a verdict rests on.
type (
	junitSuites struct {
		XMLName xml.Name   `xml:"testsuites"`
		Suite   junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Timestamp  string          `xml:"timestamp,attr,omitempty"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		Out        string          `xml:"system-out"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name    string      `xml:"name,attr"`
		Class   string      `xml:"classname,attr"`
		Time    string      `xml:"time,attr"`
		Failure *junitFault `xml:"failure"`
		Error   *junitFault `xml:"error"`
		Skipped *junitFault `xml:"skipped"`
	}
	junitFault struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report for continuous integration. A run that could not be judged (ERROR, INCOMPLETE) has errors, a
// verdict against what was judged (BLOCKED, DRIFT, exclusions that were not expected) failures, and what was not compared
// is skipped: there is a failure or an error exactly where the exit code is not 0.
func JUnit(w io.Writer, r *Report, limit int) error {
	s := junitSuite{
		Name: "amends verify " + r.Namespace, Time: seconds(r.Timings.Total), Timestamp: strings.TrimSuffix(r.Began, "Z"),
		Properties: junitProperties(r), Out: fmt.Sprintf("%s %s: %s%s", r.Status, r.Namespace, Verdict(r), scopeText(r)),
	}
	if r.NotExplained != "" {
		s.Out += "\n" + unexplained(r)
	}
	s.Cases = append(s.Cases, junitBoundary(r), junitArithmetic(r, limit))
	for _, f := range families(r.Counts) {
		s.Cases = append(s.Cases, junitFamily(r, f))
	}
	s.Cases = append(s.Cases, junitAuthority(r, limit), junitDiagnostics(r, limit))
	for i := range s.Cases {
		c := &s.Cases[i]
		c.Class = "amends.verify." + r.Namespace
		if c.Time == "" {
			c.Time = seconds(0)
		}
		s.Tests++
		s.Failures += present(c.Failure)
		s.Errors += present(c.Error)
		s.Skipped += present(c.Skipped)
	}
	body, err := xml.MarshalIndent(junitSuites{Suite: s}, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+visible(string(body))+"\n")
	return err
}

// present counts a fault.
func present(f *junitFault) int {
	if f == nil {
		return 0
	}
	return 1
}

// seconds writes milliseconds as seconds.
func seconds(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }

// junitProperties are what the verdict rests on.
func junitProperties(r *Report) []junitProperty {
	all := []junitProperty{{"status", string(r.Status)}, {"exitCode", strconv.Itoa(int(r.ExitCode))}}
	for _, row := range basis(r) {
		all = append(all, junitProperty{row.name, row.text})
	}
	return all
}

// junitBoundary is the boundary: an error where it was not reached, or where the run failed.
func junitBoundary(r *Report) junitCase {
	t := r.Timings
	c := junitCase{Name: "boundary", Time: seconds(t.Writer + t.Source + t.Worker + t.Relay + t.Output + t.View + t.Recheck)}
	switch {
	case len(r.Errors) > 0:
		c.Error = &junitFault{Message: firstOf(r.Errors), Type: string(Error), Text: reasonLines(r.Errors)}
	case !r.Facts().Complete:
		message := "the boundary was not reached"
		if len(r.Incomplete) > 0 {
			message = firstOf(r.Incomplete)
		}
		c.Error = &junitFault{Message: message, Type: string(Incomplete), Text: reasonLines(r.Incomplete)}
	}
	return c
}

// reasonLines lists reasons, one a line.
func reasonLines(reasons []boundary.Reason) string {
	return lines(len(reasons), 0, func(i int) string { return describe(reasons[i]) })
}

// lines joins at most limit lines (0: all) and says how many were left out.
func lines(n, limit int, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if limit > 0 && i == limit {
			fmt.Fprintf(&b, "… and %d more\n", n-limit)
			break
		}
		b.WriteString(line(i) + "\n")
	}
	return b.String()
}

// junitArithmetic is whether every close fits 64 bits.
func junitArithmetic(r *Report, limit int) junitCase {
	c := junitCase{Name: "arithmetic"}
	switch n := len(r.OutOfDomain); {
	case n > 0:
		c.Error = &junitFault{
			Message: plural(int64(n), "day closes", "days close") + " outside int64", Type: string(Error),
			Text: lines(n, limit, func(i int) string { return outOfDomainLine(r.OutOfDomain[i]) }),
		}
	case !r.Compared():
		c.Skipped = &junitFault{Message: "not computed"}
	}
	return c
}

// junitFamily is one family of compared facts.
func junitFamily(r *Report, f family) junitCase {
	c := junitCase{Name: f.name}
	switch n := f.tally.Differences(); {
	case !r.Compared():
		c.Skipped = &junitFault{Message: "not compared"}
	case n > 0:
		var text strings.Builder
		for _, d := range r.Differences {
			if d.Family == f.facts {
				text.WriteString(differenceLine(d) + "\n")
			}
		}
		c.Failure = &junitFault{Message: plural(n, "difference", "differences"), Type: string(Drift), Text: text.String()}
	}
	return c
}

// junitAuthority is whether every highest revision is unambiguous.
func junitAuthority(r *Report, limit int) junitCase {
	c := junitCase{Name: "authority"}
	ambiguous := r.conflicts(Ambiguous)
	switch n := r.Counts.AmbiguousConflicts; {
	case n > 0:
		c.Failure = &junitFault{
			Message: plural(n, "ambiguous revision", "ambiguous revisions"), Type: string(Blocked),
			Text: lines(len(ambiguous), limit, func(i int) string { return conflictLine(ambiguous[i]) }),
		}
	case !r.Compared():
		c.Skipped = &junitFault{Message: "not known before the boundary is complete"}
	}
	return c
}

// junitDiagnostics is whether rejections and superseded conflicts are those that were expected.
func junitDiagnostics(r *Report, limit int) junitCase {
	c := junitCase{Name: "diagnostics", Time: seconds(r.Timings.Scan)}
	facts := r.Facts()
	superseded := r.conflicts(Superseded)
	switch {
	case !r.Compared():
		c.Skipped = &junitFault{Message: "not compared"}
	case facts.Expectation == Exact:
	case facts.Expectation == Differs:
		c.Failure = &junitFault{Message: "they are not the expected ones", Type: string(Exclusions), Text: expectedLines(r.Expected, limit)}
	case facts.Excluded:
		c.Failure = &junitFault{
			Message: fmt.Sprintf("%s and %s", plural(r.Counts.Rejections, "rejection", "rejections"),
				plural(r.Counts.SupersededConflicts, "superseded conflict", "superseded conflicts")),
			Type: string(Exclusions),
			Text: lines(len(r.Rejections), limit, func(i int) string { return rejectionLine(r.Rejections[i]) }) +
				lines(len(superseded), limit, func(i int) string { return conflictLine(superseded[i]) }),
		}
	}
	return c
}

// conflicts are the listed conflicts of one state.
func (r *Report) conflicts(state string) []Conflict {
	var all []Conflict
	for _, c := range r.Conflicts {
		if c.State == state {
			all = append(all, c)
		}
	}
	return all
}

// expectedLines says which diagnostics are missing or unexpected.
func expectedLines(e *Expected, limit int) string {
	text := ""
	if e.OtherTopicID != "" {
		text = fmt.Sprintf("%s is for topic ID %s\n", plain(e.File), plain(e.OtherTopicID))
	}
	text += lines(len(e.Missing), limit, func(i int) string {
		return fmt.Sprintf("expected, not found: partition %d offset %d %s", e.Missing[i].Partition, e.Missing[i].Offset, e.Missing[i].Reason)
	})
	return text + lines(len(e.Unexpected), limit, func(i int) string {
		return fmt.Sprintf("found, not expected: partition %d offset %d %s", e.Unexpected[i].Partition, e.Unexpected[i].Offset, e.Unexpected[i].Reason)
	})
}
