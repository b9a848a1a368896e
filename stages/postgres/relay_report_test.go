package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/view/viewtest"
)

// TestReadSourceReport: what status shows of worker and relay, from an untouched namespace to one that is stopped.
func TestReadSourceReport(t *testing.T) {
	url := pg.New(t)
	ns := testNamespace("demo", 2)
	if err := inTx(t, open(t, url, ""), func(tx pgx.Tx) error { return CreateNamespace(t.Context(), tx, ns) }); err != nil {
		t.Fatal(err)
	}
	pool := open(t, url, StateSchema(ns.Name))
	read := func() ([]SourceReport, LeaseReport) {
		t.Helper()
		reports, lease, err := ReadSourceReport(t.Context(), pool)
		if err != nil || len(reports) != 2 {
			t.Fatalf("%d reports, %v", len(reports), err)
		}
		return reports, lease
	}
	reports, lease := read()
	untouched := SourceReport{Partition: 0, SentThrough: 1, OutboxNext: 1, UpdatedAt: reports[0].UpdatedAt}
	if untouched.UpdatedAt.IsZero() {
		t.Error("when a row was changed is not known")
	}
	if reports[0] != untouched || lease != (LeaseReport{}) {
		t.Errorf("untouched: %+v, %+v", reports[0], lease)
	}
	message := broker.Message{Key: []byte("k"), Value: []byte("v")}
	if err := inTx(t, pool, func(tx pgx.Tx) error { writeOutbox(t, tx, 0, []broker.Message{message, message}); return nil }); err != nil {
		t.Fatal(err)
	}
	store := NewRelayStore(pool)
	grant, err := store.Acquire(t.Context(), "host", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	m := relay.Mark{Holder: "host", Term: grant.Term, From: 1, Receipts: []relay.Receipt{{Offset: 5}}}
	if err = store.Mark(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	reports, lease = read()
	if r := reports[0]; r.SentThrough != 2 || r.OutboxNext != 3 || r.OldestPending == nil {
		t.Errorf("half of a row sent: %+v", r)
	}
	if lease != (LeaseReport{Holder: "host", Term: 1, Live: true}) {
		t.Errorf("lease %+v", lease)
	}
	stop := relay.Stop{Holder: "host", Term: grant.Term, From: 2, Reason: relay.ReasonOutboxDamaged, Detail: "gone"}
	if err = store.RecordStop(t.Context(), stop); err != nil {
		t.Fatal(err)
	}
	const workerStop = `UPDATE partition_state SET epoch = 4, member = 'm', stop_reason = 'arithmetic_overflow', stop_offset = 9,
		stop_detail = 'too big', stopped_at = now() WHERE partition = 0`
	if _, err = pool.Exec(t.Context(), workerStop); err != nil {
		t.Fatal(err)
	}
	if err = store.Release(t.Context(), "host", grant.Term); err != nil {
		t.Fatal(err)
	}
	reports, lease = read()
	r := reports[0]
	if s := r.RelayStop; s == nil || s.Reason != relay.ReasonOutboxDamaged || s.Offset != 2 || s.Detail != "gone" || s.At.IsZero() {
		t.Errorf("relay stop %+v", s)
	}
	if s := r.WorkerStop; s == nil || s.Reason != "arithmetic_overflow" || s.Offset != 9 || s.Detail != "too big" || s.At.IsZero() {
		t.Errorf("worker stop %+v", s)
	}
	if lease.Live || r.Member != "m" || r.Epoch != 4 || reports[1].WorkerStop != nil {
		t.Errorf("lease %+v, reports %+v", lease, reports)
	}
}

// TestReadOutputReport: what status shows of a view, running and stopped.
func TestReadOutputReport(t *testing.T) {
	ns := viewtest.Namespace()
	pool, identity := createView(t, ns)
	log, key := viewtest.NewLog(), viewtest.KeyOf(ns, 1)
	log.Publish(t.Context(), []broker.Message{key.Balance("2026-01-01", 1, 5), key.Balance("2026-01-01", 1, 5), key.Balance("2026-01-01", 1, 6)})
	if err := materialize(t, NewViewStore(pool, identity), ns, log, 0); err == nil {
		t.Fatal("no violation")
	}
	reports, err := ReadOutputReport(t.Context(), pool)
	if err != nil || len(reports) != 2 {
		t.Fatalf("%+v, %v", reports, err)
	}
	r := reports[0]
	if r.Next != 2 || r.Applied != 1 || r.Ignored != 1 || r.Stop == nil || reports[1].Stop != nil {
		t.Errorf("reports %+v", reports)
	}
	if s := r.Stop; s != nil && (s.Reason != string(view.ReasonContent) || s.Offset != 2 || !strings.Contains(s.Detail, "version 1") || s.At.IsZero()) {
		t.Errorf("stop %+v", s)
	}
}

// TestB060PendingUsesTheIndex: with 2,000 sent rows, reading what is pending visits no sent row.
func TestB060PendingUsesTheIndex(t *testing.T) {
	url := pg.New(t)
	ns := testNamespace("demo", 1)
	if err := inTx(t, open(t, url, ""), func(tx pgx.Tx) error { return CreateNamespace(t.Context(), tx, ns) }); err != nil {
		t.Fatal(err)
	}
	pool := open(t, url, StateSchema(ns.Name))
	const fill = `INSERT INTO outbox (partition, first_seq, count, frames) SELECT 0, 1 + 10 * n, 10, '' FROM generate_series(0, 1999) n`
	for _, sql := range []string{fill, `ANALYZE outbox`} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := pool.Query(t.Context(), `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) `+relayPendingSQL, int32(0), int64(19_985), 100)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	plan := strings.Join(lines, "\n")
	if strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Rows Removed") || !strings.Contains(lines[0], "rows=2 ") {
		t.Errorf("plan:\n%s", plan)
	}
}

// TestB060ReportUsesTheIndex: with 2,000 rows that were all sent, looking for the oldest pending one visits one of them.
func TestB060ReportUsesTheIndex(t *testing.T) {
	url := pg.New(t)
	ns := testNamespace("demo", 1)
	if err := inTx(t, open(t, url, ""), func(tx pgx.Tx) error { return CreateNamespace(t.Context(), tx, ns) }); err != nil {
		t.Fatal(err)
	}
	pool := open(t, url, StateSchema(ns.Name))
	for _, sql := range []string{
		`INSERT INTO outbox (partition, first_seq, count, frames) SELECT 0, 1 + 10 * n, 10, '' FROM generate_series(0, 1999) n`,
		`UPDATE partition_state SET outbox_next = 20001`, `UPDATE relay_state SET sent_through = 19995`, `ANALYZE outbox`,
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	reports, _, err := ReadSourceReport(t.Context(), pool)
	if err != nil || reports[0].OldestPending == nil {
		t.Fatalf("undamaged twin, five pending: %+v, %v", reports, err)
	}
	if _, err := pool.Exec(t.Context(), `UPDATE relay_state SET sent_through = 20001`); err != nil {
		t.Fatal(err)
	}
	if reports, _, err = ReadSourceReport(t.Context(), pool); err != nil || reports[0].OldestPending != nil {
		t.Errorf("nothing pending: %+v, %v", reports, err)
	}
	rows, err := pool.Query(t.Context(), `EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) `+relayReportSQL)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		if strings.Contains(line, "outbox") && !strings.Contains(line, "rows=1 ") {
			t.Errorf("plan:\n%s", strings.Join(lines, "\n"))
		}
	}
}
