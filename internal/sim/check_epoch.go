package sim

import "fmt"

// epochChecker: epochs only rise, and no unit of work that was begun under one commits under another (S8, SC19).
type epochChecker struct {
	last []int64
	seen int
}

func (*epochChecker) name() string { return "epoch" }

func (c *epochChecker) check(w *world) error {
	for ; c.seen < len(w.commits); c.seen++ {
		if one := w.commits[c.seen]; one.epoch != one.row {
			return fmt.Errorf("%s committed to partition %d under epoch %d, while epoch %d is installed", one.by, one.partition, one.epoch, one.row)
		}
	}
	for p := range c.last {
		state, _, _ := w.state.Peek(int32(p))
		if state.Epoch < c.last[p] {
			return fmt.Errorf("epoch of partition %d lowered from %d to %d", p, c.last[p], state.Epoch)
		}
		c.last[p] = state.Epoch
	}
	return nil
}
