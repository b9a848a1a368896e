//go:build unix

package arrow_test

import (
	"math"
	"os"
	"syscall"
	"testing"
	"time"

	"amends.dev/amends/oracle/arrow"
)

// processorTime is what this process has used so far.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// leastCost is what a computation is taken to need at least, so that what the machine does beside it does not count. A
// path that compares each of 65,536 records with every other takes seconds.
const leastCost = 5 * time.Millisecond

// TestHostileShapesAreLinear computes each shape at one size and at four times that: processor time, which other work on
// the machine changes little, must not grow more than twice as fast. Anything quadratic takes sixteen times as much. With
// AMENDS_LONG the larger size is 1,000,000 records.
func TestHostileShapesAreLinear(t *testing.T) {
	few := int64(16_384)
	if os.Getenv("AMENDS_LONG") != "" {
		few = 250_000
	}
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			cost := func(n int64) time.Duration {
				ns, _, set := s.written(t, n)
				best := time.Duration(math.MaxInt64)
				for range 5 {
					before := processorTime(t)
					if _, err := (arrow.Engine{}).ComputeColumns(t.Context(), ns, set.Typed(), arrow.Options{Workers: 1}); err != nil {
						t.Fatal(err)
					}
					best = min(best, processorTime(t)-before)
				}
				return best
			}
			small, large := cost(few), cost(4*few)
			t.Logf("%d records %v, %d records %v: %.1f times", few, small, 4*few, large, float64(large)/float64(small))
			if large > 8*max(small, leastCost) {
				t.Errorf("%v for %d records, %v for %d", small, few, large, 4*few)
			}
		})
	}
}
