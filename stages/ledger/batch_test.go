package ledger_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

// history builds steps at rising offsets.
type history struct{ steps []step }

// add appends a transaction of the key with ID 0 on a day of January 2026.
func (h *history) add(txnID string, revision int64, kind ledger.Kind, day int, qty int64) {
	h.addTo(0, txnID, revision, kind, day, qty)
}

// addTo appends a transaction of a key.
func (h *history) addTo(keyID int32, txnID string, revision int64, kind ledger.Kind, day int, qty int64) {
	h.steps = append(h.steps, step{
		rec: ledger.Record{Offset: int64(len(h.steps)), Key: []byte("k"), Value: []byte("v")},
		tx: ledger.Transaction{KeyID: keyID, TxnID: txnID, Payload: ledger.Payload{
			Revision: revision, Kind: kind, ValidTime: origin2026 + int64(day-1)*86400_000000000, Qty: qty,
		}},
	})
}

// reject appends a rejected record.
func (h *history) reject(reason ledger.Reason) {
	h.steps = append(h.steps, step{rec: ledger.Record{Offset: int64(len(h.steps)), Value: []byte("?")}, reason: reason})
}

// outputs shortens envelopes to type, last part of the output ID, version and payload's close or reason set.
func outputs(envelopes []string) []string {
	var short []string
	for _, text := range envelopes {
		get := func(before, after string) string {
			_, rest, found := strings.Cut(text, before)
			if !found {
				return ""
			}
			value, _, _ := strings.Cut(rest, after)
			return value
		}
		line := get(`"type":"`, `"`) + " v" + get(`"version":`, "}")
		if day := get(`"L","2026-01-`, `"`); day != "" {
			line += " " + day
		}
		if closing := get(`"payload":{"close":`, ","); closing != "" {
			line += " " + closing
		}
		if strings.Contains(text, "KeyStatusStated") {
			line += " " + get(`"payload":{"conflicts":`, `,"item"`)
		}
		short = append(short, line)
	}
	return short
}

// wantOutputs runs a history in one unit of work and compares its outputs.
func wantOutputs(t *testing.T, cfg *ledger.Config, h *history, want ...string) *shell {
	t.Helper()
	s := newShell(t, cfg, 1000)
	if err := s.run(h.steps, len(h.steps)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, outputs(s.envelopes)); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	return s
}

func TestR10StatusVersions(t *testing.T) {
	mark.Expect(t, "R10 first accepted input", "R10 third payload at a listed pair", "S4.17 conflict below the authority")
	var h history
	h.reject(ledger.ReasonInvalidJSON)
	h.add("t", 1, ledger.KindCancel, 1, 0)
	h.add("t", 1, ledger.KindCancel, 2, 0) // another valid time is another payload
	h.add("t", 1, ledger.KindCancel, 3, 0) // a third one changes nothing
	h.add("t", 1, ledger.KindCancel, 3, 0)
	h.add("t", 1, ledger.KindCancel, 1, 0)
	h.add("s", 2, ledger.KindNew, 1, 1)
	h.add("s", 2, ledger.KindAmend, 1, 1)
	h.add("t", 2, ledger.KindCancel, 1, 0)
	h.add("s", 1, ledger.KindNew, 1, 1)
	h.add("s", 1, ledger.KindNew, 1, 2) // superseded conflict
	h.add("s", 3, ledger.KindNew, 1, 1)
	s := wantOutputs(t, config(keyA), &h,
		`KeyStatusStated v1 []`,
		`KeyStatusStated v2 [{"revision":1,"txn_id":"t"}]`,
		`KeyStatusStated v3 [{"revision":2,"txn_id":"s"},{"revision":1,"txn_id":"t"}]`,
		`KeyStatusStated v4 [{"revision":2,"txn_id":"s"}]`,
		`BalanceStated v1 01 101`,
		`KeyStatusStated v5 []`,
	)
	if len(s.conflicts) != 3 {
		t.Errorf("want 3 conflicts kept, got %+v", s.conflicts)
	}
}

