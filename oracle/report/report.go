package report

import (
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/explain"
	"amends.dev/amends/oracle/projection"
)

// SchemaVersion is the version of the JSON shape, schemas/report.json.
const SchemaVersion = 1

// Report is everything one verification found. Status, ExitCode and Retryable are set by Judge from the rest.
type Report struct {
	SchemaVersion int       `json:"schemaVersion"`
	Status        Status    `json:"status"`
	ExitCode      exit.Code `json:"exitCode"`
	// Retryable says that the same verification may end otherwise later without a change of the namespace.
	Retryable bool `json:"retryable"`
	// Began is when the verification began: RFC 3339, UTC.
	Began string `json:"began"`
	// Kept is the number under which the report is kept; 0 where it is not, for the reason in NotKept.
	Kept      int64  `json:"kept"`
	NotKept   string `json:"notKept,omitempty"`
	Namespace string `json:"namespace"`
	// Digest and BusinessDigest are the two configuration digests (R02).
	Digest           string `json:"digest"`
	BusinessDigest   string `json:"businessDigest"`
	SemanticsVersion int64  `json:"semanticsVersion"`
	// Code is the version of the verifying program.
	Code string `json:"code"`
	// LedgerOrigin is RFC 3339, UTC.
	LedgerOrigin string `json:"ledgerOrigin"`
	// Source.End is H, Output.End is O (S10).
	Source    Range     `json:"source"`
	Output    Range     `json:"output"`
	Frontiers Frontiers `json:"frontiers"`
	// Engine judged; BuiltBy computed what was judged (R26).
	Engine  string `json:"engine"`
	BuiltBy string `json:"builtBy"`
	// ExperimentOf is the namespace whose history this one computes under another business configuration (R02).
	ExperimentOf string `json:"experimentOf,omitempty"`
	// JudgedFrom is "topic", or the folder of the snapshot that was judged in its place, with TypedColumns behind it
	// where these were judged.
	JudgedFrom string `json:"judgedFrom"`
	// WritersExcludedBy is lease or statement (R22); empty where the run ended before that was known.
	WritersExcludedBy string `json:"writersExcludedBy"`
	// Complete says that the boundary was reached and was still unmoved after the comparison.
	Complete bool `json:"complete"`
	// Checks are the completion checks that held, in the order in which they were made (S10 step 6).
	Checks      []boundary.Check         `json:"checks"`
	Counts      Counts                   `json:"counts"`
	Differences []compare.Difference     `json:"differences"`
	Rejections  []Rejection              `json:"rejections"`
	Conflicts   []Conflict               `json:"conflicts"`
	OutOfDomain []projection.OutOfDomain `json:"outOfDomain"`
	Incomplete  []boundary.Reason        `json:"incomplete"`
	Errors      []boundary.Reason        `json:"errors"`
	// Explanations derive the keys that differ or are BLOCKED from their source records. Like the listed differences they
	// are bounded.
	Explanations []explain.Key `json:"explanations"`
	// NotExplained says why there are none although keys differ or are BLOCKED; else it is empty.
	NotExplained string `json:"notExplained,omitempty"`
	// Scope are the keys that were asked for; it changes no verdict (S10).
	Scope []ScopedKey `json:"scope"`
	// Expected is the comparison with a file of expected diagnostics; nil where none was given (R24).
	Expected *Expected `json:"expectedDiagnostics"`
	Timings  Timings   `json:"timings"`
}

// Range is the part of a topic that was judged. Vectors are indexed by partition; they are empty where the run ended
// before they were captured.
type Range struct {
	Topic   string `json:"topic"`
	TopicID string `json:"topicId"`
	// Start is the retained start, End is exclusive.
	Start []int64 `json:"start"`
	End   []int64 `json:"end"`
}

// Frontiers are the exclusive positions last seen, by partition.
type Frontiers struct {
	Worker []int64 `json:"worker"`
	View   []int64 `json:"view"`
}

// Counts are complete, whatever the limit on listed differences.
type Counts struct {
	// Records is the number of visible source records through H.
	Records    int64         `json:"records"`
	Balances   compare.Tally `json:"balances"`
	Alerts     compare.Tally `json:"alerts"`
	Statuses   compare.Tally `json:"statuses"`
	Quarantine compare.Tally `json:"quarantine"`
	// ConflictRows tallies conflict evidence; AmbiguousConflicts and SupersededConflicts count conflicts by state.
	ConflictRows compare.Tally `json:"conflictRows"`
	// Keys tallies the stock keys that the view can name, Guards the guards of its rows.
	Keys                compare.Tally `json:"keys"`
	Guards              compare.Tally `json:"guards"`
	AmbiguousConflicts  int64         `json:"ambiguousConflicts"`
	SupersededConflicts int64         `json:"supersededConflicts"`
	BlockedKeys         int64         `json:"blockedKeys"`
	Rejections          int64         `json:"rejections"`
	// Differences is the sum over all families.
	Differences int64 `json:"differences"`
}

