package verify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/internal/testkit/schema"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
)

func text(t *testing.T, r *report.Report) string {
	t.Helper()
	var b strings.Builder
	if err := report.Text(&b, r, 0); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPass(t *testing.T) {
	w := newWorld(t)
	w.demo()
	r := w.verify(report.Pass)
	want := report.Counts{
		Records: 5, Balances: compare.Tally{Oracle: 4, View: 4, Equal: 4}, Alerts: compare.Tally{Oracle: 1, View: 1, Equal: 1},
		Statuses: compare.Tally{Oracle: 2, View: 2, Equal: 2}, Keys: compare.Tally{Oracle: 3, View: 3, Equal: 3},
		Guards: compare.Tally{Oracle: 7, View: 7, Equal: 7}, // one for each balance, alert and status
	}
	if r.Counts != want {
		t.Errorf("counts %+v, want %+v", r.Counts, want)
	}
	if r.WritersExcludedBy != "lease" || r.BuiltBy != "stream" || r.Engine != "reference" || !r.Complete || r.Code != "test" {
		t.Errorf("%+v", r)
	}
	if r.Digest != w.ns.NamespaceDigest() || r.Source.TopicID != w.sourceID || r.Output.TopicID != w.outID || r.LedgerOrigin != "2026-01-01T00:00:00Z" {
		t.Errorf("%+v", r)
	}
	if r.Source.End[0]+r.Source.End[1] != 5 || !slices.Equal(r.Output.End, []int64{3, 1}) || !slices.Equal(r.Frontiers.View, r.Output.End) || !slices.Equal(r.Frontiers.Worker, r.Source.End) {
		t.Errorf("%+v", r)
	}
	compiled := schema.Compile(t, "report.json")
	var b bytes.Buffer
	if err := report.JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(&b)
	if err = errors.Join(err, compiled.Validate(doc)); err != nil {
		t.Error(err)
	}
	// R26: auto takes the first engine that may judge.
	w.engines = []engine.Engine{arrow.Engine{}, reference.Engine{}}
	if a := w.verify(report.Pass); a.Engine != "arrow" || a.Counts != want {
		t.Errorf("%+v", a)
	}
	w.exec(`UPDATE amends.namespace SET built_by = 'arrow 1'`)
	if a := w.verify(report.Pass); a.Engine != "reference" || a.BuiltBy != "arrow 1" {
		t.Errorf("%+v", a)
	}
}

// TestDriftNamesEach damages one thing at a time: twin PASS, damage DRIFT, repaired PASS.
func TestDriftNamesEach(t *testing.T) {
	w := newWorld(t)
	w.demo()
	bad := w.record("widget", "berlin", "t9", 1, "NEW", "2026-01-01T10:00:00Z", 1)
	bad.Value = append(bad.Value, '}')
	other := w.record("bolt", "oslo", "b1", 1, "NEW", "2026-01-01T00:00:00Z", 6)
	w.produce(bad, other, w.record("bolt", "oslo", "b1", 2, "NEW", "2026-01-01T00:00:00Z", 5))
	w.quarantine(bad, "invalid_json")
	w.conflict(0, "b1", 1, 1, 0, map[*kgo.Record]int64{w.bolt: 5, other: 6})
	where := fmt.Sprintf("partition %d offset %d", bad.Partition, bad.Offset)
	twin := w.verify(report.Exclusions)
	if len(twin.Rejections) != 1 || twin.Rejections[0].Fingerprint != report.Fingerprint(bad.Key, bad.Value) || twin.Counts.SupersededConflicts != 1 {
		t.Fatalf("%+v", twin)
	}
	for _, c := range []struct{ name, damage, repair, want string }{
		{"close altered", `UPDATE amends_shop_view.balance SET close = 71 WHERE key_id = 2 AND day = '2026-01-01'`,
			`UPDATE amends_shop_view.balance SET close = 70 WHERE key_id = 2 AND day = '2026-01-01'`,
			"changed balance widget/berlin 2026-01-01: oracle close=70, view close=71"},
		{"row deleted", `DELETE FROM amends_shop_view.balance WHERE key_id = 0`,
			`INSERT INTO amends_shop_view.balance VALUES (0, '2026-01-01', 15, 1, true, '')`,
			"missing balance bolt/oslo 2026-01-01: oracle close=15, view none"},
		{"alert added", `INSERT INTO amends_shop_view.alert VALUES (0, '2026-01-01', 1, 0, 1, true, '')`,
			`DELETE FROM amends_shop_view.alert WHERE key_id = 0`,
			"extra alert bolt/oslo 2026-01-01: oracle none, view close=0 threshold=1"},
		{"alert restated", `UPDATE amends_shop_view.alert SET close = 49`, `UPDATE amends_shop_view.alert SET close = 50`,
			"changed alert widget/berlin 2026-01-02: oracle close=50 threshold=60, view close=49 threshold=60"},
		{"status", `UPDATE amends_shop_view.key_status SET status = 'BLOCKED', conflict_txns = '{b1}', conflict_revisions = '{1}' WHERE key_id = 0`,
			`UPDATE amends_shop_view.key_status SET status = 'READY', conflict_txns = '{}', conflict_revisions = '{}' WHERE key_id = 0`,
			"changed status bolt/oslo: oracle READY, view BLOCKED b1@1"},
		{"quarantine row deleted", `CREATE TABLE kept AS TABLE quarantine; DELETE FROM quarantine`,
			`INSERT INTO quarantine TABLE kept; DROP TABLE kept`, "evidence quarantine " + where + ": oracle invalid_json"},
		{"quarantine bytes altered", `UPDATE quarantine SET value = value || 'x'`, `UPDATE quarantine SET value = substr(value, 1, length(value) - 1)`,
			"evidence quarantine " + where},
		{"conflict row deleted", `DELETE FROM conflict`, `INSERT INTO conflict VALUES (0, 'b1', 1, 1)`,
			"evidence conflict bolt/oslo b1 revision 1: oracle recorded, view none"},
		{"superfluous conflict row", `INSERT INTO conflict VALUES (0, 'b1', 2, 1)`, `DELETE FROM conflict WHERE revision = 2`,
			"evidence conflict bolt/oslo b1 revision 2: oracle none, view recorded"},
		{"payload of a conflict deleted", `CREATE TABLE kept AS TABLE evidence; DELETE FROM evidence WHERE qty = 6`,
			`DELETE FROM evidence; INSERT INTO evidence TABLE kept; DROP TABLE kept`,
			fmt.Sprintf(`evidence conflict bolt/oslo b1 revision 1: oracle offset %d ["bolt","oslo","b1","1","NEW","2026-01-01T00:00:00Z","6"], view none`, other.Offset)},
		{"payload of a conflict added", `INSERT INTO evidence VALUES (0, 'b1', 1, 3, 0, 0, 9)`, `DELETE FROM evidence WHERE kind = 3`,
			`evidence conflict bolt/oslo b1 revision 1: oracle none, view offset 9 ["bolt","oslo","b1","1","CANCEL","1970-01-01T00:00:00Z","0"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.exec(c.damage)
			r := w.verify(report.Drift)
			if r.Counts.Differences != 1 || len(r.Differences) != 1 || !strings.Contains(text(t, r), c.want) {
				t.Errorf("want %q in\n%s", c.want, text(t, r))
			}
			w.exec(c.repair)
			w.verify(report.Exclusions)
		})
	}
}

// TestB068ExactInReport: neighbours above 2^53 are told apart from the log to the report.
func TestB068ExactInReport(t *testing.T) {
	w := newWorld(t)
	w.produce(w.record("nut", "oslo", "n1", 1, "NEW", "2026-01-01T00:00:00Z", 9007199254740993))
	w.balance(1, "2026-01-01", 9007199254740993)
	w.status(1, "READY", []string{}, []int64{})
	w.verify(report.Pass)
	w.exec(`UPDATE amends_shop_view.balance SET close = 9007199254740992`)
	if got := text(t, w.verify(report.Drift)); !strings.Contains(got, "oracle close=9007199254740993, view close=9007199254740992") {
		t.Error(got)
	}
}

// TestR23WorkerTablesAreNotRead: without the worker's balances and authority the verdict is the same.
func TestR23WorkerTablesAreNotRead(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.verify(report.Pass)
	for _, table := range []string{"day_state", "authority", "outbox", "receipt", "relay_lease"} {
		w.exec(`ALTER TABLE ` + table + ` RENAME TO ` + table + `_gone`)
	}
	w.verify(report.Pass)
}

func TestB124NothingToCompare(t *testing.T) {
	w := newWorld(t)
	r := w.verify(report.Pass)
	if first, _, _ := strings.Cut(text(t, r), "\n"); !strings.Contains(first, "0 records compared") {
		t.Error(first)
	}
	w.demo()
	w.verify(report.Pass)
	for p := range int32(2) {
		if end := w.nextOffsets[p]; end > 0 {
			w.cluster.DeleteRecords(t, w.sourceTopic, p, end)
		}
	}
	r = w.verify(report.Incomplete)
	if !strings.Contains(r.Incomplete[0].Reason, "earlier records are lost") || r.Retryable {
		t.Errorf("%+v", r.Incomplete)
	}
}

// TestBlocked: a conflict at the highest revision blocks its key: retained values are not compared, the rest is.
func TestBlockedAndSC25(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.verify(report.Pass)
	w.contest()
	w.exec(`UPDATE amends_shop_view.key_status SET status = 'BLOCKED', conflict_txns = '{b1}', conflict_revisions = '{1}' WHERE key_id = 0`)
	w.exec(`UPDATE key_state SET conflict_txns = '{b1}', conflict_revisions = '{1}' WHERE key_id = 0`)
	r := w.verify(report.Blocked)
	if r.Counts.Differences != 0 || r.Counts.Balances.Uncertified != 1 || r.Counts.BlockedKeys != 1 || len(r.Conflicts) != 1 {
		t.Errorf("%+v", r)
	}
	w.exec(`UPDATE amends_shop_view.balance SET close = close + 1`) // drift on the widget, irrelevant on the bolt
	r = w.verify(report.Blocked)
	first, _, _ := strings.Cut(text(t, r), "\n")
	if r.Counts.Differences != 3 || !strings.Contains(first, "1 key cannot be certified (1 ambiguous revision); 3 differences on the rest") {
		t.Errorf("%s", first)
	}
	// SC25: combined with a stalled relay it is INCOMPLETE, and the conflict is listed.
	w.exec(`UPDATE partition_state SET outbox_next = outbox_next + 1`)
	w.options.Timeout = 2 * time.Second
	r = w.verify(report.Incomplete)
	if len(r.Conflicts) != 1 || !cmp.Equal(r.Conflicts[0], report.Conflict{Item: "bolt", Location: "oslo", TxnID: "b1", Revision: 1, State: report.Ambiguous, Payloads: []report.Payload{}}) || r.Counts.Differences != 0 {
		t.Errorf("%+v", r)
	}
	w.exec(`UPDATE relay_state SET sent_through = sent_through + 1`)
	w.options.Timeout = 30 * time.Second
	w.verify(report.Blocked)
}

// TestIncompletePhases: each component that does not arrive is named. The twin is TestPass.
func TestIncompletePhases(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.options.Timeout = 2 * time.Second
	w.verify(report.Pass)
	for _, c := range []struct {
		damage, repair, want string
		phase                boundary.Phase
	}{
		{`UPDATE partition_state SET next_offset = next_offset - 1 WHERE next_offset > 4`, `UPDATE partition_state SET next_offset = next_offset + 1 WHERE next_offset = 4`, "has not reached H 5", boundary.PhaseWorker},
		{`UPDATE relay_state SET sent_through = 1 WHERE partition = 0`, `UPDATE relay_state SET sent_through = 4 WHERE partition = 0`, "3 outbox envelopes are not acknowledged", boundary.PhaseRelay},
		{`UPDATE amends_shop_view.view_progress SET next_offset = 2 WHERE partition = 0`, `UPDATE amends_shop_view.view_progress SET next_offset = 3 WHERE partition = 0`, "view frontier 2 has not reached O 3", boundary.PhaseView},
		{`UPDATE amends_shop_view.view_progress SET next_offset = 9 WHERE partition = 0`, `UPDATE amends_shop_view.view_progress SET next_offset = 3 WHERE partition = 0`, "view frontier 9 lies beyond the output topic's end 3", boundary.PhaseRecheck},
		{`UPDATE amends_shop_view.namespace SET output_topic_id = 'other'`, `UPDATE amends_shop_view.namespace SET output_topic_id = '` + w.outID + `'`, "OutputTopicID:other", boundary.PhaseView},
	} {
		if c.phase == boundary.PhaseWorker && w.nextOffsets[0] != 5 && w.nextOffsets[1] != 5 {
			c.damage = `UPDATE partition_state SET next_offset = 0`
			c.repair = fmt.Sprintf(`UPDATE partition_state SET next_offset = CASE partition WHEN 0 THEN %d ELSE %d END`, w.nextOffsets[0], w.nextOffsets[1])
			c.want = "has not reached H"
		}
		w.exec(c.damage)
		r := w.verify(report.Incomplete)
		if got := r.Incomplete[0]; got.Phase != c.phase || !strings.Contains(got.Reason, c.want) {
			t.Errorf("%+v, want %s: %s", got, c.phase, c.want)
		}
		w.exec(c.repair)
		w.verify(report.Pass)
	}
}

func TestB010TopicRecreated(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.verify(report.Pass)
	w.cluster.DeleteTopic(t, w.sourceTopic)
	w.createTopic(w.sourceTopic)
	r := w.verify(report.Incomplete)
	if !strings.Contains(r.Incomplete[0].Reason, "was recreated") || r.Retryable {
		t.Errorf("%+v", r.Incomplete)
	}
}

// TestR21PersistedStops: SC27, B085 and SC17 end at once, naming partition and offset.
func TestR21PersistedStops(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.verify(report.Pass)
	w.exec(`UPDATE partition_state SET next_offset = 0, stop_reason = 'arithmetic_overflow', stop_offset = 3, stop_detail = 'close' WHERE partition = 1`)
	began := time.Now()
	r := w.verify(report.Error)
	if e := r.Errors[0]; *e.Partition != 1 || *e.Offset != 3 || !strings.Contains(e.Reason, "arithmetic_overflow") || time.Since(began) > w.options.Timeout/2 {
		t.Errorf("%+v after %s", r.Errors, time.Since(began))
	}
	w.exec(`UPDATE partition_state SET next_offset = $1, stop_reason = NULL WHERE partition = 1`, w.nextOffsets[1])
	w.verify(report.Pass)
	w.exec(`UPDATE relay_state SET stop_reason = 'outbox_damaged', stop_detail = 'gap' WHERE partition = 0`)
	if e := w.verify(report.Error).Errors[0]; e.Phase != boundary.PhaseRelay || *e.Partition != 0 || !strings.Contains(e.Reason, "outbox sequence 4: outbox_damaged") {
		t.Errorf("%+v", e)
	}
	w.exec(`UPDATE relay_state SET stop_reason = NULL`)
	w.verify(report.Pass)
	w.exec(`INSERT INTO amends_shop_view.protocol_violation (partition, output_offset, reason, detail) VALUES (0, 2, 'equal_version', 'x')`)
	if e := w.verify(report.Error).Errors[0]; e.Phase != boundary.PhaseView || *e.Partition != 0 || *e.Offset != 2 {
		t.Errorf("%+v", e)
	}
}

// TestB085OutOfDomain: the oracle's own finding is an ERROR at a complete boundary.
func TestB085OutOfDomain(t *testing.T) {
	w := newWorld(t, func(s *manifests.Spec) { s.StockKeys[1].OpeningBalance = 9223372036854775800 })
	w.produce(w.record("nut", "oslo", "n1", 1, "NEW", "2026-01-01T00:00:00Z", 10))
	w.status(1, "READY", []string{}, []int64{})
	r := w.verify(report.Error)
	if len(r.OutOfDomain) != 1 || r.OutOfDomain[0].Close != "9223372036854775810" {
		t.Errorf("%+v", r.OutOfDomain)
	}
}

// lease lets "gen" hold the writer lease.
func (w *world) lease(d time.Duration) {
	w.t.Helper()
	w.exec(`INSERT INTO amends.writer_lease (source_topic_id, holder, term, expires_at) VALUES ($1, 'gen', 1, now() + $2)
		ON CONFLICT (source_topic_id) DO UPDATE SET holder = excluded.holder, term = writer_lease.term + 1, released = false,
			stop_requested = false, expires_at = excluded.expires_at`, w.sourceID, d)
}

// TestR22WriterLease: the holder is asked to stop and awaited; whoever may not ask gets INCOMPLETE.
func TestR22WriterLease(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.lease(time.Hour)
	writer, err := pgx.Connect(context.Background(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { // the writer: stops when asked
		defer func() { _ = writer.Close(context.Background()) }()
		for {
			tag, err := writer.Exec(context.Background(), `UPDATE amends.writer_lease SET released = true WHERE stop_requested`)
			if err != nil || tag.RowsAffected() > 0 {
				stopped <- err
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	r := w.verify(report.Pass)
	if err := <-stopped; err != nil || r.WritersExcludedBy != "lease" {
		t.Errorf("writer: %v; writers excluded by %q", err, r.WritersExcludedBy)
	}
	t.Run("does not stop", func(t *testing.T) {
		w.lease(time.Hour)
		w.options.Timeout = 2 * time.Second
		if r := w.verify(report.Incomplete); r.Incomplete[0].Phase != boundary.PhaseWriter || !strings.Contains(r.Incomplete[0].Reason, "still held by gen") {
			t.Errorf("%+v", r.Incomplete)
		}
	})
	t.Run("expired", func(*testing.T) {
		w.lease(-time.Second)
		w.options.Timeout = 30 * time.Second
		w.verify(report.Pass)
	})
}

// TestReadOnlyJudge: reading rights are enough, unless a writer must be stopped (R23).
func TestReadOnlyJudge(t *testing.T) {
	w := newWorld(t)
	w.demo()
	role := fmt.Sprintf("judge_%d", time.Now().UnixNano())
	w.exec(`CREATE ROLE ` + role + ` LOGIN`)
	t.Cleanup(func() { w.exec(`DROP OWNED BY ` + role + `; DROP ROLE ` + role) })
	w.exec(`GRANT USAGE ON SCHEMA amends, amends_shop, amends_shop_view TO ` + role + `;
		GRANT SELECT ON amends.namespace, amends.writer_lease, amends_shop.stock_key, amends_shop.partition_state, amends_shop.relay_state,
			amends_shop.key_state, amends_shop.quarantine, amends_shop.conflict TO ` + role + `;
		GRANT SELECT ON ALL TABLES IN SCHEMA amends_shop_view TO ` + role)
	config, err := pgx.ParseConfig(w.url)
	if err != nil {
		t.Fatal(err)
	}
	w.stateURL = fmt.Sprintf("host=%s port=%d dbname=%s user=%s", config.Host, config.Port, config.Database, role)
	w.viewURL = w.stateURL
	w.verify(report.Pass)
	w.lease(time.Hour)
	if r := w.verify(report.Incomplete); !strings.Contains(r.Incomplete[0].Reason, "may not ask it to stop") {
		t.Errorf("%+v", r.Incomplete)
	}
	w.exec(`UPDATE amends.writer_lease SET released = true`)
	if r := w.verify(report.Pass); r.WritersExcludedBy != "lease" || !strings.Contains(r.Checks[0].Text, "this run only looks at it") {
		t.Errorf("writers excluded by %q: %+v", r.WritersExcludedBy, r.Checks)
	}
	// R22: what cannot be read proves nothing; the operator has to say it.
	w.exec(`REVOKE SELECT ON amends.writer_lease FROM ` + role)
	if r := w.verify(report.Incomplete); !strings.Contains(r.Incomplete[0].Reason, "may not read the writer lease") || r.WritersExcludedBy != "" {
		t.Errorf("writers excluded by %q: %+v", r.WritersExcludedBy, r.Incomplete)
	}
	w.options.WritersStopped = true
	if r := w.verify(report.Pass); r.WritersExcludedBy != "statement" {
		t.Errorf("writers excluded by %q", r.WritersExcludedBy)
	}
}

// TestB003OpenTransaction: an open transaction is INCOMPLETE, never a hang; once aborted, PASS.
func TestB003OpenTransaction(t *testing.T) {
	w := newWorld(t)
	w.demo()
	p := w.cluster.Producer(t)
	record := w.record("bolt", "oslo", "b9", 1, "NEW", "2026-01-01T00:00:00Z", 1)
	p.Begin(record)
	w.options.Timeout = 400 * time.Millisecond
	r := w.verify(report.Incomplete)
	if got := r.Incomplete[0]; *got.Partition != record.Partition || !strings.Contains(got.Reason, "an open transaction holds the last stable offset") {
		t.Errorf("%+v", got)
	}
	p.End(false)
	w.cluster.AwaitEnd(t, w.sourceTopic, record.Partition, record.Offset+2)
	w.exec(`UPDATE partition_state SET next_offset = $2 WHERE partition = $1`, record.Partition, record.Offset+2)
	w.options.Timeout = 30 * time.Second
	w.verify(report.Pass)
}

// TestUnreachableIsError: a broker or database that does not answer is a failure of the infrastructure.
func TestUnreachableIsError(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.exec(`ALTER TABLE amends_shop_view.view_progress RENAME TO gone`)
	if r := w.verify(report.Error); !strings.Contains(r.Errors[0].Reason, "the view's progress") {
		t.Errorf("%+v", r.Errors)
	}
	w.exec(`ALTER TABLE amends_shop_view.gone RENAME TO view_progress`)
	w.verify(report.Pass)
	w.cluster.Fake.Close()
	w.options.Timeout = 500 * time.Millisecond
	if r := w.verify(report.Error); r.Errors[0].Phase != boundary.PhaseSource || !r.Retryable {
		t.Errorf("%+v", r.Errors)
	}
}

func TestRefusals(t *testing.T) {
	mark.Expect(t, "R26 builder may not judge")
	w := newWorld(t)
	w.demo()
	w.options.Namespace = ""
	w.verify(report.Pass) // the only one there is
	refused := func(name string, want error) {
		t.Helper()
		if r, err := w.run(); !errors.Is(err, want) {
			t.Errorf("%s: %v, error %v; want %v", name, r, err, want)
		}
	}
	other, err := manifests.New("shop", func() manifests.Spec { s := w.ns.Spec; s.Source.MaxRecordBytes = 100; return s }())
	if err != nil {
		t.Fatal(err)
	}
	w.options.Manifest = other
	refused("other digest", verify.ErrRefused)
	w.options.Manifest = w.ns
	w.verify(report.Pass)
	w.options.Engine = "arrow"
	refused("no such engine", verify.ErrRefused)
	w.options.Engine = "reference"
	w.exec(`UPDATE amends.namespace SET built_by = 'reference decoder=reference'`)
	refused("R26 named engine built the state", verify.ErrRefused)
	w.options.Engine = verify.EngineAuto
	refused("R26 no other engine", verify.ErrRefused)
	w.exec(`UPDATE amends.namespace SET built_by = 'stream'`)
	w.exec(`UPDATE stock_key SET opening_balance = opening_balance + 1 WHERE key_id = 0`)
	refused("configuration altered", verify.ErrRefused)
	w.exec(`UPDATE amends.namespace SET spec = jsonb_set(spec, '{semanticsVersion}', '"2"')`)
	refused("R03 other semantics version", verify.ErrRefused)
	w.options.Namespace = "absent"
	refused("not applied", verify.ErrNotApplied)
	w.exec(`INSERT INTO amends.namespace SELECT 'second', semantics_version, spec, namespace_digest, business_digest, source_topic,
		source_topic_id, 'other', output_topic_id, 'a', 'b' FROM amends.namespace`)
	w.options.Namespace = ""
	refused("two namespaces", verify.ErrAmbiguousName)
	w.exec(`DROP SCHEMA amends CASCADE`)
	refused("no catalog", verify.ErrNotApplied)
}