func TestR11AlertRestated(t *testing.T) {
	mark.Expect(t, "SC15 R11 alert restated")
	var h history
	h.add("a", 1, ledger.KindNew, 1, -50)
	h.add("b", 1, ledger.KindNew, 1, -1)
	h.add("c", 1, ledger.KindNew, 2, 500) // a later recovery leaves it valid
	h.add("b", 1, ledger.KindNew, 1, -2)  // blocks
	h.add("b", 2, ledger.KindNew, 1, -3)
	h.add("b", 3, ledger.KindNew, 1, 30)
	h.add("b", 4, ledger.KindCancel, 1, 0)
	wantOutputs(t, config(keyA), &h,
		`BalanceStated v1 01 50`, `AlertRaised v1 01 50`, `KeyStatusStated v1 []`,
		`BalanceStated v2 01 49`, `AlertRaised v2 01 49`,
		`BalanceStated v1 02 549`,
		`KeyStatusStated v2 [{"revision":1,"txn_id":"b"}]`,
		`BalanceStated v3 01 47`, `AlertRaised v3 01 47`, `BalanceStated v2 02 547`, `KeyStatusStated v3 []`,
		`BalanceStated v4 01 80`, `AlertRetracted v4 01`, `BalanceStated v3 02 580`,
		`BalanceStated v5 01 50`, `AlertRaised v5 01 50`, `BalanceStated v4 02 550`,
	)
}

func TestR12EveryRecordIsEmitted(t *testing.T) {
	var h history
	for revision := int64(1); revision <= 3; revision++ {
		h.add("a", revision, ledger.KindNew, 1, revision)
	}
	h.add("a", 4, ledger.KindNew, 1, 3) // SC26: nothing to say
	wantOutputs(t, config(keyA), &h, `BalanceStated v1 01 101`, `KeyStatusStated v1 []`, `BalanceStated v2 01 102`, `BalanceStated v3 01 103`)
}

func TestR14OtherKeysGoOn(t *testing.T) {
	mark.Expect(t, "SC10 R14 outputs of a blocked key are frozen")
	other := manifests.StockKey{Item: "B", Location: "L", OpeningBalance: 10, ReorderThreshold: 0}
	var h history
	h.add("a", 1, ledger.KindNew, 1, 1)
	h.add("a", 1, ledger.KindNew, 1, 2)
	h.addTo(1, "a", 1, ledger.KindNew, 1, 5)
	h.add("b", 1, ledger.KindNew, 1, 7)
	s := wantOutputs(t, config(keyA, other), &h,
		`BalanceStated v1 01 101`, `KeyStatusStated v1 []`, `KeyStatusStated v2 [{"revision":1,"txn_id":"a"}]`,
		`BalanceStated v1 01 15`, `KeyStatusStated v1 []`)
	if s.units != 1 || s.next != 4 || len(s.authority) != 3 {
		t.Errorf("want one unit of work with everything, got %d, frontier %d", s.units, s.next)
	}
}

func TestB085R09OverflowStopsAtTheRecord(t *testing.T) {
	mark.Expect(t, "SC27 R09 close out of domain")
	near := manifests.StockKey{Item: "A", Location: "L", OpeningBalance: 9223372036854775800, ReorderThreshold: 60}
	for size := 1; size <= 4; size++ {
		var h history
		h.add("a", 1, ledger.KindNew, 2, 7)
		h.add("b", 1, ledger.KindNew, 1, -20)
		h.add("c", 1, ledger.KindNew, 1, 21) // day 2 would close at MaxInt64 + 1
		h.add("d", 1, ledger.KindNew, 1, -5)
		s := newShell(t, config(near), 1000)
		err := s.run(h.steps, size)
		var overflow *ledger.OverflowError
		if !errors.As(err, &overflow) || overflow.Offset != 2 || overflow.Reason != ledger.StopOverflow ||
			!strings.Contains(overflow.Detail, `close of 2026-01-02 would be 9223372036854775808`) {
			t.Fatalf("size %d: got %v", size, err)
		}
		if s.next != 2 || len(s.quarantine) != 0 || len(s.authority) != 2 {
			t.Errorf("size %d: frontier %d, quarantine %v", size, s.next, s.quarantine)
		}
	}
}

