package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

// TestCountsOfAUnit: every accepted record counts, duplicates too, and every rejected one.
func TestCountsOfAUnit(t *testing.T) {
	var h history
	h.add("a", 1, ledger.KindNew, 1, 1)
	h.add("a", 1, ledger.KindNew, 1, 1)
	h.reject(ledger.ReasonInvalidJSON)
	h.add("b", 1, ledger.KindNew, 1, 1)
	batch := ledger.NewBatch(config(keyA), 0)
	s := newShell(t, config(keyA), 0)
	s.load(batch, []ledger.Transaction{h.steps[0].tx, h.steps[1].tx, h.steps[3].tx})
	for _, step := range h.steps {
		if err := batch.Decide(step.rec, step.tx, step.reason); err != nil {
			t.Fatal(err)
		}
	}
	if c := batch.Changes(); c.Accepted != 3 || c.Rejected != 1 {
		t.Errorf("accepted %d, rejected %d, want 3 and 1", c.Accepted, c.Rejected)
	}
}

// TestCacheCountsRows: a key counts as one row, with one more for each of its day rows and identities; a key that fills
// the cache exactly is held, and one with too many identities is held without them.
func TestCacheCountsRows(t *testing.T) {
	moved := func(h *history) { // one identity, and the row of a withdrawn day
		h.add("a", 1, ledger.KindNew, 1, 1)
		h.add("a", 2, ledger.KindAmend, 2, 1)
	}
	three := func(h *history) { // three identities on one day
		for i := range 3 {
			h.add(fmt.Sprint("t", i), 1, ledger.KindNew, 1, 1)
		}
	}
	for _, c := range []struct {
		name     string
		fill     func(h *history)
		capacity int
		want     int
	}{
		{"room for all", moved, 100, 4},
		{"exactly full", moved, 4, 4},
		{"too large", moved, 2, 0},
		{"identities all kept", three, 12, 5},
		{"too many identities", three, 11, 2},
		{"too many identities for a small cache", three, 4, 2},
		{"nothing", moved, 0, 0},
	} {
		var h history
		c.fill(&h)
		s := newShell(t, config(keyA), c.capacity)
		if err := s.run(h.steps, len(h.steps)); err != nil {
			t.Fatal(err)
		}
		if got := s.cache.Used(); got != c.want {
			t.Errorf("%s: %d rows, want %d", c.name, got, c.want)
		}
	}
}

// TestR15ReturnFromElsewhere: a batch that began at the cache's frontier leaves the other keys where they are; one that
// began at another frontier is newer than what the cache holds, so that only its own keys stay.
func TestR15ReturnFromElsewhere(t *testing.T) {
	other := manifests.StockKey{Item: "B", Location: "L"}
	cfg := config(keyA, other)
	for _, c := range []struct {
		name     string
		frontier int64
		want     int
	}{{"the undamaged twin", 1, 6}, {"from elsewhere", 5, 3}} {
		var h history
		h.add("a", 1, ledger.KindNew, 1, 1)
		h.addTo(1, "b", 1, ledger.KindNew, 1, 1)
		s := newShell(t, cfg, 100)
		if err := s.run(h.steps[:1], 1); err != nil {
			t.Fatal(err)
		}
		batch, step := ledger.NewBatch(cfg, c.frontier), h.steps[1]
		step.rec.Offset = c.frontier
		txs := []ledger.Transaction{step.tx}
		batch.AddKeys(batch.KeysNeeded(txs), nil, nil)
		if err := batch.Decide(step.rec, step.tx, step.reason); err != nil {
			t.Fatal(err)
		}
		batch.Changes()
		s.cache.Return(batch)
		if got := s.cache.Used(); got != c.want {
			t.Errorf("%s: %d rows, want %d", c.name, got, c.want)
		}
	}
}

