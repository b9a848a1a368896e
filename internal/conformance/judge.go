package conformance

import (
	"context"
	"fmt"
	"iter"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/oracle/report"
)

// engines are the judges, in the order in which a verification tries them.
func engines() []engine.Engine { return []engine.Engine{arrow.Engine{}, reference.Engine{}} }

// runOracle has every engine compute the records of a variant.
func runOracle(ctx context.Context, ns *manifests.Namespace, v *Variant) ([]string, error) {
	records, err := v.history(ns)
	if err != nil {
		return nil, err
	}
	var d differences
	for _, e := range engines() {
		p, err := e.Compute(ctx, ns, records.engine())
		if err != nil {
			return nil, fmt.Errorf("engine %s: %w", e.Name(), err)
		}
		o := &observed{
			rows: Facts{Balances: p.Balances, Alerts: p.Alerts}, certifiedOnly: true, statuses: p.Statuses,
			superseded: p.SupersededConflicts, rejections: p.Rejections, outOfDomain: p.OutOfDomain,
		}
		for _, line := range o.compare(ns, &v.Expect) {
			d.add("engine %s: %s", e.Name(), line)
		}
		if deserved := report.Decide(deserves(p)); deserved != v.Expect.Verdict && !v.faulty() {
			d.add("engine %s: verdict: want %s, the history deserves %s", e.Name(), v.Expect.Verdict, deserved)
		}
	}
	return d, nil
}

// deserves are the facts of a complete verification that finds no difference.
func deserves(p *projection.Projection) report.Facts {
	f := report.Facts{Complete: true, Failed: len(p.OutOfDomain) > 0, Excluded: len(p.Rejections)+len(p.SupersededConflicts) > 0}
	for _, s := range p.Statuses {
		f.Ambiguous = f.Ambiguous || len(s.Conflicts) > 0
	}
	return f
}

// faulty reports whether the last verdict follows from what happened to the pipeline, not from the history alone.
func (v *Variant) faulty() bool {
	return v.Expect.Verdict == report.Incomplete || v.Expect.Stopped != nil && v.Expect.Stopped.Stage == stageView
}

// engine yields the records as the oracle takes them.
func (s history) engine() engine.History {
	return func(context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			for _, r := range s {
				if !yield(engine.Record{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value}, nil) {
					return
				}
			}
		}
	}
}
