package ledger_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

func TestDecodeBase(t *testing.T) {
	tx := wantReason(t, config(keyA), base, ledger.ReasonNone)
	want := ledger.Transaction{KeyID: 0, TxnID: "t1", Payload: ledger.Payload{
		Revision: 1, Kind: ledger.KindNew, ValidTime: origin2026 + 10*3600_000000000, Qty: -50,
	}}
	if tx != want {
		t.Errorf("want %+v, got %+v", want, tx)
	}
}

// TestR05Order gives each step of the order a record that has its fault and every later one: the first reason counts,
// whatever stands first in the document.
func TestR05Order(t *testing.T) {
	mark.Expect(t, "R05 broken syntax after an unknown field")
	reasons := []ledger.Reason{
		ledger.ReasonInvalidJSON, ledger.ReasonDuplicateField, ledger.ReasonUnknownField, ledger.ReasonMissingField,
		ledger.ReasonWrongType, ledger.ReasonInvalidTxnID, ledger.ReasonRevisionOutOfRange, ledger.ReasonInvalidKind,
		ledger.ReasonQtyOutOfRange, ledger.ReasonCancelNonzeroQty, ledger.ReasonInvalidValidTime,
		ledger.ReasonInvalidSourceTime, ledger.ReasonUnknownStockKey,
	}
	for step, want := range reasons {
		faulty := func(reason ledger.Reason) bool { return indexOf(reasons, reason) >= step }
		pick := func(reason ledger.Reason, bad, good string) string {
			if faulty(reason) {
				return bad
			}
			return good
		}
		value := "{" +
			pick(ledger.ReasonUnknownField, `"extra":1,`, ``) +
			pick(ledger.ReasonInvalidSourceTime, `"source_time":"x",`, `"source_time":"2026-01-01T10:00:00Z",`) +
			pick(ledger.ReasonInvalidTxnID, `"txn_id":"",`, `"txn_id":"t",`) +
			pick(ledger.ReasonRevisionOutOfRange, `"revision":0,`, `"revision":1,`)
		switch {
		case faulty(ledger.ReasonInvalidKind):
			value += `"kind":"new",`
		case want == ledger.ReasonCancelNonzeroQty, want == ledger.ReasonQtyOutOfRange:
			value += `"kind":"CANCEL",`
		default:
			value += `"kind":"NEW",`
		}
		value += pick(ledger.ReasonWrongType, `"qty":null,`, pick(ledger.ReasonQtyOutOfRange, `"qty":9223372036854775808,`, `"qty":1,`)) +
			pick(ledger.ReasonUnknownStockKey, `"stock_key":{"item":"B","location":"L"}`, `"stock_key":{"item":"A","location":"L"}`) +
			pick(ledger.ReasonMissingField, ``, pick(ledger.ReasonInvalidValidTime, `,"valid_time":""`, `,"valid_time":"2025-12-31T10:00:00Z"`)) +
			pick(ledger.ReasonDuplicateField, `,"qt\u0079":2`, ``) +
			"}" + pick(ledger.ReasonInvalidJSON, `x`, ``)
		wantReason(t, config(keyA), value, want)
	}
}

// indexOf returns the place of a reason in the order.
func indexOf(reasons []ledger.Reason, reason ledger.Reason) int {
	for i, r := range reasons {
		if r == reason {
			return i
		}
	}
	return -1
}

