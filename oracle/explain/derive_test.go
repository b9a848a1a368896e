package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/explain"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
)

// explained observes the records and derives every key of the namespace.
func explained(t oracletest.TB, ns *manifests.Namespace, records []engine.Record) []explain.Key {
	t.Helper()
	var names []explain.Name
	for _, k := range ns.Spec.StockKeys {
		names = append(names, explain.Name{Item: k.Item, Location: k.Location})
	}
	c, err := explain.NewCollector(ns, names)
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, r := range records {
		c.Observe(r.Partition, r.Offset, r.Key, r.Value)
	}
	return c.Keys()
}

// TestAgreesWithReference: closes, crossings, statuses, conflicts and what does not fit 64 bits are those of the
// reference engine, over generated histories.
func TestAgreesWithReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := oracletest.Cases().Draw(t, "case")
		want := oracletest.Compute(t, reference.Engine{}, c.Namespace, c.Records)
		got := projected(explained(t, c.Namespace, c.Records))
		got.Rejections = want.Rejections // the collector sees those of its keys only
		oracletest.Equal(t, "explained", got, want)
	})
}

// TestHistories: the same over the histories that were written down.
func TestHistories(t *testing.T) {
	for _, h := range oracletest.All(t) {
		got := projected(explained(t, h.Namespace, h.Records))
		got.Rejections = h.Expected.Rejections
		oracletest.Equal(t, h.Name, got, h.Expected)
	}
}

// projected is what the explanations say, in the shape of a projection.
func projected(keys []explain.Key) *projection.Projection {
	p := &projection.Projection{
		Balances: []projection.Balance{}, Alerts: []projection.Alert{}, Statuses: []projection.Status{},
		SupersededConflicts: []projection.Conflict{}, OutOfDomain: []projection.OutOfDomain{},
	}
	for _, k := range keys {
		if k.Status != "" {
			p.Statuses = append(p.Statuses, projection.Status{Item: k.Item, Location: k.Location, Status: k.Status, Conflicts: conflicting(k)})
		}
		for _, i := range k.Identities {
			for _, r := range i.Revisions {
				if r.State == explain.SupersededConflict {
					p.SupersededConflicts = append(p.SupersededConflicts, projection.Conflict{Item: k.Item, Location: k.Location, TxnID: i.TxnID, Revision: r.Revision})
				}
			}
		}
		fits := !slices.ContainsFunc(k.Days, func(d explain.Day) bool { return !d.InDomain })
		for _, d := range k.Days {
			switch {
			case !d.InDomain:
				p.OutOfDomain = append(p.OutOfDomain, projection.OutOfDomain{Item: k.Item, Location: k.Location, Day: d.Day, Close: d.Close.String()})
			case fits:
				p.Balances = append(p.Balances, projection.Balance{Item: k.Item, Location: k.Location, Day: d.Day, Close: d.Close.Int64()})
			}
			if fits && d.Crossing {
				p.Alerts = append(p.Alerts, projection.Alert{Item: k.Item, Location: k.Location, Day: d.Day, Close: d.Close.Int64(), Threshold: k.ReorderThreshold})
			}
		}
	}
	return p
}

// conflicting lists the ambiguous revisions of a key.
func conflicting(k explain.Key) []projection.ConflictRef {
	refs := []projection.ConflictRef{}
	for _, i := range k.Identities {
		if a := i.Authority(); a.State == explain.Conflicting {
			refs = append(refs, projection.ConflictRef{TxnID: i.TxnID, Revision: a.Revision})
		}
	}
	return refs
}

