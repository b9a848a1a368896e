//go:build figure

package intakeload

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/submission"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/stages/owner"
	ownerpg "amends.dev/amends/stages/owner/postgres"
	"amends.dev/amends/stages/postgres"
)

// measure is how long each rate is measured.
var measure = flag.Duration("measure", 10*time.Second, "how long each rate is measured")

// TestRates measures, in one run on one server, how many transactions Postgres commits for 50 connections of one row each
// (its own group commit), and how many requests of 50 clients the intake answers at each level, with the latencies.
// Rates on a shared machine prove nothing by themselves, so it needs a build tag:
// go test -tags figure ./internal/intakeload -run TestRates -v -args -measure 10s
func TestRates(t *testing.T) {
	broker := kafkatest.StartServer(t)
	b := newBed(t, &broker.Cluster)
	spawn(t, b.plan())
	b.ready()
	single := b.single(t)
	t.Logf("Postgres, 50 connections, one row of 400 bytes a commit: %d commits in %s", single, *measure)
	floor := b.groups(t)
	t.Logf("the owner store's rows of 50 requests a commit, one connection: %d requests, %.2f of that", floor, float64(floor)/float64(single))
	for _, level := range []string{"none", "stored", "published"} {
		count, all := b.rate(t, level)
		t.Logf("%s: %d requests, %.2f of the group commits, %.2f of the single ones; p50 %s, p99 %s", level, count,
			float64(count)/float64(floor), float64(count)/float64(single), quantile(all, 50), quantile(all, 99))
		b.drained()
	}
	again := b.groups(t)
	t.Logf("group commits again: %.2f of the first time", float64(again)/float64(floor))
}

// parallel is the number of connections and of clients.
const parallel = 50

// during runs f in parallel until the time is up, and returns how often it ended and how long each time took.
func during(t *testing.T, f func(ctx context.Context, worker, n int) error) (int64, []time.Duration) {
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
				if err := f(t.Context(), worker, n); err != nil {
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
	count, _ := during(t, func(ctx context.Context, _, _ int) error {
		_, err := pool.Exec(ctx, `INSERT INTO public.single (bytes) VALUES ($1)`, row)
		return err
	})
	return count
}

// rate is that of the intake at a level.
func (b *bed) rate(t *testing.T, level string) (int64, []time.Duration) {
	t.Helper()
	c := b.client(parallel)
	run := time.Now().UnixNano()
	return during(t, func(ctx context.Context, worker, n int) error {
		id := fmt.Sprintf("%s-%d-%d-%d", level, run, worker, n)
		a, err := c.Send(ctx, submission.Request{ID: id, Transaction: transaction(worker, n), Level: level, MustHave: true})
		if err == nil && a.Status != http.StatusOK && a.Status != http.StatusAccepted {
			err = fmt.Errorf("%s: %+v", id, a)
		}
		return err
	})
}
