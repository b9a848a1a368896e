package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// matches reports whether a path is one of the patterns, or below one that ends in "/...".
func matches(name string, patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, below := strings.CutSuffix(pattern, "/...")
		return name == prefix || below && strings.HasPrefix(name, prefix+"/")
	})
}

// boundary forbids imports. Patterns of this module are relative to its root.
type boundary struct {
	// from and except are the packages the boundary is about.
	from, except []string
	// forbid are the packages that must not be imported, save those in allow.
	forbid, allow []string
	// deep looks at what is imported indirectly through this module's packages too.
	deep bool
	// tests includes test files.
	tests bool
	// instead says why, or what to do.
	instead string
}

// Every driver is confined to the packages that adapt it.
var (
	pgx       = []string{"github.com/jackc/pgx/v5/...", "database/sql/...", "github.com/lib/pq/..."}
	kafka     = []string{"github.com/twmb/franz-go/..."}
	testOnly  = []string{"testing/...", "internal/testkit/...", "pgregory.net/rapid/...", "github.com/google/go-cmp/...", "github.com/rogpeppe/go-internal/...", "go.uber.org/goleak/..."}
	outside   = []string{"os/...", "net/...", "log/...", "syscall/...", "plugin/...", "math/rand/...", "crypto/rand", "golang.org/x/sys/...", "golang.org/x/term/..."}
	shells    = []string{"stages/intake", "stages/worker", "stages/relay", "stages/view", "stages/replay", "stages/rebuild", "stages/generate", "stages/owner/egress"}
	judged    = []string{"stages/..."}
	judging   = []string{"oracle/...", "vectorized/..."}
	bothSides = []string{"manifests/...", "schemas/...", "internal/invariant", "internal/mark"}
	// pure packages are functions of their arguments: no context, no clock, no file, no network.
	pure = []string{
		"manifests/...", "schemas/...", "stages/ledger/...", "stages/durability/...", "internal/exit", "internal/invariant", "internal/mark",
		"oracle/decode/...", "oracle/projection/...", "oracle/boundary/...", "oracle/compare/...", "oracle/explain/...", "oracle/report/...", "oracle/diagnostics/...",
	}
	// ports are as pure, but their calls may wait, so that they take a context. The reference engine implements one.
	ports = []string{"stages/broker", "stages/owner", "stages/owner/memory", "stages/owner/projection", "oracle/engine", "oracle/reference/..."}
)

// boundaries is the dependency direction of design section 2.
func boundaries() []boundary {
	drivers := slices.Concat(pgx, kafka)
	return []boundary{
		{from: pure, forbid: slices.Concat(outside, drivers, []string{"context"}), deep: true,
			instead: "pure packages import neither context nor IO: pass values in"},
		{from: ports, forbid: slices.Concat(outside, drivers), deep: true,
			instead: "ports import no IO: leave it to the adapter"},
		{from: shells, forbid: slices.Concat(outside, drivers, []string{"stages/postgres/...", "stages/kafka/...", "stages/owner/postgres/..."}), allow: []string{"log/slog"}, deep: true,
			instead: "shells see the world through ports"},
		{from: []string{"..."}, except: []string{"stages/postgres/...", "stages/owner/postgres/...", "oracle/pgview/...", "internal/testkit/..."}, forbid: pgx,
			instead: "pgx stays in stages/postgres, stages/owner/postgres and oracle/pgview"},
		{from: []string{"..."}, except: []string{"stages/kafka/...", "oracle/source/...", "internal/testkit/..."}, forbid: kafka,
			instead: "franz-go stays in stages/kafka and oracle/source"},
		{from: judging, forbid: judged, deep: true, tests: true,
			instead: "the oracle shares no code with what it judges"},
		{from: judged, forbid: judging, deep: true, tests: true,
			instead: "the stages share no code with their judge"},
		{from: []string{"..."}, except: []string{"internal/testkit/...", "internal/lint/..."}, forbid: testOnly, deep: true,
			instead: "production code imports no test helper"},
		{from: []string{"..."}, except: []string{"cmd/...", "internal/cli/..."}, forbid: []string{"internal/cli/...", "cmd/...", "github.com/spf13/..."},
			instead: "only cmd and the command line itself know the command line"},
		{from: []string{"cmd/..."}, forbid: []string{"..."}, allow: []string{"internal/cli/root", "os"},
			instead: "main only calls internal/cli/root"},
		{from: []string{"internal/invariant", "internal/mark"}, forbid: []string{"..."}, allow: []string{"errors", "fmt", "sync", "sync/atomic"},
			instead: "imported by everything, so they import only the standard library"},
	}
}

