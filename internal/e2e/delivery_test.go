package e2e_test

import (
	"testing"
	"time"

	"amends.dev/amends/internal/pipeline"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/report"
)

// TestRelayKilledBeforeMark: what the broker acknowledged and nobody noted is sent again, byte for byte, once the dead
// relay's lease has run out (SC20, R17).
func TestRelayKilledBeforeMark(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, shape{})
		b.deliveryTimeout = 3 * time.Second // and a lease of nine
		c.Produce(t, b.generated(options(1_500))...)
		b.start(pipeline.Worker, pipeline.View)
		b.eventually("the worker to decide everything", func() bool {
			return b.number(b.state, `SELECT sum(accepted)::bigint FROM partition_state`) == 1_500
		})
		b.spawn(plan{Stages: []string{pipeline.Relay}, Kill: relayBeforeMark, After: 2}).died(relayBeforeMark)
		published := 0
		for _, records := range b.published() {
			published += len(records)
		}
		unmarked := published - int(b.number(b.state, `SELECT sum(sent_through - 1)::bigint FROM relay_state`))
		if unmarked == 0 || unmarked == published {
			t.Fatalf("%d of %d messages are not marked", unmarked, published)
		}
		b.exec(b.state, `CREATE TABLE former AS TABLE relay_lease`)
		b.start(pipeline.Relay)
		b.eventually("another relay to hold the lease", func() bool {
			return b.number(b.state, `SELECT term FROM relay_lease`) == 2
		})
		if b.number(b.state, `SELECT count(*) FROM former WHERE expires_at <= clock_timestamp()`) != 1 {
			t.Error("the second relay did not wait out the first one's lease")
		}
		b.verify(report.Pass)
		n := b.matchesCore()
		if n.records != 1_500 || n.repeats != unmarked {
			t.Errorf("%s; want %d repeated", n, unmarked)
		}
		if ignored := b.number(b.view, `SELECT sum(ignored)::bigint FROM view_progress`); ignored != int64(unmarked) {
			t.Errorf("the view ignored %d messages, want %d", ignored, unmarked)
		}
	})
}

// TestViewKilled: a view that is killed before or after a commit shows exactly what its position says, and its
// successor goes on from there (SC21).
func TestViewKilled(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, shape{apart: true})
		const records = 5_000
		c.Produce(t, b.generated(options(records))...)
		b.start(pipeline.Worker, pipeline.Relay)
		b.eventually("the relay to publish everything", func() bool {
			return b.number(b.state, `SELECT sum(accepted)::bigint FROM partition_state`) == 5_000 &&
				b.number(b.state, `SELECT count(*) FROM partition_state JOIN relay_state USING (partition) WHERE outbox_next <> sent_through`) == 0
		})
		positions := []int64{0}
		for _, point := range []string{viewBeforeCommit, viewAfterCommit} {
			// The four partitions go on side by side: at the fifth pass one of them has committed before.
			b.spawn(plan{Stages: []string{pipeline.View}, Kill: point, After: 4}).died(point)
			positions = append(positions, sum(b.viewIsPrefix()))
		}
		b.start(pipeline.View)
		r := b.verify(report.Pass)
		n := b.matchesCore()
		if !(0 < positions[1] && positions[1] < positions[2] && positions[2] <= int64(n.envelopes)) {
			t.Errorf("positions add up to %v of %d after the kills", positions, n.envelopes)
		}
		if n.records != records || r.Counts.Records != records || n.repeats != 0 {
			t.Errorf("%s; verify counted %d", n, r.Counts.Records)
		}
	})
}
