package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// code is what the page is held to: the tests and marks of the repository.
type code struct {
	// tests are the top-level test and fuzz functions by package folder.
	tests map[string][]string
	// texts are the string literals of test files and suites, by package folder: the names of subtests among them.
	texts map[string]map[string]bool
	// hits are marks and where production code hits each, expects those and the files of the tests that expect it.
	hits    map[string][]place
	expects map[string][]string
	// named are the string literals of the test files that expect marks: a table of names counts as well.
	named map[string][]string
	// invariants are those numbered in package documentation, as short package folder, dot, number.
	invariants []string
}

// place is a function of production code.
type place struct {
	// file is its file, text its source text.
	file, text string
}

// newCode is that of a repository without files.
func newCode() *code {
	return &code{
		tests: map[string][]string{}, texts: map[string]map[string]bool{}, hits: map[string][]place{},
		expects: map[string][]string{}, named: map[string][]string{},
	}
}

// testName is what the go command runs.
var testName = regexp.MustCompile(`^(Test|Fuzz)[A-Z0-9]`)

// skipped are folders without Go code of this module.
var skipped = []string{".git", ".cache", ".amends", "bin", "dist", "testdata", "docs"}

// scan parses all Go files below a folder.
func scan(folder string) (*code, error) {
	c := newCode()
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	files := root.FS()
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return cmp.Or(c.addFiles(files, name, path.Dir(name)), fs.SkipDir)
		case entry.IsDir() && name == "conformance":
			return c.addFiles(files, name, "internal/conformance")
		case entry.IsDir() && slices.Contains(skipped, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return c.read(name, text)
	})
	return c, err
}

// addFiles takes the files and folders below a folder for texts of a package: their names are those of subtests.
func (c *code) addFiles(files fs.FS, folder, dir string) error {
	return fs.WalkDir(files, folder, func(name string, _ fs.DirEntry, err error) error {
		base := path.Base(name)
		c.addText(dir, base)
		c.addText(dir, strings.TrimSuffix(base, path.Ext(base)))
		return err
	})
}

// addText notes what a subtest may be called.
func (c *code) addText(dir, text string) {
	if c.texts[dir] == nil {
		c.texts[dir] = map[string]bool{}
	}
	c.texts[dir][strings.ReplaceAll(text, " ", "_")] = true
}

// read takes over one file.
func (c *code) read(name string, source []byte) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse %s: %w", name, err)
	}
	dir := path.Dir(name)
	isTest := strings.HasSuffix(name, "_test.go")
	if isTest {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && testName.MatchString(f.Name.Name) && f.Name.Name != "TestMain" {
				c.tests[dir] = append(c.tests[dir], f.Name.Name)
			}
		}
	}
	if !isTest && file.Doc != nil {
		c.invariants = append(c.invariants, numbered(dir, file.Doc.Text())...)
	}
	suite := isTest || strings.HasSuffix(dir, "test")
	expecting := false
	var literals []string
	var within place
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			within = place{file: name, text: string(source[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset])}
		case *ast.CallExpr:
			expecting = c.readCall(within, name, suite, n) || expecting
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); suite && err == nil && n.Kind == token.STRING {
				literals = append(literals, text)
			}
		}
		return true
	})
	for _, text := range literals {
		c.addText(dir, text)
		if expecting {
			c.named[text] = append(c.named[text], name)
		}
	}
	return nil
}

// readCall notes the marks of a call of mark.Hit in production code or mark.Expect in a test, and reports the latter.
func (c *code) readCall(within place, name string, suite bool, call *ast.CallExpr) (expecting bool) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || path.Dir(name) == "internal/mark" {
		return false
	}
	pkg, ok := f.X.(*ast.Ident)
	if !ok || pkg.Name != "mark" || f.Sel.Name != "Hit" && f.Sel.Name != "Expect" || suite != (f.Sel.Name == "Expect") {
		return false
	}
	for _, argument := range call.Args {
		lit, ok := argument.(*ast.BasicLit)
		if !ok {
			continue
		}
		text, err := strconv.Unquote(lit.Value)
		switch {
		case err != nil:
		case suite:
			c.expects[text] = append(c.expects[text], name)
		default:
			c.hits[text] = append(c.hits[text], within)
		}
	}
	return suite
}

