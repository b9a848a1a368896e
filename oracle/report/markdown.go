package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// markdownBytesMax bounds a Markdown report: hosts refuse comments above 65,536 characters.
	markdownBytesMax = 60_000
	// markdownReserve is left for what must follow the rows of a table: its end, and the short sections behind it.
	markdownReserve = 2_000
	// markdownCellRunes bounds one text in a cell.
	markdownCellRunes = 300
)

// Markdown writes the report as a comment of a pull request: the verdict, what it rests on, the counts, and details that
// unfold. It is at most markdownBytesMax bytes long; what did not fit is counted.
func Markdown(w io.Writer, r *Report) error {
	m := &markdown{}
	// The status is as it is everywhere else, so that a search finds it: its underscores stand within a word.
	m.add("**%s %s**: %s\n\n", r.Status, mdText(r.Namespace), mdText(Verdict(r)+scopeText(r)))
	m.reasons(r)
	m.counts(r)
	m.details("What the verdict rests on", len(basis(r)), "| | |\n|---|---|\n", func(i int) string {
		row := basis(r)[i]
		return fmt.Sprintf("| %s | %s |\n", row.name, mdText(row.text))
	})
	if e := r.Expected; e != nil {
		m.add("Diagnostics: %s\n\n", mdText(expectation(e)))
	}
	if r.NotExplained != "" {
		m.add("%s\n\n", mdText(unexplained(r)))
	}
	m.differences(r)
	m.conflicts(r)
	m.expected(r.Expected)
	m.details(fmt.Sprintf("Rejections (%d)", r.Counts.Rejections), len(r.Rejections),
		"| partition | offset | reason | fingerprint |\n|--:|--:|---|---|\n", func(i int) string {
			j := r.Rejections[i]
			return fmt.Sprintf("| %d | %d | %s | %s |\n", j.Partition, j.Offset, mdText(j.Reason), mdText(short(j.Fingerprint)))
		})
	m.details(fmt.Sprintf("Closes outside 64 bits (%d)", len(r.OutOfDomain)), len(r.OutOfDomain),
		"| key | day | close |\n|---|---|--:|\n", func(i int) string {
			d := r.OutOfDomain[i]
			return fmt.Sprintf("| %s | %s | %s |\n", mdText(keyName(d.Item, d.Location)), mdText(d.Day), mdText(d.Close))
		})
	m.details(fmt.Sprintf("Checks that held (%d)", len(r.Checks)), len(r.Checks), "| phase | |\n|---|---|\n", func(i int) string {
		return fmt.Sprintf("| %s | %s |\n", mdText(string(r.Checks[i].Phase)), mdText(r.Checks[i].Text))
	})
	all := phases(r)
	m.details("Timings", len(all), "| phase | ms | throughput |\n|---|--:|--:|\n", func(i int) string {
		return fmt.Sprintf("| %s | %d | %s |\n", all[i].name, all[i].millis, all[i].throughput)
	})
	_, err := io.WriteString(w, m.String())
	return err
}

// markdown is a document of bounded length.
type markdown struct{ strings.Builder }

// add appends formatted text.
func (m *markdown) add(format string, args ...any) { fmt.Fprintf(m, format, args...) }

// reasons lists why a run ended early.
func (m *markdown) reasons(r *Report) {
	listed := 0
	for _, reason := range append(r.Errors[:len(r.Errors):len(r.Errors)], r.Incomplete...) {
		if listed++; listed > 10 {
			break
		}
		m.add("- %s\n", mdText(describe(reason)))
	}
	if n := len(r.Errors) + len(r.Incomplete); n > 10 {
		m.add("- … and %d more\n", n-10)
	}
	if listed > 0 {
		m.add("\n")
	}
}

// counts is the table of all families.
func (m *markdown) counts(r *Report) {
	if !r.Compared() {
		m.add("Nothing was compared; %s known.\n\n", plural(r.Counts.AmbiguousConflicts, "ambiguous conflict is", "ambiguous conflicts are"))
		return
	}
	m.add("%s\n\n", totals(r.Counts))
	m.add("| | oracle | view | equal | changed | missing | extra | uncertified |\n|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, f := range families(r.Counts) {
		t := f.tally
		m.add("| %s | %d | %d | %d | %d | %d | %d | %d |\n", f.name, t.Oracle, t.View, t.Equal, t.Changed, t.Missing, t.Extra, t.Uncertified)
	}
	m.add("\n")
}

