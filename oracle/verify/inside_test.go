package verify_test

import (
	"strings"
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/report"
)

// TestS7InsideOfTheView damages what holds the view's rows: its stock keys, also those without rows, and its guards. Each
// is DRIFT: the comparison is complete and reliable, and what is stored is not what it must be. Repaired it passes.
func TestS7InsideOfTheView(t *testing.T) {
	w := newWorld(t)
	w.demo()
	rows := int64(0)
	for _, table := range []string{"balance", "alert", "key_status"} {
		var n int64
		if err := w.db.QueryRow(t.Context(), `SELECT count(*) FROM amends_shop_view.`+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		rows += n
	}
	if r := w.verify(report.Pass); rows == 0 || r.Counts.Guards != (compare.Tally{Oracle: rows, View: rows, Equal: rows}) {
		t.Errorf("%d rows have guards, counted %+v", rows, r.Counts.Guards)
	}
	w.exec(`ALTER TABLE amends_shop_view.balance DROP CONSTRAINT balance_version_check`)
	w.exec(`ALTER TABLE amends_shop_view.alert DROP CONSTRAINT alert_version_check`)
	w.exec(`ALTER TABLE amends_shop_view.key_status DROP CONSTRAINT key_status_version_check`)
	shown := `CREATE OR REPLACE VIEW amends_shop_view.balances AS SELECT k.item, k.location, b.day, b.close, coalesce(s.status, 'READY') AS key_status,
		coalesce(s.status, 'READY') = 'READY' AS certified FROM amends_shop_view.balance b JOIN amends_shop_view.stock_key k USING (key_id)
		LEFT JOIN amends_shop_view.key_status s USING (key_id)`
	for _, c := range []struct{ name, damage, repair, want string }{
		{"untouched key deleted", `DELETE FROM amends_shop_view.stock_key WHERE key_id = 1`, `INSERT INTO amends_shop_view.stock_key VALUES (1, 'nut', 'oslo')`,
			"missing key nut/oslo: oracle recorded, view none"},
		{"key added", `INSERT INTO amends_shop_view.stock_key VALUES (9, 'nut', 'bergen')`, `DELETE FROM amends_shop_view.stock_key WHERE key_id = 9`,
			"extra key nut/bergen: oracle none, view recorded"},
		{"balance without a version", `UPDATE amends_shop_view.balance SET version = 0 WHERE key_id = 0`, `UPDATE amends_shop_view.balance SET version = 1 WHERE key_id = 0`,
			"evidence guard bolt/oslo 2026-01-01: oracle none, view balance version 0"},
		{"withdrawn row without a version", `INSERT INTO amends_shop_view.alert VALUES (0, '2026-01-05', 1, 0, -1, false, '')`, `DELETE FROM amends_shop_view.alert WHERE key_id = 0`,
			"evidence guard bolt/oslo 2026-01-05: oracle none, view alert version -1"},
		{"status without a version", `UPDATE amends_shop_view.key_status SET version = 0 WHERE key_id = 0`, `UPDATE amends_shop_view.key_status SET version = 1 WHERE key_id = 0`,
			"evidence guard bolt/oslo: oracle none, view key_status version 0"},
		{"withdrawn and shown", `UPDATE amends_shop_view.balance SET present = false WHERE key_id = 0; ` + shown,
			`UPDATE amends_shop_view.balance SET present = true WHERE key_id = 0; ` + shown + ` WHERE b.present`,
			"evidence guard bolt/oslo 2026-01-01: oracle none, view withdrawn balance is shown"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.exec(c.damage)
			if r := w.verify(report.Drift); r.Counts.Differences != 1 || r.Counts.Guards.Extra != int64(strings.Count(c.want, "guard")) || !strings.Contains(text(t, r), c.want) {
				t.Errorf("want %q in\n%s", c.want, text(t, r))
			}
			w.exec(c.repair)
			w.verify(report.Pass)
		})
	}
}

// TestR21StoppedWithoutItsReason: a partition that is stopped is ERROR also where the row that says why was lost (R18).
func TestR21StoppedWithoutItsReason(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.verify(report.Pass)
	w.exec(`UPDATE amends_shop_view.view_progress SET stopped = true WHERE partition = 1`)
	r := w.verify(report.Error)
	if e := r.Errors[0]; e.Phase != boundary.PhaseView || *e.Partition != 1 || *e.Offset != 1 || !strings.Contains(e.Reason, "the row of protocol_violation that says why is not there") {
		t.Errorf("%+v", e)
	}
	w.exec(`UPDATE amends_shop_view.view_progress SET stopped = false`)
	w.verify(report.Pass)
}

