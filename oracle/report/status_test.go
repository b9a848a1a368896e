package report

import (
	"strings"
	"testing"

	"amends.dev/amends/internal/exit"
	"amends.dev/amends/oracle/boundary"
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

// TestR21ExitCodeExhaustive writes the exit code of all combinations of facts and expectation down: an expectation
// counts for PASS and PASS_WITH_EXCLUSIONS alone, and never changes a status.
func TestR21ExitCodeExhaustive(t *testing.T) {
	plain := map[Status]exit.Code{Error: 1, Incomplete: 13, Blocked: 11, Drift: 12, Exclusions: 10, Pass: 0}
	for i := range 32 {
		f := Facts{Failed: i&16 != 0, Complete: i&8 != 0, Ambiguous: i&4 != 0, Different: i&2 != 0, Excluded: i&1 != 0}
		status := Decide(f)
		for expectation, want := range map[Expectation]exit.Code{NoneGiven: plain[status], Exact: plain[status], Differs: plain[status]} {
			f.Expectation = expectation
			switch { // the four cases in which an expectation counts, written out
			case i == 8 && expectation == Exact, i == 9 && expectation == Exact:
				want = 0
			case i == 8 && expectation == Differs, i == 9 && expectation == Differs:
				want = 10
			}
			if got := f.ExitCode(); got != want || Decide(f) != status {
				t.Errorf("%+v: %s, exit code %d, want %s and %d", f, Decide(f), got, status, want)
			}
		}
	}
}

// TestSC25CombinedCase: a boundary that was not reached and a known conflict are INCOMPLETE, and list the conflict; at
// the complete boundary the same conflict is BLOCKED.
func TestSC25CombinedCase(t *testing.T) {
	r := New()
	r.Conflicts = append(r.Conflicts, Conflict{Item: "a", Location: "l", TxnID: "t", Revision: 1, State: Ambiguous})
	r.Counts.AmbiguousConflicts, r.Counts.BlockedKeys = 1, 1
	r.Incomplete = append(r.Incomplete, boundary.Reason{Phase: boundary.PhaseRelay, Reason: "stalled", Retryable: true})
	if r.Judge(); r.Status != Incomplete || r.ExitCode != exit.Incomplete || !r.Retryable || len(r.Conflicts) != 1 {
		t.Errorf("%+v", r)
	}
	if line := Verdict(r); !strings.Contains(line, "1 unresolved conflict is known") {
		t.Error(line)
	}
	r.Incomplete, r.Complete = nil, true
	if r.Judge(); r.Status != Blocked || r.ExitCode != exit.Blocked {
		t.Errorf("%+v", r)
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