// expected is the table of the diagnostics that are missing or were not expected.
func (m *markdown) expected(e *Expected) {
	if e == nil || !e.Compared || e.Exact {
		return
	}
	all := strings.Split(strings.TrimSpace(expectedLines(e, 0)), "\n")
	m.details("Diagnostics that differ", len(all), "| |\n|---|\n", func(i int) string { return fmt.Sprintf("| %s |\n", mdText(all[i])) })
}

// differences is the table of the listed differences, each with what explains it.
func (m *markdown) differences(r *Report) {
	known := r.reasons()
	m.details(fmt.Sprintf("Differences (%d of %d listed)", len(r.Differences), r.Counts.Differences), len(r.Differences),
		"| | fact | oracle | view | because |\n|---|---|---|---|---|\n", func(i int) string {
			d := r.Differences[i]
			var because []string
			for _, reason := range known.because(d) {
				because = append(because, mdText(reason))
			}
			return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", mdText(string(d.Kind)+" "+string(d.Family)), mdText(subject(d)), mdText(value(d.Oracle)),
				mdText(value(d.View)), strings.Join(because, "<br>"))
		})
}

// conflicts is the table of conflicts, with their payloads.
func (m *markdown) conflicts(r *Report) {
	known := r.reasons()
	m.details(fmt.Sprintf("Conflicts (%d ambiguous, %d superseded)", r.Counts.AmbiguousConflicts, r.Counts.SupersededConflicts),
		len(r.Conflicts), "| key | revision | state | payloads |\n|---|---|---|---|\n", func(i int) string {
			c := r.Conflicts[i]
			var payloads []string
			for _, p := range known.payloads(c) {
				payloads = append(payloads, mdText(p))
			}
			return fmt.Sprintf("| %s | %s | %s | %s |\n", mdText(keyName(c.Item, c.Location)),
				mdText(fmt.Sprintf("%s@%d", plain(c.TxnID), c.Revision)), mdText(c.State), strings.Join(payloads, "<br>"))
		})
}

// details appends a table that unfolds, of as many rows as fit; nothing where there are none.
func (m *markdown) details(title string, n int, head string, row func(i int) string) {
	if n == 0 {
		return
	}
	if m.Len()+len(head)+markdownReserve > markdownBytesMax {
		m.add("%s: left out, they do not fit\n\n", title)
		return
	}
	m.add("<details><summary>%s</summary>\n\n%s", title, head)
	for i := range n {
		text := row(i)
		if m.Len()+len(text)+markdownReserve > markdownBytesMax {
			m.add("\n… and %d more that do not fit here\n", n-i)
			break
		}
		m.WriteString(text)
	}
	m.add("\n</details>\n\n")
}

// short is the beginning of a digest.
func short(digest string) string { return digest[:min(12, len(digest))] }

// mdText makes a text one that Markdown and HTML leave alone: one line, of bounded length, every punctuation character
// that could mean something as a numeric reference, which is never syntax.
func mdText(s string) string {
	var b strings.Builder
	n := 0
	for _, c := range s {
		if n++; n > markdownCellRunes {
			b.WriteString("…")
			break
		}
		switch {
		case c < ' ' || c == 0x7f || c >= 0x80 && !strconv.IsPrint(c):
			b.WriteString(strings.ReplaceAll(strings.Trim(strconv.QuoteRuneToASCII(c), "'"), `\`, "&#92;"))
		case strings.ContainsRune(" ,=+-/();'", c) || c >= 0x80 || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z':
			b.WriteRune(c)
		default:
			fmt.Fprintf(&b, "&#%d;", c)
		}
	}
	return strings.ReplaceAll(b.String(), "&#58; ", ": ") // within a word it could make a link or a picture
}
