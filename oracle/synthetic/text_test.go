package synthetic

import (
	"fmt"
	"testing"
	"time"
)

// TestText renders numbers and instants as the standard library does.
func TestText(t *testing.T) {
	r := random{state: 7}
	for range 10_000 {
		n := int64(r.below(1_000_000_000_000) >> r.below(30))
		want := fmt.Sprintf("TX-%010d", n)
		if len(want)%2 == 0 { // an odd number of digits above ten
			want = "TX-0" + want[3:]
		}
		if got := string(appendTxnID(nil, n)); got != want {
			t.Fatalf("%d: %s, want %s", n, got, want)
		}
	}
	var c calendar
	for _, nanos := range []int64{0, 1, 10, 999_999_999, Origin, Origin - 1, Origin + nanosPerMs, 1<<63 - 1} {
		check(t, &c, nanos)
	}
	for range 10_000 {
		check(t, &c, Origin+int64(r.below(9_000_000))*1_000_000_007)
		check(t, &c, Origin+int64(r.below(1<<40))*nanosPerMs/2)
	}
}

// check compares one instant.
func check(t *testing.T, c *calendar, nanos int64) {
	t.Helper()
	want := time.Unix(0, nanos).UTC().Format(time.RFC3339Nano)
	if got := string(c.append(nil, nanos)); got != want {
		t.Fatalf("%d: %s, want %s", nanos, got, want)
	}
}

// TestUrn draws from an urn: each key as often as its weight says, and never one without.
func TestUrn(t *testing.T) {
	weights := []uint64{1, 50, 3, 946, 1000, 2000}
	u := newUrn([]int32{10, 11, 12, 13, 14, 15}, weights)
	const draws = 4_000_000
	r := random{state: 1}
	seen := map[int32]float64{}
	for range draws {
		seen[u.draw(&r)]++
	}
	for i, w := range weights {
		want := float64(w) / 4000 * draws
		if got := seen[int32(10+i)]; got < want*0.9-30 || got > want*1.1+30 {
			t.Errorf("key %d: drawn %.0f times, want about %.0f", 10+i, got, want)
		}
	}
	if len(seen) != len(weights) {
		t.Errorf("drawn: %v", seen)
	}
}

// TestClock spreads rows over a time: the last one comes when it ends, and no step differs from another by more than one.
func TestClock(t *testing.T) {
	for _, c := range [][2]int64{{1000, 7}, {7, 1000}, {1, 1}, {730 * msPerDay, 99_991}} {
		k := newClock(c[0], c[1])
		var sum int64
		for range c[1] {
			step := k.tick()
			if sum += step; step < c[0]/c[1] || step > c[0]/c[1]+1 {
				t.Fatalf("%v: a step of %d", c, step)
			}
		}
		if sum != c[0] {
			t.Errorf("%v: %d in all", c, sum)
		}
	}
}