// matchesAll is matches where "..." stands for every path.
func matchesAll(name string, patterns []string) bool {
	return slices.Contains(patterns, "...") || matches(name, patterns...)
}

// faults are the imports that cross the boundary.
func (b boundary) faults(sources []*source) []string {
	var faults []string
	chains := reach(sources)
	for _, s := range sources {
		if s.isTest() && !b.tests || !matchesAll(s.dir, b.from) || matches(s.dir, b.except...) {
			continue
		}
		imported := s.imports()
		for _, direct := range slices.Sorted(maps.Keys(imported)) {
			for _, chain := range b.chainsFrom(direct, chains) {
				faults = append(faults, fmt.Sprintf("%s: imports %s: %s", s.at(imported[direct]), strings.Join(chain, " -> "), b.instead))
			}
		}
	}
	return faults
}

// chainsFrom returns the forbidden ones among a direct import and, where the boundary is deep, what it leads to.
func (b boundary) chainsFrom(direct string, chains map[string][][]string) [][]string {
	candidates := [][]string{{direct}}
	if b.deep {
		candidates = append(candidates, chains[direct]...)
	}
	var forbidden [][]string
	for _, chain := range candidates {
		target := chain[len(chain)-1]
		if matchesAll(target, b.forbid) && !matches(target, b.allow...) {
			forbidden = append(forbidden, chain)
		}
	}
	return forbidden
}

// reach gives, for every package of this module, one import chain to each package that its non-test files lead to.
// Packages outside this module are not followed.
func reach(sources []*source) map[string][][]string {
	direct := map[string]map[string]bool{}
	for _, s := range sources {
		if s.test {
			continue // what a suite imports is followed, so that production code cannot import a suite
		}
		if direct[s.dir] == nil {
			direct[s.dir] = map[string]bool{}
		}
		for imported := range s.imports() {
			direct[s.dir][imported] = true
		}
	}
	chains := map[string][][]string{}
	for start := range direct {
		seen := map[string]bool{start: true}
		queue := [][]string{{start}}
		for len(queue) > 0 {
			chain := queue[0]
			queue = queue[1:]
			for _, next := range slices.Sorted(maps.Keys(direct[chain[len(chain)-1]])) {
				if seen[next] {
					continue
				}
				seen[next] = true
				longer := append(slices.Clone(chain), next)
				chains[start] = append(chains[start], longer)
				queue = append(queue, longer)
			}
		}
	}
	return chains
}

// dependencies is the rule of all boundaries.
func dependencies(sources []*source) []string {
	var faults []string
	for _, b := range boundaries() {
		faults = append(faults, b.faults(sources)...)
	}
	return faults
}

// independence: what both the stages and their judge lead to is only what they must agree on by contract.
func independence(sources []*source) []string {
	used := map[string]string{}
	var faults []string
	chains := reach(sources)
	for _, start := range slices.Sorted(maps.Keys(chains)) {
		var side string
		switch {
		case matches(start, judged...):
			side = "stages"
		case matches(start, judging...):
			side = "oracle"
		default:
			continue
		}
		for _, chain := range chains[start] {
			target := chain[len(chain)-1]
			if !inModule(target, sources) || matches(target, bothSides...) {
				continue
			}
			if other, ok := used[target]; ok && other != side {
				faults = append(faults, fmt.Sprintf("%s: is imported by the stages and by their judge, last through %s", target, strings.Join(chain, " -> ")))
			}
			used[target] = side
		}
	}
	return faults
}

