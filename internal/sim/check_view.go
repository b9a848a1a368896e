package sim

import (
	"fmt"

	"amends.dev/amends/stages/view"
)

// viewChecker: a view position never lowers, and what the view holds is exactly the highest version of each output ID
// below the positions. So no older version ever comes back, and a withdrawal stays remembered (S7, SC16, SC21).
type viewChecker struct {
	rows *outboxIndex
	next []int64
	want map[outputID]row
	// ids are those of want, in the order of their first appearance: findings are the same in every run.
	ids []outputID
}

func (*viewChecker) name() string { return "view" }

var families = map[string]view.Family{"balance": view.FamilyBalance, "alert": view.FamilyAlert, "key-status": view.FamilyStatus}

func (c *viewChecker) check(w *world) error {
	moved := false
	all := w.view.Progress()
	for p := range c.next {
		progress := all[int32(p)]
		if progress.Next < c.next[p] || progress.Next > int64(len(w.records[p])) {
			return fmt.Errorf("view position of partition %d went from %d to %d, the log ends at %d", p, c.next[p], progress.Next, len(w.records[p]))
		}
		for ; c.next[p] < progress.Next; c.next[p]++ {
			moved = true
			record := &w.records[p][c.next[p]]
			if r := c.rows.byValue[string(record.value)]; record.data && r != nil {
				c.expect(r)
			}
		}
	}
	if !moved && w.steps%16 != 0 { // a view that changes without moving is found a little later
		return nil
	}
	for _, id := range c.ids {
		want := c.want[id]
		got, ok := w.view.Row(view.ID{Family: families[id.family], KeyID: id.key, Day: id.day})
		if !ok || got.Version != want.version || got.Present != want.present || got.Content != want.content {
			return fmt.Errorf("view of %v: version %d, present %v; the highest version below its position is %d, present %v",
				id, got.Version, got.Present, want.version, want.present)
		}
	}
	return nil
}

// expect notes an envelope below the view's position.
func (c *viewChecker) expect(r *row) {
	former, known := c.want[r.id]
	if !known {
		c.ids = append(c.ids, r.id)
	}
	if r.version > former.version {
		c.want[r.id] = *r
	}
}
