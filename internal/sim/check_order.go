package sim

import "fmt"

// orderChecker: nothing is published but committed envelopes, byte for byte and to the partition of their key, and each
// for the first time only after all those before it in its source partition that go the same way (S9, B052, B055).
type orderChecker struct {
	rows *outboxIndex
	// seen counts the records of each output partition, appeared the envelopes of a route that have appeared.
	seen     []int
	appeared map[route]int
}

func (*orderChecker) name() string { return "order" }

func (c *orderChecker) check(w *world) error {
	for p, records := range w.records {
		for ; c.seen[p] < len(records); c.seen[p]++ {
			record := &records[c.seen[p]]
			if !record.data {
				continue
			}
			r := c.rows.byValue[string(record.value)]
			if r == nil || r.key != string(record.key) || r.output != int32(p) {
				return fmt.Errorf("output partition %d holds what was never committed for it: %s", p, record.value)
			}
			way := route{r.partition, r.output}
			switch next := c.appeared[way]; {
			case r.index > next:
				return fmt.Errorf("sequence %d of partition %d was published before %d envelopes ahead of it", r.seq, r.partition, r.index-next)
			case r.index == next:
				c.appeared[way]++
			}
		}
	}
	return nil
}
