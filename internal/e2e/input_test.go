package e2e_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"amends.dev/amends/internal/pipeline"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/stages/broker"
)

// TestB026GeneratedInTwoProcesses: the same seed in two processes gives every key the same partition, none misrouted. The
// second run repeats the first byte for byte, so that it changes nothing (SC07).
func TestB026GeneratedInTwoProcesses(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, shape{})
		b.start()
		history := options(1_000)
		b.spawn(plan{Generate: &history}).Finish()
		once := b.history()
		b.spawn(plan{Generate: &history}).Finish()
		twice := b.history()
		partitionOf := map[string]int{}
		for partition, records := range twice {
			if len(records) != 2*len(once[partition]) {
				t.Fatalf("partition %d holds %d records after one run and %d after two", partition, len(once[partition]), len(records))
			}
			for i, r := range records {
				if former := once[partition][i%len(once[partition])]; !bytes.Equal(former.Key, r.Key) || !bytes.Equal(former.Value, r.Value) {
					t.Fatalf("partition %d, offset %d: the runs differ:\n%s\n%s", partition, r.Offset, former.Value, r.Value)
				}
				if other, ok := partitionOf[string(r.Key)]; ok && other != partition {
					t.Fatalf("key %s is in partitions %d and %d", r.Key, other, partition)
				}
				partitionOf[string(r.Key)] = partition
			}
		}
		b.verify(report.Pass)
		n, single := b.matchesCore(), b.simulate(once)
		if n.records != 2_000 || n.rejected != 0 || n.envelopes != len(single.result.Envelopes) {
			t.Errorf("%s; one run alone gives %d envelopes", n, len(single.result.Envelopes))
		}
	})
}

// TestR22VerifyStopsTheGenerator: verify asks the generator to stop and awaits it, and judges what it had published.
func TestR22VerifyStopsTheGenerator(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, shape{})
		b.start()
		endless := options(1_000_000)
		endless.Rate = 500
		type outcome struct {
			generated pipeline.Generated
			err       error
		}
		ended, begun := make(chan outcome, 1), make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
		defer cancel()
		go func() {
			told := false
			g, err := pipeline.Generate(ctx, pipeline.Generation{
				Applied: b.applied, Catalog: b.catalog, Kafka: b.kafka(), Holder: "generate", Options: endless,
				Progress: func(published, _ int64) {
					if published >= 300 && !told {
						told = true
						close(begun)
					}
				},
			})
			ended <- outcome{g, err}
		}()
		select {
		case <-begun:
		case o := <-ended:
			t.Fatalf("the generator ended by itself: %+v", o)
		}
		r := b.verify(report.Pass)
		o := <-ended
		b.must(o.err)
		if !o.generated.Stopped || r.WritersExcludedBy != "lease" || r.Counts.Records != o.generated.Counts.Total() {
			t.Errorf("%+v; verify counted %d records, writers excluded by %q", o.generated, r.Counts.Records, r.WritersExcludedBy)
		}
		b.matchesCore()
	})
}

// TestB025Misrouted: a right record in a wrong partition is rejected there with evidence, and changes no balance.
func TestB025Misrouted(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, shape{})
		b.start()
		b.produce(transaction{"widget", "berlin", "t1", 1, "NEW", "2026-01-02", -50})
		b.verify(report.Pass)
		stray := b.record(transaction{"widget", "berlin", "t2", 1, "NEW", "2026-01-02", -7})
		stray.Partition = (stray.Partition + 1) % b.ns.Spec.Source.Partitions
		offset := c.Produce(t, stray)[0]
		r := b.verify(report.Exclusions)
		if len(r.Rejections) != 1 || r.Rejections[0].Partition != stray.Partition || r.Rejections[0].Offset != offset || r.Rejections[0].Reason != "misrouted_partition" {
			t.Errorf("%+v", r.Rejections)
		}
		kept := b.number(b.state, `SELECT count(*) FROM quarantine WHERE partition = $1 AND source_offset = $2 AND reason = 'misrouted_partition' AND key = $3 AND value = $4`,
			stray.Partition, offset, stray.Key, stray.Value)
		if got := b.number(b.view, `SELECT close FROM balances WHERE item = 'widget'`); got != 50 || kept != 1 {
			t.Errorf("close %d, %d quarantine rows", got, kept)
		}
		if n := b.matchesCore(); n.records != 2 || n.rejected != 1 {
			t.Error(n)
		}
	})
}

