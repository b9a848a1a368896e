package postgres_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"amends.dev/amends/internal/pgserver"
	"amends.dev/amends/internal/testkit/pg"
	ownerpg "amends.dev/amends/stages/owner/postgres"
	"amends.dev/amends/stages/postgres"
)

// clients is how many senders wait for a commit at once.
const clients = 50

// BenchmarkGroupCommit compares what 50 clients get from the store, whose requests are gathered into groups as the intake
// does, with what 50 clients get from Postgres's own group commit: one row and one COMMIT each, on 50 connections. It
// reports requests a second, and the ratio.
func BenchmarkGroupCommit(b *testing.B) {
	server := pg.Server(b, pgserver.Options{Settings: map[string]string{"max_connections": "100"}})
	admin, err := postgres.Connect(b.Context(), postgres.Options{URL: server.URL("postgres"), Schema: schema, MaxConns: clients + 2})
	if err != nil {
		b.Fatal(err)
	}
	defer admin.Close()
	if err := postgres.Migrate(b.Context(), admin, postgres.KindOwner, schema); err != nil {
		b.Fatal(err)
	}
	if _, err := admin.Exec(b.Context(), `CREATE TABLE floor (id text PRIMARY KEY, body bytea NOT NULL)`); err != nil {
		b.Fatal(err)
	}
	const phase = 3 * time.Second
	body := make([]byte, 300)
	floor := rate(phase, func(ctx context.Context, client, n int) error {
		_, err := admin.Exec(ctx, `INSERT INTO floor VALUES ($1, $2)`, fmt.Sprintf("%d/%d", client, n), body)
		return err
	})
	gathered := newGatherer(ownerpg.New(admin))
	stored := rate(phase, func(ctx context.Context, client, n int) error {
		return gathered.commit(ctx, fmt.Sprintf("%d/%d", client, n))
	})
	gathered.close()
	b.ReportMetric(floor, "floor/s")
	b.ReportMetric(stored, "stored/s")
	b.ReportMetric(stored/floor, "ratio")
	b.ReportMetric(0, "ns/op")
}

// rate runs work on all clients for a while and returns how often it was done, per second.
func rate(phase time.Duration, work func(ctx context.Context, client, n int) error) float64 {
	ctx, cancel := context.WithTimeout(context.Background(), phase)
	defer cancel()
	var done atomic.Int64
	var group sync.WaitGroup
	begin := time.Now()
	for client := range clients {
		group.Go(func() {
			for n := 0; work(ctx, client, n) == nil; n++ {
				done.Add(1)
			}
		})
	}
	group.Wait()
	return float64(done.Load()) / time.Since(begin).Seconds()
}

// inFlight is how many groups are on their way at once: while one waits for the disk, others are decided and written.
const inFlight = 2

// gatherer commits what waits in groups.
type gatherer struct {
	store   *ownerpg.Store
	waiting chan waiter
	running sync.WaitGroup
}

type waiter struct {
	name string
	done chan error
}

func newGatherer(store *ownerpg.Store) *gatherer {
	g := &gatherer{store: store, waiting: make(chan waiter, clients)}
	for range inFlight {
		g.running.Go(g.run)
	}
	return g
}

func (g *gatherer) commit(ctx context.Context, name string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w := waiter{name: name, done: make(chan error, 1)}
	g.waiting <- w
	return <-w.done
}

func (g *gatherer) close() {
	close(g.waiting)
	g.running.Wait()
}

func (g *gatherer) run() {
	for first := range g.waiting {
		all := []waiter{first}
		for more := true; more && len(all) < clients; {
			select {
			case w, open := <-g.waiting:
				if more = open; open {
					all = append(all, w)
				}
			default:
				more = false
			}
		}
		units := group(first.name, 0)
		for _, w := range all {
			one := group(w.name, 1)
			one[0].Effects, one[0].Receipts = one[0].Effects[1:], nil
			one[0].Append[0].Bytes = make([]byte, 300)
			one[0].Effects[0].Payload.Bytes = make([]byte, 300)
			units = append(units, one...)
		}
		_, err := g.store.Commit(context.Background(), units...)
		for _, w := range all {
			w.done <- err
		}
	}
}

// BenchmarkCommit is one group of 50 new owners after the other.
func BenchmarkCommit(b *testing.B) {
	store := ownerpg.New(connect(b, newSchema(b), nil))
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if _, err := store.Commit(b.Context(), group(strconv.Itoa(n), clients)...); err != nil {
			b.Fatal(err)
		}
	}
}
