// Package lint holds the house rules as tests: who may import whom, which calls belong to adapters, how long a
// function may be, what must be documented. golangci-lint checks what any Go project wants; these are this project's
// own. Every rule is a function from source files to faults, so each is shown to catch a bad file and to accept the
// same file repaired.
package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const (
	// modulePath prefixes the import paths of this module.
	modulePath = "amends.dev/amends/"
	// rootFolder is the repository root as seen from this package.
	rootFolder = "../.."
)

// source is one parsed Go file.
type source struct {
	// dir is the package folder below the root, with slashes; name is the file's base name.
	dir, name string
	// test says that the file is a _test.go file.
	test  bool
	lines int
	fset  *token.FileSet
	ast   *ast.File
}

// at is a position as path:line from the repository root.
func (s *source) at(pos token.Pos) string {
	return fmt.Sprintf("%s/%s:%d", s.dir, s.name, s.fset.Position(pos).Line)
}

// isTest reports whether the file only serves tests: a _test.go file, or one of a package named ...test, such as a
// suite that every implementation of a port is tested with (stages/view/viewtest).
func (s *source) isTest() bool {
	return s.test || strings.HasSuffix(s.dir, "test")
}

// imports are the imported paths, those of this module relative to its root.
func (s *source) imports() map[string]token.Pos {
	result := map[string]token.Pos{}
	for _, spec := range s.ast.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err == nil {
			result[strings.TrimPrefix(imported, modulePath)] = spec.Pos()
		}
	}
	return result
}

// rule finds faults, each a text that begins with a position.
type rule func([]*source) []string

// newSource parses one file given by its slash-separated path below the root.
func newSource(name string, text []byte) (*source, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	return &source{
		dir:   path.Dir(name),
		name:  path.Base(name),
		test:  strings.HasSuffix(name, "_test.go"),
		lines: strings.Count(string(text), "\n"),
		fset:  fset,
		ast:   parsed,
	}, nil
}

// repository parses all Go files of the repository, once.
var repository = sync.OnceValues(func() ([]*source, error) {
	var sources []*source
	err := walk(func(name string) error {
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(rootFolder, name))
		if err != nil {
			return err
		}
		s, err := newSource(name, text)
		if err != nil {
			return err
		}
		sources = append(sources, s)
		return nil
	})
	return sources, err
})

// walk visits every regular file of the repository by its path below the root, except test data, build results and
// what version control keeps for itself.
func walk(visit func(name string) error) error {
	skipped := map[string]bool{".git": true, ".cache": true, ".amends": true, "bin": true, "dist": true, "testdata": true}
	return filepath.WalkDir(rootFolder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(rootFolder, name)
		if err != nil {
			return err
		}
		if entry.IsDir() && skipped[entry.Name()] {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		return visit(filepath.ToSlash(relative))
	})
}

// holds fails the test for every fault that the rules find in the repository.
func holds(t *testing.T, rules ...rule) {
	t.Helper()
	sources, err := repository()
	if err != nil {
		t.Fatalf("read the repository: %v", err)
	}
	for _, r := range rules {
		for _, fault := range r(sources) {
			t.Error(fault)
		}
	}
}

// catches fails the test unless the rule accepts the good file and finds exactly one fault in the bad one. Both are
// looked at together with the other files, which are faultless; all are given as path and text.
func catches(t *testing.T, r rule, name, good, bad string, others ...string) {
	t.Helper()
	parse := func(name, text string) *source {
		s, err := newSource(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var context []*source
	for i := 0; i+1 < len(others); i += 2 {
		context = append(context, parse(others[i], others[i+1]))
	}
	if faults := r(append(context, parse(name, good))); len(faults) != 0 {
		t.Errorf("the undamaged twin of %s has faults: %q", name, faults)
	}
	if faults := r(append(context, parse(name, bad))); len(faults) != 1 {
		t.Errorf("want one fault in the damaged %s, found %q", name, faults)
	}
}
