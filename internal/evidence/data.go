package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// column is one kind of evidence.
type column int

// The columns of S12.
const (
	model column = iota
	postgres
	source
	delivery
	verifier
	operator
	columns
)

// columnNames are the headings, columnKeys the names in the data files.
var (
	columnNames = [columns]string{"Pure/model", "PostgreSQL", "Source-worker", "Delivery", "Verifier", "Operator drill"}
	columnKeys  = [columns]string{"model", "postgres", "source", "delivery", "verifier", "operator"}
)

// words is a list written as one string with spaces between.
type words []string

// UnmarshalYAML reads the string.
func (w *words) UnmarshalYAML(node *yaml.Node) error {
	var text string
	if err := node.Decode(&text); err != nil {
		return err
	}
	*w = strings.Fields(text)
	return nil
}

// row is one thing to be shown.
type row struct {
	// ID is a sentence (S4.3), a scenario (SC08), a ruling (R09), an invariant (worker.2) or a pitfall (B045).
	ID string `yaml:"id"`
	// Says is what it demands, in words of our own.
	Says string `yaml:"says"`
	// Scenarios add their levels' tests to the columns.
	Scenarios words `yaml:"scenarios"`
	// The columns hold tests, as package short name, dot, test, and a subtest after a slash.
	Model    words `yaml:"model"`
	Postgres words `yaml:"postgres"`
	Source   words `yaml:"source"`
	Delivery words `yaml:"delivery"`
	Verifier words `yaml:"verifier"`
	Operator words `yaml:"operator"`
	// Not says for a column without a test why that is; "all" is for every one.
	Not map[string]string `yaml:"not"`
	// Marks are coverage marks that stand for the row beside those whose names hold its id.
	Marks []string `yaml:"marks"`
	// Mutants are numbers of faults that a test of the row finds: for a row without a mark, whose decision no line of Go
	// takes.
	Mutants words `yaml:"mutants"`
	// Unmarked says why no place in production code can stand for the row.
	Unmarked string `yaml:"unmarked"`
	// Limit says what the tests do not show.
	Limit string `yaml:"limit"`
}

// tests returns the tests of a column.
func (r *row) tests(c column) words {
	return [columns]words{r.Model, r.Postgres, r.Source, r.Delivery, r.Verifier, r.Operator}[c]
}

// add appends a test to a column, once.
func (r *row) add(c column, test string) {
	list := [columns]*words{&r.Model, &r.Postgres, &r.Source, &r.Delivery, &r.Verifier, &r.Operator}[c]
	if !slices.Contains(*list, test) {
		*list = append(*list, test)
	}
}

// reason says why a column has no test, "" where nothing does.
func (r *row) reason(s *section, c column) string {
	for _, reason := range []string{r.Not[columnKeys[c]], r.Not["all"], s.Absent[columnKeys[c]]} {
		if reason != "" {
			return reason
		}
	}
	return ""
}

// section is one table of the page.
type section struct {
	Title string `yaml:"title"`
	// Intro is a paragraph above the table.
	Intro string `yaml:"intro"`
	// IDs are those that must have a row: "S4.1-30" is a range, other words stand for themselves.
	IDs words `yaml:"ids"`
	// Absent is, by column, why a row without a test there has none, unless the row says otherwise.
	Absent map[string]string `yaml:"absent"`
	// Marked says that rows need a mark, or a reason why they have none.
	Marked bool  `yaml:"marked"`
	Rows   []row `yaml:"rows"`
}

// dataFile is one NN-name.yaml: these members, or nothing but the list of sections.
type dataFile struct {
	// Packages maps further short names to folders.
	Packages map[string]string `yaml:"packages"`
	// Suites are, by package folder, the folders of suites whose subtests its tests run.
	Suites map[string]words `yaml:"suites"`
	// Absent is Absent of every section of the file that has none for the column.
	Absent map[string]string `yaml:"absent"`
	// Unmutated says of marks without a linked mutant why there is none.
	Unmutated map[string]string `yaml:"unmutated"`
	Sections  []*section        `yaml:"sections"`
}

// UnmarshalYAML reads either form.
func (f *dataFile) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.SequenceNode {
		return node.Decode(&f.Sections)
	}
	type members dataFile
	return node.Decode((*members)(f))
}

// document is all of the data.
type document struct {
	// packages maps short names to folders.
	packages map[string]string
	// suites and unmutated are as in the files.
	suites    map[string]words
	unmutated map[string]string
	sections  []*section
	// scenarios are those of the corpus, by id.
	scenarios map[string]*scenario
	mutants   []*mutant
}

// load reads data and scenarios, and completes the rows with the scenarios' tests.
func load(root string) (*document, error) {
	doc := &document{packages: map[string]string{}, suites: map[string]words{}, unmutated: map[string]string{}}
	names, err := filepath.Glob(filepath.Join(root, "internal", "evidence", "data", "[0-9]*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list the data: %w", err)
	}
	for _, name := range names {
		var file dataFile
		if err := readYAML(name, &file); err != nil {
			return nil, err
		}
		if err := doc.take(&file); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if doc.scenarios, err = loadScenarios(root); err != nil {
		return nil, err
	}
	if doc.mutants, err = loadMutants(root); err != nil {
		return nil, err
	}
	for _, s := range doc.sections {
		for i := range s.Rows {
			doc.complete(&s.Rows[i])
		}
	}
	return doc, nil
}

// take adds what one file says. It must not give a name of another file a second meaning.
func (d *document) take(file *dataFile) error {
	for short, dir := range file.Packages {
		if other, ok := d.packages[short]; ok && other != dir {
			return fmt.Errorf("the package name %s stands for %s already", short, other)
		}
		d.packages[short] = dir
	}
	for dir, suites := range file.Suites {
		d.suites[dir] = append(d.suites[dir], suites...)
	}
	for name, reason := range file.Unmutated {
		if d.unmutated[name] != "" {
			return fmt.Errorf("another file has a reason for the mark %q already", name)
		}
		d.unmutated[name] = reason
	}
	for _, s := range file.Sections {
		if s.Absent == nil {
			s.Absent = map[string]string{}
		}
		for key, reason := range file.Absent {
			if s.Absent[key] == "" {
				s.Absent[key] = reason
			}
		}
	}
	d.sections = append(d.sections, file.Sections...)
	return nil
}

// readYAML reads one file strictly.
func readYAML(name string, into any) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// idWord is what may be an id in the name of a mark.
var idWord = regexp.MustCompile(`[A-Za-z]+[0-9.]*[0-9]\b`)

// attach gives each row the marks of production code whose names hold its id.
func (d *document) attach(hits map[string][]place) {
	byID := map[string][]string{}
	for _, name := range sortedKeys(hits) {
		for _, id := range idWord.FindAllString(name, -1) {
			byID[id] = append(byID[id], name)
		}
	}
	for _, s := range d.sections {
		for i := range s.Rows {
			r := &s.Rows[i]
			for _, name := range byID[r.ID] {
				if !slices.Contains(r.Marks, name) {
					r.Marks = append(r.Marks, name)
				}
			}
		}
	}
}
