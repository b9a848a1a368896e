package ledger_test

import (
	"fmt"
	"strings"
	"testing"

	"amends.dev/amends/stages/ledger"
)

// closesOf runs a history one record at a time and returns the closes of the active days, by days since its first day.
func closesOf(t *testing.T, s *shell, h *history, from int) map[int]int64 {
	t.Helper()
	if err := s.run(h.steps[from:], 1); err != nil {
		t.Fatal(err)
	}
	all := map[int]int64{}
	for at, row := range s.days {
		if row.Active > 0 {
			all[int(at[1]-ledger.DayOf(origin2026))+1] = row.Close
		}
	}
	return all
}

// TestB089BackdatedCancel: the day of a cancellation is withdrawn and every later close is restated by the same record.
func TestB089BackdatedCancel(t *testing.T) {
	var h history
	h.add("a", 1, ledger.KindNew, 1, -50)
	h.add("b", 1, ledger.KindNew, 2, -20)
	h.add("c", 1, ledger.KindNew, 3, 50)
	h.add("a", 2, ledger.KindCancel, 1, 0)
	wantOutputs(t, config(keyA), &h,
		`BalanceStated v1 01 50`, `AlertRaised v1 01 50`, `KeyStatusStated v1 []`, `BalanceStated v1 02 30`, `BalanceStated v1 03 80`,
		`BalanceRetracted v2 01`, `AlertRetracted v2 01`, `BalanceStated v2 02 80`, `BalanceStated v2 03 130`)
}

// TestB090CheckpointIsNotAbsolute: after a thousand days an amendment of day 3 moves every later close by its difference,
// whether the worker has the key in its cache or starts anew.
func TestB090CheckpointIsNotAbsolute(t *testing.T) {
	const days = 1000
	var h history
	for day := 1; day <= days; day++ {
		h.add(fmt.Sprint("t", day), 1, ledger.KindNew, day, int64(day%7)-3)
	}
	for name, restart := range map[string]bool{"cached": false, "restarted": true} {
		s := newShell(t, config(keyA), 10*days)
		before := closesOf(t, s, &h, 0)
		if restart {
			s.cache, s.epoch = ledger.NewCache(10*days), s.epoch+1
		}
		amended := history{steps: append([]step{}, h.steps...)}
		amended.add("t3", 2, ledger.KindAmend, 3, 1000)
		delta := 1000 - (int64(3%7) - 3)
		after := closesOf(t, s, &amended, days)
		for day := 1; day <= days; day++ {
			want := before[day]
			if day >= 3 {
				want += delta
			}
			if after[day] != want {
				t.Fatalf("%s: day %d closes at %d, want %d", name, day, after[day], want)
			}
		}
	}
}

// TestB098NoLookBackWindow: after 400 days a NEW for day 1, an AMEND of day 150 and a CANCEL of day 399 reach every later
// close and crossing: the end is that of the same transactions in the order of their days.
func TestB098NoLookBackWindow(t *testing.T) {
	var late, ordered history
	for day := 2; day <= 400; day++ {
		late.add(fmt.Sprint("t", day), 1, ledger.KindNew, day, int64(day%11)-5)
	}
	late.add("t1", 1, ledger.KindNew, 1, -45)
	late.add("t150", 2, ledger.KindAmend, 150, 500)
	late.add("t399", 2, ledger.KindCancel, 399, 0)
	ordered.add("t1", 1, ledger.KindNew, 1, -45)
	for day := 2; day <= 400; day++ {
		qty := int64(day%11) - 5
		if day == 150 {
			qty = 500
		}
		if day != 399 {
			ordered.add(fmt.Sprint("t", day), 1, ledger.KindNew, day, qty)
		}
	}
	got, want := newShell(t, config(keyA), 0), newShell(t, config(keyA), 0)
	if err := got.run(late.steps, 1); err != nil {
		t.Fatal(err)
	}
	if err := want.run(ordered.steps, 50); err != nil {
		t.Fatal(err)
	}
	alerts := 0
	for at, w := range want.days {
		g := got.days[at]
		if g.Active != w.Active || g.Close != w.Close || g.AlertPresent != w.AlertPresent || g.AlertClose != w.AlertClose {
			t.Errorf("day %d: %+v, want %+v", at[1], g, w)
		}
		if w.AlertPresent {
			alerts++
		}
	}
	withdrawn := got.days[[2]int32{0, ledger.DayOf(origin2026) + 398}]
	if len(got.days) != 400 || len(want.days) != 399 || withdrawn.Active != 0 || withdrawn.BalanceVersion == 0 || alerts == 0 {
		t.Errorf("%d and %d days, day 399 %+v, %d alerts", len(got.days), len(want.days), withdrawn, alerts)
	}
}

// TestB100SignIsTheQuantitys: the sign of a correction is that of its quantity, and a cancellation with a quantity is
// malformed: the identity stays as it was.
func TestB100SignIsTheQuantitys(t *testing.T) {
	cfg := config(keyA)
	issue := wantReason(t, cfg, member(t, "qty", "-5"), ledger.ReasonNone)
	amended := wantReason(t, cfg, edit(t, edit(t, edit(t, base, `-50`, `5`), `"NEW"`, `"AMEND"`), `"revision":1`, `"revision":2`), ledger.ReasonNone)
	bad := edit(t, edit(t, base, `"NEW"`, `"CANCEL"`), `"revision":1`, `"revision":3`)
	wantReason(t, cfg, bad, ledger.ReasonCancelNonzeroQty)
	cancelled := wantReason(t, cfg, edit(t, bad, `-50`, `0`), ledger.ReasonNone)
	h := history{steps: []step{
		{tx: issue}, {rec: ledger.Record{Offset: 1}, tx: amended},
		{rec: ledger.Record{Offset: 2, Value: []byte(bad)}, reason: ledger.ReasonCancelNonzeroQty},
	}}
	s := wantOutputs(t, cfg, &h, `BalanceStated v1 01 95`, `KeyStatusStated v1 []`, `BalanceStated v2 01 105`)
	if len(s.quarantine) != 1 {
		t.Errorf("quarantine %+v", s.quarantine)
	}
	if err := s.run([]step{{rec: ledger.Record{Offset: 3}, tx: cancelled}}, 1); err != nil || !strings.Contains(s.envelopes[len(s.envelopes)-1], "BalanceRetracted") {
		t.Errorf("%v, %q", err, s.envelopes[len(s.envelopes)-1])
	}
}

// TestB045LengthIgnoresCompression: the length rule of an identity looks at its bytes, not at how well they compress.
func TestB045LengthIgnoresCompression(t *testing.T) {
	cfg := config(keyA)
	mixed := func(n int) string { // does not compress to a few bytes
		var text strings.Builder
		for i := uint32(1); text.Len() < n; i++ {
			fmt.Fprintf(&text, "%08x", i*2654435761)
		}
		return text.String()[:n]
	}
	for n, want := range map[int]ledger.Reason{256: ledger.ReasonNone, 257: ledger.ReasonInvalidTxnID, 2880: ledger.ReasonInvalidTxnID, 10_000: ledger.ReasonInvalidTxnID} {
		wantReason(t, cfg, member(t, "txn_id", `"`+mixed(n)+`"`), want)
		wantReason(t, cfg, member(t, "txn_id", `"`+strings.Repeat("a", n)+`"`), want)
	}
}