// invariantHead begins a list of invariants, invariantItem one of them.
var (
	invariantHead = regexp.MustCompile(`^Invariants[^.]*:$`)
	invariantItem = regexp.MustCompile(`^\s+(\d+)\. `)
)

// numbered lists the invariants that a package's documentation numbers.
func numbered(dir, doc string) []string {
	var ids []string
	inside := false
	for _, line := range strings.Split(doc, "\n") {
		if m := invariantItem.FindStringSubmatch(line); inside && m != nil {
			ids = append(ids, path.Base(dir)+"."+m[1])
		}
		head := invariantHead.MatchString(strings.ReplaceAll(line, "together", ""))
		if head {
			inside = true
		} else if line != "" && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
			inside = false
		}
	}
	return ids
}

// faults are where the data claims what the code does not hold, and marks that nobody expects.
func (c *code) faults(d *document) []string {
	var faults []string
	rows := map[string]bool{}
	for _, s := range d.sections {
		for i := range s.Rows {
			r := &s.Rows[i]
			rows[r.ID] = true
			for column := range columns {
				for _, reference := range r.tests(column) {
					if fault := c.missing(d, reference); fault != "" {
						faults = append(faults, r.ID+": "+fault)
					}
				}
			}
			for _, name := range r.Marks {
				switch {
				case c.hits[name] == nil:
					faults = append(faults, fmt.Sprintf("%s: no production code hits the mark %q", r.ID, name))
				case c.named[name] != nil && !c.expectedBy(d, r, name):
					faults = append(faults, fmt.Sprintf("%s: the mark %q is expected in none of the row's packages", r.ID, name))
				}
			}
		}
	}
	for _, id := range c.invariants {
		if !rows[id] {
			faults = append(faults, id+": a numbered invariant without a row")
		}
	}
	for _, name := range sortedKeys(c.hits) {
		if c.named[name] == nil {
			faults = append(faults, fmt.Sprintf("%s: no test expects the mark %q", c.hits[name][0].file, name))
		}
	}
	for _, name := range sortedKeys(c.expects) {
		if c.hits[name] == nil {
			faults = append(faults, fmt.Sprintf("%s: the mark %q is expected and hit nowhere", c.expects[name][0], name))
		}
	}
	return faults
}

// expectedBy reports whether a package of the row's tests, or a suite that it runs, expects a mark.
func (c *code) expectedBy(d *document, r *row, name string) bool {
	for column := range columns {
		for _, reference := range r.tests(column) {
			short, _, _ := strings.Cut(reference, ".")
			dir := d.packages[short]
			for _, file := range c.named[name] {
				if at := path.Dir(file); at == dir || slices.Contains(d.suites[dir], at) {
					return true
				}
			}
		}
	}
	return false
}

// missing says what of a test reference does not exist, "" where all does. Of a subtest the first element is looked for,
// among the texts of its package and of the suites that it runs, and among their files of test data.
func (c *code) missing(d *document, reference string) string {
	short, name, _ := strings.Cut(reference, ".")
	dir, ok := d.packages[short]
	if !ok {
		return fmt.Sprintf("%s: no package is called %s here", reference, short)
	}
	name, sub, hasSub := strings.Cut(name, "/")
	if !slices.Contains(c.tests[dir], name) {
		return fmt.Sprintf("%s: %s has no test %s", reference, dir, name)
	}
	if !hasSub {
		return ""
	}
	sub, _, _ = strings.Cut(sub, "/")
	for _, candidate := range append([]string{dir}, d.suites[dir]...) {
		if c.texts[candidate][sub] {
			return ""
		}
	}
	return fmt.Sprintf("%s: %s has no subtest %s", reference, name, sub)
}
