package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"testing"
)

const (
	// functionLinesMax bounds a function outside tests, comments included: what does not fit on a screen does not
	// fit in a head.
	functionLinesMax = 70
	// fileLinesMax bounds a file, tests included.
	fileLinesMax = 500
)

// emptyNames are package names that say nothing about what is inside.
var emptyNames = []string{"util", "utils", "common", "types", "helper", "helpers", "misc", "shared", "base", "lib", "stuff"}

// longFunctions finds functions outside tests that are too long.
func longFunctions(sources []*source) []string {
	var faults []string
	for _, s := range sources {
		if s.isTest() {
			continue
		}
		for _, declaration := range s.ast.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := s.fset.Position(function.End()).Line - s.fset.Position(function.Pos()).Line + 1
			if lines > functionLinesMax {
				faults = append(faults, fmt.Sprintf("%s: %s has %d lines, more than %d", s.at(function.Pos()), function.Name.Name, lines, functionLinesMax))
			}
		}
	}
	return faults
}

// longFiles finds files that are too long.
func longFiles(sources []*source) []string {
	var faults []string
	for _, s := range sources {
		if s.lines > fileLinesMax {
			faults = append(faults, fmt.Sprintf("%s/%s: %d lines, more than %d: split by subject", s.dir, s.name, s.lines, fileLinesMax))
		}
	}
	return faults
}

// emptyPackageNames finds packages whose name says nothing.
func emptyPackageNames(sources []*source) []string {
	found := map[string]bool{}
	for _, s := range sources {
		if slices.Contains(emptyNames, s.ast.Name.Name) || slices.Contains(emptyNames, path.Base(s.dir)) {
			found[fmt.Sprintf("%s: package %s is not named after what it is about", s.dir, s.ast.Name.Name)] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// undocumented finds packages and exported names without a doc comment. Fields may explain themselves.
func undocumented(sources []*source) []string {
	var faults []string
	documented := map[string]bool{}
	for _, s := range sources {
		if s.test {
			continue
		}
		documented[s.dir] = documented[s.dir] || s.ast.Doc != nil
		for _, declaration := range s.ast.Decls {
			switch declaration := declaration.(type) {
			case *ast.FuncDecl:
				if declaration.Name.IsExported() && exportedReceiver(declaration) && declaration.Doc == nil {
					faults = append(faults, fmt.Sprintf("%s: %s has no doc comment", s.at(declaration.Pos()), declaration.Name.Name))
				}
			case *ast.GenDecl:
				faults = append(faults, undocumentedSpecs(s, declaration)...)
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(documented)) {
		if !documented[dir] {
			faults = append(faults, dir+": the package has no doc comment")
		}
	}
	return faults
}

// exportedReceiver reports whether a function is no method, or one of an exported type.
func exportedReceiver(function *ast.FuncDecl) bool {
	if function.Recv == nil || len(function.Recv.List) == 0 {
		return true
	}
	receiver := function.Recv.List[0].Type
	for {
		switch expression := receiver.(type) {
		case *ast.StarExpr:
			receiver = expression.X
		case *ast.IndexExpr:
			receiver = expression.X
		case *ast.IndexListExpr:
			receiver = expression.X
		case *ast.Ident:
			return expression.IsExported()
		default:
			return true
		}
	}
}

// undocumentedSpecs finds undocumented types, interface methods, constants and variables of one declaration. A
// comment on a group of constants or variables documents them all.
func undocumentedSpecs(s *source, declaration *ast.GenDecl) []string {
	var faults []string
	missing := func(pos token.Pos, name string) {
		faults = append(faults, fmt.Sprintf("%s: %s has no doc comment", s.at(pos), name))
	}
	for _, spec := range declaration.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if !spec.Name.IsExported() {
				continue
			}
			if spec.Doc == nil && (declaration.Doc == nil || declaration.Lparen.IsValid()) {
				missing(spec.Pos(), spec.Name.Name)
			}
			port, ok := spec.Type.(*ast.InterfaceType)
			if !ok {
				continue
			}
			for _, method := range port.Methods.List {
				if len(method.Names) == 1 && method.Names[0].IsExported() && method.Doc == nil && method.Comment == nil {
					missing(method.Pos(), spec.Name.Name+"."+method.Names[0].Name)
				}
			}
		case *ast.ValueSpec:
			if spec.Doc != nil || spec.Comment != nil || declaration.Doc != nil {
				continue
			}
			if i := slices.IndexFunc(spec.Names, (*ast.Ident).IsExported); i >= 0 {
				missing(spec.Pos(), spec.Names[i].Name)
			}
		}
	}
	return faults
}

func TestShape(t *testing.T) { holds(t, longFunctions, longFiles, emptyPackageNames, undocumented) }

func TestShapeCatches(t *testing.T) {
	lines := func(n int) string { return string(slices.Repeat([]byte("\n"), n)) }
	const name, head = "stages/ledger/bad.go", "// Package ledger is documented.\npackage ledger\n\n"
	catches(t, longFunctions, name, head+"func f() {"+lines(69)+"}\n", head+"func f() {"+lines(70)+"}\n")
	catches(t, longFunctions, name, head+"func f() {"+lines(69)+"}\n", head+"func (*t) m() {"+lines(70)+"}\n")
	catches(t, longFiles, name, head+lines(497), head+lines(498))
	catches(t, emptyPackageNames, name, head, "package util\n")
}

func TestUndocumentedCatches(t *testing.T) {
	f := func(good, bad string) {
		t.Helper()
		const head = "// Package ledger is documented.\npackage ledger\n\n"
		catches(t, undocumented, "stages/ledger/bad.go", head+good, head+bad)
	}
	catches(t, undocumented, "stages/ledger/bad.go", "// Package ledger is documented.\npackage ledger\n", "package ledger\n")
	f("// F is.\nfunc F() {}\n", "func F() {}\n")
	f("// M is.\nfunc (*T) M() {}\n", "func (*T) M() {}\n")
	f("func (*t) M() {}\n", "func (T[K]) M() {}\n")
	f("// T is.\ntype T int\n", "type T int\n")
	f("type (\n\t// T is.\n\tT int\n)\n", "// The types.\ntype (\n\tT int\n)\n")
	f("// P is.\ntype P interface {\n\t// M is.\n\tM()\n}\n", "// P is.\ntype P interface {\n\tM()\n}\n")
	f("// The two.\nconst (\n\tA = 1\n\tB = 2\n)\n", "const (\n\t// A is.\n\tA = 1\n\tB = 2\n)\n")
	f("var (\n\tA int // A is.\n\tb int\n)\n", "var A int\n")
}
