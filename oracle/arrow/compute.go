package arrow

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/vectorized"
)

// results are the columns that the kernels computed from a ledger.
type results struct {
	namespace  *manifests.Namespace
	ledger     *vectorized.Ledger
	order      *array.Uint32
	revisions  *array.Uint32
	conflicts  *array.Boolean
	highest    *array.Boolean
	activity   *vectorized.Activity
	outOfRange *array.Boolean
	crossings  *array.Boolean
}

// compute runs the kernels over a ledger and projects what they found.
func compute(mem memory.Allocator, ns *manifests.Namespace, l *vectorized.Ledger, rejections []projection.Rejection) *projection.Projection {
	r := results{namespace: ns, ledger: l}
	keys := len(ns.Spec.StockKeys)
	r.order = vectorized.Order(mem, l, keys)
	defer r.order.Release()
	r.revisions = vectorized.Revisions(mem, l, r.order)
	defer r.revisions.Release()
	identities := vectorized.Identities(mem, l, r.order, r.revisions)
	defer identities.Release()
	r.conflicts = vectorized.Conflicts(mem, l, r.order, r.revisions)
	defer r.conflicts.Release()
	r.highest = vectorized.Highest(mem, r.revisions, identities)
	defer r.highest.Release()
	blocked := vectorized.Blocked(mem, l, r.order, r.revisions, r.conflicts, r.highest, keys)
	defer blocked.Release()
	active := vectorized.Active(mem, l, r.order, r.revisions, r.highest, blocked)
	defer active.Release()
	r.fold(mem, active)
	defer r.releaseFold()
	return r.project(rejections)
}

// fold computes closes and crossings from the active rows.
func (r *results) fold(mem memory.Allocator, active *array.Uint32) {
	opening, threshold := balances(mem, r.namespace.Spec.StockKeys)
	defer opening.Release()
	defer threshold.Release()
	days := vectorized.Days(mem, r.ledger.ValidTime)
	defer days.Release()
	r.activity = vectorized.DaySums(mem, r.ledger, days, active)
	r.activity.Close = vectorized.Closes(mem, r.activity.Key, r.activity.Sum, opening)
	r.outOfRange = vectorized.OutOfDomain(mem, r.activity.Close)
	r.crossings = vectorized.Crossings(mem, r.activity, threshold)
}

// releaseFold gives back what fold made.
func (r *results) releaseFold() {
	r.activity.Release()
	r.outOfRange.Release()
	r.crossings.Release()
}

// balances are the configured opening balances and thresholds as columns, one value per key.
func balances(mem memory.Allocator, keys []manifests.StockKey) (opening, threshold *array.Int64) {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	for i := range keys {
		b.Append(keys[i].OpeningBalance)
	}
	opening = b.NewInt64Array()
	for i := range keys {
		b.Append(keys[i].ReorderThreshold)
	}
	return opening, b.NewInt64Array()
}

// project turns the columns into a projection. They are sorted by key, transaction and revision, and by key and day
// already, and keys are numbered in the order of their bytes.
func (r *results) project(rejections []projection.Rejection) *projection.Projection {
	p := &projection.Projection{
		Balances:            []projection.Balance{},
		Alerts:              []projection.Alert{},
		Statuses:            []projection.Status{},
		SupersededConflicts: []projection.Conflict{},
		Rejections:          rejections,
		OutOfDomain:         []projection.OutOfDomain{},
	}
	slices.SortFunc(p.Rejections, func(a, b projection.Rejection) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	r.projectStatuses(p)
	r.projectDays(p)
	return p
}

// projectStatuses walks the runs of revisions: every key that has one has a status (R10).
func (r *results) projectStatuses(p *projection.Projection) {
	last := int32(-1)
	for run := range r.conflicts.Len() {
		row := int(r.order.Value(int(r.revisions.Value(run))))
		index := r.ledger.Key.Value(row)
		key := &r.namespace.Spec.StockKeys[index]
		if index != last {
			last = index
			p.Statuses = append(p.Statuses, projection.Status{
				Item: key.Item, Location: key.Location, Status: "READY", Conflicts: []projection.ConflictRef{},
			})
		}
		if !r.conflicts.Value(run) {
			continue
		}
		txnID, revision := strings.Clone(r.ledger.TxnID.Value(row)), r.ledger.Revision.Value(row)
		if r.highest.Value(run) {
			status := &p.Statuses[len(p.Statuses)-1]
			status.Status = "BLOCKED"
			status.Conflicts = append(status.Conflicts, projection.ConflictRef{TxnID: txnID, Revision: revision})
		} else {
			p.SupersededConflicts = append(p.SupersededConflicts, projection.Conflict{
				Item: key.Item, Location: key.Location, TxnID: txnID, Revision: revision,
			})
		}
	}
}

// projectDays walks the activity days, one key after the other: a key with a day out of domain lists those days and no
// balances and alerts (R09).
func (r *results) projectDays(p *projection.Projection) {
	keys := r.activity.Key.Int32Values()
	for start, end := 0, 0; start < len(keys); start = end {
		fits := true
		for end = start; end < len(keys) && keys[end] == keys[start]; end++ {
			fits = fits && !r.outOfRange.Value(end)
		}
		key := &r.namespace.Spec.StockKeys[keys[start]]
		for i := start; i < end; i++ {
			r.projectDay(p, key, i, fits)
		}
	}
}

// projectDay appends what one activity day contributes.
func (r *results) projectDay(p *projection.Projection, key *manifests.StockKey, i int, fits bool) {
	closing, day := r.activity.Close.Value(i), date(r.activity.Day.Value(i))
	if !fits {
		if r.outOfRange.Value(i) {
			p.OutOfDomain = append(p.OutOfDomain, projection.OutOfDomain{
				Item: key.Item, Location: key.Location, Day: day, Close: closing.BigInt().String(),
			})
		}
		return
	}
	exact := int64(closing.LowBits())
	p.Balances = append(p.Balances, projection.Balance{Item: key.Item, Location: key.Location, Day: day, Close: exact})
	if r.crossings.Value(i) {
		p.Alerts = append(p.Alerts, projection.Alert{
			Item: key.Item, Location: key.Location, Day: day, Close: exact, Threshold: key.ReorderThreshold,
		})
	}
}

// date is a day as YYYY-MM-DD.
func date(day arrow.Date32) string {
	return time.Unix(int64(day)*86_400, 0).UTC().Format(time.DateOnly)
}
