package lint

import (
	"go/ast"
	"path"
	"testing"
)

// verbsFile is where the verbs of amendsctl are put together.
const verbsFile = "internal/cli/root/verbs.go"

// unregistered finds verbs, packages below internal/cli with a function New that returns a command, that amendsctl does
// not know.
func unregistered(sources []*source) []string {
	known := map[string]bool{}
	for _, s := range sources {
		if path.Join(s.dir, s.name) == verbsFile {
			for imported := range s.imports() {
				known[imported] = true
			}
		}
	}
	var faults []string
	for _, s := range sources {
		if s.test || path.Dir(s.dir) != "internal/cli" || known[s.dir] {
			continue
		}
		for _, declaration := range s.ast.Decls {
			if function, ok := declaration.(*ast.FuncDecl); ok && isVerb(function) {
				faults = append(faults, s.at(function.Pos())+": the verb is not in "+verbsFile)
			}
		}
	}
	return faults
}

// isVerb reports whether a function is New and returns a *cobra.Command.
func isVerb(function *ast.FuncDecl) bool {
	if function.Recv != nil || function.Name.Name != "New" || function.Type.Results.NumFields() != 1 {
		return false
	}
	pointer, ok := function.Type.Results.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	selector, ok := pointer.X.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Command"
}

func TestVerbsAreRegistered(t *testing.T) { holds(t, unregistered) }

func TestVerbsAreRegisteredCatches(t *testing.T) {
	const verb = "package plan\n\nfunc New(a *app.App) *cobra.Command { return nil }\n"
	f := func(name, good, bad string, others ...string) {
		t.Helper()
		catches(t, unregistered, name, good, bad, others...)
	}
	f(verbsFile, "package root\n\nimport _ \"amends.dev/amends/internal/cli/plan\"\n", "package root\n", "internal/cli/plan/plan.go", verb)
	f("internal/cli/plan/plan.go", "package plan\n\nfunc New() *Plan { return nil }\n", verb)
}
