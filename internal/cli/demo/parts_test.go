package demo

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"amends.dev/amends/internal/pgserver"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/run"
)

// TestPostgresTroubleSaysWhatToDo: no Postgres and a port in use, each one line.
func TestPostgresTroubleSaysWhatToDo(t *testing.T) {
	missing := explainPostgres(fmt.Errorf("start: %w", pgserver.ErrMissing)).Error()
	for _, want := range []string{"apt-get install postgresql", "--download-postgres", "--database-url"} {
		if !strings.Contains(missing, want) || strings.Contains(missing, "\n") {
			t.Errorf("no Postgres: %s", missing)
		}
	}
	if used := explainPostgres(fmt.Errorf("port 5: %w", syscall.EADDRINUSE)).Error(); !strings.Contains(used, "--postgres-port") {
		t.Errorf("port in use: %s", used)
	}
}

// TestSC02Table: the story ends with the amendment's own outputs, whatever comes after, and shows withdrawals.
func TestSC02Table(t *testing.T) {
	stated := func(txn string, revision int64, day string, value int64) published {
		p := published{Cause: cause{txn, revision}, OutputID: []string{"demo", "balance", "widget", "berlin", day}, Type: "BalanceStated"}
		p.Payload = &struct {
			Day   string `json:"day"`
			Close int64  `json:"close"`
		}{day, value}
		return p
	}
	withdrawn := published{Cause: cause{"a", 2}, OutputID: []string{"demo", "balance", "widget", "berlin", "2026-01-01"}, Type: "BalanceRetracted"}
	raised := stated("b", 1, "2026-01-02", 30)
	raised.Type = "AlertRaised"
	told := teller{story: amendment{key: manifests.StockKey{}}, now: facts{closes: map[string]int64{}, alerts: map[string]bool{}}}
	if told.end() != nil {
		t.Error("a story without an amendment")
	}
	for _, p := range []published{
		stated("a", 1, "2026-01-01", 50), stated("b", 1, "2026-01-02", 30), raised,
		withdrawn, stated("a", 2, "2026-01-02", 70), stated("c", 1, "2026-01-03", 1), stated("a", 2, "2026-01-03", 2),
	} {
		told.hear(p)
	}
	want := []string{
		"  day          before                   after",
		"  2026-01-01   50                       -",
		"  2026-01-02   30       reorder alert   70      reorder alert",
	}
	if got := told.end().table(); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// TestFrontiers: partitions are summed, outbox sequences counted from their 1, and a stall says why.
func TestFrontiers(t *testing.T) {
	got := frontiers([]run.Status{
		{Stage: pipeline.Worker, Partition: 0, Frontier: 2}, {Stage: pipeline.Worker, Partition: 1, Frontier: 3},
		{Stage: pipeline.Relay, Frontier: 1}, {Stage: pipeline.Relay, Partition: 1, Frontier: 5},
		{Stage: pipeline.View, Partition: 1, Frontier: 4, Stall: &fault.Stall{Reason: "no server\nanswers"}},
		{Stage: pipeline.View, Partition: 2, Stall: &fault.Stall{Reason: strings.Repeat("x", 500)}},
	})
	if want := "worker 5 records · relay 4 outputs · view 4 outputs · stalled: view partition 1: no server answers (and 1 more)"; got != want {
		t.Errorf("got %s", got)
	}
}

// TestShellQuote: a path stays one word of a shell.
func TestShellQuote(t *testing.T) {
	for path, want := range map[string]string{"/tmp/a-b_1.2": "/tmp/a-b_1.2", "/it's a": `'/it'\''s a'`, "": "''", "/zürich": "'/zürich'"} {
		if got := shellQuote(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
