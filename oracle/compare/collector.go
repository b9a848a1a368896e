package compare

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"amends.dev/amends/oracle/projection"
)

// Key names a stock key.
type Key struct{ Item, Location string }

// Collector runs the comparisons and keeps counts, which are always complete, and the first differences of each
// family, up to a limit. It is used by one goroutine.
type Collector struct {
	limit       int
	uncertified map[Key]bool
	listed      []Difference
	tallies     map[Family]*Tally
	followed    map[Key]*Tally
}

// NewCollector returns a collector that lists at most limit differences of each family, so that many of one do not
// hide another (0: all of them). Rows of the keys in uncertified are not compared, because nothing can certify them
// (R21): BLOCKED keys, and keys whose closes are out of the domain.
func NewCollector(limit int, uncertified map[Key]bool) *Collector {
	tallies := map[Family]*Tally{}
	for _, f := range []Family{FamilyBalance, FamilyAlert, FamilyStatus, FamilyQuarantine, FamilyConflict, FamilyKey, FamilyGuard} {
		tallies[f] = &Tally{}
	}
	return &Collector{limit: limit, uncertified: uncertified, tallies: tallies, followed: map[Key]*Tally{}}
}

// Uncertified is the set of keys of a projection whose rows cannot be certified.
func Uncertified(p *projection.Projection) map[Key]bool {
	set := map[Key]bool{}
	for _, s := range p.Statuses {
		if len(s.Conflicts) > 0 {
			set[Key{s.Item, s.Location}] = true
		}
	}
	for _, d := range p.OutOfDomain {
		set[Key{d.Item, d.Location}] = true
	}
	return set
}

// Listed returns the differences that were kept, in the order found; never nil.
func (c *Collector) Listed() []Difference {
	if c.listed == nil {
		return []Difference{}
	}
	return c.listed
}

// Tally returns the counts of one family so far.
func (c *Collector) Tally(f Family) Tally { return *c.tallies[f] }

// Differences is the full number of differences of all families, listed or not.
func (c *Collector) Differences() int64 {
	var n int64
	for _, t := range c.tallies {
		n += t.Differences()
	}
	return n
}

// Balances compares daily closes, both sides sorted by the bytes of item, location, day.
func (c *Collector) Balances(oracle, view iter.Seq2[projection.Balance, error]) error {
	order := func(a, b projection.Balance) int {
		return orderDay(a.Item, a.Location, a.Day, b.Item, b.Location, b.Day)
	}
	return merge(oracle, view, order, func(o, v *projection.Balance) {
		d := Difference{Family: FamilyBalance}
		for _, b := range []*projection.Balance{o, v} {
			if b != nil {
				d.Item, d.Location, d.Day = b.Item, b.Location, b.Day
			}
		}
		if o != nil {
			d.Oracle = &Value{Close: &o.Close}
		}
		if v != nil {
			d.View = &Value{Close: &v.Close}
		}
		c.business(d, o != nil && v != nil && o.Close == v.Close)
	})
}

// Alerts compares crossings by threshold and close (R11), both sides sorted by the bytes of item, location, day.
func (c *Collector) Alerts(oracle, view iter.Seq2[projection.Alert, error]) error {
	order := func(a, b projection.Alert) int {
		return orderDay(a.Item, a.Location, a.Day, b.Item, b.Location, b.Day)
	}
	return merge(oracle, view, order, func(o, v *projection.Alert) {
		d := Difference{Family: FamilyAlert}
		for _, a := range []*projection.Alert{o, v} {
			if a != nil {
				d.Item, d.Location, d.Day = a.Item, a.Location, a.Day
			}
		}
		if o != nil {
			d.Oracle = &Value{Close: &o.Close, Threshold: &o.Threshold}
		}
		if v != nil {
			d.View = &Value{Close: &v.Close, Threshold: &v.Threshold}
		}
		c.business(d, o != nil && v != nil && o.Close == v.Close && o.Threshold == v.Threshold)
	})
}

// Statuses compares trust status and reason set of every key, BLOCKED ones too, both sides sorted by the bytes of
// item, location.
func (c *Collector) Statuses(oracle, view iter.Seq2[projection.Status, error]) error {
	order := func(a, b projection.Status) int { return orderKey(a.Item, a.Location, b.Item, b.Location) }
	return merge(oracle, view, order, func(o, v *projection.Status) {
		d := Difference{Family: FamilyStatus}
		for _, s := range []*projection.Status{o, v} {
			if s != nil {
				d.Item, d.Location = s.Item, s.Location
			}
		}
		if o != nil {
			d.Oracle = &Value{Status: o.Status, Conflicts: sortedRefs(o.Conflicts)}
		}
		if v != nil {
			d.View = &Value{Status: v.Status, Conflicts: sortedRefs(v.Conflicts)}
		}
		equal := o != nil && v != nil && o.Status == v.Status && slices.Equal(d.Oracle.Conflicts, d.View.Conflicts)
		c.add(d, equal)
	})
}

