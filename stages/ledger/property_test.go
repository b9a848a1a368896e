package ledger_test

import (
	"errors"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

// drawConfig draws a namespace of three keys.
func drawConfig(r *rapid.T) *ledger.Config {
	opening := rapid.SampledFrom([]int64{0, 100, -5, 60, math.MaxInt64 - 100, math.MinInt64 + 100})
	threshold := rapid.SampledFrom([]int64{0, 60, 100, math.MinInt64, math.MaxInt64})
	var keys []manifests.StockKey
	for _, item := range []string{"A", "B", "C\u2028<"} {
		keys = append(keys, manifests.StockKey{Item: item, Location: "L", OpeningBalance: opening.Draw(r, "opening"), ReorderThreshold: threshold.Draw(r, "threshold")})
	}
	return config(keys...)
}

// drawSteps draws a history with many collisions of identity, revision and day.
func drawSteps(r *rapid.T) []step {
	count := rapid.IntRange(1, 60).Draw(r, "count")
	steps := make([]step, 0, count)
	offset := int64(0)
	for range count {
		offset += int64(rapid.IntRange(1, 3).Draw(r, "gap"))
		rec := ledger.Record{Offset: offset, Key: []byte("k"), Value: []byte("v")}
		if rapid.IntRange(0, 19).Draw(r, "reject") == 0 {
			steps = append(steps, step{rec: rec, reason: ledger.ReasonInvalidJSON})
			continue
		}
		p := ledger.Payload{
			Revision:  rapid.SampledFrom([]int64{1, 1, 2, 2, 3, 4, math.MaxInt64}).Draw(r, "revision"),
			Kind:      rapid.SampledFrom([]ledger.Kind{ledger.KindNew, ledger.KindAmend, ledger.KindAmend, ledger.KindCancel}).Draw(r, "kind"),
			ValidTime: origin2026 + int64(rapid.SampledFrom([]int{0, 1, 2, 3, 5, 40}).Draw(r, "day"))*86400_000000000 + int64(rapid.IntRange(0, 1).Draw(r, "ns")),
			Qty:       rapid.SampledFrom([]int64{0, -50, -50, -30, 10, 50, 1, math.MaxInt64, math.MinInt64}).Draw(r, "qty"),
		}
		if rapid.IntRange(0, 9).Draw(r, "small") > 0 {
			p.Qty %= 100
		}
		if p.Kind == ledger.KindCancel {
			p.Qty = 0
		}
		txnID := rapid.SampledFrom([]string{"t1", "t2", "t3", "é\"", "t10"}).Draw(r, "txn")
		steps = append(steps, step{rec: rec, tx: ledger.Transaction{KeyID: int32(rapid.IntRange(0, 2).Draw(r, "key")), TxnID: txnID, Payload: p}})
	}
	return steps
}

// expected runs the model over the steps: the envelopes, and the step that stops the partition (or len).
func expected(cfg *ledger.Config, steps []step) (envelopes []string, stop int) {
	m := newModel(cfg)
	for i, s := range steps {
		if s.reason != ledger.ReasonNone {
			continue
		}
		texts, ok := m.accept(s.rec, s.tx)
		if !ok {
			return envelopes, i
		}
		envelopes = append(envelopes, texts...)
	}
	return envelopes, len(steps)
}

// TestCoreEqualsModel compares every envelope, byte for byte, with full recomputation after each record (S1, S6, R09,
// R10, R11), in units of work of any size, with any cache, aborted commits and new epochs (R14, R15, R20).
func TestCoreEqualsModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cfg, steps := drawConfig(r), drawSteps(r)
		want, stop := expected(cfg, steps)
		single := newShell(t, cfg, 0)
		checkRun(r, single, single.run(steps, 1), steps, want, stop)

		batched := newShell(t, cfg, rapid.SampledFrom([]int{0, 3, 8, 20, 1000}).Draw(r, "cache"))
		var err error
		for rest := steps; len(rest) > 0 && err == nil; {
			size := min(len(rest), rapid.IntRange(1, 25).Draw(r, "size"))
			var decided int
			decided, err = batched.unit(rest[:size], rapid.IntRange(0, 5).Draw(r, "abort") > 0)
			rest = rest[decided:]
			if rapid.IntRange(0, 5).Draw(r, "new epoch") == 0 {
				batched.epoch++
			}
		}
		checkRun(r, batched, err, steps, want, stop)
		if diff := cmp.Diff(single.keys, batched.keys); diff != "" {
			r.Fatalf("keys: %s", diff)
		}
		if diff := cmp.Diff(single.days, batched.days); diff != "" {
			r.Fatalf("days: %s", diff)
		}
		if diff := cmp.Diff(single.authority, batched.authority); diff != "" {
			r.Fatalf("authority: %s", diff)
		}
		if diff := cmp.Diff(single.sortedEvidence(), batched.sortedEvidence()); diff != "" {
			r.Fatalf("evidence: %s", diff)
		}
		if diff := cmp.Diff(single.conflicts, batched.conflicts); diff != "" {
			r.Fatalf("conflicts: %s", diff)
		}
		if diff := cmp.Diff(single.quarantine, batched.quarantine); diff != "" {
			r.Fatalf("quarantine: %s", diff)
		}
	})
}

