package codecs

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/view"
)

// FuzzNames: broker keys of both sides are the same canonical bytes and read back as the names they were made from; both
// map them to the same partition; an output ID that the worker writes is the one that the view reads, whatever the names
// and the day (S7, B023, B075).
func FuzzNames(f *testing.F) {
	f.Add("widget", "berlin", int32(20454), int64(-50))
	f.Add(`q"uote`, `b\`, int32(0), int64(0))
	f.Add(`","`, `"]`, int32(-1), int64(9007199254740993))
	f.Add("<b>&\u2028\u2029\x7f", "\x00\x01\b\t\n\v\f\r\x1f", int32(-106751), int64(-9223372036854775808))
	f.Add("\U0001F600é", "e\u0301", int32(106751), int64(9223372036854775807))
	f.Add("", "", int32(1), int64(1))
	f.Fuzz(func(t *testing.T, item, location string, day int32, qty int64) {
		if !utf8.ValidString(item) || !utf8.ValidString(location) {
			return // a stock key is UTF-8, or the manifest is refused
		}
		key := ledger.BrokerKey(item, location)
		checkBrokerKey(t, key, item, location)
		day %= 106_751 // days within the nanoseconds of int64
		ns, err := manifests.New("fuzz", manifests.Spec{
			LedgerOrigin: -1 << 63,
			Source:       manifests.Source{Topic: "in", Partitions: 5},
			Output:       manifests.Output{Topic: "out", Partitions: 3},
			StockKeys:    []manifests.StockKey{{Item: item, Location: location}},
		})
		if err != nil {
			return // no name of a stock key
		}
		checkOutputIDs(t, ns, day, qty)
	})
}

// checkBrokerKey compares the two sides and reads the key back.
func checkBrokerKey(t *testing.T, key []byte, item, location string) {
	t.Helper()
	if other := decode.BrokerKey(item, location); !bytes.Equal(key, other) {
		t.Fatalf("broker key %q, the oracle's %q", key, other)
	}
	var names []string
	if err := json.Unmarshal(key, &names); err != nil || !slices.Equal(names, []string{item, location}) {
		t.Fatalf("%q reads back as %q, %v; made from %q, %q", key, names, err, item, location)
	}
	for _, n := range []int32{1, 2, 3, 12, 1000} {
		if a, b := ledger.PartitionOf(key, n), decode.Partition(key, n); a != b || a < 0 || a >= n {
			t.Fatalf("partition of %q: %d, the oracle's %d, of %d", key, a, b, n)
		}
	}
}

// checkOutputIDs decides one record of the only key and reads its envelopes as the view does.
func checkOutputIDs(t *testing.T, ns *manifests.Namespace, day int32, qty int64) {
	t.Helper()
	d := &decoders{ns: ns, worker: ledger.NewConfig(ns, "AAAAAAAAAAAAAAAAAAAAAQ"), oracle: decode.New(ns)}
	key, partition := d.worker.BrokerKey(0), d.worker.SourcePartition(0)
	want := ledger.Transaction{TxnID: "t", Payload: ledger.Payload{
		Revision: 1, Kind: ledger.KindNew, ValidTime: time.Unix(int64(day)*86_400, 0).UnixNano(), Qty: qty,
	}}
	value := d.spell(t, want)
	d.check(t, engine.Record{Partition: partition, Key: key, Value: value})
	record := ledger.Record{Partition: partition, Key: key, Value: value}
	tx, reason := d.worker.Decode(record)
	if tx != want {
		t.Fatalf("%s is %+v, %s", value, tx, reason)
	}
	batch := ledger.NewBatch(d.worker, 0)
	batch.AddKeys(batch.KeysNeeded([]ledger.Transaction{tx}), nil, nil)
	if err := batch.Decide(record, tx, reason); err != nil {
		t.Fatal(err)
	}
	reader := view.NewConfig(ns)
	var ids []view.ID
	for _, e := range batch.Envelopes() {
		read, problem := reader.Parse(broker.Record{Partition: ledger.PartitionOf(e.Key, ns.Spec.Output.Partitions), Key: e.Key, Value: e.Value})
		if problem != nil {
			t.Fatalf("the view does not read %s: %v", e.Value, problem)
		}
		if read.Version != 1 || !read.Present || read.ID.Family != view.FamilyStatus && read.Close != qty {
			t.Fatalf("the view reads %+v from %s", read, e.Value)
		}
		ids = append(ids, read.ID)
	}
	expected := []view.ID{{Family: view.FamilyBalance, Day: day}, {Family: view.FamilyAlert, Day: day}, {Family: view.FamilyStatus}}
	if qty >= 0 {
		expected = slices.Delete(expected, 1, 2) // opened at the threshold of 0: no crossing
	}
	if !slices.Equal(ids, expected) {
		t.Fatalf("output IDs %+v, must be %+v", ids, expected)
	}
	p := d.compute(t, engine.Record{Partition: partition, Key: key, Value: value})
	if len(p.Balances) != 1 || p.Balances[0].Day != view.FormatDay(day) || ledger.FormatDay(day) != view.FormatDay(day) {
		t.Fatalf("day %d: judged %+v, %s, %s", day, p.Balances, ledger.FormatDay(day), view.FormatDay(day))
	}
}
