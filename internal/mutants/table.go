package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// wantPercent is the least share of mutants that the tests have to kill.
const wantPercent = 95

// score counts outcomes.
type score struct {
	killed, survived, failed int
	// unexplained are survivors without a written reason; refuted are killed ones that claim to be equivalent.
	unexplained, refuted []string
}

// count sums results up.
func count(results []result) score {
	var s score
	for _, r := range results {
		switch r.outcome {
		case killed:
			s.killed++
			if r.mutant.Equivalent != "" {
				s.refuted = append(s.refuted, r.mutant.name)
			}
		case survived:
			s.survived++
			if r.mutant.Equivalent == "" {
				s.unexplained = append(s.unexplained, r.mutant.name)
			}
		default:
			s.failed++
		}
	}
	return s
}

// String is the score in one line.
func (s score) String() string {
	total := s.killed + s.survived
	percent := 0.0
	if total > 0 {
		percent = 100 * float64(s.killed) / float64(total)
	}
	return fmt.Sprintf("%d of %d mutants killed (%.1f %%), %d survived, %d in error", s.killed, total, percent, s.survived, s.failed)
}

// verdict is nil where the tests are good enough.
func (s score) verdict() error {
	var errs []error
	if s.failed > 0 {
		errs = append(errs, fmt.Errorf("%d mutants could not be tried", s.failed))
	}
	if 100*s.killed < wantPercent*(s.killed+s.survived) {
		errs = append(errs, fmt.Errorf("fewer than %d %% were killed", wantPercent))
	}
	if len(s.unexplained) > 0 {
		errs = append(errs, fmt.Errorf("no test finds %s", strings.Join(s.unexplained, ", ")))
	}
	if len(s.refuted) > 0 {
		errs = append(errs, fmt.Errorf("not equivalent after all: %s", strings.Join(s.refuted, ", ")))
	}
	return errors.Join(errs...)
}

// The lines between which the result table stands.
const (
	tableBegins = "<!-- results: written by go run ./internal/mutants -table -->\n"
	tableEnds   = "<!-- end of results -->\n"
)

// replaceTable puts the results into a Markdown file.
func replaceTable(file string, results []result) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, begins := bytes.Cut(text, []byte(tableBegins))
	_, after, ends := bytes.Cut(rest, []byte(tableEnds))
	if !begins || !ends {
		return fmt.Errorf("%s has no place for results: a line %q and a line %q", file, tableBegins, tableEnds)
	}
	replaced := string(before) + tableBegins + "\n" + table(results) + "\n" + tableEnds + string(after)
	return os.WriteFile(file, []byte(replaced), 0o600)
}

// table renders results.
func table(results []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\n| Mutant | Stage | What it would do | Killed by | Seconds |\n|---|---|---|---|---:|\n", count(results))
	for _, r := range results {
		by := r.detail
		switch r.outcome {
		case killed:
			by = "`" + by + "`"
		default:
			by = string(r.outcome) + ": " + by
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.1f |\n", r.mutant.name, r.mutant.stage(), cell(r.mutant.Reason), cell(by), r.took.Seconds())
	}
	return b.String()
}

// cell is text that may stand in a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "\\|")
}
