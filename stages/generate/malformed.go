package generate

import (
	"math"
	"strconv"
	"time"

	"amends.dev/amends/internal/mark"
)

// malformed makes a record that is rejected: a valid one with one thing wrong. Its quantity takes part in nothing.
func (s *Stream) malformed() Record {
	mark.Hit("generate.3 record with one thing wrong")
	a := s.anyAccount()
	s.opened++
	o := object{txnID: quoted("bad-" + strconv.FormatInt(s.opened, 10)), revision: "1", kind: `"NEW"`, stockKey: string(a.stockKey),
		validTime: quoted(text(s.instant(s.today()), time.UTC)), qty: "-1", sourceTime: quoted(s.sourceTime())}
	record := Record{Partition: a.partition, Key: a.brokerKey, Class: Malformed}
	switch fault := s.random.below(int64(len(faults) + 4)); fault {
	case 0: // null_value
		return record
	case 1: // invalid_json
		value := o.json()
		record.Value = value[:s.random.below(int64(len(value)))]
		return record
	case 2: // key_mismatch
		record.Key = append([]byte(" "), a.brokerKey...)
	case 3: // misrouted_partition, or another key_mismatch where there is only one partition
		if s.spec.Source.Partitions == 1 {
			record.Key = nil
		}
		record.Partition = (a.partition + 1) % s.spec.Source.Partitions
	default:
		faults[fault-4](s, a, &o)
	}
	record.Value = o.json()
	return record
}

// faults each damage one member of a record.
var faults = []func(*Stream, *account, *object){
	func(_ *Stream, _ *account, o *object) { o.extra = `,"qty":-1` },                 // duplicate_field
	func(_ *Stream, _ *account, o *object) { o.extra = `,"note":"x"` },               // unknown_field
	func(_ *Stream, _ *account, o *object) { o.sourceTime = "" },                     // missing_field
	func(_ *Stream, _ *account, o *object) { o.revision = `"1"` },                    // wrong_type
	func(_ *Stream, _ *account, o *object) { o.qty = "-1.0" },                        // wrong_type
	func(_ *Stream, _ *account, o *object) { o.txnID = `""` },                        // invalid_txn_id
	func(_ *Stream, _ *account, o *object) { o.revision = "0" },                      // revision_out_of_range
	func(_ *Stream, _ *account, o *object) { o.kind = `"UPSERT"` },                   // invalid_kind
	func(_ *Stream, _ *account, o *object) { o.qty = "9223372036854775808" },         // qty_out_of_range
	func(_ *Stream, _ *account, o *object) { o.kind = `"CANCEL"` },                   // cancel_nonzero_qty
	func(_ *Stream, _ *account, o *object) { o.validTime = `"2026-01-01 10:00:00"` }, // invalid_valid_time
	func(_ *Stream, _ *account, o *object) { o.sourceTime = `"yesterday"` },          // invalid_source_time
	func(_ *Stream, _ *account, o *object) { // unknown_stock_key: a text that is no item of any namespace
		o.stockKey = `{"item":"","location":""}`
	},
	func(s *Stream, _ *account, o *object) { // before_ledger_origin, or invalid_valid_time at the beginning of all time
		before := s.spec.LedgerOrigin
		if before == math.MinInt64 {
			o.validTime = `"1600-01-01T00:00:00Z"`
			return
		}
		o.validTime = quoted(text(before-1, time.UTC))
	},
}