func TestR05LastSteps(t *testing.T) {
	mark.Expect(t, "SC28 key of another stock key", "B025 misrouted record")
	two := namespace(origin2026, keyA)
	two.Spec.Source.Partitions = 64
	cfg := ledger.NewConfig(two, topicID)
	right := cfg.SourcePartition(0)
	early := member(t, "valid_time", `"2025-12-31T23:59:59.999999999Z"`)
	key, other := ledger.BrokerKey("A", "L"), []byte(`["A", "L"]`)
	cases := []struct {
		name string
		rec  ledger.Record
		want ledger.Reason
	}{
		{"accepted", ledger.Record{Partition: right, Key: key, Value: []byte(base)}, ledger.ReasonNone},
		{"origin before key", ledger.Record{Partition: right + 1, Key: other, Value: []byte(early)}, ledger.ReasonBeforeLedgerOrigin},
		{"key before partition", ledger.Record{Partition: right + 1, Key: other, Value: []byte(base)}, ledger.ReasonKeyMismatch},
		{"B025 misrouted", ledger.Record{Partition: (right + 1) % 64, Key: key, Value: []byte(base)}, ledger.ReasonMisroutedPartition},
		{"null key", ledger.Record{Partition: right, Value: []byte(base)}, ledger.ReasonKeyMismatch},
		{"empty key", ledger.Record{Partition: right, Key: []byte{}, Value: []byte(base)}, ledger.ReasonKeyMismatch},
		{"null value", ledger.Record{Partition: right, Key: key}, ledger.ReasonNullValue},
		{"empty value", ledger.Record{Partition: right, Key: key, Value: []byte{}}, ledger.ReasonInvalidJSON},
	}
	for _, c := range cases {
		if _, got := cfg.Decode(c.rec); got != c.want {
			t.Errorf("%s: want %q, got %q", c.name, c.want, got)
		}
	}
}

func TestR05Values(t *testing.T) {
	cfg := config(keyA)
	deep := func(n int) string { return strings.Repeat(`{"a":`, n-1) + `{}` + strings.Repeat(`}`, n-1) }
	deepArray := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	padded := func(n int) string { return base + strings.Repeat(" ", n-len(base)) }
	cases := []struct {
		value string
		want  ledger.Reason
	}{
		{" \t\r\n", ledger.ReasonInvalidJSON},
		{`null`, ledger.ReasonWrongType},
		{`1e999`, ledger.ReasonWrongType},
		{"[" + base + "]", ledger.ReasonWrongType},
		{base + base, ledger.ReasonInvalidJSON},
		{base + " \n", ledger.ReasonNone},
		{"\ufeff" + base, ledger.ReasonInvalidJSON},
		{deep(64), ledger.ReasonUnknownField},
		{deep(65), ledger.ReasonInvalidJSON},
		{deepArray(64), ledger.ReasonWrongType},
		{deepArray(65), ledger.ReasonInvalidJSON},
		{deepArray(20000), ledger.ReasonInvalidJSON},
		{padded(manifests.DefaultMaxRecordBytes), ledger.ReasonNone},
		{padded(manifests.DefaultMaxRecordBytes + 1), ledger.ReasonOversizedRecord},
		{strings.Repeat("x", manifests.DefaultMaxRecordBytes+1), ledger.ReasonOversizedRecord},
		{member(t, "qty", `{"a":1,"\u0061":2}`), ledger.ReasonDuplicateField},
		{member(t, "qty", `[[{"a":1,"b":{},"a":2}]]`), ledger.ReasonDuplicateField},
		{member(t, "item", `"A","item":"A"`), ledger.ReasonDuplicateField},
		{member(t, "stock_key", `null`), ledger.ReasonWrongType},
		{member(t, "stock_key", `["A","L"]`), ledger.ReasonWrongType},
		{member(t, "stock_key", `"A"`), ledger.ReasonWrongType},
		{member(t, "stock_key", `{"item":"A"}`), ledger.ReasonMissingField},
		{member(t, "stock_key", `{"item":"A","location":"L","zone":1}`), ledger.ReasonUnknownField},
		{member(t, "item", `1`), ledger.ReasonWrongType},
		{member(t, "item", `""`), ledger.ReasonUnknownStockKey},
		{member(t, "item", `"`+strings.Repeat("A", 129)+`"`), ledger.ReasonUnknownStockKey},
		{member(t, "item", `"\u0041"`), ledger.ReasonNone},
		{member(t, "txn_id", `"`+strings.Repeat("é", 128)+`"`), ledger.ReasonNone},
		{member(t, "txn_id", `"`+strings.Repeat("é", 128)+`x"`), ledger.ReasonInvalidTxnID},
		{member(t, "kind", `"CANCEL"`), ledger.ReasonCancelNonzeroQty},
		{member(t, "kind", `"\u004eEW"`), ledger.ReasonNone},
		{member(t, "kind", `"New"`), ledger.ReasonInvalidKind},
		{strings.Replace(base, `"kind":"NEW"`, `"kind":true`, 1), ledger.ReasonWrongType},
	}
	for _, c := range cases {
		wantReason(t, cfg, c.value, c.want)
	}
}

