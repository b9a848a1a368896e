package kafka

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/stages/broker"
)

// TestAcknowledgedWithoutAnOffset: an acknowledgement that does not say where the record is, and those of the records behind
// it, whose offsets the client counted on from -1, are none; those before it, of other partitions, and of the undamaged
// twin are.
func TestAcknowledgedWithoutAnOffset(t *testing.T) {
	at := func(partition int32, offset int64) *kgo.Record {
		return &kgo.Record{Topic: "t", Partition: partition, Offset: offset}
	}
	for name, c := range map[string]struct {
		records []*kgo.Record
		bad     []bool
	}{
		"the twin":    {[]*kgo.Record{at(0, 7), at(1, 0), at(0, 8)}, []bool{false, false, false}},
		"a gap":       {[]*kgo.Record{at(0, 7), at(0, 9)}, []bool{false, false}},
		"no offset":   {[]*kgo.Record{at(0, 7), at(0, -1), at(0, 0), at(0, 8), at(1, 3)}, []bool{false, true, true, true, false}},
		"none at all": {[]*kgo.Record{at(0, -1), at(0, 0)}, []bool{true, true}},
		"backwards":   {[]*kgo.Record{at(0, 7), at(0, 7)}, []bool{false, true}},
	} {
		o := &outcomes{acks: make([]broker.Ack, len(c.records)), done: make(chan struct{}), pending: len(c.records), last: map[int32]int64{}}
		for i, r := range c.records {
			o.set(i, r, nil)
		}
		<-o.done
		for i, ack := range o.acks {
			if errors.Is(ack.Err, errNoOffset) != c.bad[i] || !c.bad[i] && (ack.Err != nil || ack.Offset != c.records[i].Offset) {
				t.Errorf("%s: acknowledgement %d: %+v", name, i, ack)
			}
		}
	}
}
