package conformance_test

import (
	"slices"
	"testing"

	"amends.dev/amends/internal/conformance"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/report"
)

// flip falsifies one kind of expectation and reports whether there was one to falsify.
type flip struct {
	name string
	// levels are those without a server that must notice.
	levels []conformance.Level
	do     func(e *conformance.Expectation) bool
}

var (
	onlyCore = []conformance.Level{conformance.Core}
	onlyOr   = []conformance.Level{conformance.Oracle}
	both     = []conformance.Level{conformance.Core, conformance.Oracle}
)

// edited returns the list with its last element edited; false where there is none.
func edited[T any](list []T, edit func(*T)) ([]T, bool) {
	if len(list) == 0 {
		return list, false
	}
	list = slices.Clone(list)
	edit(&list[len(list)-1])
	return list, true
}

// more returns a number that is another one.
func more(n *int64) *int64 {
	other := *n ^ 1
	return &other
}

// flips are every kind of expectation, each falsified in the ways in which it can be wrong.
func flips() []flip {
	day := "2026-02-28"
	return []flip{
		{"another balance", both, func(e *conformance.Expectation) (ok bool) {
			e.Balances, ok = edited(e.Balances, func(b *projection.Balance) { b.Close ^= 1 })
			return ok
		}},
		{"a balance of another day", both, func(e *conformance.Expectation) (ok bool) {
			e.Balances, ok = edited(e.Balances, func(b *projection.Balance) { b.Day = day })
			return ok
		}},
		{"one more balance", both, func(e *conformance.Expectation) bool {
			if e.Balances == nil {
				return false
			}
			e.Balances = append(slices.Clone(e.Balances), projection.Balance{Item: "widget", Location: "berlin", Day: day})
			return true
		}},
		{"one alert less", both, func(e *conformance.Expectation) bool {
			if len(e.Alerts) == 0 {
				return false
			}
			e.Alerts = e.Alerts[:len(e.Alerts)-1]
			return true
		}},
		{"another close of an alert", both, func(e *conformance.Expectation) (ok bool) {
			e.Alerts, ok = edited(e.Alerts, func(a *projection.Alert) { a.Close ^= 1 })
			return ok
		}},
		{"another threshold of an alert", both, func(e *conformance.Expectation) (ok bool) {
			e.Alerts, ok = edited(e.Alerts, func(a *projection.Alert) { a.Threshold ^= 1 })
			return ok
		}},
		{"one more alert", both, func(e *conformance.Expectation) bool {
			if e.Alerts == nil {
				return false
			}
			e.Alerts = append(slices.Clone(e.Alerts), projection.Alert{Item: "widget", Location: "berlin", Day: day})
			return true
		}},
		{"another status", both, func(e *conformance.Expectation) (ok bool) {
			e.Statuses, ok = edited(e.Statuses, func(s *projection.Status) {
				s.Status = map[string]string{"READY": "BLOCKED", "BLOCKED": "READY"}[s.Status]
			})
			return ok
		}},
		{"another reason set", both, func(e *conformance.Expectation) (ok bool) {
			e.Statuses, ok = edited(e.Statuses, func(s *projection.Status) {
				s.Conflicts = append(slices.Clone(s.Conflicts), projection.ConflictRef{TxnID: "t9", Revision: 9})
			})
			return ok
		}},
		{"one more superseded conflict", both, func(e *conformance.Expectation) bool {
			if e.SupersededConflicts == nil {
				return false
			}
			e.SupersededConflicts = append(slices.Clone(e.SupersededConflicts), projection.Conflict{Item: "widget", Location: "berlin", TxnID: "t9", Revision: 9})
			return true
		}},
		{"another superseded conflict", both, func(e *conformance.Expectation) (ok bool) {
			e.SupersededConflicts, ok = edited(e.SupersededConflicts, func(c *projection.Conflict) { c.Revision ^= 1 })
			return ok
		}},
		{"another reason of a rejection", both, func(e *conformance.Expectation) (ok bool) {
			e.Rejections, ok = edited(e.Rejections, func(r *projection.Rejection) { r.Reason = "oversized_record" })
			return ok
		}},
		{"one more rejection", both, func(e *conformance.Expectation) bool {
			if e.Rejections == nil {
				return false
			}
			e.Rejections = append(slices.Clone(e.Rejections), projection.Rejection{Offset: 99, Reason: "null_value"})
			return true
		}},
		{"another close out of domain", onlyOr, func(e *conformance.Expectation) (ok bool) {
			e.OutOfDomain, ok = edited(e.OutOfDomain, func(d *projection.OutOfDomain) { d.Close += "0" })
			return ok
		}},
		{"another retained balance", onlyCore, func(e *conformance.Expectation) (ok bool) {
			if e.Retained == nil {
				return false
			}
			retained := *e.Retained
			retained.Balances, ok = edited(retained.Balances, func(b *projection.Balance) { b.Close ^= 1 })
			e.Retained = &retained
			return ok
		}},
		{"nothing retained", onlyCore, func(e *conformance.Expectation) bool {
			if e.Retained == nil || len(e.Retained.Balances) == 0 {
				return false
			}
			e.Retained = &conformance.Facts{Balances: []projection.Balance{}, Alerts: e.Retained.Alerts}
			return true
		}},
		{"another version", onlyCore, func(e *conformance.Expectation) (ok bool) {
			e.Envelopes, ok = edited(e.Envelopes, func(m *conformance.Envelope) { m.Version++ })
			return ok
		}},
		{"another type", onlyCore, func(e *conformance.Expectation) (ok bool) {
			e.Envelopes, ok = edited(e.Envelopes, func(m *conformance.Envelope) { m.Type = "BalanceCorrected" })
			return ok
		}},
		{"another output ID", onlyCore, func(e *conformance.Expectation) (ok bool) {
			e.Envelopes, ok = edited(e.Envelopes, func(m *conformance.Envelope) { m.OutputID = append(slices.Clone(m.OutputID), day) })
			return ok
		}},
		{"another payload", onlyCore, func(e *conformance.Expectation) bool {
			at := slices.IndexFunc(e.Envelopes, func(m conformance.Envelope) bool { return m.Close != nil })
			if at < 0 {
				return false
			}
			e.Envelopes = slices.Clone(e.Envelopes)
			e.Envelopes[at].Close = more(e.Envelopes[at].Close)
			return true
		}},
		{"another order", onlyCore, func(e *conformance.Expectation) bool {
			if len(e.Envelopes) < 2 {
				return false
			}
			e.Envelopes = slices.Clone(e.Envelopes)
			e.Envelopes[0], e.Envelopes[1] = e.Envelopes[1], e.Envelopes[0]
			return true
		}},
		{"one envelope less", onlyCore, func(e *conformance.Expectation) bool {
			if len(e.Envelopes) == 0 {
				return false
			}
			e.Envelopes = e.Envelopes[:len(e.Envelopes)-1]
			return true
		}},
		{"another cause", onlyCore, func(e *conformance.Expectation) (ok bool) {
			e.Envelopes, ok = edited(e.Envelopes, func(m *conformance.Envelope) { m.Cause = &projection.ConflictRef{TxnID: "t9", Revision: 9} })
			return ok
		}},
		{"another frontier", onlyCore, func(e *conformance.Expectation) (ok bool) {
			e.Frontiers, ok = edited(e.Frontiers, func(n *int64) { *n++ })
			return ok
		}},
		{"another frontier of the view", onlyCore, func(e *conformance.Expectation) (ok bool) {
			e.ViewFrontiers, ok = edited(e.ViewFrontiers, func(n *int64) { *n++ })
			return ok
		}},
		{"no stop, or another one", onlyCore, func(e *conformance.Expectation) bool {
			if e.Stopped != nil {
				other := *e.Stopped
				other.Offset++
				e.Stopped = &other
				return true
			}
			e.Stopped = &conformance.Stop{Stage: "worker", Reason: "arithmetic_overflow"}
			return true
		}},
		{"another verdict", onlyCore, func(e *conformance.Expectation) bool {
			e.Verdict = wrong(e.Verdict)
			return true
		}},
	}
}

