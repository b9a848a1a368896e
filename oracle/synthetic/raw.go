package synthetic

import (
	"strconv"
	"time"

	"amends.dev/amends/oracle/decode"
)

// raw appends the key and the JSON value of a record, as a sender writes them.
func (g *generator) raw(t *transaction, revision, sourceTime int64) {
	k := &g.h.Namespace.Spec.StockKeys[t.key]
	r := &g.run
	r.Raw.Key.Data = append(r.Raw.Key.Data, decode.BrokerKey(k.Item, k.Location)...)
	r.Raw.Key.Offsets = append(r.Raw.Key.Offsets, uint32(len(r.Raw.Key.Data)))
	v := append(r.Raw.Value.Data, `{"txn_id":"`...)
	v = appendTxnID(v, t.number)
	v = strconv.AppendInt(append(v, `","revision":`...), revision, 10)
	v = append(append(v, `,"kind":"`...), r.Kind.Values[t.kind-1]...)
	v = append(append(v, `","stock_key":{"item":"`...), k.Item...)
	v = append(append(v, `","location":"`...), k.Location...)
	v = appendInstant(append(v, `"},"valid_time":"`...), t.validTime)
	v = strconv.AppendInt(append(v, `","qty":`...), t.qty, 10)
	v = appendInstant(append(v, `,"source_time":"`...), sourceTime)
	r.Raw.Value.Data = append(v, `"}`...)
	r.Raw.Value.Offsets = append(r.Raw.Value.Offsets, uint32(len(r.Raw.Value.Data)))
}

// appendInstant appends an instant as RFC 3339, UTC.
func appendInstant(to []byte, nanos int64) []byte {
	return time.Unix(0, nanos).UTC().AppendFormat(to, time.RFC3339Nano)
}
