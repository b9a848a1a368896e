package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/pipeline"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/stages/generate"
)

// TestWorkerKilled: a worker that is killed in the middle of a batch, in the middle of a transaction, or right after a
// commit leaves whole records behind, and its successor goes on as if nothing had happened (SC18, S8).
func TestWorkerKilled(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, shape{})
		b.maxBatch = 200
		b.start(pipeline.Relay, pipeline.View)
		c.Produce(t, b.generated(options(5_000))...)
		history := b.history()
		worker := []string{pipeline.Worker}

		// The four partitions go on side by side: at the fifth pass one of them has committed before.
		b.spawn(plan{Stages: worker, Kill: workerBeforeCommit, After: 4}).died(workerBeforeCommit)
		first := sum(b.isPrefix(history))
		b.spawn(plan{Stages: worker, Kill: workerAfterCommit, After: 4}).died(workerAfterCommit)
		second := sum(b.isPrefix(history))
		third := b.killInTransaction(func() *process { return b.spawn(plan{Stages: worker}) }, func() int64 { return sum(b.isPrefix(history)) })
		if !(0 < first && first < second && second <= third && third < 5_000) {
			t.Fatalf("frontiers add up to %d, %d, %d after the kills", first, second, third)
		}
		last := b.spawn(plan{Stages: worker})
		r := b.verify(report.Pass)
		last.Stop()
		n := b.matchesCore()
		if n.records != 5_000 || r.Counts.Records != 5_000 || n.rejected != 0 || n.repeats != 0 {
			t.Errorf("%s; verify counted %d", n, r.Counts.Records)
		}
	})
}

// killInTransaction starts a worker and kills it while its unit of work has written nearly everything and not committed:
// a trigger keeps it waiting for a lock. The server notices only later that its client is gone.
func (b *bed) killInTransaction(start func() *process, frontier func() int64) int64 {
	b.t.Helper()
	ctx := b.t.Context()
	b.exec(b.state, `CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$`)
	b.exec(b.state, `CREATE TRIGGER hold AFTER INSERT ON outbox FOR EACH STATEMENT EXECUTE FUNCTION hold()`)
	conn, err := b.state.Acquire(ctx)
	b.must(err)
	defer conn.Release()
	_, err = conn.Exec(ctx, `SELECT pg_advisory_lock(42)`)
	b.must(err)
	worker := start()
	b.eventually("a unit of work to wait for the lock", func() bool {
		return b.number(b.state, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) > 0
	})
	before := frontier()
	worker.Kill()
	if after := frontier(); after != before {
		b.t.Errorf("frontiers moved from %d to %d in a transaction that waits", before, after)
	}
	_, err = conn.Exec(ctx, `SELECT pg_advisory_unlock(42)`)
	b.must(err)
	b.exec(b.state, `DROP TRIGGER hold ON outbox`)
	return before
}

// TestB027KilledAtRandom: 10,000 revisions of 50 identities in one partition, the worker killed wherever it happens to be.
// Frontier and evidence have no gap at any time, and no version is used twice.
func TestB027KilledAtRandom(t *testing.T) {
	const identities, revisions = 50, 200
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		random := rand.New(rand.NewPCG(27, 27))
		keys := []manifests.StockKey{{Item: "bolt", Location: "oslo", OpeningBalance: 500, ReorderThreshold: 400}, {Item: "nut", Location: "oslo"}, {Item: "widget", Location: "berlin"}}
		b := newBed(t, c, shape{partitions: 1, keys: keys})
		b.maxBatch = 50
		b.start(pipeline.Relay, pipeline.View)
		var records []*kgo.Record
		for revision := range int64(revisions) {
			for _, identity := range random.Perm(identities) {
				key := keys[identity%len(keys)]
				records = append(records, b.record(transaction{key.Item, key.Location, fmt.Sprint("t", identity), revision + 1, "AMEND",
					fmt.Sprintf("2026-01-%02d", 1+random.IntN(10)), random.Int64N(200) - 100}))
			}
		}
		c.Produce(t, records...)
		history := b.history()
		for target, round := int64(0), 0; round < 3; round++ {
			target += 1 + random.Int64N(identities*revisions/4)
			worker := b.spawn(plan{Stages: []string{pipeline.Worker}})
			b.eventually(fmt.Sprintf("the frontier to pass %d", target), func() bool {
				return b.number(b.state, `SELECT next_offset FROM partition_state`) >= target
			})
			worker.Kill()
			target = b.evidenceIsContiguous(b.isPrefix(history)[0])
			t.Logf("killed at frontier %d", target)
		}
		b.start(pipeline.Worker)
		r := b.verify(report.Pass)
		b.evidenceIsContiguous(identities * revisions)
		n := b.matchesCore()
		if n.records != identities*revisions || r.Counts.Records != identities*revisions || n.repeats != 0 {
			t.Errorf("%s; verify counted %d", n, r.Counts.Records)
		}
	})
}

