package sim

import (
	"bytes"
	"fmt"

	"amends.dev/amends/oracle/decode"
)

// quarantineChecker: below the frontier every record that the oracle's decoder rejects has its quarantine row, with
// reason and bytes, and no other record has one (S4, R06, SC22).
type quarantineChecker struct{ next []int }

func (*quarantineChecker) name() string { return "quarantine" }

func (c *quarantineChecker) check(w *world) error {
	for p := range c.next {
		for end := w.below(p, c.next[p]); c.next[p] < end; c.next[p]++ {
			if err := w.quarantined(p, &w.truths[p][c.next[p]]); err != nil {
				return err
			}
		}
	}
	return nil
}

// quarantined compares one record below the frontier with its quarantine row.
func (w *world) quarantined(partition int, t *truth) error {
	row, found := w.state.Quarantined(int32(partition), t.offset)
	switch {
	case t.reason == decode.Accepted && found:
		return fmt.Errorf("partition %d offset %d is valid and quarantined for %s", partition, t.offset, row.Reason)
	case t.reason == decode.Accepted:
		return nil
	case !found:
		return fmt.Errorf("partition %d offset %d is below the frontier, rejected for %s, and not quarantined", partition, t.offset, t.reason)
	case string(row.Reason) != string(t.reason):
		return fmt.Errorf("partition %d offset %d is quarantined for %s, want %s", partition, t.offset, row.Reason, t.reason)
	case !bytes.Equal(row.Key, t.key) || !bytes.Equal(row.Value, t.value) || (row.Key == nil) != (t.key == nil) || (row.Value == nil) != (t.value == nil):
		return fmt.Errorf("partition %d offset %d is quarantined with other bytes", partition, t.offset)
	}
	return nil
}
