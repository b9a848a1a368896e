package verify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/cli/app"
	cli "amends.dev/amends/internal/cli/verify"
	"amends.dev/amends/internal/exit"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
)

// expect verifies with both engines and expects a status; the exit code must be the same as text and as JSON.
func (p *pipeline) expect(status report.Status) *report.Report {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	deps, done, err := cli.Connect(ctx, p.connections())
	if err != nil {
		p.t.Fatal(err)
	}
	defer done()
	var last *report.Report
	for _, engine := range []string{"reference", "arrow"} {
		p.options.Engine = engine
		r, err := verify.Run(ctx, deps, p.options)
		if err != nil {
			p.t.Fatal(err)
		}
		var text, data bytes.Buffer
		asText := cli.Write(&app.App{Stdout: &text}, r, 0, report.FormatText)
		asJSON := cli.Write(&app.App{Stdout: &data}, r, 0, report.FormatJSON)
		if r.Status != status || exit.Of(asText) != status.ExitCode() || exit.Of(asJSON) != status.ExitCode() {
			p.t.Fatalf("%s: %s, exit codes %d and %d; want %s\n%s", engine, r.Status, exit.Of(asText), exit.Of(asJSON), status, text.String())
		}
		if first, _, _ := strings.Cut(text.String(), "\n"); !strings.HasPrefix(first, string(status)+" shop: ") {
			p.t.Fatalf("first line %q", first)
		}
		var back report.Report
		if err := json.Unmarshal(data.Bytes(), &back); err != nil || back.Status != status || back.Counts != r.Counts {
			p.t.Fatalf("JSON: %v, %s, %+v", err, back.Status, back.Counts)
		}
		if last != nil && last.Counts != r.Counts {
			p.t.Fatalf("the engines disagree: %+v, %+v", last.Counts, r.Counts)
		}
		last = r
	}
	return last
}

// TestVerifyEndToEnd is "Shown to be done by" 4 of the main job, on real stages: first PASS on the undamaged twin.
func TestVerifyEndToEnd(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		p := newPipeline(t, c, 0)
		for _, stage := range []string{worker.Stage, relay.Stage, view.Stage} {
			p.start(stage)
		}
		p.produce( // SC02, a cancellation and a backdated NEW
			record("widget", "berlin", "t1", 1, "NEW", "2026-01-02", -50),
			record("widget", "berlin", "t2", 1, "NEW", "2026-01-03", -20),
			record("widget", "berlin", "t3", 1, "NEW", "2026-01-04", 50),
			record("widget", "berlin", "t1", 2, "AMEND", "2026-01-02", -30),
			record("bolt", "oslo", "b1", 1, "NEW", "2026-01-02", 5),
			record("bolt", "oslo", "b2", 1, "NEW", "2026-01-01", 7),
			record("bolt", "oslo", "b1", 2, "CANCEL", "2026-01-02", 0),
			record("nut", "oslo", "n1", 1, "NEW", "2026-01-01", 9007199254740993), // B068
		)
		r := p.expect(report.Pass)
		if c := r.Counts; c.Records != 8 || c.Balances.Equal != 5 || c.Alerts.Equal != 1 || c.Statuses.Equal != 3 {
			t.Fatalf("%+v", c)
		}
		damages(t, p)
		stalledRelay(t, p)
		conflict(t, p)
	})
}

