package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/diagnostics"
	"amends.dev/amends/oracle/explain"
	"amends.dev/amends/oracle/projection"
)

// told is a history told in tests: what each record says, in offset order.
type told struct {
	item, location, txn string
	revision            int64
	kind, at            string
	qty                 int64
}

// explained derives the explanations of every key that a told history names.
func explained(t *testing.T, keys []manifests.StockKey, history []told) []explain.Key {
	t.Helper()
	ns, err := manifests.New("demo", manifests.Spec{
		LedgerOrigin: 1_767_225_600_000_000_000, // 2026-01-01
		Source:       manifests.Source{Topic: "in", Partitions: 1}, Output: manifests.Output{Topic: "out", Partitions: 1},
		StockKeys: keys,
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []explain.Name
	for _, k := range ns.Spec.StockKeys {
		names = append(names, explain.Name{Item: k.Item, Location: k.Location})
	}
	c, err := explain.NewCollector(ns, names)
	if err != nil {
		t.Fatal(err)
	}
	for offset, h := range history {
		value, err := json.Marshal(map[string]any{
			"txn_id": h.txn, "revision": h.revision, "kind": h.kind, "valid_time": h.at, "qty": h.qty, "source_time": "2026-02-01T00:00:00Z",
			"stock_key": map[string]string{"item": h.item, "location": h.location},
		})
		if err != nil {
			t.Fatal(err)
		}
		c.Observe(0, int64(offset), decode.BrokerKey(h.item, h.location), value)
	}
	return c.Keys()
}

// story is the history behind the rich report: an amendment, a cancellation, a move, a crossing, and a key in conflict.
func story(item, other string) []told {
	var all []told
	add := func(item, txn string, revision int64, kind, at string, qty int64) {
		all = append(all, told{item, "berlin", txn, revision, kind, at, qty})
	}
	add(item, "issue-1", 1, "NEW", "2026-01-01T09:00:00Z", -50)
	add(item, "issue-2", 1, "NEW", "2026-01-02T09:00:00Z", -20)
	add(item, "receipt-3", 1, "NEW", "2026-01-03T09:00:00Z", 50)
	add(item, "issue-1", 2, "AMEND", "2026-01-01T09:00:00Z", -30)
	add(item, "issue-4", 1, "NEW", "2026-01-07T16:30:00Z", -55)
	add(item, "receipt-5", 1, "NEW", "2026-01-12T08:00:00Z", 80)
	add(item, "issue-6", 1, "NEW", "2026-01-20T08:00:00Z", -10)
	add(item, "issue-6", 2, "CANCEL", "2026-01-20T08:00:00Z", 0)
	add(item, "issue-7", 1, "NEW", "2026-01-21T10:00:00Z", -75)
	add(other, "count-1", 3, "NEW", "2026-01-04T10:00:00Z", -7)
	add(other, "count-1", 3, "AMEND", "2026-01-05T10:00:00Z", -9)
	return all
}

// rich is a report with something in every part: drift that is explained, a blocked key, rejections, a superseded
// conflict. The names are given, so that hostile ones take the same way.
func rich(t *testing.T, item, other, reason string) *Report {
	t.Helper()
	keys := []manifests.StockKey{
		{Item: item, Location: "berlin", OpeningBalance: 100, ReorderThreshold: 60},
		{Item: other, Location: "berlin", OpeningBalance: 40, ReorderThreshold: 10},
	}
	r := sample()
	r.Began, r.Kept = "2026-11-30T12:00:00Z", 7
	r.Counts.Records, r.Source.End, r.Frontiers = 13, []int64{13}, Frontiers{Worker: []int64{13}, View: []int64{5}}
	r.Checks = []boundary.Check{{Phase: boundary.PhaseRelay, Text: "every envelope is acknowledged " + reason}}
	r.Explanations = explained(t, keys, story(item, other))
	r.Timings = Timings{Writer: 12, Source: 530, Worker: 40, Relay: 3, Output: 8, View: 25, Scan: 410, Compare: 95, Explain: 60, Recheck: 17, Total: 1200}
	driftOf(r, item)
	r.Rejections = []Rejection{
		{Partition: 0, Offset: 11, Reason: "invalid_json", Fingerprint: strings.Repeat("ab", 32)},
		{Partition: 0, Offset: 12, Reason: "key_mismatch", Fingerprint: strings.Repeat("cd", 32)},
	}
	r.Conflicts = []Conflict{
		{Item: other, Location: "berlin", TxnID: "count-1", Revision: 3, State: Ambiguous, Payloads: []Payload{}},
		{Item: "gone" + other, Location: "berlin", TxnID: "t" + item, Revision: 1, State: Superseded, Payloads: []Payload{{Partition: 0, Offset: 3, Canonical: `["` + reason + `"]`, Fingerprint: strings.Repeat("ef", 32)}}},
	}
	r.Counts.Rejections, r.Counts.SupersededConflicts = 2, 1
	r.Scope = []ScopedKey{{Item: item, Location: "berlin", Compared: true, Tally: r.Counts.Balances}}
	r.Expect("expected "+reason+".yaml", &diagnostics.File{Name: "drill " + reason, Entries: []diagnostics.Entry{{Partition: 0, Offset: 11, Reason: "invalid_json", Fingerprint: strings.Repeat("ab", 32)}}})
	r.Judge()
	return r
}

// driftOf compares what the oracle derives of a key with a view that holds other closes.
func driftOf(r *Report, item string) {
	view := map[string]int64{"2026-01-01": 50, "2026-01-02": 50, "2026-01-03": 100, "2026-01-07": 45, "2026-01-12": 125, "2026-01-20": 115}
	c := compare.NewCollector(0, nil)
	var oracle, seen []projection.Balance
	for _, d := range r.Explanations[keyIndex(r, item)].Days {
		oracle = append(oracle, projection.Balance{Item: item, Location: "berlin", Day: d.Day, Close: d.Close.Int64()})
	}
	for _, day := range []string{"2026-01-01", "2026-01-02", "2026-01-03", "2026-01-07", "2026-01-12", "2026-01-20"} {
		seen = append(seen, projection.Balance{Item: item, Location: "berlin", Day: day, Close: view[day]})
	}
	must(c.Balances(compare.Slice(oracle), compare.Slice(seen)))
	must(c.Alerts(compare.Slice([]projection.Alert{{Item: item, Location: "berlin", Day: "2026-01-02", Close: 50, Threshold: 60}}), compare.Slice[projection.Alert](nil)))
	must(c.Statuses(compare.Slice([]projection.Status{{Item: item, Location: "berlin", Status: "READY"}}),
		compare.Slice([]projection.Status{{Item: item, Location: "berlin", Status: "BLOCKED", Conflicts: []projection.ConflictRef{{TxnID: "issue-1", Revision: 2}}}})))
	must(c.Quarantine(compare.Slice([]compare.Rejected{{Offset: 11, Reason: "invalid_json", TopicID: "S", Key: compare.Blob{Length: -1}}}), compare.Slice[compare.Rejected](nil)))
	r.Differences, r.Counts.Differences = c.Listed(), c.Differences()
	r.Counts.Balances, r.Counts.Alerts = c.Tally(compare.FamilyBalance), c.Tally(compare.FamilyAlert)
	r.Counts.Statuses, r.Counts.Quarantine = c.Tally(compare.FamilyStatus), c.Tally(compare.FamilyQuarantine)
}

// keyIndex finds the explanation of an item.
func keyIndex(r *Report, item string) int {
	for i, k := range r.Explanations {
		if k.Item == item {
			return i
		}
	}
	panic(fmt.Sprintf("no explanation of %q", item))
}

// drifted is the rich report with the key that is BLOCKED left out, so that its verdict is DRIFT.
func drifted(t *testing.T) *Report {
	t.Helper()
	r := rich(t, "widget", "gadget", "calm")
	r.Judge()
	return r
}

// blockedAndDrifted is the rich report with its conflict counted.
func blockedAndDrifted(t *testing.T) *Report {
	t.Helper()
	r := rich(t, "widget", "gadget", "calm")
	r.Counts.AmbiguousConflicts, r.Counts.BlockedKeys = 1, 1
	r.Judge()
	return r
}

// hostileName holds what breaks out of HTML, XML, Markdown, or a line.
const hostileName = "</script><img src=x onerror=alert(1)>]]>&\"'`|*_#@[a](b)\u2028\u202e\x1b[31m<!--{{.}}"

// hostile is the rich report under hostile names.
func hostile(t *testing.T) *Report {
	t.Helper()
	r := rich(t, hostileName, "o"+hostileName, hostileName)
	r.Counts.AmbiguousConflicts, r.Counts.BlockedKeys = 1, 1
	r.Source.Topic, r.Output.Topic, r.JudgedFrom, r.Engine = hostileName, hostileName, hostileName, hostileName
	r.BuiltBy, r.Code, r.NotKept, r.ExperimentOf = hostileName, hostileName, hostileName, hostileName
	r.Judge()
	return r
}
