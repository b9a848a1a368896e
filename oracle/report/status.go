// Package report is the one value behind every rendering of a verification: text and JSON show the same counts and
// the same details (S10, R21, design section 8). It is pure.
package report

import "amends.dev/amends/internal/exit"

// Status is the verdict of a verification (S10).
type Status string

// The statuses, by falling precedence (R21).
const (
	// Error: a failure prevents a reliable result.
	Error Status = "ERROR"
	// Incomplete: the boundary was not reached, the source changed, or required history is unavailable.
	Incomplete Status = "INCOMPLETE"
	// Blocked: complete boundary, but a highest revision is ambiguous.
	Blocked Status = "BLOCKED"
	// Drift: a complete comparison found a mismatch of business state, trust state or evidence.
	Drift Status = "DRIFT"
	// Exclusions: agreement, with reported rejections or superseded conflicts.
	Exclusions Status = "PASS_WITH_EXCLUSIONS"
	// Pass: agreement without any qualification.
	Pass Status = "PASS"
)

// Facts are all that a status depends on.
type Facts struct {
	// Failed: infrastructure, protocol, arithmetic, schema or verifier failure.
	Failed bool
	// Complete: the boundary was reached and was still unmoved after the comparison.
	Complete bool
	// Ambiguous: a highest revision is ambiguous.
	Ambiguous bool
	// Different: at least one difference.
	Different bool
	// Excluded: at least one rejection or superseded conflict.
	Excluded bool
	// Expectation is how the diagnostics compare with an expected-diagnostics file. It never changes a status (S10).
	Expectation Expectation
}

// Expectation is the outcome of comparing diagnostics with a file of expected ones (R24).
type Expectation int

// The expectations.
const (
	// NoneGiven: there is no such file.
	NoneGiven Expectation = iota
	// Exact: the file lists exactly what was found.
	Exact
	// Differs: an entry is missing or superfluous.
	Differs
)

// Decide is the status of the facts, by the precedence of R21. It is total.
func Decide(f Facts) Status {
	switch {
	case f.Failed:
		return Error
	case !f.Complete:
		return Incomplete
	case f.Ambiguous:
		return Blocked
	case f.Different:
		return Drift
	case f.Excluded:
		return Exclusions
	default:
		return Pass
	}
}

// ExitCode is the process exit code of the facts (design section 8). It is total. An expectation counts where nothing but
// exclusions is left to be expected: the exact one turns PASS_WITH_EXCLUSIONS into success, and one that differs is no
// success, also where the status is PASS and the file lists what is no longer found (B131).
func (f Facts) ExitCode() exit.Code {
	status := Decide(f)
	switch {
	case status != Exclusions && status != Pass:
	case f.Expectation == Exact:
		return exit.OK
	case f.Expectation == Differs:
		return exit.Exclusions
	}
	return status.ExitCode()
}

// ExitCode is the process exit code of the status where no diagnostics were expected (design section 8).
func (s Status) ExitCode() exit.Code {
	switch s {
	case Pass:
		return exit.OK
	case Exclusions:
		return exit.Exclusions
	case Blocked:
		return exit.Blocked
	case Drift:
		return exit.Drift
	case Incomplete:
		return exit.Incomplete
	default:
		return exit.Error
	}
}
