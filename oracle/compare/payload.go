package compare

import (
	"cmp"
	"fmt"
	"iter"
	"strings"

	"amends.dev/amends/oracle/projection"
)

// Payload is one of the distinct payloads of a revision in conflict, as the oracle found it or as the evidence keeps it.
type Payload struct {
	projection.Conflict
	// Offset is where it was first seen in the key's partition.
	Offset int64
	// Canonical is the canonical payload (S3), by diagnostics.Canonical.
	Canonical string
}

// OrderPayload sorts payloads by OrderConflict, then by offset and payload.
func OrderPayload(a, b Payload) int {
	return cmp.Or(OrderConflict(a.Conflict, b.Conflict), cmp.Compare(a.Offset, b.Offset), strings.Compare(a.Canonical, b.Canonical))
}

// Payloads compares the payloads that contradict each other with those that the evidence keeps (S4), both sides sorted by
// OrderPayload. A conflict is one fact, which Conflicts counts: here only what differs is counted.
func (c *Collector) Payloads(oracle, stored iter.Seq2[Payload, error]) error {
	return merge(oracle, stored, OrderPayload, func(o, v *Payload) {
		if o != nil && v != nil {
			return
		}
		d := Difference{Family: FamilyConflict, Oracle: payloadValue(o), View: payloadValue(v)}
		for _, p := range []*Payload{o, v} {
			if p != nil {
				d.Item, d.Location, d.TxnID, d.Revision = p.Item, p.Location, p.TxnID, p.Revision
			}
		}
		c.add(d, false)
	})
}

// payloadValue is one side of a payload that differs.
func payloadValue(p *Payload) *Value {
	if p == nil {
		return nil
	}
	return &Value{Payload: fmt.Sprintf("offset %d %s", p.Offset, p.Canonical)}
}
