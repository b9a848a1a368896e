package decode_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/oracletest"
)

// TestR05Hostile judges every hostile record: B045, B046, B050, B065-B074, B076-B083, B087, B088.
func TestR05Hostile(t *testing.T) {
	d := decode.New(oracletest.RecordNamespace(t))
	oracletest.Hostile(t, func(partition int32, key, value []byte) string {
		_, reason := d.Decode(partition, key, value)
		return string(reason)
	})
}

// TestR05Reasons compares the spellings and their order with the published list.
func TestR05Reasons(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(oracletest.Root(t), "schemas", "reasons.json"))
	if err != nil {
		t.Fatal(err)
	}
	var published []struct{ Reason decode.Reason }
	if err := json.Unmarshal(data, &published); err != nil {
		t.Fatal(err)
	}
	got := make([]decode.Reason, len(published))
	for i, p := range published {
		got[i] = p.Reason
	}
	want := []decode.Reason{
		decode.NullValue, decode.OversizedRecord, decode.InvalidJSON, decode.DuplicateField, decode.WrongType,
		decode.UnknownField, decode.MissingField, decode.WrongType, decode.InvalidTxnID, decode.RevisionOutOfRange,
		decode.InvalidKind, decode.QtyOutOfRange, decode.CancelNonzeroQty, decode.InvalidValidTime, decode.InvalidSourceTime,
		decode.UnknownStockKey, decode.BeforeLedgerOrigin, decode.KeyMismatch, decode.MisroutedPartition,
	}
	if !slices.Equal(got, want) {
		t.Errorf("schemas/reasons.json has %v, want %v", got, want)
	}
}

func TestDecodedValues(t *testing.T) {
	ns := oracletest.RecordNamespace(t)
	value := ` { "source_time" : "1677-09-21T00:12:43.145224192Z" , "qty":-9223372036854775808, "revision":9223372036854775807,` +
		`"valid_time":"1969-12-31T23:59:59.5-00:01","kind":"AMEND","txn_id":"\ud83d\ude00\/é","stock_key":{"location":"berlin","item":"widget"}}`
	tx, reason := decode.New(ns).Decode(0, []byte(`["widget","berlin"]`), []byte(value))
	if reason != decode.Accepted {
		t.Fatalf("rejected: %s", reason)
	}
	got := fmt.Sprintf("%s %s %q %d %d %d %d", ns.Spec.StockKeys[tx.Key].Item, tx.Kind, tx.TxnID, tx.Revision, tx.ValidTime, tx.Qty, tx.SourceTime)
	want := `widget AMEND "😀/é" 9223372036854775807 59500000000 -9223372036854775808 -9223372036854775808`
	if got != want {
		t.Errorf("decoded %s\nwant    %s", got, want)
	}
}

func TestNullAndOversized(t *testing.T) {
	d := decode.New(oracletest.RecordNamespace(t))
	key := []byte(`["widget","berlin"]`)
	for _, c := range []struct {
		value []byte
		want  decode.Reason
	}{
		{nil, decode.NullValue},
		{[]byte{}, decode.InvalidJSON},
		{[]byte(strings.Repeat(" ", 4096)), decode.InvalidJSON},
		{[]byte(strings.Repeat(" ", 4097)), decode.OversizedRecord},
	} {
		if _, got := d.Decode(0, key, c.value); got != c.want {
			t.Errorf("%d bytes: %q, want %q", len(c.value), got, c.want)
		}
	}
}

// TestB023Partition holds the mapping to Kafka's own numbers.
func TestB023Partition(t *testing.T) {
	for key, want := range map[string]int32{"a-little-bit-long-string": 8, "1": 3, "123": 5, "foobar": 6} {
		if got := decode.Partition([]byte(key), 12); got != want {
			t.Errorf("Partition(%q, 12) = %d, want %d", key, got, want)
		}
	}
}

// TestB025Misrouted sends a valid record to the partition after its own.
func TestB025Misrouted(t *testing.T) {
	ns, err := manifests.New("routes", manifests.Spec{
		Source:    manifests.Source{Topic: "in", Partitions: 12},
		Output:    manifests.Output{Topic: "out", Partitions: 1},
		StockKeys: []manifests.StockKey{{Item: "widget", Location: "berlin"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	key := decode.BrokerKey("widget", "berlin")
	value := []byte(`{"txn_id":"t1","revision":1,"kind":"NEW","stock_key":{"item":"widget","location":"berlin"},` +
		`"valid_time":"2026-01-01T00:00:00Z","qty":-5,"source_time":"2026-01-01T00:00:00Z"}`)
	right := decode.Partition(key, 12)
	d := decode.New(ns)
	for partition := range int32(12) {
		want := decode.MisroutedPartition
		if partition == right {
			want = decode.Accepted
		}
		if _, got := d.Decode(partition, key, value); got != want {
			t.Errorf("partition %d: %q, want %q", partition, got, want)
		}
	}
}

// TestB075BrokerKeys renders tuples that a separator would merge.
func TestB075BrokerKeys(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range [][2]string{{"a|b", "c"}, {"a", "b|c"}, {"a/", "b"}, {"a", "/b"}, {"a:", "1"}, {"a", ":1"}, {`a","b`, "c"}, {"a", `b","c`}} {
		seen[string(decode.BrokerKey(k[0], k[1]))] = true
	}
	if len(seen) != 8 {
		t.Errorf("8 stock keys have %d broker keys: %v", len(seen), seen)
	}
}
