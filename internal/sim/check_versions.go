package sim

import "fmt"

// versionChecker: the versions of an output ID begin at 1 and rise by exactly one, through withdrawal, reappearance,
// restart and unknown commits (S7, R11, R12).
type versionChecker struct {
	rows *outboxIndex
	seen []int
	last map[outputID]int64
}

func (*versionChecker) name() string { return "versions" }

func (c *versionChecker) check(*world) error {
	for p, rows := range c.rows.rows {
		for ; c.seen[p] < len(rows); c.seen[p]++ {
			r := &rows[c.seen[p]]
			if r.version != c.last[r.id]+1 {
				return fmt.Errorf("%v of partition %d, sequence %d, has version %d after %d", r.id, p, r.seq, r.version, c.last[r.id])
			}
			c.last[r.id] = r.version
		}
	}
	return nil
}
