package manifests

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// problemsMax bounds how many problems one run keeps: a file with a fault on each of a million lines must not
// exhaust memory. What is beyond it is counted in one last line.
const problemsMax = 1000

// Problem is one fault of a manifest or of the stock-key file it names.
type Problem struct {
	// File is the manifest's name as the caller gave it, or the stock-key file's beside it.
	File string
	// Line and Column count from 1. Columns count characters in YAML and bytes in CSV.
	Line, Column int
	// Path names the field, as spec.stockKeys[3].openingBalance or, in a CSV file, openingBalance. It is empty for
	// faults of the file as a whole.
	Path string
	// Message says what is wanted and what was found, on one line.
	Message string
	// UnsupportedVersion marks a well-formed spec.semanticsVersion that this build does not implement (R03): the
	// manifest may be right for another build.
	UnsupportedVersion bool
}

// Error renders the problem as file:line:column: path: message. The position is left out where there is none.
func (p Problem) Error() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
		}
		b.WriteString(": ")
	}
	if p.Path != "" {
		b.WriteString(p.Path)
		b.WriteString(": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// Problems are all faults found in one run: those of the manifest by position, then those of its stock-key file.
type Problems []Problem

// Error renders one problem a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns the problems as an error, nil where there are none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// UnsupportedVersionOnly reports whether the one thing wrong is a semantics version of another build (R03), which
// commands answer with a refusal and not with "manifest invalid".
func (ps Problems) UnsupportedVersionOnly() bool {
	for _, p := range ps {
		if !p.UnsupportedVersion {
			return false
		}
	}
	return len(ps) > 0
}

// collector gathers the problems of one run.
type collector struct {
	file    string
	kept    Problems
	dropped int
}

// add keeps a problem, or counts it once problemsMax are kept.
func (c *collector) add(p Problem) {
	if len(c.kept) >= problemsMax {
		c.dropped++
		return
	}
	c.kept = append(c.kept, p)
}

// problems returns what was gathered, the manifest's first, each file's by position.
func (c *collector) problems() Problems {
	rank := func(p Problem) int {
		if p.File == c.file {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(c.kept, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if c.dropped > 0 {
		c.kept = append(c.kept, Problem{File: c.file, Message: fmt.Sprintf("%d more problems not shown", c.dropped)})
	}
	return c.kept
}
