package conformance

import (
	"bytes"
	"iter"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/ledger/simulate"
)

// simulated runs the worker's pure core over the records of a variant. The trace is every envelope byte for byte, one a
// line.
func simulated(ns *manifests.Namespace, v *Variant) (o *observed, trace []byte, err error) {
	records, err := v.history(ns)
	if err != nil {
		return nil, nil, err
	}
	result, err := simulate.Run(ledger.NewConfig(ns, simulate.TopicID), records.ledger())
	if err != nil {
		return nil, nil, err
	}
	o = &observed{outOfDomain: nil, envelopes: make([][]Envelope, ns.Spec.Source.Partitions), stops: []Stop{}}
	var text bytes.Buffer
	for _, published := range result.Envelopes {
		text.Write(published.Value)
		text.WriteByte('\n')
		e, partition, err := readEnvelope(ns, published.Value)
		if err != nil {
			return nil, nil, err
		}
		o.envelopes[partition] = append(o.envelopes[partition], e)
	}
	o.take(&result.Projection, &result.Uncertified)
	if s := result.Stopped; s != nil {
		o.stops = append(o.stops, Stop{Stage: stageWorker, Partition: s.Partition, Offset: s.Offset, Reason: s.Reason})
	}
	return o, text.Bytes(), nil
}

// take enters a simulation's end state in the oracle's words.
func (o *observed) take(p *simulate.Projection, uncertified *simulate.Facts) {
	o.rows, o.statuses = Facts{Balances: []projection.Balance{}, Alerts: []projection.Alert{}}, []projection.Status{}
	o.superseded, o.rejections = []projection.Conflict{}, []projection.Rejection{}
	for _, facts := range []*simulate.Facts{&p.Facts, uncertified} {
		for _, b := range facts.Balances {
			o.rows.Balances = append(o.rows.Balances, projection.Balance(b))
		}
		for _, a := range facts.Alerts {
			o.rows.Alerts = append(o.rows.Alerts, projection.Alert(a))
		}
	}
	for _, s := range p.Statuses {
		row := projection.Status{Item: s.Item, Location: s.Location, Status: s.Status, Conflicts: []projection.ConflictRef{}}
		for _, c := range s.Conflicts {
			row.Conflicts = append(row.Conflicts, projection.ConflictRef(c))
		}
		o.statuses = append(o.statuses, row)
	}
	for _, c := range p.SupersededConflicts {
		o.superseded = append(o.superseded, projection.Conflict(c))
	}
	for _, r := range p.Rejections {
		o.rejections = append(o.rejections, projection.Rejection{Partition: r.Partition, Offset: r.Offset, Reason: string(r.Reason)})
	}
}

// ledger yields the records as the worker's core takes them.
func (s history) ledger() iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for _, r := range s {
			if !yield(ledger.Record{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value}, nil) {
				return
			}
		}
	}
}