// checkRun compares a finished run with what the model expects, the stop included (R09: batch size changes nothing).
func checkRun(r *rapid.T, s *shell, err error, steps []step, want []string, stop int) {
	if diff := cmp.Diff(want, s.envelopes); diff != "" {
		r.Fatalf("envelopes (-model +core): %s", diff)
	}
	if stop == len(steps) {
		if err != nil {
			r.Fatal(err)
		}
		return
	}
	var overflow *ledger.OverflowError
	if !errors.As(err, &overflow) || overflow.Offset != steps[stop].rec.Offset || overflow.Reason != ledger.StopOverflow {
		r.Fatalf("want an overflow at offset %d, got %v", steps[stop].rec.Offset, err)
	}
	if stop > 0 && s.next != steps[stop-1].rec.Offset+1 || stop == 0 && s.next != 0 {
		r.Fatalf("frontier %d after a stop at offset %d", s.next, overflow.Offset)
	}
}

// TestR14RowsTouched counts the rows that a change recomputes: at most the activity days from the earliest affected day
// on, before or after the change.
func TestR14RowsTouched(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cfg, m := config(keyA), newModel(config(keyA))
		batch := ledger.NewBatch(cfg, 0)
		for i, s := range drawSteps(r) {
			if s.reason != ledger.ReasonNone {
				continue
			}
			s.tx.KeyID, s.rec.Offset = 0, int64(i)
			s.tx.Payload.Qty %= 1000
			batch.AddKeys(batch.KeysNeeded([]ledger.Transaction{s.tx}), nil, nil)
			_, oldActive := m.authority(m.accepted[0])
			wasBlocked := m.views[0] != nil && m.views[0].status != m.status(0, nil)
			before := m.activeDays(0, "")
			if _, ok := m.accept(s.rec, s.tx); !ok {
				r.Fatal("out of domain")
			}
			touched := batch.RowsTouched()
			if err := batch.Decide(s.rec, s.tx, s.reason); err != nil {
				r.Fatal(err)
			}
			touched = batch.RowsTouched() - touched
			conflicts, newActive := m.authority(m.accepted[0])
			from := firstDifference(oldActive, newActive)
			if wasBlocked {
				from = ""
			}
			days := m.activeDays(0, from)
			maps.DeleteFunc(before, func(day string, _ bool) bool { return day < from })
			maps.Copy(days, before)
			switch {
			case len(conflicts) > 0 && touched != 0:
				r.Fatalf("a blocked key was folded: %d rows", touched)
			case touched > int64(len(days)):
				r.Fatalf("touched %d rows, but %d days are active from %q on", touched, len(days), from)
			}
		}
	})
}

// firstDifference returns the earliest day on which two sets of transactions differ, beyond all days where they do not.
func firstDifference(old, now []ledger.Transaction) string {
	from := "9999"
	for _, sets := range [][2][]ledger.Transaction{{old, now}, {now, old}} {
		for _, tx := range sets[0] {
			if !slices.Contains(sets[1], tx) {
				from = min(from, time.Unix(0, tx.Payload.ValidTime).UTC().Format(time.DateOnly))
			}
		}
	}
	return from
}
