package e2e_test

import (
	"testing"
	"time"

	"amends.dev/amends/internal/pipeline"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/report"
)

// TestBrokerRestarted: the real broker is killed under all stages in the middle of a history. They show that they stand
// still; once it is back they go on by themselves, and nothing is lost or decided twice (SC19, R36).
func TestBrokerRestarted(t *testing.T) {
	t.Parallel()
	server := kafkatest.StartServer(t)
	b := newBed(t, &server.Cluster, shape{})
	b.maxBatch, b.deliveryTimeout = 20, 3*time.Second
	const records = 3_000
	server.Produce(t, b.generated(options(records))...)
	b.exec(b.state, `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.2); RETURN NULL; END $$`)
	b.exec(b.state, `CREATE TRIGGER slow AFTER INSERT ON outbox FOR EACH STATEMENT EXECUTE FUNCTION slow()`)
	p, _ := b.pipeline()
	b.eventually("all stages to be at work", func() bool {
		return b.number(b.view, `SELECT count(*) FROM view_progress WHERE next_offset > 0`) > 0 && p.Fault() == nil
	})
	server.Kill(t)
	if decided := sum(b.frontiers()); decided == 0 || decided >= records {
		t.Fatalf("the broker was killed after %d records", decided)
	}
	for _, stage := range pipeline.All() {
		b.eventually("the "+stage+" to show that it stands still", func() bool { return stalled(p, stage) })
	}
	b.exec(b.state, `DROP TRIGGER slow ON outbox`)
	server.Restart(t)
	r := b.verify(report.Pass)
	b.eventually("no stage to stand still", func() bool { return p.Fault() == nil })
	n := b.matchesCore()
	if n.records != records || r.Counts.Records != records || n.rejected != 0 {
		t.Errorf("%s; verify counted %d", n, r.Counts.Records)
	}
	t.Log(n)
}

// stalled reports whether any part of a stage shows a stall.
func stalled(p *pipeline.Pipeline, stage string) bool {
	for _, s := range p.Status() {
		if s.Stage == stage && s.Stall != nil {
			return true
		}
	}
	return false
}
