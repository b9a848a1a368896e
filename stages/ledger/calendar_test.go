package ledger

import (
	"math"
	"testing"
	"time"
)

// TestB081EveryDay: each of the 213,505 days that have an instant is written and read as the standard library has it, the
// last days of centuries and eras among them.
func TestB081EveryDay(t *testing.T) {
	first, last := DayOf(math.MinInt64), DayOf(math.MaxInt64)
	for day := first; day <= last; day++ {
		want := time.Unix(int64(day)*secondsPerDay, 0).UTC()
		text := want.Format(time.DateOnly)
		if got := FormatDay(day); got != text {
			t.Fatalf("day %d is written as %s, want %s", day, got, text)
		}
		at, ok := parseInstant([]byte(text + "T12:34:56.789Z"))
		if exact := want.Add(12*time.Hour + 34*time.Minute + 56*time.Second + 789*time.Millisecond); !ok && day != first && day != last || ok && at != exact.UnixNano() {
			t.Fatalf("noon of %s is read as %d, %t", text, at, ok)
		}
		if ok && DayOf(at) != day {
			t.Fatalf("noon of day %d is on day %d", day, DayOf(at))
		}
	}
}
