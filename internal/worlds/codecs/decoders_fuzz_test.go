package codecs

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/stages/ledger"
)

// decoders are the three decoders of one namespace.
type decoders struct {
	ns     *manifests.Namespace
	worker *ledger.Config
	oracle *decode.Decoder
}

// newDecoders prepares a namespace of two stock keys in different partitions, one of them with an awkward name.
func newDecoders(tb testing.TB) *decoders {
	tb.Helper()
	ns, err := manifests.New("fuzz", manifests.Spec{
		LedgerOrigin: -1 << 60,
		Source:       manifests.Source{Topic: "in", Partitions: 3, MaxRecordBytes: 2048},
		Output:       manifests.Output{Topic: "out", Partitions: 1},
		StockKeys:    []manifests.StockKey{{Item: "widget", Location: "berlin"}, {Item: `<">`, Location: "é"}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return &decoders{ns: ns, worker: ledger.NewConfig(ns, "AAAAAAAAAAAAAAAAAAAAAQ"), oracle: decode.New(ns)}
}

// compute lets the reference engine judge a few records.
func (d *decoders) compute(t *testing.T, records ...engine.Record) *projection.Projection {
	t.Helper()
	for i := range records {
		records[i].Offset = int64(i)
	}
	p, err := reference.Engine{}.Compute(context.Background(), d.ns, oracletest.Of(records))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// check fails unless the three decoders accept or reject a record alike, for the same reason, with the same values.
func (d *decoders) check(t *testing.T, r engine.Record) {
	t.Helper()
	tx, reason := d.worker.Decode(ledger.Record{Partition: r.Partition, Key: r.Key, Value: r.Value})
	theirs, other := d.oracle.Decode(r.Partition, r.Key, r.Value)
	naive := d.compute(t, r)
	third := ""
	if len(naive.Rejections) > 0 {
		third = naive.Rejections[0].Reason
	}
	if string(reason) != string(other) || string(reason) != third || (third == "") != (len(naive.Statuses) == 1) {
		t.Fatalf("worker %q, oracle %q, reference %q\npartition %d key %q value %q", reason, other, third, r.Partition, r.Key, r.Value)
	}
	if reason != ledger.ReasonNone {
		return
	}
	kinds := map[decode.Kind]ledger.Kind{decode.KindNew: ledger.KindNew, decode.KindAmend: ledger.KindAmend, decode.KindCancel: ledger.KindCancel}
	same := ledger.Transaction{KeyID: theirs.Key, TxnID: string(theirs.TxnID), Payload: ledger.Payload{
		Revision: theirs.Revision, Kind: kinds[theirs.Kind], ValidTime: theirs.ValidTime, Qty: theirs.Qty,
	}}
	if same != tx {
		t.Fatalf("worker %+v, oracle %+v\nvalue %q", tx, same, r.Value)
	}
	d.checkReference(t, r, tx, naive)
}

// checkReference finds out what the reference engine read, which it does not say, from how it takes a second record: the
// same transaction in its canonical spelling must be an exact duplicate, and the same but for the kind a conflict at the
// very identity and revision.
func (d *decoders) checkReference(t *testing.T, r engine.Record, tx ledger.Transaction, alone *projection.Projection) {
	t.Helper()
	twin, conflicting := r, r
	twin.Value = d.spell(t, tx)
	if again, reason := d.worker.Decode(ledger.Record{Partition: r.Partition, Key: r.Key, Value: twin.Value}); again != tx {
		t.Fatalf("%s is %+v, %s; must be %+v", twin.Value, again, reason, tx)
	}
	if both := d.compute(t, r, twin); !reflect.DeepEqual(both, alone) {
		t.Fatalf("the reference engine takes these for two things:\n%q\n%q\n%+v", r.Value, twin.Value, both)
	}
	if tx.Payload.Kind++; tx.Payload.Kind > ledger.KindAmend {
		tx.Payload.Kind = ledger.KindNew
	}
	conflicting.Value = d.spell(t, tx)
	want := []projection.ConflictRef{{TxnID: tx.TxnID, Revision: tx.Payload.Revision}}
	if p := d.compute(t, r, conflicting); len(p.Statuses) != 1 || !reflect.DeepEqual(p.Statuses[0].Conflicts, want) {
		t.Fatalf("the reference engine finds no conflict at %v:\n%q\n%q\n%+v", want, r.Value, conflicting.Value, p)
	}
}

// spell writes a transaction canonically.
func (d *decoders) spell(t *testing.T, tx ledger.Transaction) []byte {
	t.Helper()
	k := d.worker.StockKey(tx.KeyID)
	names, err := json.Marshal([]string{tx.TxnID, k.Item, k.Location})
	if err != nil {
		t.Fatal(err)
	}
	var spelled []json.RawMessage
	if err := json.Unmarshal(names, &spelled); err != nil {
		t.Fatal(err)
	}
	kind := map[ledger.Kind]string{ledger.KindNew: "NEW", ledger.KindAmend: "AMEND", ledger.KindCancel: "CANCEL"}[tx.Payload.Kind]
	return fmt.Appendf(nil, `{"txn_id":%s,"revision":%d,"kind":%q,"stock_key":{"item":%s,"location":%s},"valid_time":%q,"qty":%d,"source_time":"2026-01-01T00:00:00Z"}`,
		spelled[0], tx.Payload.Revision, kind, spelled[1], spelled[2], time.Unix(0, tx.Payload.ValidTime).UTC().Format(time.RFC3339Nano), tx.Payload.Qty)
}

// FuzzDecoders: on every input the three decoders say the same (R05). place holds the partition in its lowest two bits,
// and whether key and value are null in the next two.
func FuzzDecoders(f *testing.F) {
	d := newDecoders(f)
	for _, value := range oracletest.HostileValues() {
		for i := range d.ns.Spec.StockKeys {
			place := byte(d.worker.SourcePartition(int32(i)))
			f.Add(place, d.worker.BrokerKey(int32(i)), []byte(value))
		}
	}
	f.Add(byte(4), []byte{}, []byte(`{}`))
	f.Add(byte(8), []byte(`["widget","berlin"]`), []byte{})
	f.Add(byte(3), []byte(`["widget","berlin"]`), []byte(`null`))
	f.Fuzz(func(t *testing.T, place byte, key, value []byte) {
		r := engine.Record{Partition: int32(place & 3), Key: key, Value: value}
		if place&4 != 0 {
			r.Key = nil
		}
		if place&8 != 0 {
			r.Value = nil
		}
		d.check(t, r)
	})
}
