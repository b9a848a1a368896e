package lint

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ban forbids the use of names of a package outside the packages that adapt the outside world.
type ban struct {
	// pkg is an import path; names are what of it is banned, nil for everything but except.
	pkg           string
	names, except []string
	// adapters may use them. The command line, and the programs of tests and CI, may use whatever is banned here.
	adapters []string
	instead  string
}

// adapters and the reason why each touches the clock, the streams or the process itself.
var adapters = []string{
	"cmd/...",               // the process
	"internal/machine/...",  // is the real clock that they inject
	"internal/pipeline/...", // puts the stages together, with the real clock and jitter
	"internal/cli/...",      // prints, and hands the clock and streams of the process to its verbs
	"internal/testkit/...",  // starts servers and waits for them
	"internal/pgserver/...", // starts a Postgres server and waits for it
	"internal/lint/...",     // prints the summary of a test run
	"internal/mutants/...",  // runs tests and times them
	"stages/run/...",        // loops the steps of the stages in real time
	"stages/kafka/...",      // waits for a broker
	"stages/postgres/...",   // waits for a database
	"oracle/source/...",     // waits for a broker
	"oracle/pgview/...",     // waits for a database
}

// bans are the calls that make a run depend on when and where it happens, and those that bypass the App's streams.
func bans() []ban {
	randomState := []string{"New", "NewSource", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "Source64", "PCG", "ChaCha8", "Zipf"}
	return []ban{
		{pkg: "time", names: []string{"Now", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Since", "Until"},
			adapters: adapters, instead: "take a clock as a port, so that simulated time works"},
		{pkg: "time", names: []string{"Local", "LoadLocation"}, instead: "every instant is UTC"},
		{pkg: "math/rand", except: randomState, instead: "use a seeded generator"},
		{pkg: "math/rand/v2", except: randomState, adapters: []string{"internal/pipeline/..."}, instead: "use a seeded generator"},
		{pkg: "fmt", names: []string{"Print", "Printf", "Println"}, instead: "write to a stream that was passed in"},
		{pkg: "log", except: []string{}, instead: "write to a stream that was passed in, or use log/slog with a handler that was"},
		{pkg: "log/slog", names: []string{"Debug", "Info", "Warn", "Error", "Log", "DebugContext", "InfoContext", "WarnContext", "ErrorContext", "Default", "SetDefault", "With"},
			instead: "log to a *slog.Logger that was passed in"},
		{pkg: "os", names: []string{"Exit"}, adapters: []string{"cmd/...", "internal/evidence", "internal/lint/...", "internal/mutants"}, instead: "return an error; internal/exit carries the code"},
		{pkg: "os", names: []string{"Stdin", "Stdout", "Stderr"}, adapters: []string{"internal/cli/root", "internal/evidence", "internal/lint/...", "internal/mutants", "internal/testkit/child"}, instead: "use the streams of app.App"},
		{pkg: "os", names: []string{"Getenv", "LookupEnv", "Environ", "Setenv"},
			adapters: []string{"internal/cli/root", "internal/testkit/...", "internal/pgserver/..."}, instead: "use app.App.Getenv"},
	}
}

// bannedCalls is the rule of all bans. Test files and suites are free: they are adapters by nature.
func bannedCalls(sources []*source) []string {
	var faults []string
	for _, s := range sources {
		if s.isTest() {
			continue
		}
		for _, b := range bans() {
			if !matches(s.dir, b.adapters...) {
				faults = append(faults, b.faults(s)...)
			}
		}
		faults = append(faults, builtins(s)...)
	}
	return faults
}

// faults are the uses of what is banned in one file.
func (b ban) faults(s *source) []string {
	local := localName(s, b.pkg)
	if local == "" {
		return nil
	}
	var faults []string
	ast.Inspect(s.ast, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		qualifier, ok := selector.X.(*ast.Ident)
		if !ok || qualifier.Name != local {
			return true
		}
		name := selector.Sel.Name
		if b.names == nil && !slices.Contains(b.except, name) || slices.Contains(b.names, name) {
			faults = append(faults, fmt.Sprintf("%s: %s.%s: %s", s.at(selector.Pos()), b.pkg, name, b.instead))
		}
		return true
	})
	return faults
}

// localName is the name under which a file imports a package, empty where it does not.
func localName(s *source, pkg string) string {
	for _, spec := range s.ast.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil || imported != pkg {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		parts := strings.Split(strings.TrimSuffix(pkg, "/v2"), "/")
		return parts[len(parts)-1]
	}
	return ""
}

// builtins finds panics, which no input may cause (broken invariants are returned, internal/invariant), and the
// print builtins.
func builtins(s *source) []string {
	var faults []string
	if matches(s.dir, "internal/testkit/...") { // a broken test kit cannot report otherwise from an init
		return nil
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if name, ok := call.Fun.(*ast.Ident); ok && slices.Contains([]string{"panic", "print", "println"}, name.Name) {
			faults = append(faults, fmt.Sprintf("%s: %s: return an error; a broken invariant is internal/invariant's", s.at(call.Pos()), name.Name))
		}
		return true
	})
	return faults
}

