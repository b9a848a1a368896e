package conformance

import (
	"fmt"
	"slices"
	"strings"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/stages/ledger"
)

// observed is what one level shows. A nil part is one that the level cannot show; it is not compared.
type observed struct {
	// rows are all business rows, of uncertified keys too unless certifiedOnly says that there are none of them.
	rows          Facts
	certifiedOnly bool
	statuses      []projection.Status
	superseded    []projection.Conflict
	rejections    []projection.Rejection
	outOfDomain   []projection.OutOfDomain
	// envelopes are by source partition.
	envelopes                [][]Envelope
	frontiers, viewFrontiers []int64
	// stops are nil where the level has none, not where none stopped.
	stops []Stop
}

// compare lists what differs from the expectation, nothing where nothing does.
func (o *observed) compare(ns *manifests.Namespace, e *Expectation) []string {
	certified, retained := o.split(e)
	var d differences
	list(&d, "balances", e.Balances, certified.Balances)
	list(&d, "alerts", e.Alerts, certified.Alerts)
	list(&d, "statuses", e.Statuses, o.statuses)
	list(&d, "supersededConflicts", e.SupersededConflicts, o.superseded)
	list(&d, "rejections", e.Rejections, o.rejections)
	list(&d, "outOfDomain", e.OutOfDomain, o.outOfDomain)
	if e.Retained != nil && !o.certifiedOnly {
		list(&d, "retained.balances", e.Retained.Balances, retained.Balances)
		list(&d, "retained.alerts", e.Retained.Alerts, retained.Alerts)
	}
	list(&d, "frontiers", e.Frontiers, o.frontiers)
	list(&d, "viewFrontiers", e.ViewFrontiers, o.viewFrontiers)
	o.compareEnvelopes(&d, ns, e.Envelopes)
	o.compareStops(&d, e)
	return d
}

// split parts the rows that count from those that are merely shown.
func (o *observed) split(e *Expectation) (certified, retained Facts) {
	uncertified := map[compare.Key]bool{}
	for _, s := range o.statuses {
		if s.Status != "READY" {
			uncertified[compare.Key{Item: s.Item, Location: s.Location}] = true
		}
	}
	for _, day := range e.OutOfDomain {
		uncertified[compare.Key{Item: day.Item, Location: day.Location}] = true
	}
	certified, retained = Facts{Balances: []projection.Balance{}, Alerts: []projection.Alert{}}, Facts{}
	for _, b := range o.rows.Balances {
		if uncertified[compare.Key{Item: b.Item, Location: b.Location}] {
			retained.Balances = append(retained.Balances, b)
		} else {
			certified.Balances = append(certified.Balances, b)
		}
	}
	for _, a := range o.rows.Alerts {
		if uncertified[compare.Key{Item: a.Item, Location: a.Location}] {
			retained.Alerts = append(retained.Alerts, a)
		} else {
			certified.Alerts = append(certified.Alerts, a)
		}
	}
	if retained.Balances == nil {
		retained.Balances = []projection.Balance{}
	}
	if retained.Alerts == nil {
		retained.Alerts = []projection.Alert{}
	}
	return certified, retained
}

// compareEnvelopes compares the order within each source partition: between partitions there is none.
func (o *observed) compareEnvelopes(d *differences, ns *manifests.Namespace, expected []Envelope) {
	if expected == nil || o.envelopes == nil {
		return
	}
	want := make([][]Envelope, len(o.envelopes))
	for _, e := range expected {
		p := ledger.PartitionOf(ledger.BrokerKey(e.OutputID[1], e.OutputID[2]), ns.Spec.Source.Partitions)
		want[p] = append(want[p], e)
	}
	for p := range want {
		for i := range max(len(want[p]), len(o.envelopes[p])) {
			switch {
			case i >= len(o.envelopes[p]):
				d.add("envelope %d of source partition %d: want %v, there is none", i+1, p, want[p][i])
			case i >= len(want[p]):
				d.add("envelope %d of source partition %d: want none, got %v", i+1, p, o.envelopes[p][i])
			case !want[p][i].matches(o.envelopes[p][i]):
				d.add("envelope %d of source partition %d: want %v, got %v", i+1, p, want[p][i], o.envelopes[p][i])
			}
		}
	}
}

// compareStops wants exactly the expected stop. An expectation without one wants none.
func (o *observed) compareStops(d *differences, e *Expectation) {
	if o.stops == nil {
		return
	}
	want := []Stop{}
	if e.Stopped != nil {
		want = append(want, *e.Stopped)
	}
	list(d, "stopped", want, o.stops)
}

// differences are lines for people.
type differences []string

func (d *differences) add(format string, args ...any) { *d = append(*d, fmt.Sprintf(format, args...)) }

// list compares two lists as sets of lines, where both are known; all lists of an expectation have one order.
func list[T any](d *differences, name string, want, got []T) {
	if want == nil || got == nil {
		return
	}
	wanted, found := lines(want), lines(got)
	if slices.Equal(wanted, found) {
		return
	}
	d.add("%s: want [%s], got [%s]", name, strings.Join(wanted, " "), strings.Join(found, " "))
}

func lines[T any](rows []T) []string {
	all := make([]string, len(rows))
	for i, row := range rows {
		all[i] = fmt.Sprintf("%+v", row)
	}
	slices.Sort(all)
	return all
}

// supersededOf are the conflicts that no reason set names.
func supersededOf(all []projection.Conflict, statuses []projection.Status) []projection.Conflict {
	return without(all, ambiguous(statuses))
}

// without leaves out the conflicts that block.
func without(all, blocking []projection.Conflict) []projection.Conflict {
	superseded := []projection.Conflict{}
	for _, c := range all {
		if !slices.Contains(blocking, c) {
			superseded = append(superseded, c)
		}
	}
	return superseded
}

// unmoved reports an error where a stage that had to stand still moved on.
func unmoved(stage string, before, after *observed) error {
	if slices.Equal(before.frontiers, after.frontiers) && slices.Equal(before.viewFrontiers, after.viewFrontiers) {
		return nil
	}
	return fmt.Errorf("the %s went on: frontiers %v and %v, then %v and %v", stage, before.frontiers, before.viewFrontiers,
		after.frontiers, after.viewFrontiers)
}