// TestB125MissingTail: rows deleted with their guards, while the frontier says that they were applied.
func TestB125MissingTail(t *testing.T) {
	w := newWorld(t)
	w.demo()
	for _, day := range []string{"2026-02-01", "2026-02-02", "2026-02-03", "2026-02-04", "2026-02-05"} {
		w.produce(w.record("nut", "oslo", "n"+day, 1, "NEW", day+"T00:00:00Z", 1))
		w.balance(1, day, int64(day[9]-'0'))
	}
	w.status(1, "READY", []string{}, []int64{})
	w.verify(report.Pass)
	w.exec(`DELETE FROM amends_shop_view.balance WHERE key_id = 1`)
	r := w.verify(report.Drift)
	if r.Counts.Balances.Missing != 5 || r.Counts.Differences != 5 || len(r.Differences) != 5 || r.Differences[4].Kind != compare.Missing {
		t.Errorf("%+v, %+v", r.Counts.Balances, r.Differences)
	}
}

// TestB127OneSideEmptied: an emptied family is a full count of missing rows, and not passed over.
func TestB127OneSideEmptied(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.verify(report.Pass)
	w.exec(`CREATE TABLE kept AS TABLE amends_shop_view.balance; TRUNCATE amends_shop_view.balance`)
	if r := w.verify(report.Drift); r.Counts.Balances != (compare.Tally{Oracle: 4, Missing: 4}) || r.Counts.Alerts.Equal != 1 {
		t.Errorf("%+v", r.Counts)
	}
	w.exec(`INSERT INTO amends_shop_view.balance TABLE kept; TRUNCATE amends_shop_view.alert`)
	if r := w.verify(report.Drift); r.Counts.Alerts != (compare.Tally{Oracle: 1, Missing: 1}) || r.Counts.Balances.Equal != 4 {
		t.Errorf("%+v", r.Counts)
	}
}

// TestB129OneStableSnapshot: with outputs pending there is no comparison, and what changes in the view between two of its
// statements is not seen: balances, alerts and statuses are of one moment.
func TestB129OneStableSnapshot(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.verify(report.Pass)
	for _, unordered := range []bool{false, true} {
		w.view = func(v viewPort) viewPort {
			v.unordered = unordered
			v.afterBalances = func() { // the alert goes, and comes back as another, before the alerts are read
				w.exec(`UPDATE amends_shop_view.alert SET close = 49; UPDATE amends_shop_view.key_status SET status = 'BLOCKED'`)
			}
			return v
		}
		w.verify(report.Pass)
		w.view = nil
		w.verify(report.Drift) // the next run sees it
		w.exec(`UPDATE amends_shop_view.alert SET close = 50; UPDATE amends_shop_view.key_status SET status = 'READY'`)
		w.verify(report.Pass)
	}
}

// TestB133HolesInTheLog: aborted transactions, their markers and a relay's repeats are neither records nor facts.
func TestB133HolesInTheLog(t *testing.T) {
	w := newWorld(t)
	w.demo()
	p := w.cluster.Producer(t)
	for range 2 {
		p.Transaction(false, w.record("bolt", "oslo", "b9", 1, "NEW", "2026-01-01T00:00:00Z", 7), w.record("widget", "berlin", "t9", 1, "NEW", "2026-01-01T00:00:00Z", 7))
	}
	end := func(partition int) int64 {
		var n int64
		client := w.cluster.Admin(t)
		offsets, err := client.ListEndOffsets(t.Context(), w.sourceTopic)
		if err != nil {
			t.Fatal(err)
		}
		o, _ := offsets.Lookup(w.sourceTopic, int32(partition))
		n = o.Offset
		return n
	}
	for partition := range 2 {
		w.exec(`UPDATE partition_state SET next_offset = $2 WHERE partition = $1`, partition, end(partition))
	}
	w.publish(0, "o1", "o3") // repeats of what is there
	r := w.verify(report.Pass)
	if r.Counts.Records != 5 || r.Source.End[0]+r.Source.End[1] <= 5 {
		t.Errorf("%d records through H %v", r.Counts.Records, r.Source.End)
	}
}

// TestS10HistoryDestroyedInBetween: a topic that starts at 0 and has every config right again, and lacks records all the
// same, as one that was compacted for a while.
func TestS10HistoryDestroyedInBetween(t *testing.T) {
	mark.Expect(t, "S10 history destroyed in between")
	w := newWorld(t)
	w.demo()
	w.exec(`UPDATE partition_state SET accepted = $1 WHERE partition = 0`, w.nextOffsets[0])
	w.verify(report.Pass)
	w.exec(`UPDATE partition_state SET rejected = 1 WHERE partition = 0`)
	r := w.verify(report.Incomplete)
	if got := r.Incomplete[0]; got.Phase != boundary.PhaseScan || got.Retryable || !strings.Contains(got.Reason, "history was destroyed") {
		t.Errorf("%+v", got)
	}
}