// wrong is another verdict, of which an incomplete one is the most unlike.
func wrong(s report.Status) report.Status {
	if s == report.Drift {
		return report.Pass
	}
	return report.Drift
}

// TestFlippedExpectations falsifies every kind of expectation of every variant in turn, and wants it noticed by every
// level without servers that can see it. The undamaged twin passes first.
func TestFlippedExpectations(t *testing.T) {
	used := map[string]int{}
	variants(t, func(t *testing.T, s *conformance.Scenario, v *conformance.Variant) {
		if v.Pending != "" {
			return
		}
		for _, level := range both {
			passes(t, v, conformance.Run(t.Context(), s, v, level, nil))
		}
		for _, f := range flips() {
			damaged := *v
			if !f.do(&damaged.Expect) {
				continue
			}
			used[f.name]++
			for _, level := range f.levels {
				if out := conformance.Run(t.Context(), s, &damaged, level, nil); v.Applies(level) && out.Result != conformance.Failed {
					t.Errorf("%s at %s: %s %s", f.name, level, out.Result, out.Reason)
				}
			}
		}
	})
	for _, f := range flips() {
		if used[f.name] == 0 {
			t.Errorf("no scenario has an expectation for: %s", f.name)
		}
	}
}

// TestFlippedSteps falsifies what is expected in the midst of a scenario.
func TestFlippedSteps(t *testing.T) {
	checks, verdicts, ends, conflicts, replays, rebuilds := 0, 0, 0, 0, 0, 0
	variants(t, func(t *testing.T, s *conformance.Scenario, v *conformance.Variant) {
		fails := func(what string, at int, step conformance.Step) {
			damaged := *v
			damaged.Steps = slices.Clone(v.Steps)
			damaged.Steps[at] = step
			if out := conformance.Run(t.Context(), s, &damaged, conformance.Core, nil); out.Result != conformance.Failed {
				t.Errorf("step %d, %s: %s %s", at+1, what, out.Result, out.Reason)
			}
		}
		for i, step := range v.Steps {
			switch {
			case v.Pending != "":
			case step.Check != nil:
				for _, f := range flips() {
					check := *step.Check
					if f.name == "another verdict" || !f.do(&check) {
						continue
					}
					checks++
					fails(f.name, i, conformance.Step{Check: &check})
				}
			case step.Replay != nil:
				other := *step.Replay
				other.Expect = map[string]string{"done": "refused", "refused": "done"}[other.Expect]
				replays++
				fails("another end of a replay", i, conformance.Step{Replay: &other})
			case step.Rebuild != nil:
				other := *step.Rebuild
				other.Expect = map[string]string{"equal": "refused", "refused": "equal"}[other.Expect]
				rebuilds++
				fails("another end of a rebuild", i, conformance.Step{Rebuild: &other})
			case step.Verify != nil:
				verify := *step.Verify
				verify.Expect = wrong(verify.Expect)
				verdicts++
				fails("another verdict", i, conformance.Step{Verify: &verify})
				if step.Verify.Ends != "" {
					verify = *step.Verify
					verify.Ends = map[string]string{"success": "failure", "failure": "success"}[verify.Ends]
					ends++
					fails("another exit code", i, conformance.Step{Verify: &verify})
				}
				if step.Verify.Conflicts != nil {
					verify = *step.Verify
					verify.Conflicts = []projection.Conflict{}
					conflicts++
					fails("no conflicts", i, conformance.Step{Verify: &verify})
				}
			}
		}
	})
	if checks == 0 || verdicts == 0 || ends == 0 || conflicts == 0 || replays == 0 || rebuilds == 0 {
		t.Errorf("%d checks, %d verdicts, %d exit codes, %d lists of conflicts, %d replays and %d rebuilds were falsified", checks, verdicts, ends, conflicts, replays, rebuilds)
	}
}

// TestFlippedOnServers falsifies each kind once at the levels with servers.
func TestFlippedOnServers(t *testing.T) {
	url, cluster := pg.New(t), kafkatest.Fake(t)
	used := map[string]bool{}
	variants(t, func(t *testing.T, s *conformance.Scenario, v *conformance.Variant) {
		if v.Pending != "" {
			return
		}
		for _, f := range flips() {
			damaged := *v
			if used[f.name] || slices.Equal(f.levels, onlyOr) || !f.do(&damaged.Expect) {
				continue
			}
			used[f.name] = true
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				level := conformance.Store
				if f.name == "another verdict" || f.name == "another version" {
					level = conformance.Pipeline
				}
				if out := conformance.Run(t.Context(), s, &damaged, level, servers(t, url, cluster)); out.Result != conformance.Failed {
					t.Errorf("%s: %s", out.Result, out.Reason)
				}
			})
		}
	})
}