// Quarantine compares the oracle's rejections with the quarantine rows, both sides sorted by partition, offset.
func (c *Collector) Quarantine(oracle, stored iter.Seq2[Rejected, error]) error {
	return merge(oracle, stored, OrderRejected, func(o, v *Rejected) {
		d := Difference{Family: FamilyQuarantine, Oracle: rejectedValue(o), View: rejectedValue(v)}
		for _, r := range []*Rejected{o, v} {
			if r != nil {
				d.Partition, d.Offset = &r.Partition, &r.Offset
			}
		}
		c.add(d, o != nil && v != nil && *o == *v)
	})
}

// Conflicts compares every revision for which the history holds distinct payloads, ambiguous or superseded, with the
// conflict rows, both sides sorted by the bytes of item, location, txn_id, then revision.
func (c *Collector) Conflicts(oracle, stored iter.Seq2[projection.Conflict, error]) error {
	return merge(oracle, stored, OrderConflict, func(o, v *projection.Conflict) {
		d := Difference{Family: FamilyConflict}
		for _, r := range []*projection.Conflict{o, v} {
			if r != nil {
				d.Item, d.Location, d.TxnID, d.Revision = r.Item, r.Location, r.TxnID, r.Revision
			}
		}
		if o != nil {
			d.Oracle = &Value{Recorded: true}
		}
		if v != nil {
			d.View = &Value{Recorded: true}
		}
		c.add(d, o != nil && v != nil)
	})
}

// OrderRejected sorts rejected records by partition, offset.
func OrderRejected(a, b Rejected) int {
	return OrderCoordinates(a.Partition, a.Offset, b.Partition, b.Offset)
}

// OrderCoordinates compares two records' coordinates by partition, then offset.
func OrderCoordinates(partition int32, offset int64, otherPartition int32, otherOffset int64) int {
	return cmp.Or(cmp.Compare(partition, otherPartition), cmp.Compare(offset, otherOffset))
}

// OrderConflict sorts conflicts by the bytes of item, location, txn_id, then revision.
func OrderConflict(a, b projection.Conflict) int {
	return cmp.Or(orderKey(a.Item, a.Location, b.Item, b.Location),
		strings.Compare(a.TxnID, b.TxnID), cmp.Compare(a.Revision, b.Revision))
}

// business counts a balance or alert, unless nothing can certify its key.
func (c *Collector) business(d Difference, equal bool) {
	if c.uncertified[Key{d.Item, d.Location}] {
		if d.View != nil {
			c.tallies[d.Family].Uncertified++
			if f := c.followed[Key{d.Item, d.Location}]; f != nil {
				f.Uncertified++
			}
		}
		return
	}
	c.add(d, equal)
}

// add counts one compared fact and lists it where it differs.
func (c *Collector) add(d Difference, equal bool) {
	t := c.count(&d, equal)
	if equal {
		return
	}
	d.Kind = kindOf(&d)
	if c.limit == 0 || t.Differences() <= int64(c.limit) {
		c.listed = append(c.listed, d)
	}
}

// count counts one compared fact and returns the tally of its family.
func (c *Collector) count(d *Difference, equal bool) *Tally {
	t := c.tallies[d.Family]
	t.count(d, equal)
	if f := c.followed[Key{d.Item, d.Location}]; f != nil {
		f.count(d, equal)
	}
	return t
}

// kindOf is the kind of a difference.
func kindOf(d *Difference) Kind {
	switch {
	case d.Family == FamilyQuarantine || d.Family == FamilyConflict || d.Family == FamilyGuard:
		return Evidence
	case d.Oracle == nil:
		return Extra
	case d.View == nil:
		return Missing
	default:
		return Changed
	}
}

// count counts one compared fact.
func (t *Tally) count(d *Difference, equal bool) {
	if d.Oracle != nil {
		t.Oracle++
	}
	if d.View != nil {
		t.View++
	}
	switch {
	case equal:
		t.Equal++
	case d.Oracle == nil:
		t.Extra++
	case d.View == nil:
		t.Missing++
	default:
		t.Changed++
	}
}

// rejectedValue is one side of a quarantine difference.
func rejectedValue(r *Rejected) *Value {
	if r == nil {
		return nil
	}
	return &Value{Reason: r.Reason, TopicID: r.TopicID, Key: &r.Key, Value: &r.Value}
}

// sortedRefs is the reason set in its canonical order: sets are compared, not lists (R10).
func sortedRefs(refs []projection.ConflictRef) []projection.ConflictRef {
	out := slices.Clone(refs)
	slices.SortFunc(out, func(a, b projection.ConflictRef) int {
		return cmp.Or(strings.Compare(a.TxnID, b.TxnID), cmp.Compare(a.Revision, b.Revision))
	})
	return out
}

// orderKey compares two stock keys by bytes.
func orderKey(item, location, otherItem, otherLocation string) int {
	return cmp.Or(strings.Compare(item, otherItem), strings.Compare(location, otherLocation))
}

// orderDay compares two days of stock keys by bytes.
func orderDay(item, location, day, otherItem, otherLocation, otherDay string) int {
	return cmp.Or(orderKey(item, location, otherItem, otherLocation), strings.Compare(day, otherDay))
}
