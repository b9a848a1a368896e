package e2e_test

import (
	"testing"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/stages/generate"
)

// options are a generated history of n records with all everyday corrections.
func options(n int64) generate.Options {
	o := generate.Defaults()
	o.Count = n
	return o
}

// TestEndToEnd is the straight path: the product's generator, all stages at work while it publishes, the view in a
// database of its own, PASS.
func TestEndToEnd(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, shape{apart: true})
		b.start()
		const records = 5_000
		published := b.generate(options(records)).Counts
		for _, class := range []generate.Class{generate.New, generate.Amend, generate.Move, generate.Cancel, generate.Backdate} {
			if published[class] == 0 {
				t.Errorf("no record of class %s", class)
			}
		}
		r := b.verify(report.Pass)
		n := b.matchesCore()
		if n.records != records || r.Counts.Records != records || n.rejected != 0 || n.repeats != 0 {
			t.Errorf("%s; verify counted %d", n, r.Counts.Records)
		}
		if r.WritersExcludedBy != "lease" || r.Counts.Balances.Equal == 0 || r.Counts.Alerts.Equal == 0 || r.Counts.Statuses.Equal != int64(len(b.ns.Spec.StockKeys)) {
			t.Errorf("%s", reportText(t, r))
		}
		t.Log(n)
	})
}