func TestR09IntradayOrderCannotOverflow(t *testing.T) {
	top := manifests.StockKey{Item: "A", Location: "L", OpeningBalance: math.MaxInt64, ReorderThreshold: math.MinInt64}
	var h history
	h.add("a", 1, ledger.KindNew, 1, -10)
	h.add("b", 1, ledger.KindNew, 1, 10)
	h.add("c", 1, ledger.KindNew, 2, 0)
	h.add("c", 1, ledger.KindNew, 2, 1) // while BLOCKED nothing is folded, so nothing overflows
	h.add("d", 1, ledger.KindNew, 3, math.MaxInt64)
	h.add("d", 2, ledger.KindNew, 3, math.MinInt64)
	h.add("c", 2, ledger.KindNew, 2, 0)
	h.add("c", 3, ledger.KindNew, 2, -1)
	wantOutputs(t, config(top), &h,
		`BalanceStated v1 01 9223372036854775797`, `KeyStatusStated v1 []`, `BalanceStated v2 01 9223372036854775807`,
		`BalanceStated v1 02 9223372036854775807`, `KeyStatusStated v2 [{"revision":1,"txn_id":"c"}]`,
		`BalanceStated v1 03 -1`, `KeyStatusStated v3 []`,
		`BalanceStated v2 02 9223372036854775806`, `BalanceStated v2 03 -2`)
}

func TestR09OverflowAtResolution(t *testing.T) {
	var h history
	h.add("a", 1, ledger.KindNew, 1, 0)
	h.add("a", 1, ledger.KindNew, 1, 1)
	h.add("b", 1, ledger.KindNew, 2, math.MaxInt64)
	h.add("a", 2, ledger.KindNew, 3, 0)
	s := newShell(t, config(keyA), 1000)
	var overflow *ledger.OverflowError
	if err := s.run(h.steps, 10); !errors.As(err, &overflow) || overflow.Offset != 3 || s.next != 3 {
		t.Errorf("want a stop at the resolving record, got %v", err)
	}
}

func TestB087MinInt64Reverses(t *testing.T) {
	bottom := manifests.StockKey{Item: "A", Location: "L", ReorderThreshold: math.MinInt64}
	var h history
	h.add("a", 1, ledger.KindNew, 1, math.MinInt64)
	h.add("a", 2, ledger.KindAmend, 1, 0)
	wantOutputs(t, config(bottom), &h, `BalanceStated v1 01 -9223372036854775808`, `KeyStatusStated v1 []`, `BalanceStated v2 01 0`)
}

