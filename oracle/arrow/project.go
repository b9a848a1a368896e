package arrow

import (
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/projection"
)

// Projection is the result as a projection. Rows are sorted already: keys are numbered in the order of their bytes.
func (r *Result) Projection() *projection.Projection {
	p := &projection.Projection{
		Balances:            []projection.Balance{},
		Alerts:              []projection.Alert{},
		Statuses:            make([]projection.Status, 0, len(r.keys)),
		SupersededConflicts: []projection.Conflict{},
		Rejections:          make([]projection.Rejection, 0, len(r.rejects)),
		OutOfDomain:         []projection.OutOfDomain{},
	}
	days := dates{}
	conflicts := r.conflicts
	for i := range r.keys {
		k := &r.keys[i]
		key := &r.namespace.Spec.StockKeys[k.Key]
		p.Statuses = append(p.Statuses, projection.Status{
			Item: key.Item, Location: key.Location, Status: "READY", Conflicts: []projection.ConflictRef{},
		})
		for len(conflicts) > 0 && conflicts[0].Key == k.Key {
			projectConflict(p, key, &conflicts[0])
			conflicts = conflicts[1:]
		}
		projectCloses(p, key, k, days)
	}
	for _, rejected := range r.rejects {
		p.Rejections = append(p.Rejections, projection.Rejection{
			Partition: rejected.Partition, Offset: rejected.Offset, Reason: string(rejected.Reason),
		})
	}
	return p
}

// projectConflict adds a conflict to the status of its key, the last one, or to the superseded ones (R10).
func projectConflict(p *projection.Projection, key *manifests.StockKey, c *conflict) {
	if !c.Highest {
		p.SupersededConflicts = append(p.SupersededConflicts, projection.Conflict{
			Item: key.Item, Location: key.Location, TxnID: c.TxnID, Revision: c.Revision,
		})
		return
	}
	status := &p.Statuses[len(p.Statuses)-1]
	status.Status = "BLOCKED"
	status.Conflicts = append(status.Conflicts, projection.ConflictRef{TxnID: c.TxnID, Revision: c.Revision})
}

// projectCloses adds the balances and alerts of a key, or its days out of domain (R09).
func projectCloses(p *projection.Projection, key *manifests.StockKey, k *found, days dates) {
	for _, outside := range k.OutOfDomain {
		p.OutOfDomain = append(p.OutOfDomain, projection.OutOfDomain{
			Item: key.Item, Location: key.Location, Day: days.text(outside.Day), Close: outside.Close.String(),
		})
	}
	for at := k.From; at < k.To; at++ {
		day, closing := days.text(k.in.Day[at]), k.in.Close[at]
		p.Balances = append(p.Balances, projection.Balance{Item: key.Item, Location: key.Location, Day: day, Close: closing})
		if k.in.Crossing[at] == 1 {
			p.Alerts = append(p.Alerts, projection.Alert{
				Item: key.Item, Location: key.Location, Day: day, Close: closing, Threshold: key.ReorderThreshold,
			})
		}
	}
}

// dates renders days, each once.
type dates map[int32]string

// text is a day as YYYY-MM-DD.
func (d dates) text(day int32) string {
	text, ok := d[day]
	if !ok {
		text = date(day)
		d[day] = text
	}
	return text
}

// date is a day as YYYY-MM-DD.
func date(day int32) string {
	return time.Unix(int64(day)*86_400, 0).UTC().Format(time.DateOnly)
}