// shop is a namespace of one key, opening at 100 with threshold 60.
func shop(t *testing.T) *manifests.Namespace {
	t.Helper()
	ns, err := manifests.New("shop", manifests.Spec{
		LedgerOrigin: 1_767_225_600_000_000_000, // 2026-01-01
		Source:       manifests.Source{Topic: "in", Partitions: 1}, Output: manifests.Output{Topic: "out", Partitions: 1},
		StockKeys: []manifests.StockKey{{Item: "bolt", Location: "oslo", OpeningBalance: 1, ReorderThreshold: 0}, {Item: "widget", Location: "berlin", OpeningBalance: 100, ReorderThreshold: 60}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// widget is the key that the tests below tell about.
var widget = explain.Name{Item: "widget", Location: "berlin"}

// record is the source record of a transaction of the widget, as kind@revision:day±qty.
func record(offset int64, txn string, revision int64, kind, at string, qty int64) engine.Record {
	value := fmt.Sprintf(`{"txn_id":%q,"revision":%d,"kind":%q,"stock_key":{"item":"widget","location":"berlin"},"valid_time":%q,"qty":%d,"source_time":"2026-02-01T00:00:00Z"}`,
		txn, revision, kind, at, qty)
	return engine.Record{Offset: offset, Key: decode.BrokerKey("widget", "berlin"), Value: []byte(value)}
}

// collect explains the widget.
func collect(t *testing.T, records ...engine.Record) explain.Key {
	t.Helper()
	c, err := explain.NewCollector(shop(t), []explain.Name{widget, widget})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		c.Observe(r.Partition, r.Offset, r.Key, r.Value)
	}
	keys := c.Keys()
	if len(keys) != 1 {
		t.Fatalf("%d keys of one asked", len(keys))
	}
	return keys[0]
}

// states lists txn@revision:state of every revision.
func states(k explain.Key) string {
	var all []string
	for _, i := range k.Identities {
		for _, r := range i.Revisions {
			all = append(all, fmt.Sprintf("%s@%d:%s", i.TxnID, r.Revision, r.State))
		}
	}
	return strings.Join(all, " ")
}

// TestSC02Explained is the amendment of the contract's demo: the closes move and so does the crossing.
func TestSC02Explained(t *testing.T) {
	before := []engine.Record{
		record(0, "i1", 1, "NEW", "2026-01-01T09:00:00Z", -50), record(1, "i2", 1, "NEW", "2026-01-02T09:00:00Z", -20),
		record(2, "r3", 1, "NEW", "2026-01-03T09:00:00Z", 50),
	}
	if got := closes(collect(t, before...)); got != "2026-01-01:50! 2026-01-02:30 2026-01-03:80" {
		t.Fatalf("before: %s", got)
	}
	after := collect(t, append(before, record(3, "i1", 2, "AMEND", "2026-01-01T09:00:00Z", -30))...)
	if got := closes(after); got != "2026-01-01:70 2026-01-02:50! 2026-01-03:100" {
		t.Errorf("after: %s", got)
	}
	if got := states(after); got != "i1@1:superseded i1@2:authoritative i2@1:authoritative r3@1:authoritative" {
		t.Errorf("states: %s", got)
	}
	if c := after.Days[0].Contributions; len(c) != 1 || c[0].Offset != 3 || c[0].Revision != 2 || c[0].Qty != -30 {
		t.Errorf("the first day rests on %+v", c)
	}
}

// closes lists day:close, with ! where the day crosses.
func closes(k explain.Key) string {
	var all []string
	for _, d := range k.Days {
		mark := ""
		if d.Crossing {
			mark = "!"
		}
		all = append(all, d.Day+":"+d.Close.String()+mark)
	}
	return strings.Join(all, " ")
}

// TestSC08Explained: two payloads at the highest revision block the key, in both orders of arrival; nothing is folded.
// SC09: a higher revision resolves them and they stay on record.
func TestSC08Explained(t *testing.T) {
	a, b := record(0, "t", 2, "NEW", "2026-01-01T00:00:00Z", 5), record(1, "t", 2, "NEW", "2026-01-01T00:00:00Z", 6)
	b2, a2 := b, a
	b2.Offset, a2.Offset = 0, 1
	for _, records := range [][]engine.Record{{a, b}, {b2, a2}} {
		k := collect(t, records...)
		if k.Status != explain.Blocked || len(k.Days) != 0 || states(k) != "t@2:conflicting" || len(k.Identities[0].Revisions[0].Payloads) != 2 {
			t.Errorf("%s, %d days, %s", k.Status, len(k.Days), states(k))
		}
	}
	k := collect(t, a, b, record(2, "t", 3, "CANCEL", "2026-01-01T00:00:00Z", 0))
	if k.Status != explain.Ready || states(k) != "t@2:superseded_conflict t@3:cancelled" || len(k.Days) != 0 {
		t.Errorf("resolved: %s, %s, %d days", k.Status, states(k), len(k.Days))
	}
}

// TestSC07Explained: an exact duplicate is another record of the same payload, whatever its source time.
func TestSC07Explained(t *testing.T) {
	again := record(7, "t", 1, "NEW", "2026-01-01T01:00:00+01:00", 5)
	again.Value = []byte(strings.Replace(string(again.Value), "2026-02-01", "2026-03-01", 1))
	k := collect(t, record(0, "t", 1, "NEW", "2026-01-01T00:00:00Z", 5), again)
	p := k.Identities[0].Revisions[0].Payloads
	if len(p) != 1 || len(p[0].Records) != 2 || p[0].Records[1].Offset != 7 || k.Status != explain.Ready {
		t.Errorf("%+v", p)
	}
}

// TestRejectedAndUntouched: rejected records of the broker key are listed, and establish nothing.
func TestRejectedAndUntouched(t *testing.T) {
	k := collect(t, engine.Record{Offset: 4, Key: decode.BrokerKey("widget", "berlin"), Value: []byte("{")}, record(5, "t", 1, "NEW", "2025-12-31T23:59:59Z", 5))
	if k.Status != "" || len(k.Identities) != 0 || fmt.Sprint(k.Rejected) != "[{0 4 invalid_json} {0 5 before_ledger_origin}]" {
		t.Errorf("%q %v", k.Status, k.Rejected)
	}
	if _, err := explain.NewCollector(shop(t), []explain.Name{{Item: "widget", Location: "rome"}}); err == nil || !strings.Contains(err.Error(), "widget/rome") {
		t.Errorf("an unknown key: %v", err)
	}
}

// TestLimited keeps conflicts and what concerns the days in focus, counts the rest and leaves the original alone.
func TestLimited(t *testing.T) {
	var records []engine.Record
	for i := range int64(20) {
		records = append(records, record(i, fmt.Sprintf("t%02d", i), 1, "NEW", fmt.Sprintf("2026-01-%02dT00:00:00Z", i/2+1), 1))
	}
	k := collect(t, records...)
	if len(k.Days) != 10 || len(k.Identities) != 20 {
		t.Fatalf("%d days, %d identities", len(k.Days), len(k.Identities))
	}
	small := k.Limited(3, map[string]bool{"2026-01-05": true})
	if got := closes(small); got != "2026-01-04:108 2026-01-05:110 2026-01-06:112" || small.Omitted.Days != 7 {
		t.Errorf("days %s, %d omitted", got, small.Omitted.Days)
	}
	if got := states(small); got != "t00@1:authoritative t08@1:authoritative t09@1:authoritative" || small.Omitted.Identities != 17 {
		t.Errorf("identities %s, %d omitted", got, small.Omitted.Identities)
	}
	if one := k.Limited(1, nil); one.Days[0].OmittedContributions != 1 || len(one.Days[0].Contributions) != 1 {
		t.Errorf("contributions: %+v", one.Days[0])
	}
	if len(k.Days[0].Contributions) != 2 || len(k.Days) != 10 || k.Limited(0, nil).Omitted != (explain.Omitted{}) {
		t.Error("the original changed")
	}
	day := k.OnDay("2026-01-05")
	if closes(day) != "2026-01-05:110" || states(day) != "t08@1:authoritative t09@1:authoritative" || day.Omitted.Days != 9 {
		t.Errorf("on one day: %s, %s", closes(day), states(day))
	}
}

// TestLimitedRevisions keeps the highest revisions and the first records.
func TestLimitedRevisions(t *testing.T) {
	var records []engine.Record
	for i := range int64(5) {
		records = append(records, record(i, "t", i+1, "NEW", "2026-01-01T00:00:00Z", i), record(10+i, "t", 5, "NEW", "2026-01-01T00:00:00Z", 4))
	}
	slices.SortFunc(records, func(a, b engine.Record) int { return int(a.Offset - b.Offset) })
	i := collect(t, records...).Limited(2, nil).Identities[0]
	p := i.Revisions[1].Payloads[0]
	if len(i.Revisions) != 2 || i.Revisions[1].Revision != 5 || i.OmittedRevisions != 3 || len(p.Records) != 2 || p.OmittedRecords != 4 {
		t.Errorf("%+v", i)
	}
}
