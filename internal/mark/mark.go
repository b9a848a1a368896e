// Package mark holds coverage marks: named places in production code that a certain test must pass through. A ruling
// or a rare branch (R09, an unknown commit) is marked where it is implemented, and the test that claims to exercise it
// expects the mark, so that the test cannot go on passing after the code stopped reaching that place.
package mark

import (
	"sync"
	"sync/atomic"
)

// watchers counts the tests that expect marks. While it is zero, which in production is always, Hit is one load.
var watchers atomic.Int64

// hits counts how often each mark was hit while a test was watching.
var hits struct {
	sync.Mutex
	byName map[string]int
}

// Hit notes that the named place was passed. It is safe for concurrent use.
func Hit(name string) {
	if watchers.Load() == 0 {
		return
	}
	hits.Lock()
	defer hits.Unlock()
	hits.byName[name]++
}

// TB is the part of testing.TB that Expect needs; production code imports no testing package.
type TB interface {
	// Helper hides the caller from the position of a failure.
	Helper()
	// Errorf fails the test and lets it go on.
	Errorf(format string, args ...any)
	// Cleanup registers what runs at the end of the test.
	Cleanup(f func())
}

// Expect fails the test at its end unless each named mark was hit after this call. Marks are counted for the whole
// process: a test that expects marks must not run in parallel with others that hit them.
func Expect(tb TB, names ...string) {
	tb.Helper()
	before := watch(names)
	tb.Cleanup(func() {
		tb.Helper()
		for i, after := range unwatch(names) {
			if after == before[i] {
				tb.Errorf("mark %s was not hit", names[i])
			}
		}
	})
}

// watch begins counting and returns the counts so far.
func watch(names []string) []int {
	hits.Lock()
	defer hits.Unlock()
	if hits.byName == nil {
		hits.byName = map[string]int{}
	}
	watchers.Add(1)
	return counts(names)
}

// unwatch returns the counts and ends counting for one watcher.
func unwatch(names []string) []int {
	hits.Lock()
	defer hits.Unlock()
	watchers.Add(-1)
	return counts(names)
}

// counts are the hits of each name. The caller holds the lock.
func counts(names []string) []int {
	result := make([]int, len(names))
	for i, name := range names {
		result[i] = hits.byName[name]
	}
	return result
}