// TestB046NULAnywhere: U+0000 makes a transaction ID invalid wherever it stands.
func TestB046NULAnywhere(t *testing.T) {
	cfg := config(keyA)
	wantReason(t, cfg, member(t, "txn_id", `"ab"`), ledger.ReasonNone)
	for _, id := range []string{`"\u0000"`, `"\u0000b"`, `"a\u0000b"`, `"a\u0000"`} {
		wantReason(t, cfg, member(t, "txn_id", id), ledger.ReasonInvalidTxnID)
	}
}

// TestS2OriginItselfIsAccepted: no accepted transaction precedes the ledger origin, and one at it does not.
func TestS2OriginItselfIsAccepted(t *testing.T) {
	cfg := config(keyA)
	wantReason(t, cfg, member(t, "valid_time", `"2026-01-01T00:00:00Z"`), ledger.ReasonNone)
	wantReason(t, cfg, member(t, "valid_time", `"2025-12-31T23:59:59.999999999Z"`), ledger.ReasonBeforeLedgerOrigin)
}

// TestR14RowsAreCounted: each recomputed day counts once: one for an append at the end, all from a correction on, and the
// emptied one too.
func TestR14RowsAreCounted(t *testing.T) {
	var h history
	h.add("a", 1, ledger.KindNew, 1, 1)
	h.add("b", 1, ledger.KindNew, 2, 1)
	h.add("c", 1, ledger.KindNew, 3, 1)
	h.add("a", 2, ledger.KindAmend, 1, 2)
	h.add("b", 2, ledger.KindCancel, 2, 0)
	h.add("c", 1, ledger.KindNew, 3, 1)
	batch := ledger.NewBatch(config(keyA), 0)
	s := newShell(t, config(keyA), 0)
	var txs []ledger.Transaction
	for _, step := range h.steps {
		txs = append(txs, step.tx)
	}
	s.load(batch, txs)
	total := int64(0)
	for i, rows := range []int64{1, 1, 1, 3, 2, 0} {
		if err := batch.Decide(h.steps[i].rec, h.steps[i].tx, ""); err != nil {
			t.Fatal(err)
		}
		if total += rows; batch.RowsTouched() != total {
			t.Errorf("record %d: %d rows touched so far, want %d", i, batch.RowsTouched(), total)
		}
	}
}

// TestR05DepthOfEveryPlace: nesting of 64 is read and nesting of 65 is not, wherever in the record it stands: below a
// known member, below an unknown one, below one of those, and below the stock key.
func TestR05DepthOfEveryPlace(t *testing.T) {
	for place, c := range map[string]struct {
		before, after string
		depth         int // that of what stands there
		reason        ledger.Reason
	}{
		`{"qty":`:               {depth: 2, reason: ledger.ReasonMissingField},
		`{"x":`:                 {depth: 2, reason: ledger.ReasonUnknownField},
		`{"x":{"y":`:            {after: "}", depth: 3, reason: ledger.ReasonUnknownField},
		`{"x":[{"y":`:           {after: "}]", depth: 4, reason: ledger.ReasonUnknownField},
		`{"stock_key":{"item":`: {after: "}", depth: 3, reason: ledger.ReasonMissingField},
		`{"stock_key":{"z":`:    {after: "}", depth: 3, reason: ledger.ReasonUnknownField},
		``:                      {depth: 1, reason: ledger.ReasonWrongType},
	} {
		for _, brackets := range []string{"[]", "{}"} {
			for depth, want := range map[int]ledger.Reason{64: c.reason, 65: ledger.ReasonInvalidJSON} {
				n := depth - c.depth + 1
				nested := strings.Repeat("[", n) + strings.Repeat("]", n)
				if brackets == "{}" {
					if place == "" {
						continue // that is a record with an unknown member
					}
					nested = strings.Repeat(`{"k":`, n-1) + "{}" + strings.Repeat("}", n-1)
				}
				value := place + nested + c.after
				if place != "" {
					value += "}"
				}
				wantReason(t, config(keyA), value, want)
			}
		}
	}
}
