package explain

import (
	"fmt"
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
)

// Name names a stock key by bytes (S2).
type Name struct{ Item, Location string }

// Collector gathers what a history says about a few stock keys. It is not safe for concurrent use. Its memory grows with
// the distinct payloads and the duplicates of those keys.
type Collector struct {
	namespace *manifests.Namespace
	decoder   *decode.Decoder
	// asked are the indexes of the asked keys in the namespace's StockKeys, in the order asked.
	asked []int32
	// histories are by that index, and byBrokerKey is the same by the key that records carry.
	histories   map[int32]*history
	byBrokerKey map[string]*history
}

// history is what was seen of one key.
type history struct {
	identities map[string]*identity
	rejected   []Rejected
}

// identity is what was seen of one transaction ID.
type identity struct{ revisions map[int64]*revision }

// revision is the distinct payloads of one revision in the order in which they came.
type revision struct{ payloads []*payload }

// payload is what two records of one identity and revision must have in common to be duplicates (S3).
type payload struct {
	kind      decode.Kind
	validTime int64
	qty       int64
	records   []Record
}

// NewCollector returns a collector of the named keys, each once. A key that is not configured is an error.
func NewCollector(ns *manifests.Namespace, names []Name) (*Collector, error) {
	c := &Collector{
		namespace: ns, decoder: decode.New(ns),
		histories: map[int32]*history{}, byBrokerKey: map[string]*history{},
	}
	for _, name := range names {
		index, ok := c.decoder.Key(name.Item, name.Location)
		if !ok {
			return nil, fmt.Errorf("namespace %s has no stock key %s", ns.Name, Show(name))
		}
		if c.histories[index] != nil {
			continue
		}
		h := &history{identities: map[string]*identity{}}
		c.asked = append(c.asked, index)
		c.histories[index] = h
		c.byBrokerKey[string(decode.BrokerKey(name.Item, name.Location))] = h
	}
	return c, nil
}

// Partitions are those of the source topic that can hold records of the asked keys.
func (c *Collector) Partitions() map[int32]bool {
	partitions := map[int32]bool{}
	for brokerKey := range c.byBrokerKey {
		partitions[decode.Partition([]byte(brokerKey), c.namespace.Spec.Source.Partitions)] = true
	}
	return partitions
}

// Observe takes one source record. Records of a partition must come in the order of their offsets; nothing of key and
// value is kept.
func (c *Collector) Observe(partition int32, offset int64, key, value []byte) {
	h := c.byBrokerKey[string(key)]
	if h == nil { // an accepted record carries its key's broker key
		return
	}
	tx, reason := c.decoder.Decode(partition, key, value)
	if reason != decode.Accepted {
		h.rejected = append(h.rejected, Rejected{Partition: partition, Offset: offset, Reason: string(reason)})
		return
	}
	h.observe(tx, Record{Partition: partition, Offset: offset, SourceTime: instant(tx.SourceTime)})
}

// observe files an accepted transaction under its identity, revision and payload.
func (h *history) observe(tx decode.Transaction, at Record) {
	id := h.identities[string(tx.TxnID)]
	if id == nil {
		id = &identity{revisions: map[int64]*revision{}}
		h.identities[string(tx.TxnID)] = id
	}
	r := id.revisions[tx.Revision]
	if r == nil {
		r = &revision{}
		id.revisions[tx.Revision] = r
	}
	for _, p := range r.payloads {
		if p.kind == tx.Kind && p.validTime == tx.ValidTime && p.qty == tx.Qty {
			p.records = append(p.records, at)
			return
		}
	}
	r.payloads = append(r.payloads, &payload{kind: tx.Kind, validTime: tx.ValidTime, qty: tx.Qty, records: []Record{at}})
}

// instant is nanoseconds since the Unix epoch as RFC 3339, UTC.
func instant(nanos int64) string { return time.Unix(0, nanos).UTC().Format(time.RFC3339Nano) }

// dayOf is the UTC day of an instant.
func dayOf(nanos int64) string { return time.Unix(0, nanos).UTC().Format(time.DateOnly) }