func TestB065B066B073Members(t *testing.T) {
	cfg := config(keyA)
	wantReason(t, cfg, edit(t, base, `}`, `},"qty":-5`), ledger.ReasonDuplicateField)
	wantReason(t, cfg, edit(t, base, `}`, `},"revision":2`), ledger.ReasonDuplicateField)
	wantReason(t, cfg, edit(t, base, `}`, `},"stock_key":{"item":"A","location":"L"}`), ledger.ReasonDuplicateField)
	wantReason(t, cfg, edit(t, base, `}`, `},"Qty":-5`), ledger.ReasonUnknownField)
	wantReason(t, cfg, edit(t, base, `"qty"`, `"QTY"`), ledger.ReasonUnknownField)
	wantReason(t, cfg, edit(t, base, `"qty"`, `"qyt"`), ledger.ReasonUnknownField)
	wantReason(t, cfg, edit(t, base, `}`, `},"extra":1`), ledger.ReasonUnknownField)
	wantReason(t, cfg, edit(t, base, `"qty":-50,`, ``), ledger.ReasonMissingField)
}

func TestB068B069Numbers(t *testing.T) {
	cfg := config(keyA)
	for text, want := range map[string]int64{
		"9007199254740993": 9007199254740993, "-9223372036854775808": math.MinInt64, "9223372036854775807": math.MaxInt64,
		"-0": 0, "0": 0,
	} {
		if tx := wantReason(t, cfg, member(t, "qty", text), ledger.ReasonNone); tx.Payload.Qty != want {
			t.Errorf("qty %s: got %d", text, tx.Payload.Qty)
		}
	}
	if minus, plus := wantReason(t, cfg, member(t, "qty", "-0"), ""), wantReason(t, cfg, member(t, "qty", "0"), ""); minus != plus {
		t.Error("-0 must be an exact duplicate of 0")
	}
	for text, want := range map[string]ledger.Reason{
		"1.0": ledger.ReasonWrongType, "1e2": ledger.ReasonWrongType, "1E2": ledger.ReasonWrongType, `"5"`: ledger.ReasonWrongType,
		"9223372036854775808": ledger.ReasonQtyOutOfRange, "-9223372036854775809": ledger.ReasonQtyOutOfRange,
		"1" + strings.Repeat("0", 5000): ledger.ReasonQtyOutOfRange, "007": ledger.ReasonInvalidJSON, "NaN": ledger.ReasonInvalidJSON,
		"+1": ledger.ReasonInvalidJSON, "18446744073709551617": ledger.ReasonQtyOutOfRange,
	} {
		wantReason(t, cfg, member(t, "qty", text), want)
	}
}

func TestB070Nulls(t *testing.T) {
	cfg := config(keyA)
	for _, name := range []string{"txn_id", "revision", "kind", "stock_key", "item", "location", "valid_time", "qty", "source_time"} {
		wantReason(t, cfg, member(t, name, "null"), ledger.ReasonWrongType)
	}
	wantReason(t, cfg, member(t, "stock_key", "{}"), ledger.ReasonMissingField)
	wantReason(t, cfg, edit(t, base, `"revision":1,`, ``), ledger.ReasonMissingField)
}

