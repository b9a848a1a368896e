package ledger_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"
	"unicode/utf8"

	"amends.dev/amends/stages/ledger"
)

// FuzzDecode: decoding never panics and always gives the same answer; an accepted record re-written in canonical form
// decodes to the same transaction, and encoding/json, which accepts more, reads the same values from it.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"txn_id", "revision", "kind", "stock_key", "item", "valid_time", "qty", "source_time"} {
		for _, value := range []string{`null`, `-0`, `1.0`, `"\ud800"`, `"CANCEL"`, `"2026-02-29T00:00:00Z"`, `{"a":[{"a":1}]}`, "\"\xff\"", `9223372036854775808`} {
			f.Add([]byte(member(f, name, value)))
		}
	}
	f.Add([]byte(base))
	f.Add([]byte("\ufeff" + base))
	f.Add([]byte(base + "x"))
	cfg := config(keyA)
	f.Fuzz(func(t *testing.T, value []byte) {
		rec := record(string(value))
		tx, reason := cfg.Decode(rec)
		if again, reasonAgain := config(keyA).Decode(rec); again != tx || reasonAgain != reason {
			t.Fatalf("two answers: %v %v, %v %v", tx, reason, again, reasonAgain)
		}
		if reason != ledger.ReasonNone {
			if tx != (ledger.Transaction{}) {
				t.Fatalf("a rejected record has a transaction: %+v", tx)
			}
			if fault := cfg.Fault(rec, reason); len(fault) < 5 || !utf8.ValidString(fault) {
				t.Fatalf("%s says %q", reason, fault)
			}
			return
		}
		kind := map[ledger.Kind]string{ledger.KindNew: "NEW", ledger.KindAmend: "AMEND", ledger.KindCancel: "CANCEL"}[tx.Payload.Kind]
		canonical := fmt.Sprintf(`{"kind":%q,"qty":%d,"revision":%d,"source_time":"2026-01-01T00:00:00Z","stock_key":{"item":"A","location":"L"},"txn_id":%s,"valid_time":%q}`,
			kind, tx.Payload.Qty, tx.Payload.Revision, quoteJSON(tx.TxnID), time.Unix(0, tx.Payload.ValidTime).UTC().Format(time.RFC3339Nano))
		if again, reason := cfg.Decode(record(canonical)); reason != ledger.ReasonNone || again != tx {
			t.Fatalf("%s decodes to %+v %s, not to %+v", canonical, again, reason, tx)
		}
		var loose struct {
			TxnID    string    `json:"txn_id"`
			Revision int64     `json:"revision"`
			Qty      int64     `json:"qty"`
			Valid    time.Time `json:"valid_time"`
		}
		if err := json.Unmarshal(value, &loose); err != nil || loose.TxnID != tx.TxnID || loose.Revision != tx.Payload.Revision ||
			loose.Qty != tx.Payload.Qty || loose.Valid.UnixNano() != tx.Payload.ValidTime {
			t.Fatalf("encoding/json reads %+v, %v, not %+v", loose, err, tx)
		}
	})
}
