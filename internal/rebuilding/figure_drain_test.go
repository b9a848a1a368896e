//go:build figure

package rebuilding_test

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/stages/postgres"
)

// drain runs the relay until everything is published, and then the view until everything is in it, and says what each took.
func (f *figure) drain(applied *postgres.Applied) string {
	f.t.Helper()
	err := pgx.BeginFunc(f.t.Context(), f.catalog, func(tx pgx.Tx) error {
		return postgres.CreateView(f.t.Context(), tx, applied.Namespace, applied.NamespaceDigest, applied.OutputTopicID)
	})
	if err != nil {
		f.t.Fatal(err)
	}
	const pending = `SELECT count(*) FROM partition_state JOIN relay_state USING (partition) WHERE sent_through < outbox_next`
	relay := f.until(applied, pipeline.Relay, applied.StateSchema, func(ctx context.Context, pool *postgres.Pool) (done bool, err error) {
		var n int64
		err = pool.QueryRow(ctx, pending).Scan(&n)
		return n == 0, err
	})
	state := f.pool(applied.StateSchema, 1)
	defer state.Close()
	var outputs int64
	if err := state.QueryRow(f.t.Context(), `SELECT sum(outbox_next - 1)::bigint FROM partition_state`).Scan(&outputs); err != nil {
		f.t.Fatal(err)
	}
	view := f.until(applied, pipeline.View, applied.ViewSchema, func(ctx context.Context, pool *postgres.Pool) (done bool, err error) {
		var n int64
		err = pool.QueryRow(ctx, `SELECT coalesce(sum(applied + ignored), 0)::bigint FROM view_progress`).Scan(&n)
		return n >= outputs, err
	})
	return fmt.Sprintf("relay %.2f s, view %.2f s, of %d outputs", relay.Seconds(), view.Seconds(), outputs)
}

// until runs one stage until it has done its work.
func (f *figure) until(applied *postgres.Applied, stage, schema string, finished func(context.Context, *postgres.Pool) (bool, error)) time.Duration {
	f.t.Helper()
	pool := f.pool(schema, 1)
	defer pool.Close()
	f.settle()
	began := time.Now()
	p, err := pipeline.New(f.t.Context(), pipeline.Options{
		Applied: applied, StateURL: f.url, ViewURL: f.url, Kafka: f.kafka, Holder: applied.Name, Stages: []string{stage},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	running, stop := context.WithCancel(f.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(running)
	}()
	defer func() { stop(); <-ended }()
	for {
		done, err := finished(f.t.Context(), pool)
		if err != nil {
			f.t.Fatal(err)
		}
		if done {
			return time.Since(began)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
