package codecs

import (
	"encoding/json"
	"testing"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/oracletest"
)

// FuzzDecode looks for panics, for values out of their declared ranges, and for reasons that are not published.
func FuzzDecode(f *testing.F) {
	ns, err := manifests.New("fuzz", manifests.Spec{
		LedgerOrigin: -1 << 60,
		Source:       manifests.Source{Topic: "in", Partitions: 1},
		Output:       manifests.Output{Topic: "out", Partitions: 1},
		StockKeys:    []manifests.StockKey{{Item: "widget", Location: "berlin"}},
	})
	if err != nil {
		f.Fatal(err)
	}
	for _, value := range oracletest.HostileValues() {
		f.Add([]byte(value))
	}
	d := decode.New(ns)
	key := []byte(`["widget","berlin"]`)
	f.Fuzz(func(t *testing.T, value []byte) {
		tx, reason := d.Decode(0, key, value)
		if reason == decode.KeyMismatch || reason == decode.MisroutedPartition || reason == decode.NullValue {
			t.Fatalf("impossible reason %s", reason)
		}
		if reason != decode.Accepted {
			return
		}
		if !json.Valid(value) {
			t.Fatal("accepted what is not JSON")
		}
		if tx.Revision < 1 || tx.Kind.String() == "" || len(tx.TxnID) == 0 || len(tx.TxnID) > 256 || tx.ValidTime < -1<<60 {
			t.Fatalf("accepted %+v", tx)
		}
	})
}
