package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/conformance"
)

// summary is what a run found.
type summary struct {
	Passed    bool                  `json:"passed"`
	Levels    []conformance.Level   `json:"levels"`
	Scenarios []row                 `json:"scenarios"`
	Outcomes  []conformance.Outcome `json:"outcomes"`
}

// row is one scenario with its cells, by level.
type row struct {
	ID      string                       `json:"id"`
	Title   string                       `json:"title"`
	Pending string                       `json:"pending,omitempty"`
	Cells   map[conformance.Level]string `json:"levels"`
}

// summarize makes one cell of the variants of a scenario at a level.
func summarize(scenarios []*conformance.Scenario, levels []conformance.Level, outcomes []conformance.Outcome) *summary {
	s := &summary{Passed: true, Levels: levels, Outcomes: outcomes}
	for _, scenario := range scenarios {
		r := row{ID: scenario.ID, Title: scenario.Title, Pending: scenario.Pending, Cells: map[conformance.Level]string{}}
		for _, level := range levels {
			r.Cells[level] = s.cell(scenario, level)
		}
		s.Scenarios = append(s.Scenarios, r)
	}
	return s
}

func (s *summary) cell(scenario *conformance.Scenario, level conformance.Level) string {
	passed, failed, total := 0, 0, 0
	for _, out := range s.Outcomes {
		if out.Scenario != scenario.ID || out.Level != level {
			continue
		}
		switch out.Result {
		case conformance.Passed:
			passed++
		case conformance.Failed:
			failed++
		case conformance.Inapplicable:
			continue
		case conformance.NotRun:
		}
		total++
	}
	switch {
	case failed > 0:
		s.Passed = false
		return string(conformance.Failed)
	case scenario.Pending != "":
		return "not yet run"
	case passed == 0:
		return string(conformance.NotRun)
	case passed < total:
		return fmt.Sprintf("%s %d/%d", conformance.Passed, passed, total)
	}
	return string(conformance.Passed)
}

// json prints the summary as JSON.
func (s *summary) json(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(s)
}

// text prints the table, then what failed and why the rest was not run.
func (s *summary) text(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := []string{"ID", "SCENARIO"}
	for _, level := range s.Levels {
		head = append(head, strings.ToUpper(string(level)))
	}
	_, _ = fmt.Fprintln(table, strings.Join(head, "\t")) // a tabwriter keeps its first error until Flush
	for _, r := range s.Scenarios {
		cells := []string{r.ID, r.Title}
		for _, level := range s.Levels {
			cells = append(cells, r.Cells[level])
		}
		_, _ = fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	notes := s.notes()
	if len(notes) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s\n", strings.Join(notes, "\n"))
	return err
}

// notes are a line for each fault, and one for each reason why a variant was not run.
func (s *summary) notes() []string {
	var notes []string
	said := map[string]int{}
	for _, out := range s.Outcomes {
		where := out.Scenario
		if out.Variant != "" {
			where += " (" + out.Variant + ")"
		}
		for _, fault := range out.Faults {
			notes = append(notes, fmt.Sprintf("FAIL %s at %s: %s", where, out.Level, fault))
		}
		if out.Result != conformance.NotRun {
			continue
		}
		if !s.ran(out.Level) { // the same for all: once is enough
			where = "all"
		}
		line := where + ": " + out.Reason
		if at, ok := said[line]; ok {
			if head, tail, _ := strings.Cut(notes[at], ": "); !strings.Contains(head, string(out.Level)) {
				notes[at] = head + ", " + string(out.Level) + ": " + tail
			}
			continue
		}
		said[line] = len(notes)
		notes = append(notes, fmt.Sprintf("not run, %s at %s: %s", where, out.Level, out.Reason))
	}
	return notes
}

// ran reports whether anything was run at a level.
func (s *summary) ran(level conformance.Level) bool {
	return slices.ContainsFunc(s.Outcomes, func(out conformance.Outcome) bool {
		return out.Level == level && (out.Result == conformance.Passed || out.Result == conformance.Failed)
	})
}

// progress redraws one line on a terminal.
type progress struct {
	app        *app.App
	ran, total int
}

func newProgress(a *app.App, total int) *progress { return &progress{app: a, total: total} }

func (p *progress) done(out conformance.Outcome) {
	p.ran++
	if p.app.StderrTTY {
		_, _ = fmt.Fprintf(p.app.Stderr, "\r\033[K%d of %d: %s at %s", p.ran, p.total, out.Scenario, out.Level)
	}
}

func (p *progress) clear() {
	if p.app.StderrTTY {
		_, _ = fmt.Fprint(p.app.Stderr, "\r\033[K")
	}
}
