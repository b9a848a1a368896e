//go:build figure

package intakeload

import (
	"flag"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
)

// sustain is how long TestSustained loads the intake, and sample how often it looks.
var (
	sustain = flag.Duration("sustain", time.Minute, "how long the intake is under load")
	sample  = flag.Duration("sample", 5*time.Second, "how often it is looked at meanwhile")
)

// lagSQL is how much of what was accepted is not in the source topic, and for how long the first of it has been waiting, in
// seconds.
const lagSQL = `SELECT count(*), coalesce((SELECT extract(epoch FROM clock_timestamp() - o.created_at)
	FROM (SELECT owner_no FROM amends_load.owner_pending WHERE kind = 'intake-publish' ORDER BY seq LIMIT 1) p
	JOIN amends_load.owner o USING (owner_no)), 0)::float8
	FROM amends_load.owner_pending WHERE kind = 'intake-publish'`

// TestSustained loads the intake with 50 clients for as long as asked, and shows whether what was accepted is published as
// fast as it is accepted: go test -tags figure ./internal/intakeload -run TestSustained -v -args -sustain 60s
func TestSustained(t *testing.T) {
	broker := kafkatest.StartServer(t)
	b := newBed(t, &broker.Cluster)
	intake := spawn(t, b.plan())
	b.ready()
	conn, err := pgx.Connect(t.Context(), b.url)
	b.must(err)
	clients := b.wires(parallel)
	var sent atomic.Int64
	*measure = *sustain
	done := make(chan []time.Duration)
	go func() {
		_, latency := everybody(t, func(worker, n int) error {
			defer sent.Add(1)
			return clients[worker].send(fmt.Sprintf("sustained-%d-%d", worker, n), transaction(worker, n), "stored")
		})
		done <- latency
	}()
	before, published := int64(0), int64(0)
	for start, ended := time.Now(), false; !ended; {
		select {
		case latency := <-done:
			t.Logf("p50 %s, p99 %s, longest %s", quantile(latency, 50), quantile(latency, 99), quantile(latency, 100))
			ended = true
		case <-time.After(*sample):
		}
		var pending int64
		var lag float64
		b.must(conn.QueryRow(t.Context(), lagSQL).Scan(&pending, &lag))
		now := sent.Load()
		t.Logf("after %s: %d accepted, %d of them since; %d published since; %d not yet, the first for %.2f s",
			time.Since(start).Round(time.Second), now, now-before, now-pending-published, pending, lag)
		before, published = now, now-pending
	}
	b.must(conn.Close(t.Context()))
	start := time.Now()
	b.drained()
	t.Logf("all of %d published after another %s", sent.Load(), time.Since(start).Round(time.Millisecond))
	intake.Stop()
}