func TestB046B071Strings(t *testing.T) {
	cfg := config(keyA)
	for _, text := range []string{`"\ud800"`, `"\ud801"`, `"\udc00\ud800"`, "\"\xff\"", "\"\xfe\"", "\"\xed\xa0\x80\"", `"\ud800x"`} {
		wantReason(t, cfg, member(t, "txn_id", text), ledger.ReasonInvalidJSON)
	}
	wantReason(t, cfg, edit(t, base, `"qty"`, `"\ud800":1,"qty"`), ledger.ReasonInvalidJSON)
	if tx := wantReason(t, cfg, member(t, "txn_id", `"\ud83d\ude00"`), ledger.ReasonNone); tx.TxnID != "😀" {
		t.Errorf("got %q", tx.TxnID)
	}
	wantReason(t, cfg, member(t, "txn_id", `"a\u0000b"`), ledger.ReasonInvalidTxnID)
	wantReason(t, cfg, member(t, "txn_id", "\"a\x00b\""), ledger.ReasonInvalidJSON)
	wantReason(t, cfg, member(t, "item", `"A\u0000"`), ledger.ReasonUnknownStockKey)
	if tx := wantReason(t, cfg, member(t, "txn_id", `"ab"`), ledger.ReasonNone); tx.TxnID != "ab" {
		t.Errorf("got %q", tx.TxnID)
	}
}

func TestB074NormalisationForms(t *testing.T) {
	nfc, nfd := "\u00e9", "e\u0301"
	cfg := config(manifests.StockKey{Item: nfc, Location: "L"})
	rec := ledger.Record{Key: ledger.BrokerKey(nfc, "L"), Value: []byte(member(t, "item", `"`+nfc+`"`))}
	if _, reason := cfg.Decode(rec); reason != ledger.ReasonNone {
		t.Fatalf("undamaged twin: %s", reason)
	}
	rec = ledger.Record{Key: ledger.BrokerKey(nfd, "L"), Value: []byte(member(t, "item", `"`+nfd+`"`))}
	if _, reason := cfg.Decode(rec); reason != ledger.ReasonUnknownStockKey {
		t.Errorf("got %q", reason)
	}
}

func TestB088Revisions(t *testing.T) {
	cfg := config(keyA)
	if tx := wantReason(t, cfg, member(t, "revision", "9223372036854775807"), ""); tx.Payload.Revision != math.MaxInt64 {
		t.Errorf("got %d", tx.Payload.Revision)
	}
	for text, want := range map[string]ledger.Reason{
		"9223372036854775808": ledger.ReasonRevisionOutOfRange, "0": ledger.ReasonRevisionOutOfRange,
		"-0": ledger.ReasonRevisionOutOfRange, "-1": ledger.ReasonRevisionOutOfRange, "1.5": ledger.ReasonWrongType,
	} {
		wantReason(t, cfg, member(t, "revision", text), want)
	}
}

func TestReasonsDocument(t *testing.T) {
	text, err := os.ReadFile("../../schemas/reasons.json")
	if err != nil {
		t.Fatal(err)
	}
	var entries []struct{ Reason, Description string }
	if err := json.Unmarshal(text, &entries); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Reason)
		if entry.Description == "" {
			t.Errorf("%s has no description", entry.Reason)
		}
	}
	want := []ledger.Reason{
		ledger.ReasonNullValue, ledger.ReasonOversizedRecord, ledger.ReasonInvalidJSON, ledger.ReasonDuplicateField,
		ledger.ReasonWrongType, ledger.ReasonUnknownField, ledger.ReasonMissingField, ledger.ReasonWrongType,
		ledger.ReasonInvalidTxnID, ledger.ReasonRevisionOutOfRange, ledger.ReasonInvalidKind, ledger.ReasonQtyOutOfRange,
		ledger.ReasonCancelNonzeroQty, ledger.ReasonInvalidValidTime, ledger.ReasonInvalidSourceTime,
		ledger.ReasonUnknownStockKey, ledger.ReasonBeforeLedgerOrigin, ledger.ReasonKeyMismatch, ledger.ReasonMisroutedPartition,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("want %v, got %v", want, got)
	}
}
