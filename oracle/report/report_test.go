package report

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"amends.dev/amends/internal/testkit/schema"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/projection"
)

// sample is a complete report without findings.
func sample() *Report {
	r := New()
	r.Namespace, r.Digest, r.BusinessDigest = "demo", "aa", "bb"
	r.SemanticsVersion, r.Code, r.LedgerOrigin = 1, "v0", "2026-01-01T00:00:00Z"
	r.Source = Range{Topic: "in", TopicID: "S", Start: []int64{0}, End: []int64{3}}
	r.Output = Range{Topic: "out", TopicID: "O", Start: []int64{0}, End: []int64{5}}
	r.Engine, r.BuiltBy, r.WritersExcludedBy, r.Complete = "arrow", "stream", "lease", true
	r.Counts.Records = 3
	return r
}

func reason(phase boundary.Phase, text string, retryable bool) boundary.Reason {
	p, o := int32(2), int64(40)
	return boundary.Reason{Phase: phase, Reason: text, Partition: &p, Offset: &o, Retryable: retryable}
}

// reports is one report for each status, by name.
func reports() map[string]*Report {
	all := map[string]*Report{}
	add := func(name string, change func(r *Report)) {
		r := sample()
		change(r)
		r.Judge()
		all[name] = r
	}
	add("pass", func(*Report) {})
	add("empty", func(r *Report) { r.Counts.Records = 0 })
	add("exclusions", func(r *Report) {
		r.Counts.Rejections = 1
		r.Rejections = []Rejection{{Partition: 0, Offset: 1, Reason: "invalid_json", Fingerprint: strings.Repeat("ab", 32)}}
	})
	add("drift", func(r *Report) {
		c := compare.NewCollector(1, nil)
		must(c.Balances(compare.Slice([]projection.Balance{{Item: "a b", Location: "l", Day: "2026-01-01", Close: 9007199254740993}, {Item: "c", Location: "l", Day: "2026-01-01"}}),
			compare.Slice([]projection.Balance{{Item: "a b", Location: "l", Day: "2026-01-01", Close: 9007199254740992}})))
		must(c.Quarantine(compare.Slice([]compare.Rejected{{Offset: 7, Reason: "invalid_json", TopicID: "S", Key: compare.Blob{Length: -1}}}),
			compare.Slice[compare.Rejected](nil)))
		must(c.Conflicts(compare.Slice([]projection.Conflict{{Item: "c", Location: "l", TxnID: "t1", Revision: 2}}), compare.Slice[projection.Conflict](nil)))
		r.Differences, r.Counts.Differences = c.Listed(), c.Differences()
		r.Counts.Balances, r.Counts.Quarantine, r.Counts.ConflictRows =
			c.Tally(compare.FamilyBalance), c.Tally(compare.FamilyQuarantine), c.Tally(compare.FamilyConflict)
	})
	add("blocked", func(r *Report) {
		r.Counts.AmbiguousConflicts, r.Counts.BlockedKeys, r.Counts.Differences = 1, 1, 2
		r.Conflicts = []Conflict{{Item: "c", Location: "l", TxnID: "t1", Revision: 2, State: Ambiguous, Payloads: []Payload{}}}
	})
	add("incomplete", func(r *Report) {
		r.Complete = false
		r.Incomplete = []boundary.Reason{reason(boundary.PhaseRelay, "3 outbox envelopes are not acknowledged", true)}
	})
	add("combined", func(r *Report) {
		r.Complete = false
		r.Incomplete = []boundary.Reason{reason(boundary.PhaseRelay, "stalled", true), reason(boundary.PhaseSource, "lost", false)}
		r.Counts.AmbiguousConflicts, r.Counts.BlockedKeys = 1, 1
		r.Conflicts = []Conflict{{Item: "c", Location: "l", TxnID: "t1", Revision: 2, State: Ambiguous, Payloads: []Payload{}}}
	})
	add("error", func(r *Report) {
		r.Complete = false
		r.Errors = []boundary.Reason{reason(boundary.PhaseWorker, "arithmetic_overflow", false)}
	})
	add("overflow", func(r *Report) {
		r.OutOfDomain = []projection.OutOfDomain{{Item: "c", Location: "l", Day: "2026-01-01", Close: "9223372036854775808"}}
	})
	return all
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func TestReportsMatchSchema(t *testing.T) {
	compiled := schema.Compile(t, "report.json")
	for name, r := range reports() {
		var b bytes.Buffer
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(doc); err != nil {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
		doc.(map[string]any)["surplus"] = true
		if compiled.Validate(doc) == nil {
			t.Errorf("%s: the schema accepts an unknown member", name)
		}
	}
}

// TestSC25CombinedCaseText: an incomplete boundary with a known conflict is INCOMPLETE and lists the conflict; once the
// boundary is complete it is BLOCKED.
func TestSC25CombinedCaseText(t *testing.T) {
	r := reports()["combined"]
	if r.Status != Incomplete || r.ExitCode != 13 || len(r.Conflicts) != 1 {
		t.Fatalf("status %s, exit %d, %d conflicts", r.Status, r.ExitCode, len(r.Conflicts))
	}
	text := render(t, r)
	for _, want := range []string{"INCOMPLETE demo: relay: partition 2: stalled (and 1 more); 1 unresolved conflict is known", "the key is BLOCKED and its retained values are uncertified"} {
		if !strings.Contains(text, want) {
			t.Errorf("text lacks %q:\n%s", want, text)
		}
	}
	r.Complete, r.Incomplete = true, nil
	r.Judge()
	if r.Status != Blocked {
		t.Errorf("at a complete boundary: %s, want BLOCKED", r.Status)
	}
}

func TestFirstLines(t *testing.T) {
	want := map[string]string{
		"pass":       "PASS demo: no difference; 3 records compared: 0 balances, 0 alerts, 0 statuses",
		"empty":      "PASS demo: no difference; 0 records compared: 0 balances, 0 alerts, 0 statuses", // B124
		"exclusions": "PASS_WITH_EXCLUSIONS demo: no difference, with 1 rejection and 0 superseded conflicts; 3 records compared: 0 balances, 0 alerts, 0 statuses",
		"drift":      "DRIFT demo: 4 differences; 3 records compared: 2 balances, 0 alerts, 0 statuses",
		"blocked":    "BLOCKED demo: 1 key cannot be certified (1 ambiguous revision); 2 differences on the rest",
		"incomplete": "INCOMPLETE demo: relay: partition 2: 3 outbox envelopes are not acknowledged",
		"error":      "ERROR demo: worker: partition 2: arithmetic_overflow",
		"overflow":   "ERROR demo: 1 day closes outside int64",
	}
	all := reports()
	for name, line := range want {
		if got, _, _ := strings.Cut(render(t, all[name]), "\n"); got != line {
			t.Errorf("%s:\n got %s\nwant %s", name, got, line)
		}
	}
}

// TestTextAndJSONAgree: one report value feeds both, and counts stay full where the details are limited.
func TestTextAndJSONAgree(t *testing.T) {
	r := reports()["drift"]
	text := render(t, r)
	for _, want := range []string{
		"differences (3 of 4 listed):",
		`changed balance "a b"/l 2026-01-01: oracle close=9007199254740993, view close=9007199254740992`, // B068
		"evidence quarantine partition 0 offset 7: oracle invalid_json topic=S key=null value=0B(not kept), view none",
		"evidence conflict c/l t1 revision 2: oracle recorded, view none",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("text lacks %q:\n%s", want, text)
		}
	}
	var b bytes.Buffer
	if err := JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Counts != r.Counts || back.Status != r.Status || len(back.Differences) != 3 {
		t.Errorf("JSON says %+v, %s; the report %+v, %s", back.Counts, back.Status, r.Counts, r.Status)
	}
	if !strings.Contains(text, strconv.FormatInt(back.Counts.Differences, 10)+" differences") {
		t.Errorf("text does not show the %d differences of the JSON", back.Counts.Differences)
	}
}

func TestRetryable(t *testing.T) {
	all := reports()
	for name, want := range map[string]bool{"pass": false, "drift": false, "incomplete": true, "combined": false, "error": false, "overflow": false} {
		if got := all[name].Retryable; got != want {
			t.Errorf("%s: retryable %v, want %v", name, got, want)
		}
	}
}

func TestLimitLeavesCountsFull(t *testing.T) {
	r := sample()
	for i := range int64(5) {
		r.Rejections = append(r.Rejections, Rejection{Offset: i, Reason: "null_value"})
	}
	r.Counts.Rejections = 5
	r.Judge()
	var b strings.Builder
	if err := Text(&b, r, 2); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "rejections (5):") || !strings.Contains(b.String(), "… and 3 more") {
		t.Error(b.String())
	}
}

func render(t *testing.T, r *Report) string {
	t.Helper()
	var b strings.Builder
	if err := Text(&b, r, 0); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
