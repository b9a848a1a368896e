package compare

import "iter"

// Keys compares the configured stock keys with those that the view can name, both sides sorted by the bytes of item,
// location. A key without a name in the view hides its rows from users, also those that are still to come.
func (c *Collector) Keys(configured, view iter.Seq2[Key, error]) error {
	order := func(a, b Key) int { return orderKey(a.Item, a.Location, b.Item, b.Location) }
	return merge(configured, view, order, func(o, v *Key) {
		d := Difference{Family: FamilyKey}
		for _, k := range []*Key{o, v} {
			if k != nil {
				d.Item, d.Location = k.Item, k.Location
			}
		}
		if o != nil {
			d.Oracle = &Value{Recorded: true}
		}
		if v != nil {
			d.View = &Value{Recorded: true}
		}
		c.add(d, d.Oracle != nil && d.View != nil)
	})
}

// Guard is a row of the view whose guard cannot be right.
type Guard struct {
	Item, Location string
	// Day is empty for the guard of a status.
	Day   string
	Fault string
}

// Guards counts the guards of rows rows of the view and takes over every damaged one; an undamaged view has none.
func (c *Collector) Guards(rows int64, damaged iter.Seq2[Guard, error]) error {
	t := c.tallies[FamilyGuard]
	t.Oracle, t.View, t.Equal = t.Oracle+rows, t.View+rows, t.Equal+rows
	for g, err := range damaged {
		if err != nil {
			return err
		}
		t.Oracle, t.View, t.Equal = t.Oracle-1, t.View-1, t.Equal-1
		c.add(Difference{Family: FamilyGuard, Item: g.Item, Location: g.Location, Day: g.Day, View: &Value{Fault: g.Fault}}, false)
	}
	return nil
}

// Follow keeps a tally of its own for a key, over all families that name keys, whatever the limit (S10: a scoped report).
func (c *Collector) Follow(k Key) { c.followed[k] = &Tally{} }

// Followed is the tally of a followed key.
func (c *Collector) Followed(k Key) Tally { return *c.followed[k] }