// inModule reports whether a package is one of this module's.
func inModule(name string, sources []*source) bool {
	return slices.ContainsFunc(sources, func(s *source) bool { return s.dir == name })
}

func TestDependencyDirection(t *testing.T) { holds(t, dependencies, independence) }

func TestDependencyDirectionCatches(t *testing.T) {
	f := func(name, good, bad string, others ...string) {
		t.Helper()
		file := func(imported string) string { return fmt.Sprintf("package p\n\nimport _ %q\n", imported) }
		for i := 1; i < len(others); i += 2 {
			others[i] = file(others[i])
		}
		catches(t, dependencies, name, file(good), file(bad), others...)
	}
	f("stages/ledger/bad.go", "bytes", "context")
	f("stages/ledger/bad.go", "time", "os")
	f("manifests/bad.go", "go.yaml.in/yaml/v3", "net/http")
	f("manifests/bad.go", "crypto/sha256", "math/rand/v2")
	f("oracle/decode/bad.go", "amends.dev/amends/manifests", "amends.dev/amends/internal/deep", "internal/deep/deep.go", "os")
	f("stages/broker/bad.go", "context", "os")
	f("oracle/reference/bad.go", "context", "os/exec")
	f("stages/worker/bad.go", "context", "amends.dev/amends/stages/postgres")
	f("stages/view/bad.go", "context", "net")
	f("stages/view/bad.go", "log/slog", "log")
	f("stages/ledger/bad.go", "bytes", "log/slog")
	f("internal/cli/verify/bad.go", "context", "github.com/jackc/pgx/v5/pgxpool")
	f("stages/kafka/bad.go", "github.com/twmb/franz-go/pkg/kgo", "github.com/jackc/pgx/v5")
	f("stages/postgres/bad.go", "github.com/jackc/pgx/v5", "github.com/twmb/franz-go/pkg/kgo")
	f("oracle/compare/bad.go", "amends.dev/amends/oracle/projection", "amends.dev/amends/stages/ledger")
	f("oracle/compare/bad_test.go", "testing", "amends.dev/amends/stages/ledger")
	f("vectorized/bad.go", "amends.dev/amends/internal/deep", "amends.dev/amends/internal/other",
		"internal/deep/deep.go", "bytes", "internal/other/other.go", "amends.dev/amends/stages/ledger")
	f("stages/rebuild/bad.go", "amends.dev/amends/manifests", "amends.dev/amends/vectorized/snapshot")
	f("internal/sim/bad.go", "amends.dev/amends/oracle/reference", "testing")
	f("internal/cli/demo/bad.go", "amends.dev/amends/internal/pgserver", "amends.dev/amends/internal/testkit/pg")
	f("stages/postgres/bad.go", "amends.dev/amends/stages/view", "amends.dev/amends/stages/view/viewtest",
		"stages/view/viewtest/suite.go", "testing")
	f("stages/run/bad.go", "log/slog", "amends.dev/amends/internal/cli/app")
	f("cmd/amendsctl/bad.go", "amends.dev/amends/internal/cli/root", "fmt")
	f("internal/mark/bad.go", "sync", "amends.dev/amends/manifests")
}

func TestIndependenceCatches(t *testing.T) {
	catches(t, independence, "oracle/decode/bad.go",
		"package decode\n\nimport _ \"amends.dev/amends/manifests\"\n",
		"package decode\n\nimport _ \"amends.dev/amends/internal/clever\"\n",
		"manifests/manifests.go", "package manifests\n",
		"internal/clever/clever.go", "package clever\n",
		"stages/ledger/ledger.go", "package ledger\n\nimport (\n\t_ \"amends.dev/amends/internal/clever\"\n\t_ \"amends.dev/amends/manifests\"\n)\n")
}
