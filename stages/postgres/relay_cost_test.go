package postgres

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/relay"
)

// TestB060DrainDoesNotGrow: 100 pending envelopes take at most three times as long behind 500,000 rows that were sent and
// are retained as they do in an empty outbox. While a session holds an old snapshot open and the positions are rewritten
// all the time, dead versions of them pile up that nobody may remove. What 10,000 rewrites cost is measured, and it is gone
// when the session ends.
func TestB060DrainDoesNotGrow(t *testing.T) {
	const rewrites = 10_000
	url := pg.New(t)
	ns := testNamespace("demo", 1)
	if err := inTx(t, open(t, url, ""), func(tx pgx.Tx) error { return CreateNamespace(t.Context(), tx, ns) }); err != nil {
		t.Fatal(err)
	}
	pool := open(t, url, StateSchema(ns.Name))
	exec := func(sql string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%v\n%s", err, sql)
		}
	}
	exec(`ANALYZE`)
	empty := drainCost(t, pool)
	exec(`INSERT INTO outbox (partition, first_seq, count, frames)
		SELECT 0, outbox_next + n, 1, '\x00' FROM partition_state, generate_series(0, 499999) n WHERE partition = 0`)
	exec(`UPDATE partition_state SET outbox_next = outbox_next + 500000`)
	exec(`UPDATE relay_state SET sent_through = (SELECT outbox_next FROM partition_state WHERE partition = 0)`)
	exec(`ANALYZE outbox`)
	retained := drainCost(t, pool)

	old, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer old.Release()
	for _, sql := range []string{`SET idle_in_transaction_session_timeout = 0`, `BEGIN ISOLATION LEVEL REPEATABLE READ`, `SELECT count(*) FROM relay_state`} {
		if _, err := old.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(fmt.Sprintf(`DO $$ BEGIN FOR i IN 1..%d LOOP
		UPDATE partition_state SET updated_at = now() WHERE partition = 0;
		UPDATE relay_state SET sent_through = sent_through WHERE partition = 0; COMMIT; END LOOP; END $$`, rewrites))
	held := drainCost(t, pool)
	if _, err := old.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	exec(`VACUUM partition_state, relay_state`)
	after := drainCost(t, pool)
	t.Logf("100 envelopes: %v in an empty outbox, %v behind 500,000 rows, %v under an old snapshot and %d rewrites, %v after it",
		empty, retained, held, rewrites, after)
	if slack := 10 * time.Millisecond; retained > 3*empty+slack || after > 3*empty+slack {
		t.Errorf("the drain grew from %v to %v behind retained rows, and %v at the end", empty, retained, after)
	}
}

// drainCost is the time to read and mark 100 pending envelopes in runs of ten, the least of five tries: others use this
// machine too.
func drainCost(t *testing.T, pool *pgxpool.Pool) time.Duration {
	t.Helper()
	store := NewRelayStore(pool)
	grant, err := store.Acquire(t.Context(), "r", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var tries []time.Duration
	for range 5 {
		err := inTx(t, pool, func(tx pgx.Tx) error {
			for range 10 {
				writeOutbox(t, tx, 0, slices.Repeat([]broker.Message{{Key: []byte("k"), Value: []byte("v")}}, 10))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for done := 0; done < 100; done += 10 {
			positions, err := store.Positions(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			envelopes, err := store.Pending(t.Context(), 0, positions[0].Sent, 10)
			if err != nil || len(envelopes) != 10 {
				t.Fatalf("%d envelopes, %v", len(envelopes), err)
			}
			m := relay.Mark{Holder: "r", Term: grant.Term, From: positions[0].Sent, Receipts: make([]relay.Receipt, 10)}
			if err := store.Mark(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		tries = append(tries, time.Since(began))
	}
	return slices.Min(tries)
}
