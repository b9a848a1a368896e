package postgres

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestR36ReportedStalls: what a process says stands until it says otherwise, is not repeated, or a while has passed; what
// another process says is its own.
func TestR36ReportedStalls(t *testing.T) {
	pool := newState(t, 2, nil)
	report := func(process string, stalls ...Stall) {
		t.Helper()
		if err := ReportStalls(t.Context(), pool, process, stalls); err != nil {
			t.Fatal(err)
		}
	}
	read := func(want ...Stall) {
		t.Helper()
		got, err := ReadStalls(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	at := func(s Stall, process string, frontier int64) Stall {
		s.Process, s.Frontier = process, frontier
		return s
	}
	since := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	worker := Stall{Stage: "worker", Partition: 1, Reason: "no place in the group", Since: since, Attempts: 12, NextTry: since.Add(time.Minute)}
	view := Stall{Stage: "view", Reason: "first\nsecond\x00\xff" + strings.Repeat("x", 5000), Since: since.Add(time.Hour), Attempts: 1, Frontier: 3}
	read()
	report("a", worker, view)
	kept := at(view, "a", 3)
	kept.Reason = storable(view.Reason)
	if !strings.HasPrefix(kept.Reason, "first; second\uFFFD\uFFFDxxx") || len(kept.Reason) > maxStallReason+20 {
		t.Fatalf("reason %q", kept.Reason)
	}
	read(kept, at(worker, "a", 0))

	// Repeated it keeps the frontier at which it began, whatever others did meanwhile; a new one takes what is durable.
	if _, err := pool.Exec(t.Context(), `UPDATE partition_state SET next_offset = 7 WHERE partition = 1`); err != nil {
		t.Fatal(err)
	}
	worker.Attempts++
	report("a", worker)
	read(at(worker, "a", 0))
	again := worker
	again.Since, again.NextTry = since.Add(time.Second), time.Time{}
	report("a", again)
	read(at(again, "a", 7))

	// Another process's is another row; removing one's own leaves it.
	report("b", worker)
	read(at(worker, "b", 7), at(again, "a", 7))
	report("a")
	read(at(worker, "b", 7))
	if _, err := pool.Exec(t.Context(), `UPDATE stall SET reported_at = now() - interval '20 seconds'`); err != nil {
		t.Fatal(err)
	}
	read()
	if _, err := pool.Exec(t.Context(), `UPDATE stall SET reported_at = now() - interval '2 hours'`); err != nil {
		t.Fatal(err)
	}
	report("a", again)
	if n := all(t, pool, scanCount, `SELECT count(*) FROM stall`); n[0] != 1 {
		t.Errorf("%d rows, want that of a alone", n[0])
	}
}