func TestB088VersionsExhausted(t *testing.T) {
	mark.Expect(t, "B088 version exhausted")
	var seed history
	seed.add("a", 1, ledger.KindNew, 1, -50)
	for name, set := range map[string]func(s *shell, day *ledger.DayRow, last int64){
		"balance": func(_ *shell, day *ledger.DayRow, last int64) { day.BalanceVersion = last },
		"alert":   func(_ *shell, day *ledger.DayRow, last int64) { day.AlertVersion = last },
		"status": func(s *shell, _ *ledger.DayRow, last int64) {
			s.keys[0] = ledger.KeyRow{KeyID: 0, StatusVersion: last}
		},
	} {
		for _, last := range []int64{math.MaxInt64 - 1, math.MaxInt64} {
			s := newShell(t, config(keyA), 0)
			if err := s.run(seed.steps, 1); err != nil {
				t.Fatal(err)
			}
			at := [2]int32{0, ledger.DayOf(origin2026)}
			day := s.days[at]
			set(s, &day, last)
			s.days[at] = day
			next := history{steps: append([]step{}, seed.steps...)}
			if name == "status" {
				next.add("a", 1, ledger.KindNew, 1, -51)
			} else {
				next.add("a", 2, ledger.KindNew, 1, -51)
			}
			err := s.run(next.steps[1:], 1)
			var overflow *ledger.OverflowError
			switch {
			case last < math.MaxInt64 && (err != nil || !strings.Contains(strings.Join(s.envelopes, ""), `"version":9223372036854775807`)):
				t.Errorf("%s: undamaged twin: %v", name, err)
			case last == math.MaxInt64 && (!errors.As(err, &overflow) || overflow.Reason != ledger.StopVersion || s.next != 1):
				t.Errorf("%s: want an exhausted version, got %v", name, err)
			}
		}
	}
}

func TestR20DuplicatesAfterRestart(t *testing.T) {
	var h history
	h.add("a", 1, ledger.KindNew, 1, 1)
	h.add("a", 2, ledger.KindAmend, 1, 2)
	h.add("a", 2, ledger.KindAmend, 1, 3)
	h.add("a", 3, ledger.KindAmend, 1, 4)
	s := newShell(t, config(keyA), 0)
	if err := s.run(h.steps, 1); err != nil {
		t.Fatal(err)
	}
	evidence, conflicts, envelopes := len(s.evidence), len(s.conflicts), len(s.envelopes)
	again := h
	for _, old := range h.steps {
		again.steps = append(again.steps, step{rec: ledger.Record{Offset: int64(len(again.steps))}, tx: old.tx})
	}
	if err := s.run(again.steps[4:], 3); err != nil {
		t.Fatal(err)
	}
	if len(s.evidence) != evidence || len(s.conflicts) != conflicts || len(s.envelopes) != envelopes || s.next != 8 {
		t.Errorf("exact duplicates changed state: %+v", s.evidence)
	}
	again.add("a", 2, ledger.KindAmend, 1, 9) // a third payload: evidence only
	again.add("a", 1, ledger.KindNew, 1, 9)   // a second one: a conflict, superseded
	if err := s.run(again.steps[8:], 3); err != nil {
		t.Fatal(err)
	}
	if len(s.evidence) != evidence+2 || len(s.conflicts) != conflicts+1 || len(s.envelopes) != envelopes {
		t.Errorf("got evidence %+v, conflicts %+v", s.evidence, s.conflicts)
	}
}

func TestB047R06Quarantine(t *testing.T) {
	mark.Expect(t, "R06 raw bytes left out")
	batch := ledger.NewBatch(config(keyA), 0)
	big := bytes.Repeat([]byte{0xff, 0}, 1<<19)
	records := []ledger.Record{
		{Offset: 0, Key: []byte{0}, Value: []byte{0xff, 0, 0x7b, 0x22}},
		{Offset: 1, Key: []byte{}, Value: big},
		{Offset: 2, Value: append(big, 1)},
	}
	for _, rec := range records {
		if err := batch.Decide(rec, ledger.Transaction{}, ledger.ReasonInvalidJSON); err != nil {
			t.Fatal(err)
		}
	}
	for i, row := range batch.Changes().Quarantine {
		rec, sum := records[i], sha256.Sum256(records[i].Value)
		if row.Offset != rec.Offset || row.ValueLength != int64(len(rec.Value)) || !bytes.Equal(row.ValueSHA256, sum[:]) {
			t.Errorf("row %d: %+v", i, row)
		}
		if kept := bytes.Equal(row.Value, rec.Value); kept != (len(rec.Value) <= 1<<20) || !kept && row.Value != nil {
			t.Errorf("row %d: kept %v", i, kept)
		}
		if rec.Key == nil && (row.Key != nil || row.KeyLength != -1 || row.KeySHA256 != nil) ||
			rec.Key != nil && (row.Key == nil || row.KeyLength != int64(len(rec.Key)) || len(row.KeySHA256) != sha256.Size) {
			t.Errorf("row %d: key %v, length %d", i, row.Key, row.KeyLength)
		}
	}
	if c := batch.Changes(); c.Rejected != 3 || c.Accepted != 0 || c.NextOffset != 3 || len(c.Envelopes) != 0 {
		t.Errorf("got %+v", c)
	}
}

