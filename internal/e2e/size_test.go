package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/pipeline"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/report"
)

// TestB043ThirtyThousandDays: one key with a transaction on each of 30,000 days, then one before all of them, which
// restates every close in one unit of work. The view holds all of it, as the oracle computes it.
func TestB043ThirtyThousandDays(t *testing.T) {
	t.Parallel()
	const days = 30_000
	key := manifests.StockKey{Item: "bolt", Location: "oslo", OpeningBalance: 10}
	b := newBed(t, kafkatest.Real(t), shape{partitions: 1, origin: "1930-01-01T00:00:00Z", keys: []manifests.StockKey{key}})
	first := time.Date(1930, 1, 1, 0, 0, 0, 0, time.UTC)
	on := func(day int, qty int64) *kgo.Record {
		return b.record(transaction{key.Item, key.Location, fmt.Sprint("t", day), 1, "NEW", first.AddDate(0, 0, day).Format(time.DateOnly), qty})
	}
	var records []*kgo.Record
	for day := 1; day <= days; day++ {
		records = append(records, on(day, 1))
	}
	b.cluster.Produce(t, records...)
	b.start()
	b.verify(report.Pass)
	began := time.Now()
	b.cluster.Produce(t, on(0, 1000))
	r := b.verify(report.Pass)
	t.Logf("%d restated closes were in the view and verified after %v", days, time.Since(began))
	if r.Counts.Balances.Equal != days+1 {
		t.Errorf("%d balances agree, want %d", r.Counts.Balances.Equal, days+1)
	}
	if n := b.number(b.view, `SELECT count(*) FROM balance WHERE version = 2 AND close >= 1010`); n != days {
		t.Errorf("%d days are restated in the view, want %d", n, days)
	}
	if n := b.matchesCore(); n.envelopes != 2*days+2 {
		t.Errorf("%s; want %d envelopes", n, 2*days+2)
	}
}

// TestB035TwentyRebalances: a second worker joins and leaves ten times, so that a real group moves partitions twenty times
// while 5,000 records flow. No record is decided twice: every version, status and conflict is what one worker alone
// decides.
func TestB035TwentyRebalances(t *testing.T) {
	t.Parallel()
	b := newBed(t, kafkatest.Real(t), shape{})
	b.maxBatch = 20
	b.start(pipeline.Relay, pipeline.View)
	flow := b.flow()
	b.start(pipeline.Worker)
	flow.until("the first worker to own all partitions", func() bool { return b.owners() == 1 })
	for round := range 10 {
		_, stop := b.pipeline(pipeline.Worker)
		flow.until(fmt.Sprintf("both workers to own partitions, round %d", round), func() bool { return b.owners() == 2 })
		stop()
		flow.until(fmt.Sprintf("one worker to own all partitions, round %d", round), func() bool { return b.owners() == 1 })
	}
	for flow.published < 5_000 {
		flow.until("5,000 records to be published", func() bool { return true })
	}
	r := b.verify(report.Pass)
	n := b.matchesCore()
	if n.records != flow.published || r.Counts.Records != int64(n.records) || n.rejected != 0 || n.repeats != 0 {
		t.Errorf("%s; %d were published, verify counted %d", n, flow.published, r.Counts.Records)
	}
	if conflicts := b.number(b.state, `SELECT count(*) FROM conflict`); conflicts != 0 {
		t.Errorf("%d conflicts were found", conflicts)
	}
	if epochs := b.number(b.state, `SELECT sum(epoch)::bigint FROM partition_state`); epochs < 4+20 {
		t.Errorf("epochs add up to %d: partitions moved without a new one", epochs)
	}
}