// TestB048B050Days: a nanosecond before midnight stays on its day, and a database session far from UTC shifts none. Texts
// that only a database takes for times are rejected by worker and oracle alike.
func TestB048B050Days(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, shape{origin: "2016-01-01T00:00:00Z", keys: []manifests.StockKey{{Item: "nut", Location: "oslo"}}})
		for _, pool := range []string{b.stateURL, b.viewURL} {
			b.exec(b.pool(pool, ""), `DO $$ BEGIN EXECUTE format('ALTER ROLE %I IN DATABASE %I SET timezone = ''America/New_York''', current_user, current_database()); END $$`)
		}
		b.start()
		b.produce(
			transaction{"nut", "oslo", "b048", 1, "NEW", "2021-03-21T23:59:59.9999999Z", -5},
			transaction{"nut", "oslo", "nano", 1, "NEW", "2021-04-21T23:59:59.999999999Z", 1},
			transaction{"nut", "oslo", "b050", 1, "NEW", "2026-01-01T00:00:00Z", 2},
			transaction{"nut", "oslo", "b068", 1, "NEW", "2026-02-01T00:00:00-05:00", 9007199254740993},
		)
		b.verify(report.Pass)
		days := func() string {
			return b.text(b.viewURL, `SELECT string_agg(day::text || ' ' || close, ', ' ORDER BY day) FROM "`+b.ns.ViewSchema()+`".balances`)
		}
		const want = "2021-03-21 -5, 2021-04-21 -4, 2026-01-01 -2, 2026-02-01 9007199254740991"
		if got := days(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if zone := b.text(b.viewURL, `SELECT current_setting('timezone')`); zone != "America/New_York" {
			t.Errorf("a plain session is in zone %s", zone)
		}
		b.produce(
			transaction{"nut", "oslo", "x1", 1, "NEW", "2026-01-01T24:00:00Z", 1},
			transaction{"nut", "oslo", "x2", 1, "NEW", "2016-12-31T23:59:60Z", 1},
			transaction{"nut", "oslo", "x3", 1, "NEW", "infinity", 1},
		)
		r := b.verify(report.Exclusions)
		if len(r.Rejections) != 3 || r.Counts.Quarantine.Equal != 3 {
			t.Errorf("%+v", r.Rejections)
		}
		for _, rejection := range r.Rejections {
			if rejection.Reason != "invalid_valid_time" {
				t.Errorf("%+v", rejection)
			}
		}
		if got := days(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		b.matchesCore()
	})
}

// TestB068Exact: an integer above 2^53 is itself everywhere, and its neighbour is a difference.
func TestB068Exact(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		const exact = "9007199254740993"
		b := newBed(t, c, shape{partitions: 1, keys: []manifests.StockKey{{Item: "nut", Location: "oslo"}}})
		b.start()
		b.produce(transaction{"nut", "oslo", "n1", 1, "NEW", "2026-01-01", 9007199254740993})
		b.verify(report.Pass)
		b.matchesCore()
		for name, got := range map[string]string{
			"authority": b.text(b.stateURL, `SELECT qty::text FROM "`+b.ns.StateSchema()+`".authority`),
			"state":     b.text(b.stateURL, `SELECT close::text FROM "`+b.ns.StateSchema()+`".day_state`),
			"view":      b.text(b.viewURL, `SELECT close::text FROM "`+b.ns.ViewSchema()+`".balances`),
		} {
			if got != exact {
				t.Errorf("%s: %s", name, got)
			}
		}
		if !contains(b.published(), `"close":`+exact+`,`) {
			t.Error("no message states the exact close")
		}
		b.exec(b.view, `UPDATE balance SET close = 9007199254740992`)
		r := b.verify(report.Drift)
		if text := reportText(t, r); r.Counts.Differences != 1 || !strings.Contains(text, "oracle close="+exact+", view close=9007199254740992") {
			t.Error(text)
		}
	})
}

func contains(records [][]broker.Record, text string) bool {
	for _, partition := range records {
		for _, r := range partition {
			if strings.Contains(string(r.Value), text) {
				return true
			}
		}
	}
	return false
}

// TestB085Overflow: the record that cannot be decided stops its partition alone; what is before it is committed, nothing
// of it is (R09, SC27).
func TestB085Overflow(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, shape{partitions: 2, keys: []manifests.StockKey{
			{Item: "bolt", Location: "oslo", OpeningBalance: 9223372036854775800}, {Item: "widget", Location: "berlin"},
		}})
		b.start()
		before := b.produce(
			transaction{"bolt", "oslo", "b1", 1, "NEW", "2026-01-01", 7},
			transaction{"widget", "berlin", "w1", 1, "NEW", "2026-01-01", 1},
		)
		b.verify(report.Pass)
		stopped := b.produce(
			transaction{"bolt", "oslo", "b2", 1, "NEW", "2026-01-02", 10},
			transaction{"bolt", "oslo", "b3", 1, "NEW", "2026-01-03", -10},
			transaction{"widget", "berlin", "w2", 1, "NEW", "2026-01-02", 2},
		)[0]
		if stopped.Partition != before[0].Partition || stopped.Partition == before[1].Partition {
			t.Fatal("the keys are not in partitions of their own")
		}
		r := b.verify(report.Error)
		if len(r.Errors) != 1 || *r.Errors[0].Partition != stopped.Partition || *r.Errors[0].Offset != stopped.Offset {
			t.Errorf("%+v", r.Errors)
		}
		b.eventually("the other partition to go on", func() bool {
			return b.number(b.view, `SELECT count(*) FROM balances WHERE item = 'widget'`) == 2
		})
		frontier := b.number(b.state, `SELECT next_offset FROM partition_state WHERE partition = $1`, stopped.Partition)
		rows := b.number(b.state, `SELECT count(*) FROM day_state d JOIN stock_key k USING (key_id) WHERE k.item = 'bolt'`)
		if frontier != stopped.Offset || rows != 1 || b.number(b.state, `SELECT count(*) FROM quarantine`) != 0 {
			t.Errorf("frontier %d, want %d; %d days", frontier, stopped.Offset, rows)
		}
		if got := b.number(b.view, `SELECT close FROM balances WHERE item = 'bolt'`); got != 9223372036854775807 {
			t.Errorf("close %d", got)
		}
	})
}
