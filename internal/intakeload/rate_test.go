//go:build figure

package intakeload

import (
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/stages/owner"
	ownerpg "amends.dev/amends/stages/owner/postgres"
	"amends.dev/amends/stages/postgres"
)

// measure is how long each rate is measured.
var measure = flag.Duration("measure", 10*time.Second, "how long each rate is measured")

// levels are measured, in this order.
var levels = flag.String("levels", "none,stored,published", "levels to measure, separated by commas")

// TestRates measures, in one run on one server, how many transactions Postgres commits for 50 connections of one row each
// (its own group commit), and how many requests of 50 clients the intake answers at each level, with the latencies.
// Rates on a shared machine prove nothing by themselves, so it needs a build tag:
// go test -tags figure ./internal/intakeload -run TestRates -v -args -measure 10s
func TestRates(t *testing.T) {
	broker := kafkatest.StartServer(t)
	b := newBed(t, &broker.Cluster)
	intake := spawn(t, b.plan())
	b.ready()
	single := b.single(t)
	t.Logf("Postgres, 50 connections, one row of 400 bytes a commit: %d commits in %s", single, *measure)
	var floor int64
	cores := during(func() { floor = b.groups(t) })
	t.Logf("the owner store's rows of 50 requests a commit, one connection: %d requests, %.2f of that; cores: %s",
		floor, float64(floor)/float64(single), cores)
	for level := range strings.SplitSeq(*levels, ",") {
		var count int64
		var all []time.Duration
		commits := b.commits(t)
		cores := during(func() { count, all = b.rate(t, level) })
		t.Logf("%s: %d requests, %.2f of the group commits, %.2f of the single ones; p50 %s, p99 %s", level, count,
			float64(count)/float64(floor), float64(count)/float64(single), quantile(all, 50), quantile(all, 99))
		t.Logf("%s: %d group commits, %d still to be published at the end; cores: %s", level, b.commits(t)-commits, b.pending(), cores)
		start := time.Now()
		b.drained()
		t.Logf("%s: published after another %s", level, time.Since(start).Round(time.Millisecond))
	}
	again := b.groups(t)
	t.Logf("group commits again: %.2f of the first time", float64(again)/float64(floor))
	intake.stop()
}

// commits is how many group commits the intake has done.
func (b *bed) commits(t *testing.T) int64 {
	n, err := strconv.ParseInt(metric(t, b.listen, "amends_intake_group_commits_total"), 10, 64)
	b.must(err)
	return n
}

// parallel is the number of connections and of clients.
const parallel = 50

// everybody runs f in parallel until the time is up, and returns how often it ended and how long each time took.
func everybody(t *testing.T, f func(worker, n int) error) (int64, []time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var all []time.Duration
	var group sync.WaitGroup
	end := time.Now().Add(*measure)
	for worker := range parallel {
		group.Go(func() {
			var mine []time.Duration
			for n := 0; time.Now().Before(end); n++ {
				start := time.Now()
				if err := f(worker, n); err != nil {
					t.Error(err)
					break
				}
				mine = append(mine, time.Since(start))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
		})
	}
	group.Wait()
	return int64(len(all)), all
}

// groups is the rate at which the owner store alone makes requests durable, 50 in each commit: what the intake cannot
// exceed with 50 clients and one connection.
func (b *bed) groups(t *testing.T) int64 {
	t.Helper()
	pool, err := postgres.Connect(t.Context(), postgres.Options{URL: b.url, Schema: b.ns.StateSchema(), MaxConns: 2})
	b.must(err)
	defer pool.Close()
	store := ownerpg.New(pool)
	run := time.Now().UnixNano()
	count := int64(0)
	for end := time.Now().Add(*measure); time.Now().Before(end); {
		var units []owner.Commit
		for range parallel {
			count++
			name := fmt.Sprintf("floor/%d/%d", run, count)
			value := owner.Payload{SchemaVersion: 1, CodecVersion: 1, Bytes: make([]byte, 400)}
			units = append(units, owner.Commit{
				OwnerID: name, Create: &owner.Config{Mode: owner.EventHistory}, Inbox: owner.Inbox{ID: "request", Fingerprint: make([]byte, 32)},
				Append: []owner.Payload{value}, Effects: []owner.Effect{{ID: name, Payload: value}},
			})
		}
		if _, err := store.Commit(t.Context(), units...); err != nil {
			t.Fatal(err)
		}
	}
	return count
}

// single is the rate of plain commits of one row.
func (b *bed) single(t *testing.T) int64 {
	t.Helper()
	config, err := pgxpool.ParseConfig(b.url)
	b.must(err)
	config.MaxConns, config.MinConns = parallel, parallel
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	b.must(err)
	defer pool.Close()
	_, err = pool.Exec(t.Context(), `CREATE TABLE IF NOT EXISTS public.single (id bigserial PRIMARY KEY, bytes bytea NOT NULL)`)
	b.must(err)
	row := make([]byte, 400)
	count, _ := everybody(t, func(_, _ int) error {
		_, err := pool.Exec(t.Context(), `INSERT INTO public.single (bytes) VALUES ($1)`, row)
		return err
	})
	return count
}
