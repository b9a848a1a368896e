package ledger_test

import (
	"strings"
	"testing"

	"amends.dev/amends/stages/ledger"
)

// TestFaultNamesTheMember: whoever sent a record that is rejected reads which member is wrong, what it was and what would
// be right.
func TestFaultNamesTheMember(t *testing.T) {
	cfg := config(keyA)
	if _, reason := cfg.Decode(record(base)); reason != ledger.ReasonNone || cfg.Fault(record(base), reason) != "" {
		t.Fatalf("undamaged twin: %s", reason)
	}
	long := strings.Repeat("é", 200)
	for _, c := range []struct {
		value  string
		reason ledger.Reason
		want   []string
	}{
		{base + "x", ledger.ReasonInvalidJSON, []string{"not one JSON text"}},
		{strings.Repeat("[", 70) + strings.Repeat("]", 70), ledger.ReasonInvalidJSON, []string{"too deep"}},
		{edit(t, base, `"qty"`, `"qt\u0079":1,"qty"`), ledger.ReasonDuplicateField, []string{`"qty" is there twice`}},
		{edit(t, base, `"item"`, `"item":"B","item"`), ledger.ReasonDuplicateField, []string{`"stock_key.item"`}},
		{edit(t, base, `"qty"`, `"x":{"a":1,"a":2},"qty"`), ledger.ReasonDuplicateField, []string{`"a" is there twice`}},
		{edit(t, base, `"qty"`, `"Qty"`), ledger.ReasonUnknownField, []string{`"Qty"`, "case"}},
		{edit(t, base, `"item":"A",`, `"item":"A","bin":7,`), ledger.ReasonUnknownField, []string{`"bin"`}},
		{edit(t, edit(t, base, `"qty":-50,`, ``), `"item":"A",`, ``), ledger.ReasonMissingField, []string{"lacks qty, stock_key.item"}},
		{`[` + base + `]`, ledger.ReasonWrongType, []string{"not an object"}},
		{edit(t, member(t, "qty", "1.0"), `"txn_id":"t1"`, `"txn_id":7`), ledger.ReasonWrongType, []string{"txn_id is 7; want a string", "qty is 1.0; want an integer"}},
		{member(t, "stock_key", `"A/L"`), ledger.ReasonWrongType, []string{`stock_key is "A/L"; want an object`}},
		{member(t, "kind", `["NEW"]`), ledger.ReasonWrongType, []string{"kind is an object or an array; want a string"}},
		{member(t, "txn_id", `""`), ledger.ReasonInvalidTxnID, []string{`txn_id is ""`, "256"}},
		{member(t, "txn_id", `"`+long+`"`), ledger.ReasonInvalidTxnID, []string{"éé…"}},
		{member(t, "revision", "0"), ledger.ReasonRevisionOutOfRange, []string{"revision is 0", "9223372036854775807"}},
		{member(t, "kind", `"new"`), ledger.ReasonInvalidKind, []string{`kind is "new"`, "AMEND"}},
		{member(t, "qty", "9223372036854775808"), ledger.ReasonQtyOutOfRange, []string{"qty is 9223372036854775808"}},
		{edit(t, base, `"NEW"`, `"CANCEL"`), ledger.ReasonCancelNonzeroQty, []string{"qty is -50", "CANCEL"}},
		{member(t, "valid_time", `"2026-01-01"`), ledger.ReasonInvalidValidTime, []string{`valid_time is "2026-01-01"`, "RFC 3339"}},
		{member(t, "source_time", `"now"`), ledger.ReasonInvalidSourceTime, []string{`source_time is "now"`, "RFC 3339"}},
		{member(t, "item", `"B"`), ledger.ReasonUnknownStockKey, []string{`stock_key.item "B"`, `stock_key.location "L"`}},
		{member(t, "valid_time", `"2025-12-31T10:00:00Z"`), ledger.ReasonBeforeLedgerOrigin, []string{`"2025-12-31T10:00:00Z"`, "2026-01-01T00:00:00Z"}},
		{strings.Repeat(" ", 1<<17) + base, ledger.ReasonOversizedRecord, []string{"65536 are accepted"}},
	} {
		wantReason(t, cfg, c.value, c.reason)
		got := cfg.Fault(record(c.value), c.reason)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%.120s: %s: %q does not say %q", c.value, c.reason, got, want)
			}
		}
	}
	other := ledger.Record{Key: []byte("other"), Value: []byte(base)}
	if got := cfg.Fault(other, ledger.ReasonKeyMismatch); !strings.Contains(got, "broker key") {
		t.Error(got)
	}
	if got := cfg.Fault(ledger.Record{}, ledger.ReasonNullValue); !strings.Contains(got, "no value") {
		t.Error(got)
	}
	if got := cfg.Fault(record(base), ledger.ReasonMisroutedPartition); !strings.Contains(got, "partition 0") {
		t.Error(got)
	}
}
