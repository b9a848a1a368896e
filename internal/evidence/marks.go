package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// mutant is what the page needs of a fault of testdata/mutants; internal/mutants checks the rest and tries it.
type mutant struct {
	name  string
	File  string `yaml:"file"`
	Find  string `yaml:"find"`
	Kills []kill `yaml:"kills"`
}

// kill is a test that finds a fault.
type kill struct {
	Package string `yaml:"package"`
	Run     string `yaml:"run"`
	// Marks are those in whose function the fault is, and which this test has to fail for by itself.
	Marks []string `yaml:"marks"`
}

// loadMutants reads the faults that are linked to marks.
func loadMutants(root string) ([]*mutant, error) {
	names, err := filepath.Glob(filepath.Join(root, "testdata", "mutants", "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list the mutants: %w", err)
	}
	var all []*mutant
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		m := &mutant{name: strings.TrimSuffix(filepath.Base(name), ".yaml")}
		if err := yaml.NewDecoder(bytes.NewReader(text)).Decode(m); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// linkedRun is one test, perhaps down to subtests: what a mutant's test that is linked to marks is run by.
var linkedRun = regexp.MustCompile(`^\^(\w+)\$(?:/(.+))?$`)

// linkFaults are marks that nothing shows to be more than a mark: without a mutant of the marked function whose test is
// one of the mark's rows, or one that names the mark's id.
func (c *code) linkFaults(d *document) []string {
	var faults []string
	linked := map[string]bool{}
	for _, m := range d.mutants {
		for _, k := range m.Kills {
			for _, name := range k.Marks {
				linked[name] = true
				dir := strings.TrimPrefix(k.Package, "./")
				if fault := c.linkFault(d, m, name, dir, k.Run); fault != "" {
					faults = append(faults, fmt.Sprintf("mutant %s, mark %q: %s", m.name, name, fault))
				}
			}
		}
	}
	for _, name := range sortedKeys(c.hits) {
		switch {
		case linked[name] && d.unmutated[name] != "":
			faults = append(faults, fmt.Sprintf("the mark %q has a mutant, and a reason why it has none", name))
		case !linked[name] && d.unmutated[name] == "":
			faults = append(faults, fmt.Sprintf("%s: no mutant is linked to the mark %q", c.hits[name][0].file, name))
		}
	}
	for _, name := range sortedKeys(d.unmutated) {
		if c.hits[name] == nil {
			faults = append(faults, fmt.Sprintf("a reason why the mark %q has no mutant, and no such mark", name))
		}
	}
	return faults
}

// linkFault says why a mutant and its test are no evidence for a mark, "" where they are.
func (c *code) linkFault(d *document, m *mutant, name, dir, run string) string {
	if !slices.ContainsFunc(c.hits[name], func(p place) bool { return p.file == m.File && strings.Contains(p.text, strings.TrimSpace(m.Find)) }) {
		return "it does not change the function that hits the mark"
	}
	parts := linkedRun.FindStringSubmatch(run)
	if parts == nil {
		return fmt.Sprintf("%q is not ^Test$ or ^Test$/subtests", run)
	}
	test, sub := parts[1], parts[2]
	if !slices.ContainsFunc(c.named[name], func(file string) bool {
		at := path.Dir(file)
		return at == dir || slices.Contains(d.suites[dir], at)
	}) {
		return fmt.Sprintf("no test of %s, nor a suite that it runs, expects the mark", dir)
	}
	for _, id := range idWord.FindAllString(name, -1) {
		if strings.Contains(test+"/"+sub, id) {
			return ""
		}
	}
	if slices.ContainsFunc(d.marked(name), func(r *row) bool { return d.rowRuns(r, dir, test, sub) }) {
		return ""
	}
	return fmt.Sprintf("%s %s is no test of the mark's rows, and does not name its id", dir, run)
}

// mutantFault says why a mutant is no evidence for the tests of a row, "" where it is.
func (d *document) mutantFault(r *row, number string) string {
	for _, m := range d.mutants {
		if !strings.HasPrefix(m.name, number+"-") {
			continue
		}
		for _, k := range m.Kills {
			parts := linkedRun.FindStringSubmatch(k.Run)
			if parts != nil && d.rowRuns(r, strings.TrimPrefix(k.Package, "./"), parts[1], parts[2]) {
				return ""
			}
		}
		return "no test that finds it is one of the row"
	}
	return "there is none of this number"
}

// rowRuns reports whether any test of a row is among what go test would run.
func (d *document) rowRuns(r *row, dir, test, sub string) bool {
	for column := range columns {
		if slices.ContainsFunc(r.tests(column), func(reference string) bool { return d.runs(reference, dir, test, sub) }) {
			return true
		}
	}
	return false
}

// marked are the rows that have a mark.
func (d *document) marked(name string) []*row {
	var rows []*row
	for _, s := range d.sections {
		for i := range s.Rows {
			if slices.Contains(s.Rows[i].Marks, name) {
				rows = append(rows, &s.Rows[i])
			}
		}
	}
	return rows
}

// runs reports whether a test reference is among what go test would run of a package, by its test and a pattern of
// subtests.
func (d *document) runs(reference, dir, test, sub string) bool {
	short, name, _ := strings.Cut(reference, ".")
	name, wanted, _ := strings.Cut(name, "/")
	if d.packages[short] != dir || name != test {
		return false
	}
	if wanted == "" || sub == "" {
		return true
	}
	first, _, _ := strings.Cut(wanted, "/")
	pattern, _, _ := strings.Cut(sub, "/")
	matched, err := regexp.MatchString(pattern, first)
	return matched && err == nil
}