// damages alters one thing at a time; each is named, and repaired the verdict is as before.
func damages(t *testing.T, p *pipeline) {
	bad := &kgo.Record{Key: []byte("k"), Value: []byte(`{"txn_id":`)}
	p.produce(bad)
	p.expect(report.Exclusions)
	for _, d := range []struct{ damage, repair, want string }{
		{`UPDATE balance SET close = 9007199254740992 WHERE key_id = 1`, `UPDATE balance SET close = 9007199254740993 WHERE key_id = 1`,
			"changed balance nut/oslo 2026-01-01: oracle close=9007199254740993, view close=9007199254740992"},
		{`CREATE TABLE kept AS SELECT * FROM balance WHERE key_id = 0 AND present; DELETE FROM balance WHERE key_id = 0 AND present`,
			`INSERT INTO balance TABLE kept; DROP TABLE kept`, "missing balance bolt/oslo 2026-01-01: oracle close=17, view none"},
		{`INSERT INTO alert VALUES (0, '2026-01-01', 1, 0, 1, true, '')`, `DELETE FROM alert WHERE key_id = 0`,
			"extra alert bolt/oslo 2026-01-01: oracle none, view close=0 threshold=1"},
	} {
		exec(t, p.viewDB, d.damage)
		p.expectText(report.Drift, d.want)
		exec(t, p.viewDB, d.repair)
		p.expect(report.Exclusions)
	}
	exec(t, p.stateDB, `CREATE TABLE kept AS TABLE quarantine; DELETE FROM quarantine`)
	p.expectText(report.Drift, fmt.Sprintf("evidence quarantine partition %d offset", bad.Partition))
	exec(t, p.stateDB, `INSERT INTO quarantine TABLE kept; DROP TABLE kept`)
	p.expect(report.Exclusions)
	// R23: the worker's balances and authority do not matter.
	exec(t, p.stateDB, `ALTER TABLE day_state RENAME TO gone1; ALTER TABLE authority RENAME TO gone2`)
	p.expect(report.Exclusions)
	exec(t, p.stateDB, `ALTER TABLE gone1 RENAME TO day_state; ALTER TABLE gone2 RENAME TO authority`)
}

// expectText expects exactly one difference, shown in so many words.
func (p *pipeline) expectText(status report.Status, want string) {
	p.t.Helper()
	r := p.expect(status)
	var text strings.Builder
	if err := report.Text(&text, r, 0); err != nil {
		p.t.Fatal(err)
	}
	if r.Counts.Differences != 1 || !strings.Contains(text.String(), want) {
		p.t.Fatalf("want %q in\n%s", want, text.String())
	}
}

// stalledRelay stops the relay with pending rows: INCOMPLETE until it runs again.
func stalledRelay(t *testing.T, p *pipeline) {
	p.stopStages[relay.Stage]()
	p.produce(record("widget", "berlin", "t4", 1, "NEW", "2026-01-05", -1))
	p.options.Timeout = 2 * time.Second
	r := p.expect(report.Incomplete)
	if got := r.Incomplete[0]; got.Phase != "relay" || !strings.Contains(got.Reason, "not acknowledged") {
		t.Fatalf("%+v", got)
	}
	p.start(relay.Stage)
	p.options.Timeout = time.Minute
	p.expect(report.Exclusions)
}

// conflict makes a highest revision ambiguous: BLOCKED, and INCOMPLETE with the conflict listed while the relay is
// stopped (SC25); a higher revision resolves it.
func conflict(t *testing.T, p *pipeline) {
	p.produce(record("bolt", "oslo", "b2", 1, "NEW", "2026-01-01", 8))
	if r := p.expect(report.Blocked); r.Counts.Differences != 0 || r.Counts.BlockedKeys != 1 || r.Counts.Balances.Uncertified != 1 {
		t.Fatalf("%+v", r)
	}
	p.stopStages[relay.Stage]()
	p.produce(record("widget", "berlin", "t5", 1, "NEW", "2026-01-06", -1))
	p.options.Timeout = 2 * time.Second
	if r := p.expect(report.Incomplete); len(r.Conflicts) != 1 || r.Conflicts[0].TxnID != "b2" {
		t.Fatalf("%+v", r)
	}
	p.start(relay.Stage)
	p.options.Timeout = time.Minute
	p.expect(report.Blocked)
	p.produce(record("bolt", "oslo", "b2", 2, "AMEND", "2026-01-01", 9))
	if r := p.expect(report.Exclusions); r.Counts.SupersededConflicts != 1 {
		t.Fatalf("%+v", r)
	}
}

// TestB085OverflowEndToEnd: the worker stops, and verify says ERROR at once, naming partition and offset.
func TestB085OverflowEndToEnd(t *testing.T) {
	p := newPipeline(t, kafkatest.Fake(t), 9223372036854775800)
	for _, stage := range []string{worker.Stage, relay.Stage, view.Stage} {
		p.start(stage)
	}
	p.expect(report.Pass)
	overflowing := record("nut", "oslo", "n1", 1, "NEW", "2026-01-01", 10)
	p.produce(overflowing)
	r := p.expect(report.Error)
	if e := r.Errors[0]; e.Partition == nil || *e.Partition != overflowing.Partition || *e.Offset != 0 || !strings.Contains(e.Reason, "arithmetic_overflow") {
		t.Fatalf("%+v", r.Errors)
	}
}
