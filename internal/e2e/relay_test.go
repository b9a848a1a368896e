package e2e_test

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/pipeline"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/stages/generate"
)

// pending has a worker decide a history and leave everything in the outbox.
func (b *bed) pending(history generate.Options, atLeast int64) {
	b.t.Helper()
	b.cluster.Produce(b.t, b.generated(history)...)
	stop := b.start(pipeline.Worker)
	b.eventually("the worker to decide everything", func() bool {
		return b.number(b.state, `SELECT sum(accepted)::bigint FROM partition_state`) == history.Count
	})
	stop()
	if n := b.number(b.state, `SELECT sum(outbox_next - sent_through)::bigint FROM partition_state JOIN relay_state USING (partition)`); n < atLeast {
		b.t.Fatalf("%d envelopes are pending, want %d", n, atLeast)
	}
}

// TestB054TwoRelaysAtOnce: two relay processes start at once over more than 5,000 pending envelopes of ten keys. One
// publishes, the other one stands by; the first is killed half-way, the second takes over. In the output topic each key's
// envelopes stand in the order in which they were committed, whatever is repeated behind them (S9, R17).
func TestB054TwoRelaysAtOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t, kafkatest.Real(t), shape{keys: demoKeys()[:9]})
	b.deliveryTimeout = 2 * time.Second // and a lease of six
	b.pending(options(2_000), 5_000)
	relays := []*process{b.spawn(plan{Stages: []string{pipeline.Relay}}), b.spawn(plan{Stages: []string{pipeline.Relay}})}
	b.eventually("one relay to publish", func() bool { return b.number(b.state, `SELECT sum(sent_through - 1)::bigint FROM relay_state`) > 0 })
	relays[b.number(b.state, `SELECT right(holder, 1)::integer FROM relay_lease`)-2].Kill() // holders end in 2 and 3
	b.start(pipeline.Worker, pipeline.View)
	r := b.verify(report.Pass)
	if term := b.number(b.state, `SELECT term FROM relay_lease`); term != 2 {
		t.Errorf("the lease is in term %d, want 2: one of two published at a time", term)
	}
	n := b.matchesCore()
	if n.records != 2_000 || r.Counts.Records != 2_000 {
		t.Errorf("%s; verify counted %d", n, r.Counts.Records)
	}
	b.publishedInOrder()
	t.Log(n)
}

// publishedInOrder requires that each key's envelopes were first published in the order in which they were committed.
func (b *bed) publishedInOrder() {
	b.t.Helper()
	want := map[string][][]byte{}
	for _, envelopes := range b.simulate(b.history()).outbox {
		for _, e := range envelopes {
			want[string(e.Key)] = append(want[string(e.Key)], e.Value)
		}
	}
	seen := map[string]bool{}
	for partition, records := range b.published() {
		for _, r := range records {
			if seen[string(r.Value)] {
				continue
			}
			seen[string(r.Value)] = true
			next := want[string(r.Key)]
			if len(next) == 0 || !bytes.Equal(next[0], r.Value) {
				b.t.Fatalf("output partition %d, offset %d: %s is not the next of its key", partition, r.Offset, r.Value)
			}
			want[string(r.Key)] = next[1:]
		}
	}
}

// TestB058BrokerAway: the broker is gone for a while, two minutes where AMENDS_LONG is set, and envelopes are pending. The
// relay's process says so, does not spin, and publishes everything by itself once the broker is back.
func TestB058BrokerAway(t *testing.T) {
	t.Parallel()
	away := 10 * time.Second
	if long() {
		away = 2 * time.Minute
	}
	server := kafkatest.StartServer(t)
	b := newBed(t, &server.Cluster, shape{})
	b.deliveryTimeout = 2 * time.Second
	b.exec(b.state, `CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$`)
	b.exec(b.state, `CREATE TRIGGER hold AFTER INSERT ON outbox FOR EACH STATEMENT EXECUTE FUNCTION hold()`)
	conn, err := b.state.Acquire(t.Context())
	b.must(err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), `SELECT pg_advisory_lock(42)`)
	b.must(err)
	relay := b.spawn(plan{Stages: []string{pipeline.Relay}})
	b.start(pipeline.Worker, pipeline.View)
	server.Produce(t, b.generated(options(500))...)
	b.eventually("a unit of work to wait for the lock", func() bool {
		return b.number(b.state, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) > 0
	})
	b.eventually("the relay to hold the lease", func() bool { return b.number(b.state, `SELECT count(*) FROM relay_lease WHERE term > 0`) == 1 })
	server.Kill(t)
	_, err = conn.Exec(t.Context(), `SELECT pg_advisory_unlock(42)`)
	b.must(err)
	b.exec(b.state, `ALTER TABLE outbox DISABLE TRIGGER hold`)
	b.eventually("the relay to say that it cannot publish", func() bool { return strings.Contains(relay.Log.String(), "publish") })
	before := relay.cpu()
	time.Sleep(away) // nothing is waited for: this is the outage
	spent := relay.cpu() - before
	t.Logf("%v without a broker: the relay's process took %v of processor time", away, spent)
	if spent > away/10 {
		t.Errorf("the relay spun: %v of processor time in %v", spent, away)
	}
	server.Restart(t)
	r := b.verify(report.Pass)
	n := b.matchesCore()
	if n.records != 500 || r.Counts.Records != 500 {
		t.Errorf("%s; verify counted %d", n, r.Counts.Records)
	}
	relay.Stop()
}

// cpu is the processor time that the process has taken, 0 where the system does not say.
func (c *process) cpu() time.Duration {
	c.t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(c.ID()) + "/stat")
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), ") ") // the name may hold anything
	fields := strings.Fields(after)
	var ticks int64
	for _, i := range []int{11, 12} { // utime and stime
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			c.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond // a tick is 10 ms on every Linux that Go knows
}
