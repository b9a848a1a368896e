package verify_test

import (
	"strings"
	"testing"
	"time"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
)

// during runs something when a phase begins, once.
func (w *world) during(phase boundary.Phase, do func()) {
	done := false
	w.onEvent = func(e verify.Event) {
		if e.Phase == phase && !done {
			done = true
			do()
		}
	}
}

// TestR22NothingMoves: what moves during the comparison makes the run INCOMPLETE; the next run passes again.
func TestR22NothingMoves(t *testing.T) {
	t.Run("B130 source", func(t *testing.T) {
		w := newWorld(t)
		w.demo()
		w.verify(report.Pass)
		w.during(boundary.PhaseScan, func() {
			w.produce(w.record("bolt", "oslo", "b1", 1, "NEW", "2026-01-01T00:00:00Z", 5))
		})
		if r := w.verify(report.Incomplete); !strings.Contains(r.Incomplete[0].Reason, "the source moved during the run") || r.Counts.Balances != (compare.Tally{}) {
			t.Errorf("%+v", r)
		}
		w.onEvent = nil
		w.verify(report.Pass)
	})
	t.Run("identical repeats past O", func(t *testing.T) {
		w := newWorld(t)
		w.demo()
		w.during(boundary.PhaseCompare, func() { w.cluster.Produce(t, kafkatest.Values(w.outTopic, 0, "o3", "o1")...) })
		w.verify(report.Pass)
	})
	t.Run("another partition's record past O", func(t *testing.T) {
		w := newWorld(t)
		w.demo()
		w.during(boundary.PhaseCompare, func() { w.cluster.Produce(t, kafkatest.Values(w.outTopic, 0, "o3", "o4")...) })
		if r := w.verify(report.Incomplete); *r.Incomplete[0].Partition != 0 || *r.Incomplete[0].Offset != 4 {
			t.Errorf("%+v", r.Incomplete)
		}
	})
	t.Run("earlier outputs deleted, one past O", func(t *testing.T) { // no repeat can be told from another record
		w := newWorld(t)
		w.demo()
		w.during(boundary.PhaseCompare, func() {
			w.cluster.Produce(t, kafkatest.Values(w.outTopic, 0, "o3")...)
			w.cluster.DeleteRecords(t, w.outTopic, 0, 1)
		})
		if r := w.verify(report.Incomplete); r.Incomplete[0].Phase != boundary.PhaseRecheck || !strings.Contains(r.Incomplete[0].Reason, "history lost") {
			t.Errorf("%+v", r.Incomplete)
		}
	})
	t.Run("history deleted under the scan", func(t *testing.T) {
		w := newWorld(t)
		w.demo()
		w.during(boundary.PhaseScan, func() { w.cluster.DeleteTopic(t, w.sourceTopic) })
		r := w.verify(report.Incomplete)
		if got := r.Incomplete[0]; got.Phase != boundary.PhaseScan || strings.Count(got.Reason, "no longer exists") != 1 || r.Retryable {
			t.Errorf("%+v", got)
		}
	})
	t.Run("lease taken", func(t *testing.T) {
		w := newWorld(t)
		w.demo()
		w.during(boundary.PhaseScan, func() { w.lease(time.Hour) })
		if r := w.verify(report.Incomplete); !strings.Contains(r.Incomplete[0].Reason, "took the writer lease") {
			t.Errorf("%+v", r.Incomplete)
		}
	})
	t.Run("catalog altered", func(t *testing.T) {
		w := newWorld(t)
		w.demo()
		w.during(boundary.PhaseScan, func() { w.exec(`UPDATE amends.namespace SET namespace_digest = 'other'`) })
		if r := w.verify(report.Incomplete); !strings.Contains(r.Incomplete[0].Reason, "the namespace changed") {
			t.Errorf("%+v", r.Incomplete)
		}
	})
}
