package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"amends.dev/amends/oracle/report"
)

// TestDriftInDisguise damages what is easily read as if it were whole: twin without difference, damage DRIFT, repaired
// as before.
func TestDriftInDisguise(t *testing.T) {
	w := newWorld(t)
	w.demo()
	null := w.record("widget", "berlin", "t9", 1, "NEW", "2026-01-01T10:00:00Z", 1)
	null.Value = nil
	w.produce(null)
	w.exec(`INSERT INTO quarantine VALUES ($1, $2, $3, 'null_value', $4, NULL, $5, -1, sha256($4), NULL)`,
		null.Partition, null.Offset, w.sourceID, null.Key, len(null.Key))
	rejected := fmt.Sprintf("evidence quarantine partition %d offset %d", null.Partition, null.Offset)
	w.verify(report.Exclusions)
	for _, c := range []struct{ name, damage, repair, want string }{
		{"the same day before Christ", `UPDATE amends_shop_view.balance SET day = '2026-01-01 BC' WHERE key_id = 0`,
			`UPDATE amends_shop_view.balance SET day = '2026-01-01' WHERE key_id = 0`, "extra balance bolt/oslo 2026-01-01 BC: oracle none, view close=15"},
		{"an alert before Christ", `UPDATE amends_shop_view.alert SET day = '2026-01-02 BC'`,
			`UPDATE amends_shop_view.alert SET day = '2026-01-02'`, "extra alert widget/berlin 2026-01-02 BC"},
		{"no day", `UPDATE amends_shop_view.balance SET day = 'infinity' WHERE key_id = 0`,
			`UPDATE amends_shop_view.balance SET day = '2026-01-01' WHERE key_id = 0`, "extra balance bolt/oslo infinity"},
		{"bytes where null was rejected", `UPDATE quarantine SET value = 'abc'`, `UPDATE quarantine SET value = NULL`, rejected},
		{"a digest where null was rejected", `UPDATE quarantine SET value_sha256 = 'abc'`, `UPDATE quarantine SET value_sha256 = NULL`, rejected},
		{"balance of a key without a name", `INSERT INTO amends_shop_view.balance VALUES (99, '2026-01-01', 5, 1, true, '')`,
			`DELETE FROM amends_shop_view.balance WHERE key_id = 99`, `extra balance ""/"key_id 99" 2026-01-01: oracle none, view close=5`},
		{"alert of a key without a name", `INSERT INTO amends_shop_view.alert VALUES (99, '2026-01-01', 5, 1, 1, true, '')`,
			`DELETE FROM amends_shop_view.alert WHERE key_id = 99`, `extra alert ""/"key_id 99" 2026-01-01: oracle none, view close=1 threshold=5`},
		{"status of a key without a name", `INSERT INTO amends_shop_view.key_status VALUES (99, 'BLOCKED', '{x}', '{1}', 1, '')`,
			`DELETE FROM amends_shop_view.key_status WHERE key_id = 99`, `extra status ""/"key_id 99": oracle none, view BLOCKED x@1`},
		{"conflict of a key without a name", `INSERT INTO conflict VALUES (99, 'x', 1, 1)`, `DELETE FROM conflict WHERE key_id = 99`,
			`evidence conflict ""/"key_id 99" x revision 1: oracle none, view recorded`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.exec(c.damage)
			if got := text(t, w.verify(report.Drift)); !strings.Contains(got, c.want) {
				t.Errorf("want %q in\n%s", c.want, got)
			}
			w.exec(c.repair)
			w.verify(report.Exclusions)
		})
	}
}

// TestR13LabelsOfTheView replaces the SQL views that users read by others of the same columns: their balances are right
// and what they say of trust is not.
func TestR13LabelsOfTheView(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.contest()
	w.exec(`UPDATE amends_shop_view.key_status SET status = 'BLOCKED', conflict_txns = '{b1}', conflict_revisions = '{1}' WHERE key_id = 0`)
	balances := func(labels string) string {
		return `SELECT k.item, k.location, b.day, b.close, ` + labels + ` FROM amends_shop_view.balance b
			JOIN amends_shop_view.stock_key k USING (key_id) LEFT JOIN amends_shop_view.key_status s USING (key_id) WHERE b.present`
	}
	right := balances(`coalesce(s.status, 'READY') AS key_status, coalesce(s.status, 'READY') = 'READY' AS certified`)
	for _, c := range []struct{ view, damage, repair, want string }{
		{"balances", balances(`coalesce(s.status, 'READY') AS key_status, true AS certified`), right,
			"extra status bolt/oslo: oracle none, view balances shows BLOCKED, certified"},
		{"balances", balances(`'READY'::text AS key_status, coalesce(s.status, 'READY') = 'READY' AS certified`), right,
			"extra status bolt/oslo: oracle none, view balances shows READY, not certified"},
		{"balances_certified", `SELECT item, location, day, close FROM amends_shop_view.balances`,
			`SELECT item, location, day, close FROM amends_shop_view.balances WHERE certified`,
			"extra status bolt/oslo: oracle none, view balances_certified is not the certified part of balances"},
		{"alerts_certified", `SELECT item, location, day, close - 1 AS close, threshold FROM amends_shop_view.alerts WHERE certified`,
			`SELECT item, location, day, close, threshold FROM amends_shop_view.alerts WHERE certified`,
			"extra status widget/berlin: oracle none, view alerts_certified is not the certified part of alerts"},
	} {
		if r := w.verify(report.Blocked); r.Counts.Differences != 0 {
			t.Fatal(text(t, r))
		}
		w.exec(`CREATE OR REPLACE VIEW amends_shop_view.` + c.view + ` AS ` + c.damage)
		if got := text(t, w.verify(report.Blocked)); !strings.Contains(got, c.want) {
			t.Errorf("want %q in\n%s", c.want, got)
		}
		w.exec(`CREATE OR REPLACE VIEW amends_shop_view.` + c.view + ` AS ` + c.repair)
	}
	if r := w.verify(report.Blocked); r.Counts.Differences != 0 {
		t.Error(text(t, r))
	}
}