// comparedErrors finds decisions taken on the text of an error.
func comparedErrors(sources []*source) []string {
	var faults []string
	for _, s := range sources {
		if s.isTest() {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			found := false
			switch n := n.(type) {
			case *ast.BinaryExpr:
				found = (n.Op.String() == "==" || n.Op.String() == "!=") && (isErrorText(n.X) || isErrorText(n.Y))
			case *ast.SwitchStmt:
				found = n.Tag != nil && isErrorText(n.Tag)
			case *ast.CallExpr:
				found = searchesText(n) && slices.ContainsFunc(n.Args, isErrorText)
			}
			if found {
				faults = append(faults, s.at(n.Pos())+": decides by the text of an error: use errors.Is or errors.As")
			}
			return true
		})
	}
	return faults
}

// isErrorText reports whether the expression is a call x.Error().
func isErrorText(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) != 0 {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Error"
}

// searchesText reports whether the call is one of package strings that tests for a part of a text.
func searchesText(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Contains", "HasPrefix", "HasSuffix", "EqualFold", "Index"}, selector.Sel.Name) {
		return false
	}
	pkg, ok := selector.X.(*ast.Ident)
	return ok && pkg.Name == "strings"
}

// silentSkips finds tests that skip without saying what is missing.
func silentSkips(sources []*source) []string {
	var faults []string
	for _, s := range sources {
		ast.Inspect(s.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 0 {
				return true
			}
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && (selector.Sel.Name == "SkipNow" || isTestSkip(s, selector)) {
				faults = append(faults, s.at(call.Pos())+": skips without saying what is missing")
			}
			return true
		})
	}
	return faults
}

// isTestSkip reports whether a selector is Skip of what by its name is a testing.TB.
func isTestSkip(s *source, selector *ast.SelectorExpr) bool {
	receiver, ok := selector.X.(*ast.Ident)
	return ok && selector.Sel.Name == "Skip" && localName(s, "testing") != "" && slices.Contains([]string{"t", "b", "f", "tb"}, receiver.Name)
}

func TestBannedCalls(t *testing.T) { holds(t, bannedCalls, comparedErrors, silentSkips) }

func TestBannedCallsCatches(t *testing.T) {
	f := func(r rule, name, imported, good, bad string) {
		t.Helper()
		file := func(body string) string {
			return fmt.Sprintf("package p\n\nimport %s\n\nfunc f() {\n\t%s\n}\n", imported, body)
		}
		catches(t, r, name, file(good), file(bad))
	}
	f(bannedCalls, "stages/relay/bad.go", `"time"`, "_ = time.Second", "_ = time.Now()")
	f(bannedCalls, "stages/relay/bad.go", `clock "time"`, "_ = clock.UTC", "clock.Sleep(1)")
	f(bannedCalls, "oracle/report/bad.go", `"time"`, "_ = time.Duration(1)", "now := time.Now; _ = now")
	f(bannedCalls, "manifests/bad.go", `"time"`, "_ = time.UTC", "_ = time.Local")
	f(bannedCalls, "stages/generate/bad.go", `"math/rand/v2"`, "_ = rand.New(rand.NewPCG(1, 2))", "_ = rand.IntN(3)")
	f(bannedCalls, "stages/generate/bad.go", `"math/rand"`, "_ = rand.New(rand.NewSource(1))", "rand.Shuffle(1, nil)")
	f(bannedCalls, "internal/cli/plan/bad.go", `"fmt"`, "fmt.Fprintln(nil)", "fmt.Println()")
	f(bannedCalls, "stages/run/bad.go", `"log"`, "f()", "log.Print(1)")
	f(bannedCalls, "stages/run/bad.go", `"log/slog"`, "_ = slog.New(nil)", "slog.Info(\"x\")")
	f(bannedCalls, "internal/cli/plan/bad.go", `"os"`, "_ = os.ErrNotExist", "os.Exit(1)")
	f(bannedCalls, "internal/cli/plan/bad.go", `"os"`, "_ = os.ErrNotExist", "_ = os.Stdout")
	f(bannedCalls, "internal/cli/plan/bad.go", `"os"`, "_ = os.ErrNotExist", `_ = os.Getenv("HOME")`)
	f(bannedCalls, "stages/ledger/bad.go", `"fmt"`, "_ = fmt.Sprint(1)", "panic(fmt.Sprint(1))")
	f(comparedErrors, "stages/relay/bad.go", `"errors"`, "_ = errors.Is(err, io.EOF)", `_ = err.Error() == "EOF"`)
	f(comparedErrors, "stages/relay/bad.go", `"strings"`, `_ = strings.Contains(text, "EOF")`, `_ = strings.Contains(err.Error(), "EOF")`)
	f(comparedErrors, "stages/relay/bad.go", `"strings"`, `switch text { case "EOF": }`, `switch err.Error() { case "EOF": }`)
	f(silentSkips, "stages/relay/bad_test.go", `"testing"`, `t.Skip("no Postgres")`, "t.Skip()")
	f(silentSkips, "stages/relay/bad_test.go", `"testing"`, `t.Skip("no Postgres")`, "t.SkipNow()")
}
