package ledger_test

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"amends.dev/amends/internal/testkit/schema"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/ledger"
)

// validate checks a text against a schema.
func validate(t testing.TB, s *jsonschema.Schema, text string) error {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s.Validate(document)
}

// everyEnvelope is a history that emits every type, with an item whose name is a trap for encoders.
func everyEnvelope(t testing.TB) *shell {
	trap := manifests.StockKey{Item: "<é&\u2028\"\t", Location: "L", OpeningBalance: 100, ReorderThreshold: 60}
	var h history
	h.add("a\x01", 1, ledger.KindNew, 1, -50)
	h.add("a\x01", 2, ledger.KindCancel, 1, 0)
	h.add("b", 9223372036854775807, ledger.KindNew, 1, 9007199254740893)
	h.add("b", 9223372036854775807, ledger.KindNew, 1, 1)
	s := newShell(t, config(trap), 0)
	if err := s.run(h.steps, 10); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEnvelopeBytes(t *testing.T) {
	s := everyEnvelope(t)
	item := "<é&\u2028\\\"\\t"
	head := func(revision, txnID, outputID, payload string) string {
		return `{"cause":{"revision":` + revision + `,"txn_id":"` + txnID + `"},"namespace":"demo","output_id":["demo",` + outputID + `],"payload":` + payload
	}
	tail := func(offset, kind, version string) string {
		return `,"schema_version":1,"source":{"offset":` + offset + `,"partition":0,"topic_id":"` + topicID + `"},"type":"` + kind + `","version":` + version + `}`
	}
	key, day := `"`+item+`","L"`, `"2026-01-01"`
	fact := func(closing string) string {
		return `{"close":` + closing + `,"day":` + day + `,"item":"` + item + `","location":"L"`
	}
	status := func(conflicts, status string) string {
		return `{"conflicts":[` + conflicts + `],"item":"` + item + `","location":"L","status":"` + status + `"}`
	}
	want := []string{
		head("1", `a\u0001`, `"balance",`+key+`,`+day, fact("50")+`}`) + tail("0", "BalanceStated", "1"),
		head("1", `a\u0001`, `"alert",`+key+`,`+day, fact("50")+`,"threshold":60}`) + tail("0", "AlertRaised", "1"),
		head("1", `a\u0001`, `"key-status",`+key, status("", "READY")) + tail("0", "KeyStatusStated", "1"),
		head("2", `a\u0001`, `"balance",`+key+`,`+day, `null`) + tail("1", "BalanceRetracted", "2"),
		head("2", `a\u0001`, `"alert",`+key+`,`+day, `null`) + tail("1", "AlertRetracted", "2"),
		head("9223372036854775807", "b", `"balance",`+key+`,`+day, fact("9007199254740993")+`}`) + tail("2", "BalanceStated", "3"),
		head("9223372036854775807", "b", `"key-status",`+key, status(`{"revision":9223372036854775807,"txn_id":"b"}`, "BLOCKED")) + tail("3", "KeyStatusStated", "2"),
	}
	for i, text := range want {
		if i >= len(s.envelopes) || s.envelopes[i] != text {
			t.Errorf("envelope %d: want\n%s, got\n%s", i, text, s.envelopes[i])
		}
	}
}

func TestEnvelopeSchema(t *testing.T) {
	envelopes := everyEnvelope(t).envelopes
	compiled := schema.Compile(t, "envelope.json")
	for _, text := range envelopes {
		if err := validate(t, compiled, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for _, damage := range [][2]string{
			{`"schema_version":1`, `"schema_version":2`}, {`"version":`, `"version":-`}, {`"type":"`, `"type":"x`},
			{`"namespace":"demo",`, ``}, {`["demo",`, `["demo","x",`}, {`"payload":`, `"payload":1,"x":`}, {`{"offset"`, `{"x":1,"offset"`},
			{`"cause":{`, `"cause":{"x":1,`}, {`"topic_id":"`, `"topic_id":"x`},
		} {
			if validate(t, compiled, edit(t, text, damage[0], damage[1])) == nil {
				t.Errorf("%s passes with %s", text, damage[1])
			}
		}
	}
	if validate(t, compiled, edit(t, envelopes[0], `"BalanceStated"`, `"BalanceRetracted"`)) == nil {
		t.Error("a withdrawal with a payload passes")
	}
	if validate(t, compiled, edit(t, envelopes[1], `,"threshold":60`, ``)) == nil {
		t.Error("an alert without a threshold passes")
	}
	if validate(t, compiled, edit(t, envelopes[2], `READY`, `BLOCKED`)) == nil {
		t.Error("BLOCKED without conflicts passes")
	}
}

// TestTransactionSchema: what the schema says is what the decoder does, except for what only the decoder can know.
func TestTransactionSchema(t *testing.T) {
	compiled, cfg := schema.Compile(t, "transaction.json"), config(keyA)
	beyond := map[ledger.Reason]bool{ledger.ReasonInvalidJSON: true, ledger.ReasonDuplicateField: true, ledger.ReasonUnknownStockKey: true, ledger.ReasonBeforeLedgerOrigin: true}
	for name, values := range map[string][]string{
		"txn_id": {`"a"`, `""`, `null`, `1`, `"a\u0000b"`, `"` + strings.Repeat("x", 256) + `"`, `"` + strings.Repeat("x", 257) + `"`},
		"kind":   {`"NEW"`, `"AMEND"`, `"CANCEL"`, `"new"`, `null`},
		"qty":    {"0", "-1", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", `"1"`, "null", "1.5"},
		"revision": {
			"1", "0", "-1", "9223372036854775807", "9223372036854775808", "null",
		},
		"stock_key":   {`{}`, `null`, `{"item":"A"}`, `{"item":"A","location":"L"}`, `{"item":"A","location":"L","x":1}`, `{"item":1,"location":"L"}`},
		"source_time": {`"2026-01-01T00:00:00Z"`, `"2026-01-01T24:00:00Z"`, `"2026-01-01T00:00:60Z"`, `"2026-01-01T00:00:00.1234567891Z"`, `"2026-01-01T00:00:00+24:00"`, `"2026-1-1T00:00:00Z"`, `null`, `"2026-01-01t00:00:00Z"`},
	} {
		for _, value := range values {
			text := member(t, name, value)
			_, reason := cfg.Decode(record(text))
			if err := validate(t, compiled, text); (err == nil) != (reason == ledger.ReasonNone) && !beyond[reason] {
				t.Errorf("%s: the decoder says %q, the schema %v", text, reason, err)
			}
		}
	}
}

func TestEnvelopesAreCanonical(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		checkEnvelope(t, rapid.StringN(1, 40, 128).Draw(r, "item"), rapid.StringN(1, 40, 256).Draw(r, "txn"), rapid.Int64().Draw(r, "qty"))
	})
}

// checkEnvelope decodes a record with the given strings and checks that its envelopes are canonical JSON: members
// sorted, nothing escaped that need not be, integers in plain decimal.
func checkEnvelope(t testing.TB, item, txnID string, qty int64) {
	t.Helper()
	key := manifests.StockKey{Item: item, Location: "L"}
	s := newShell(t, config(key), 0)
	tx := ledger.Transaction{TxnID: txnID, Payload: ledger.Payload{Revision: 1, Kind: ledger.KindNew, ValidTime: origin2026, Qty: qty}}
	if err := s.run([]step{{tx: tx}}, 1); err != nil {
		t.Fatal(err)
	}
	for _, text := range s.envelopes {
		compact := jsontext.Value(text).Clone()
		// Canonicalize would turn integers above 2^53 into other ones, which is why the core renders by itself.
		if err := compact.Format(jsontext.CanonicalizeRawInts(false), jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false)); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if string(compact) != text {
			t.Errorf("not canonical:\n%s\n%s", text, compact)
		}
		if strings.Contains(text, `"BalanceStated"`) && !strings.Contains(text, `{"close":`+strconv.FormatInt(qty, 10)+`,`) {
			t.Errorf("close %d is not in %s", qty, text)
		}
	}
}

func FuzzEnvelope(f *testing.F) {
	f.Add("widget", "t1", int64(-50))
	f.Add("<é&\u2028\"\t", "\x01\\", int64(9007199254740993))
	f.Fuzz(func(t *testing.T, item, txnID string, qty int64) {
		if !utf8.ValidString(item) || !utf8.ValidString(txnID) {
			return
		}
		checkEnvelope(t, item, txnID, qty)
	})
}
