package generate

import (
	"strconv"
	"time"

	"amends.dev/amends/stages/ledger"
)

// berlin stands for all producers that do not write UTC.
var berlin = time.FixedZone("", 2*60*60)

var kindNames = map[ledger.Kind]string{ledger.KindNew: "NEW", ledger.KindAmend: "AMEND", ledger.KindCancel: "CANCEL"}

// instant draws an instant of a day: whole seconds mostly, nanoseconds now and then.
func (s *Stream) instant(day int64) int64 {
	within := s.random.below(86_400) * 1_000_000_000
	if s.random.oneIn(8) {
		within = s.random.below(dayNanos)
	}
	return s.spec.LedgerOrigin + day*dayNanos + within
}

// otherDay draws a day other than that of an instant; there must be two days.
func (s *Stream) otherDay(validTime int64) int64 {
	days := int64(s.options.Days)
	day := s.random.below(days)
	if day == (validTime-s.spec.LedgerOrigin)/dayNanos {
		return (day + 1) % days
	}
	return day
}

// render makes the JSON value of a transaction. Every eighth valid time is written with an offset.
func (s *Stream) render(stockKey []byte, txnID string, p ledger.Payload) []byte {
	zone := time.UTC
	if s.random.oneIn(8) {
		zone = berlin
	}
	return object{txnID: quoted(txnID), revision: strconv.FormatInt(p.Revision, 10), kind: quoted(kindNames[p.Kind]), stockKey: string(stockKey),
		validTime: quoted(text(p.ValidTime, zone)), qty: strconv.FormatInt(p.Qty, 10), sourceTime: quoted(s.sourceTime())}.json()
}

// sourceTime is when the record's source pretends to have sent it.
func (s *Stream) sourceTime() string {
	return text(s.spec.LedgerOrigin+s.today()*dayNanos+s.emitted%86_400*1_000_000_000, time.UTC)
}

func text(ns int64, zone *time.Location) string {
	return time.Unix(0, ns).In(zone).Format(time.RFC3339Nano)
}

// quoted is a JSON string of a text that needs no escapes.
func quoted(s string) string { return `"` + s + `"` }

// object is the members of a source record, each as JSON; an empty one is left out.
type object struct {
	txnID, revision, kind, stockKey, validTime, qty, sourceTime string
	// extra is put after the last member, as it is.
	extra string
}

func (o object) json() []byte {
	dst := make([]byte, 0, recordBytesMax)
	for _, m := range []struct{ name, value string }{
		{"txn_id", o.txnID}, {"revision", o.revision}, {"kind", o.kind}, {"stock_key", o.stockKey},
		{"valid_time", o.validTime}, {"qty", o.qty}, {"source_time", o.sourceTime},
	} {
		if m.value == "" {
			continue
		}
		separator := byte(',')
		if len(dst) == 0 {
			separator = '{'
		}
		dst = append(dst, separator, '"')
		dst = append(dst, m.name...)
		dst = append(dst, '"', ':')
		dst = append(dst, m.value...)
	}
	return append(append(dst, o.extra...), '}')
}