// Rejection is one rejected source record with its fingerprint: the SHA-256, in hex, over length-prefixed key and
// value (R24).
type Rejection struct {
	Partition   int32  `json:"partition"`
	Offset      int64  `json:"offset"`
	Reason      string `json:"reason"`
	Fingerprint string `json:"fingerprint"`
}

// The states of a conflict.
const (
	// Ambiguous: it stands at the highest revision of its identity and blocks its key.
	Ambiguous = "ambiguous"
	// Superseded: a higher revision made it history (S4).
	Superseded = "superseded"
)

// Conflict is a revision for which distinct payloads were seen.
type Conflict struct {
	Item     string `json:"item"`
	Location string `json:"location"`
	TxnID    string `json:"txn_id"`
	Revision int64  `json:"revision"`
	State    string `json:"state"`
	// Payloads are the distinct payloads, in the order of their coordinates; empty where the oracle did not read them.
	Payloads []Payload `json:"payloads"`
}

// Payload is one of the contradicting payloads of a conflict, at the coordinates of the first record that has it.
type Payload struct {
	Partition int32 `json:"partition"`
	Offset    int64 `json:"offset"`
	// Canonical is the canonical payload (S3), by diagnostics.Canonical; Fingerprint the SHA-256 of its bytes in hex.
	Canonical   string `json:"canonical"`
	Fingerprint string `json:"fingerprint"`
}

// Timings are wall-clock milliseconds of each phase.
type Timings struct {
	Writer  int64 `json:"writerMs"`
	Source  int64 `json:"sourceMs"`
	Worker  int64 `json:"workerMs"`
	Relay   int64 `json:"relayMs"`
	Output  int64 `json:"outputMs"`
	View    int64 `json:"viewMs"`
	Scan    int64 `json:"scanMs"`
	Compare int64 `json:"compareMs"`
	Explain int64 `json:"explainMs"`
	Recheck int64 `json:"recheckMs"`
	Total   int64 `json:"totalMs"`
}

// New returns a report without findings; its slices are never nil.
func New() *Report {
	return &Report{
		SchemaVersion: SchemaVersion,
		Source:        Range{Start: []int64{}, End: []int64{}},
		Output:        Range{Start: []int64{}, End: []int64{}},
		Frontiers:     Frontiers{Worker: []int64{}, View: []int64{}},
		Differences:   []compare.Difference{},
		Rejections:    []Rejection{},
		Checks:        []boundary.Check{},
		Conflicts:     []Conflict{},
		Explanations:  []explain.Key{},
		Scope:         []ScopedKey{},
		OutOfDomain:   []projection.OutOfDomain{},
		Incomplete:    []boundary.Reason{},
		Errors:        []boundary.Reason{},
	}
}

// Facts are the report's facts, from its findings alone.
func (r *Report) Facts() Facts {
	f := Facts{
		Failed:    len(r.Errors) > 0 || len(r.OutOfDomain) > 0,
		Complete:  r.Complete && len(r.Incomplete) == 0,
		Ambiguous: r.Counts.AmbiguousConflicts > 0,
		Different: r.Counts.Differences > 0,
		Excluded:  r.Counts.Rejections > 0 || r.Counts.SupersededConflicts > 0,
	}
	if r.Expected != nil {
		f.Expectation = Differs
		if r.Expected.Exact {
			f.Expectation = Exact
		}
	}
	return f
}

// Judge sets the status, exit code and whether to try again.
func (r *Report) Judge() {
	facts := r.Facts()
	r.Status, r.ExitCode = Decide(facts), facts.ExitCode()
	var reasons []boundary.Reason
	switch {
	case len(r.OutOfDomain) > 0:
	case r.Status == Error:
		reasons = r.Errors
	case r.Status == Incomplete:
		reasons = r.Incomplete
	}
	r.Retryable = len(reasons) > 0
	for _, reason := range reasons {
		r.Retryable = r.Retryable && reason.Retryable
	}
}
