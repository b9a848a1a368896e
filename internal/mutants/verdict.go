package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// verdict is what one run of go test says.
type verdict struct {
	// failed: a test failed, panicked or hung. first is the one that did, as far down as it is known.
	failed bool
	first  string
	// passed are the tests that passed.
	passed []string
	// broken: a package or its tests did not compile.
	broken bool
	// output is what the failed test, or the compiler, printed.
	output string
}

// event is a line of go test -json, and of go build -json, whose lines are among them.
type event struct {
	Action, Test, Output string
}

// judge reads the output of go test -json.
func judge(stream []byte) verdict {
	var v verdict
	printed := map[string]string{}
	running := map[string]bool{}
	hung := false
	for line := range bytes.Lines(stream) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			continue // the go command's own words
		}
		switch e.Action {
		case "build-output":
			printed[""] += e.Output
		case "build-fail":
			v.broken = true
		case "output":
			printed[e.Test] += e.Output
			hung = hung || strings.HasPrefix(e.Output, "panic: test timed out")
		case "run":
			running[e.Test] = true
		case "pass":
			delete(running, e.Test)
			if e.Test != "" {
				v.passed = append(v.passed, e.Test)
			}
		case "skip":
			delete(running, e.Test)
		case "fail":
			v.failed = true
			// A parent's failure comes after its child's: the first one with a name is what failed.
			if v.first == "" && e.Test != "" {
				v.first = deepest(e.Test, running)
			}
			delete(running, e.Test)
		}
	}
	if v.first == "" && v.failed {
		v.first = deepest("", running)
	}
	v.output = printed[v.first] + printed[""]
	switch {
	case v.first == "" && v.failed:
		v.first = "(outside of any test)"
	case hung:
		v.first += " (hung)"
	}
	v.failed = v.failed && !v.broken
	return v
}

// deepest is the test that was still running below one that failed, or below none: a panic, or the end of the time, is
// reported for the whole of them.
func deepest(name string, running map[string]bool) string {
	found := name
	for other := range running {
		if (name == "" || strings.HasPrefix(other, name+"/")) && (len(other) > len(found) || len(other) == len(found) && other < found) {
			found = other
		}
	}
	return found
}

// alternatives splits a -run pattern as go test does: at | into alternatives, each at / into a pattern for every level of
// subtests; not within brackets.
func alternatives(run string) [][]string {
	all := [][]string{{""}}
	depth := 0
	for _, r := range run {
		last := &all[len(all)-1]
		switch {
		case depth == 0 && r == '|':
			all = append(all, []string{""})
			continue
		case depth == 0 && r == '/':
			*last = append(*last, "")
			continue
		case r == '(' || r == '[':
			depth++
		case r == ')' || r == ']':
			depth--
		}
		(*last)[len(*last)-1] += string(r)
	}
	return all
}

// unmatched returns the first alternative of a -run pattern that none of the tests matches at all its levels: go test
// says nothing where a test has no such subtest.
func unmatched(run string, tests []string) string {
	for _, levels := range alternatives(run) {
		found := slices.ContainsFunc(tests, func(test string) bool {
			names := strings.Split(test, "/")
			if len(names) < len(levels) {
				return false
			}
			for i, level := range levels {
				if ok, err := regexp.MatchString(level, names[i]); !ok || err != nil {
					return false
				}
			}
			return true
		})
		if !found {
			return strings.Join(levels, "/")
		}
	}
	return ""
}
