package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// event is one line of go test -json.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build output
	Test       string
	Elapsed    float64
	Output     string
}

// limits are what fails a run beside a failing test.
type limits struct {
	packageTime  time.Duration
	skipsAllowed bool
}

// testID names one test, subtests included.
type testID struct{ pkg, test string }

// pkgResult is what became of one package.
type pkgResult struct {
	passed, failed, skipped int
	elapsed                 time.Duration
	ended                   bool
	ok                      bool
	testless                bool
}

// result accumulates the events of one run.
type result struct {
	packages map[string]*pkgResult
	// output is kept for tests that have not ended, and for packages under the empty test name.
	output map[testID]*strings.Builder
	// skips are the skipped tests with their reasons, failures the failed ones.
	skips, failures []string
	built           bool // something failed to build
}

// newResult is a result without events.
func newResult() *result {
	return &result{packages: map[string]*pkgResult{}, output: map[testID]*strings.Builder{}, built: true}
}

// add takes one line and returns what to print for it.
func (r *result) add(line []byte) string {
	var e event
	if err := json.Unmarshal(line, &e); err != nil || e.Action == "" {
		return string(line) // the go command's own words
	}
	switch e.Action {
	case "build-output":
		return e.Output
	case "build-fail":
		r.built = false
		return ""
	}
	id := testID{e.Package, e.Test}
	pkg := r.packages[e.Package]
	if pkg == nil {
		pkg = &pkgResult{}
		r.packages[e.Package] = pkg
	}
	switch {
	case e.Action == "output":
		if r.output[id] == nil {
			r.output[id] = &strings.Builder{}
		}
		r.output[id].WriteString(e.Output)
		return ""
	case e.Action != "pass" && e.Action != "fail" && e.Action != "skip":
		return ""
	case e.Test == "":
		return r.endPackage(id, pkg, e)
	}
	return r.endTest(id, pkg, e)
}

// endTest counts one test that ended and prints it unless it passed.
func (r *result) endTest(id testID, pkg *pkgResult, e event) string {
	output := r.take(id)
	name := e.Package + " " + e.Test
	switch e.Action {
	case "pass":
		pkg.passed++
		return ""
	case "skip":
		pkg.skipped++
		r.skips = append(r.skips, name+": "+skipReason(output))
		return ""
	}
	pkg.failed++
	r.failures = append(r.failures, name)
	return output
}

// endPackage prints one line for a package that ended, and its own output if it failed.
func (r *result) endPackage(id testID, pkg *pkgResult, e event) string {
	pkg.ended, pkg.ok = true, e.Action != "fail"
	pkg.elapsed = time.Duration(e.Elapsed * float64(time.Second))
	pkg.testless = e.Action == "skip"
	output := r.take(id)
	if pkg.testless {
		return ""
	}
	var b strings.Builder
	verdict := "ok  "
	if !pkg.ok {
		verdict = "FAIL"
		for _, open := range r.unended(e.Package) {
			r.failures = append(r.failures, open.pkg+" "+open.test+" (did not end)")
			b.WriteString(r.take(open))
		}
		b.WriteString(output)
		if pkg.failed == 0 {
			r.failures = append(r.failures, e.Package)
		}
	}
	fmt.Fprintf(&b, "%s %-52s %7.1fs  %d passed, %d failed, %d skipped\n",
		verdict, e.Package, pkg.elapsed.Seconds(), pkg.passed, pkg.failed, pkg.skipped)
	return b.String()
}

// take removes and returns the output of a test or package.
func (r *result) take(id testID) string {
	output := r.output[id]
	delete(r.output, id)
	if output == nil {
		return ""
	}
	return output.String()
}

// unended are the tests of a package that wrote something and never ended.
func (r *result) unended(pkg string) []testID {
	var open []testID
	for id := range r.output {
		if id.pkg == pkg && id.test != "" {
			open = append(open, id)
		}
	}
	slices.SortFunc(open, func(a, b testID) int { return strings.Compare(a.test, b.test) })
	return open
}

// skipReason is what a skipped test printed, in one line.
func skipReason(output string) string {
	var reasons []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			reasons = append(reasons, line)
		}
	}
	return strings.Join(reasons, " ")
}

// summary is the end of the run in words, and whether it is a success.
func (r *result) summary(limits limits) (text string, ok bool) {
	var b strings.Builder
	ok = r.built
	if !r.built {
		b.WriteString("a package does not build\n")
	}
	total, tested := pkgResult{}, 0
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		pkg := r.packages[name]
		total.passed += pkg.passed
		total.failed += pkg.failed
		total.skipped += pkg.skipped
		if !pkg.testless {
			tested++
		}
		ok = ok && pkg.ended && pkg.ok
		if !pkg.ended {
			fmt.Fprintf(&b, "did not end: %s\n", name)
		}
		if pkg.elapsed > limits.packageTime {
			ok = false
			fmt.Fprintf(&b, "too slow: %s took %s, more than %s\n", name, pkg.elapsed.Round(time.Second), limits.packageTime)
		}
	}
	for _, name := range r.failures {
		fmt.Fprintf(&b, "failed: %s\n", name)
	}
	for _, skip := range r.skips {
		fmt.Fprintf(&b, "skipped: %s\n", skip)
	}
	ok = ok && tested > 0 && total.failed == 0 && (limits.skipsAllowed || total.skipped == 0)
	verdict := "FAIL"
	if ok {
		verdict = "PASS"
	}
	fmt.Fprintf(&b, "%s: %d packages, %d tests passed, %d failed, %d skipped\n", verdict, tested, total.passed, total.failed, total.skipped)
	return b.String(), ok
}
