package codecs

import (
	"fmt"
	"slices"
	"testing"

	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/oracletest"
)

// FuzzUsual looks for a record of which the oracle's fast path and its scanner say different things. White space before
// the record is no matter to the record, and leaves it to the scanner.
func FuzzUsual(f *testing.F) {
	d := newDecoders(f)
	for i, k := range d.ns.Spec.StockKeys {
		key := d.worker.BrokerKey(int32(i))
		good := fmt.Appendf(nil, `{"txn_id":"TX-0000000001","revision":12,"kind":"AMEND","stock_key":{"item":%q,"location":%q},`+
			`"valid_time":"2026-02-28T23:59:59.5Z","qty":-5,"source_time":"2026-12-31T00:00:00+05:30"}`, k.Item, k.Location)
		if _, reason := d.oracle.Decode(decode.Partition(key, d.ns.Spec.Source.Partitions), key, good); reason != decode.Accepted {
			f.Fatalf("%s: %s", good, reason)
		}
		f.Add(key, good)
		for at := range good {
			changed := slices.Clone(good)
			changed[at] ^= 1 << (at % 8)
			f.Add(key, changed)
			f.Add(key, slices.Insert(slices.Clone(good), at, good[at]))
			f.Add(key, slices.Delete(slices.Clone(good), at, at+1))
		}
		for _, value := range oracletest.HostileValues() {
			f.Add(key, []byte(value))
		}
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		spaced := append([]byte{' '}, value...)
		if int64(len(spaced)) > d.ns.Spec.Source.MaxRecordBytes {
			return // it is for its length that one of them is rejected
		}
		for p := range d.ns.Spec.Source.Partitions {
			tx, reason := d.oracle.Decode(p, key, value)
			if len(value) == 0 {
				continue // nothing is null, white space is no JSON
			}
			id := string(tx.TxnID) // it may lie in what the next decoding uses
			other, scanned := d.oracle.Decode(p, key, spaced)
			otherID := string(other.TxnID)
			tx.TxnID, other.TxnID = nil, nil
			if reason != scanned || id != otherID || fmt.Sprint(tx) != fmt.Sprint(other) {
				t.Fatalf("%s %s: %v %q %s, the scanner: %v %q %s", key, value, tx, id, reason, other, otherID, scanned)
			}
		}
	})
}