func TestDecideRefusesWhatWasNotPrepared(t *testing.T) {
	var h history
	h.add("a", 2, ledger.KindNew, 1, 1)
	h.add("a", 1, ledger.KindNew, 1, 1)
	store := newShell(t, config(keyA), 0)
	if err := store.run(h.steps[:1], 1); err != nil {
		t.Fatal(err)
	}
	batch := ledger.NewBatch(config(keyA), 1)
	txs := []ledger.Transaction{h.steps[1].tx}
	decide := func() error { return batch.Decide(h.steps[1].rec, h.steps[1].tx, "") }
	if err := decide(); !errors.Is(err, ledger.ErrNotLoaded) {
		t.Errorf("without the key: %v", err)
	}
	batch.AddKeys(batch.KeysNeeded(txs), []ledger.KeyRow{store.keys[0]}, nil)
	if err := decide(); !errors.Is(err, ledger.ErrNotLoaded) {
		t.Errorf("without the identity: %v", err)
	}
	batch.AddAuthority(batch.AuthorityNeeded(txs), []ledger.AuthorityRow{store.authority[ledger.IdentityRef{KeyID: 0, TxnID: "a"}]})
	if err := decide(); !errors.Is(err, ledger.ErrNotLoaded) {
		t.Errorf("without the evidence: %v", err)
	}
	batch.AddEvidence(batch.EvidenceNeeded(txs), nil)
	if diff := cmp.Diff(ledger.Changes{NextOffset: 1}, batch.Changes()); diff != "" {
		t.Errorf("refused records left traces: %s", diff)
	}
	if err := decide(); err != nil {
		t.Errorf("prepared: %v", err)
	}
	if err := decide(); !errors.Is(err, ledger.ErrNotLoaded) {
		t.Errorf("the same offset again: %v", err)
	}
	batch.Advance(9)
	batch.Advance(5)
	if batch.NextOffset() != 9 {
		t.Errorf("R08: want frontier 9, got %d", batch.NextOffset())
	}
}

func TestB075OutputIDsAreDistinct(t *testing.T) {
	pairs := [][2]string{{"a", "/b"}, {"a", ":1"}, {"a", "b|c"}, {"a/", "b"}, {"a:", "1"}, {"a|b", "c"}}
	var keys []manifests.StockKey
	for _, pair := range pairs {
		keys = append(keys, manifests.StockKey{Item: pair[0], Location: pair[1]})
	}
	cfg := config(keys...)
	seen := make(map[string]bool)
	for i, pair := range pairs {
		value := strings.Replace(base, `{"item":"A","location":"L"}`, fmt.Sprintf(`{"item":%q,"location":%q}`, pair[0], pair[1]), 1)
		tx, reason := cfg.Decode(ledger.Record{Key: ledger.BrokerKey(pair[0], pair[1]), Value: []byte(value)})
		if reason != ledger.ReasonNone || tx.KeyID != int32(i) {
			t.Fatalf("%v: %s", pair, reason)
		}
		s := newShell(t, cfg, 0)
		if err := s.run([]step{{tx: tx}}, 1); err != nil {
			t.Fatal(err)
		}
		_, id, _ := strings.Cut(s.envelopes[0], `"output_id":`)
		id, _, _ = strings.Cut(id, `,"payload"`)
		if seen[id] {
			t.Errorf("output ID %s twice", id)
		}
		seen[id] = true
	}
}
