package sim

import "fmt"

// sentChecker: an envelope that is marked sent is in the output topic, where its receipt says, with identical bytes, and
// stays marked (S9, R19).
type sentChecker struct {
	rows *outboxIndex
	seen []int
}

func (*sentChecker) name() string { return "sent" }

func (c *sentChecker) check(w *world) error {
	for p := range c.seen {
		receipts := w.outbox.Receipts(int32(p))
		if len(receipts) < c.seen[p] || len(receipts) > len(c.rows.rows[p]) {
			return fmt.Errorf("partition %d: %d envelopes are marked sent, were %d, of %d", p, len(receipts), c.seen[p], len(c.rows.rows[p]))
		}
		for ; c.seen[p] < len(receipts); c.seen[p]++ {
			at, r := receipts[c.seen[p]], &c.rows.rows[p][c.seen[p]]
			if at.Partition < 0 || int(at.Partition) >= len(w.records) || at.Offset < 0 || at.Offset >= int64(len(w.records[at.Partition])) {
				return fmt.Errorf("sequence %d of partition %d is marked sent at %d/%d, where nothing is", r.seq, p, at.Partition, at.Offset)
			}
			if there := &w.records[at.Partition][at.Offset]; string(there.value) != r.value || string(there.key) != r.key {
				return fmt.Errorf("sequence %d of partition %d is marked sent at %d/%d, where other bytes are", r.seq, p, at.Partition, at.Offset)
			}
		}
	}
	return nil
}
