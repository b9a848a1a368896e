package ledger_test

import (
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

// TestSC11MovementsOfADayAreOne: opening 100, threshold 60. The first movement falls below, the second goes on falling:
// the crossing is that of the day, from 100 to 40, and stays. On the second day one falls and another one recovers: what
// is between them crosses nothing.
func TestSC11MovementsOfADayAreOne(t *testing.T) {
	mark.Expect(t, "SC11 another movement on the day")
	var h history
	h.add("a", 1, ledger.KindNew, 1, -50)
	h.add("b", 1, ledger.KindNew, 1, -10)
	h.add("c", 1, ledger.KindNew, 2, 60)
	h.add("d", 1, ledger.KindNew, 2, -30)
	wantOutputs(t, config(keyA), &h,
		`BalanceStated v1 01 50`, `AlertRaised v1 01 50`, `KeyStatusStated v1 []`,
		`BalanceStated v2 01 40`, `AlertRaised v2 01 40`,
		`BalanceStated v1 02 100`,
		`BalanceStated v2 02 70`,
	)
}

// TestSC12EqualityIsNotBelow: opening and threshold 60. A close at the threshold crosses nothing, the one after it does,
// and a day that opens below crosses no more.
func TestSC12EqualityIsNotBelow(t *testing.T) {
	mark.Expect(t, "SC12 equality with the threshold")
	var h history
	h.add("a", 1, ledger.KindNew, 1, 0)
	h.add("b", 1, ledger.KindNew, 2, -1)
	h.add("c", 1, ledger.KindNew, 3, -1)
	key := manifests.StockKey{Item: "A", Location: "L", OpeningBalance: 60, ReorderThreshold: 60}
	wantOutputs(t, config(key), &h,
		`BalanceStated v1 01 60`, `KeyStatusStated v1 []`,
		`BalanceStated v1 02 59`, `AlertRaised v1 02 59`,
		`BalanceStated v1 03 58`,
	)
}

// TestSC13GapsAreNoRows: the close before a gap of days is that of the last active day, and quantity zero is activity
// that changes nothing.
func TestSC13GapsAreNoRows(t *testing.T) {
	mark.Expect(t, "SC13 no row on the day before")
	var h history
	h.add("a", 1, ledger.KindNew, 1, -10)
	h.add("b", 1, ledger.KindNew, 9, 0)
	h.add("c", 1, ledger.KindNew, 5, -20)
	wantOutputs(t, config(keyA), &h,
		`BalanceStated v1 01 90`, `KeyStatusStated v1 []`,
		`BalanceStated v1 09 90`,
		`BalanceStated v1 05 70`, `BalanceStated v2 09 70`,
	)
}

// TestS4CorrectedCopyIsAccepted: a rejected record that is published again, corrected, is judged as if the first had never
// been; the rejection is kept.
func TestS4CorrectedCopyIsAccepted(t *testing.T) {
	var h history
	h.reject(ledger.ReasonQtyOutOfRange)
	h.add("a", 1, ledger.KindNew, 1, -10)
	s := wantOutputs(t, config(keyA), &h, `BalanceStated v1 01 90`, `KeyStatusStated v1 []`)
	if len(s.quarantine) != 1 || s.quarantine[0].Reason != ledger.ReasonQtyOutOfRange || s.quarantine[0].Offset != 0 {
		t.Errorf("quarantine %+v", s.quarantine)
	}
}
