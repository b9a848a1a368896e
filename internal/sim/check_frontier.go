package sim

import "fmt"

// frontierChecker: a source frontier never lowers, never passes what a reader can reach, and never skips a visible
// record: what was accepted and rejected is exactly what lies below it (S8, R08).
type frontierChecker struct {
	// last is the frontier by partition, seen the number of visible records below it.
	last []int64
	seen []int
	// counted is accepted plus rejected.
	counted []int64
}

func (*frontierChecker) name() string { return "frontier" }

func (c *frontierChecker) check(w *world) error {
	for p := range c.last {
		state, accepted, rejected := w.state.Peek(int32(p))
		switch reach := w.source.Reach(int32(p)); {
		case state.NextOffset < c.last[p]:
			return fmt.Errorf("frontier of partition %d lowered from %d to %d", p, c.last[p], state.NextOffset)
		case state.NextOffset > reach:
			return fmt.Errorf("frontier of partition %d is %d, beyond %d, the last that was delivered", p, state.NextOffset, reach)
		}
		seen := w.below(p, c.seen[p])
		if decided := accepted + rejected; decided != int64(seen) {
			return fmt.Errorf("frontier of partition %d went from %d to %d over %d visible records, and %d were decided",
				p, c.last[p], state.NextOffset, seen-c.seen[p], decided-c.counted[p])
		}
		c.last[p], c.seen[p], c.counted[p] = state.NextOffset, seen, accepted+rejected
	}
	return nil
}
