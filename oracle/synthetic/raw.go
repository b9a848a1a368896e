package synthetic

import (
	"strconv"

	"amends.dev/amends/oracle/decode"
)

// raw appends the key and the JSON value of a record, as a sender writes them.
func (g *generator) raw(t *transaction, revision int64) {
	k := &g.h.Namespace.Spec.StockKeys[t.key]
	r := &g.run.Raw
	if g.keys[t.key] == nil {
		g.keys[t.key] = decode.BrokerKey(k.Item, k.Location)
	}
	r.Key.Data = append(r.Key.Data, g.keys[t.key]...)
	r.Key.Offsets = append(r.Key.Offsets, uint32(len(r.Key.Data)))
	v := append(r.Value.Data, `{"txn_id":"`...)
	v = appendTxnID(v, t.number)
	v = strconv.AppendInt(append(v, `","revision":`...), revision, 10)
	v = append(append(v, `,"kind":"`...), kinds[t.kind-1]...)
	v = append(append(v, `","stock_key":{"item":"`...), k.Item...)
	v = append(append(v, `","location":"`...), k.Location...)
	v = g.calendar.append(append(v, `"},"valid_time":"`...), t.validTime)
	v = strconv.AppendInt(append(v, `","qty":`...), int64(t.qty), 10)
	v = g.calendar.append(append(v, `,"source_time":"`...), g.told*nanosPerMs)
	r.Value.Data = append(v, `"}`...)
	r.Value.Offsets = append(r.Value.Offsets, uint32(len(r.Value.Data)))
}
