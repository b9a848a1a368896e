package report

import (
	"testing"

	"amends.dev/amends/internal/exit"
)

// TestR21PrecedenceExhaustive writes the verdict of all 32 combinations of facts down: ERROR, INCOMPLETE, BLOCKED,
// DRIFT, PASS_WITH_EXCLUSIONS, PASS.
func TestR21PrecedenceExhaustive(t *testing.T) {
	// Index: failed, complete, ambiguous, different, excluded as bits 4..0.
	want := [32]Status{
		// not failed, not complete: whatever else is known
		0: Incomplete, 1: Incomplete, 2: Incomplete, 3: Incomplete, 4: Incomplete, 5: Incomplete, 6: Incomplete, 7: Incomplete,
		// not failed, complete
		8: Pass, 9: Exclusions, 10: Drift, 11: Drift, 12: Blocked, 13: Blocked, 14: Blocked, 15: Blocked,
		// failed
		16: Error, 17: Error, 18: Error, 19: Error, 20: Error, 21: Error, 22: Error, 23: Error,
		24: Error, 25: Error, 26: Error, 27: Error, 28: Error, 29: Error, 30: Error, 31: Error,
	}
	for i, status := range want {
		f := Facts{Failed: i&16 != 0, Complete: i&8 != 0, Ambiguous: i&4 != 0, Different: i&2 != 0, Excluded: i&1 != 0}
		if got := Decide(f); got != status {
			t.Errorf("Decide(%+v) = %s, want %s", f, got, status)
		}
	}
}

func TestB131ExitCodes(t *testing.T) {
	want := map[Status]exit.Code{Error: 1, Incomplete: 13, Blocked: 11, Drift: 12, Exclusions: 10, Pass: 0, "": 1}
	for status, code := range want {
		if got := status.ExitCode(); got != code {
			t.Errorf("%q: exit code %d, want %d", status, got, code)
		}
	}
}