// evidenceIsContiguous requires evidence of every record below the frontier of the only partition, where no record
// repeats another, and of no other one. It returns the frontier.
func (b *bed) evidenceIsContiguous(frontier int64) int64 {
	b.t.Helper()
	const sql = `WITH seen AS (SELECT source_offset FROM authority UNION SELECT source_offset FROM evidence UNION SELECT source_offset FROM quarantine) `
	count := b.number(b.state, sql+`SELECT count(*) FROM seen`)
	end := b.number(b.state, sql+`SELECT coalesce(max(source_offset) + 1, 0) FROM seen`)
	if count != frontier || end != frontier {
		b.t.Fatalf("evidence of %d records below %d at frontier %d", count, end, frontier)
	}
	return frontier
}

// TestTwoWorkers: a second worker process joins while records flow, later the first one leaves. Partitions move under
// new epochs; no record is skipped or decided twice (SC19, B027, R16).
func TestTwoWorkers(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, shape{})
		b.maxBatch = 50
		b.start(pipeline.Relay, pipeline.View)
		flow := b.flow()
		first := b.spawn(plan{Stages: []string{pipeline.Worker}})
		flow.until("the first worker to own all partitions", func() bool { return b.owners() == 1 })
		second := b.spawn(plan{Stages: []string{pipeline.Worker}})
		flow.until("both workers to own partitions", func() bool { return b.owners() == 2 })
		moved := b.frontiers()
		flow.until("every partition to move on", func() bool { return b.allPast(moved) })
		first.Stop()
		flow.until("the second worker to own all partitions", func() bool { return b.owners() == 1 })
		moved = b.frontiers()
		flow.until("every partition to move on again", func() bool { return b.allPast(moved) })
		r := b.verify(report.Pass)
		second.Stop()
		n := b.matchesCore()
		if n.records != flow.published || r.Counts.Records != int64(n.records) || n.rejected != 0 || n.repeats != 0 {
			t.Errorf("%s; %d were published, verify counted %d", n, flow.published, r.Counts.Records)
		}
		if epochs := b.number(b.state, `SELECT sum(epoch)::bigint FROM partition_state`); epochs < 4+2+2 {
			t.Errorf("epochs add up to %d: partitions moved without a new one", epochs)
		}
	})
}

// owners counts the members that own partitions, 0 until every partition has an owner.
func (b *bed) owners() int64 {
	b.t.Helper()
	return b.number(b.state, `SELECT CASE WHEN min(epoch) > 0 THEN count(DISTINCT member) ELSE 0 END FROM partition_state`)
}

// frontiers are the worker's, by partition.
func (b *bed) frontiers() []int64 {
	b.t.Helper()
	all := make([]int64, b.ns.Spec.Source.Partitions)
	for partition := range all {
		all[partition] = b.number(b.state, `SELECT next_offset FROM partition_state WHERE partition = $1`, partition)
	}
	return all
}

// allPast reports whether every frontier is beyond a former one.
func (b *bed) allPast(former []int64) bool {
	b.t.Helper()
	for partition, frontier := range b.frontiers() {
		if frontier <= former[partition] {
			return false
		}
	}
	return true
}

// flow publishes a history bit by bit while a test waits.
type flow struct {
	b         *bed
	stream    *generate.Stream
	published int
}

// flow is longer than any test waits.
func (b *bed) flow() *flow {
	b.t.Helper()
	stream, err := generate.NewStream(b.ns, options(30_000))
	b.must(err)
	return &flow{b: b, stream: stream}
}

// until publishes a few records at each look until is holds. Records must not run out: else none flow while partitions
// move.
func (f *flow) until(what string, is func() bool) {
	f.b.t.Helper()
	f.b.eventually(what, func() bool {
		records := f.b.take(f.stream, 15)
		if len(records) == 0 {
			f.b.t.Fatalf("the records ran out in the wait for %s", what)
		}
		f.b.cluster.Produce(f.b.t, records...)
		f.published += len(records)
		return is()
	})
}
