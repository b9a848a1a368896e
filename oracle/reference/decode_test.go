package reference

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
)

// TestR05Hostile judges every hostile record: B045, B046, B050, B065-B074, B076-B083, B087, B088.
func TestR05Hostile(t *testing.T) {
	l := newLedger(oracletest.RecordNamespace(t))
	oracletest.Hostile(t, func(partition int32, key, value []byte) string {
		_, reason := l.decode(partition, key, value)
		return reason
	})
}

// TestB023Partition holds the mapping to Kafka's own numbers.
func TestB023Partition(t *testing.T) {
	for key, want := range map[string]int32{"a-little-bit-long-string": -985981536, "1": -1993445489, "123": -267702483, "foobar": -790332482} {
		if got := murmur2([]byte(key)); got != want {
			t.Errorf("murmur2(%q) = %d, want %d", key, got, want)
		}
	}
	for key, want := range map[string]int32{"a-little-bit-long-string": 8, "1": 3, "123": 5, "foobar": 6} {
		if got := partitionOf([]byte(key), 12); got != want {
			t.Errorf("partitionOf(%q, 12) = %d, want %d", key, got, want)
		}
	}
}

// TestRoutesAgree compares broker keys and partitions of the two decoders over any names.
func TestRoutesAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item, location := rapid.String().Draw(t, "item"), rapid.String().Draw(t, "location")
		mine, theirs := brokerKey(item, location), decode.BrokerKey(item, location)
		if !bytes.Equal(mine, theirs) {
			t.Fatalf("broker key %s, decode has %s", mine, theirs)
		}
		n := rapid.Int32Range(1, 1000).Draw(t, "partitions")
		if partitionOf(mine, n) != decode.Partition(theirs, n) {
			t.Fatalf("partition of %s differs", mine)
		}
	})
}

// judgeBoth decodes a record twice and fails unless reason and every value agree.
func judgeBoth(t interface{ Fatalf(string, ...any) }, ns *manifests.Namespace, d *decode.Decoder, l *ledger, r engine.Record) {
	mine, reason := l.decode(r.Partition, r.Key, r.Value)
	theirs, other := d.Decode(r.Partition, r.Key, r.Value)
	if reason != string(other) {
		t.Fatalf("reason %q, decode has %q\nkey %q\nvalue %q", reason, other, r.Key, r.Value)
	}
	if reason != "" {
		return
	}
	key := ns.Spec.StockKeys[theirs.Key]
	a := fmt.Sprintf("%q %q %q %d %s %d %d %d", mine.item, mine.location, mine.txnID, mine.revision, mine.kind, mine.validTime, mine.qty, mine.sourceTime)
	b := fmt.Sprintf("%q %q %q %d %s %d %d %d", key.Item, key.Location, theirs.TxnID, theirs.Revision, theirs.Kind, theirs.ValidTime, theirs.Qty, theirs.SourceTime)
	if a != b {
		t.Fatalf("decoded %s\ndecode has %s\nvalue %q", a, b, r.Value)
	}
}

// TestDecodersAgree compares the two decoders on generated records, damaged ones among them.
func TestDecodersAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := oracletest.Cases().Draw(t, "case")
		d, l := decode.New(c.Namespace), newLedger(c.Namespace)
		for _, r := range c.Records {
			judgeBoth(t, c.Namespace, d, l, r)
			r.Value = oracletest.Mutated(t, r.Value)
			judgeBoth(t, c.Namespace, d, l, r)
		}
	})
}

// FuzzReference compares the two decoders on any bytes.
func FuzzReference(f *testing.F) {
	ns, err := manifests.New("fuzz", manifests.Spec{
		LedgerOrigin: -1 << 60,
		Source:       manifests.Source{Topic: "in", Partitions: 3},
		Output:       manifests.Output{Topic: "out", Partitions: 1},
		StockKeys:    []manifests.StockKey{{Item: "widget", Location: "berlin"}, {Item: `<">`, Location: "é"}},
	})
	if err != nil {
		f.Fatal(err)
	}
	for _, value := range oracletest.HostileValues() {
		f.Add([]byte(`["widget","berlin"]`), []byte(value))
	}
	d, l := decode.New(ns), newLedger(ns)
	f.Fuzz(func(t *testing.T, key, value []byte) {
		for partition := range int32(3) {
			judgeBoth(t, ns, d, l, engine.Record{Partition: partition, Key: key, Value: value})
		}
	})
}
