package postgres

import (
	"bytes"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/relay/relaytest"
)

// TestRelayStore runs the scenarios of every outbox over Postgres.
func TestRelayStore(t *testing.T) {
	mark.Expect(t, "R19 begins inside a packed row")
	relaytest.Suite(t, openOutbox)
}

func openOutbox(t *testing.T) relaytest.Harness {
	t.Helper()
	url := pg.New(t)
	ns := testNamespace("demo", relaytest.SourcePartitions)
	if err := inTx(t, open(t, url, ""), func(tx pgx.Tx) error { return CreateNamespace(t.Context(), tx, ns) }); err != nil {
		t.Fatal(err)
	}
	pool := open(t, url, StateSchema(ns.Name))
	store := NewRelayStore(pool)
	return relaytest.Harness{
		Outbox: store, Lister: store,
		Prepare: func(t *testing.T, partition int32, messages []broker.Message) func() {
			t.Helper()
			tx, err := pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			writeOutbox(t, tx, partition, messages)
			return func() {
				if err := tx.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		},
		// The lease expires by the database's clock, which no test moves: its end is moved instead.
		Elapse: func(t *testing.T, d time.Duration) {
			t.Helper()
			const sql = `UPDATE relay_lease SET expires_at = expires_at - $1::bigint * interval '1 microsecond'`
			if _, err := pool.Exec(t.Context(), sql, d.Microseconds()); err != nil {
				t.Fatal(err)
			}
		},
	}
}

// writeOutbox writes one packed row as the worker's unit of work does: under the partition's lock.
func writeOutbox(t *testing.T, tx pgx.Tx, partition int32, messages []broker.Message) {
	t.Helper()
	row := packed{count: int32(len(messages))}
	for _, m := range messages {
		row.frames = appendFrame(row.frames, Frame{Key: m.Key, Value: m.Value, Headers: m.Headers})
	}
	err := tx.QueryRow(t.Context(), `UPDATE partition_state SET outbox_next = outbox_next + $2::integer WHERE partition = $1
		RETURNING outbox_next - $2::integer`, partition, row.count).Scan(&row.first)
	if err != nil {
		t.Fatal(err)
	}
	const insert = `INSERT INTO outbox (partition, first_seq, count, frames) VALUES ($1, $2, $3, $4)`
	if _, err = tx.Exec(t.Context(), insert, partition, row.first, row.count, row.frames); err != nil {
		t.Fatal(err)
	}
}

// TestPendingIsBoundedInBytes: what one reading holds in memory has a bound, however large the messages are. Ten rows of
// 4 MiB take two readings, and nothing is left out between them.
func TestPendingIsBoundedInBytes(t *testing.T) {
	const rows, size = 10, 4 << 20
	h := openOutbox(t)
	for i := range rows {
		h.Prepare(t, 0, []broker.Message{{Key: []byte("k"), Value: bytes.Repeat([]byte{byte(i)}, size)}})()
	}
	next := int64(1)
	var readings []int
	for next <= rows {
		envelopes, err := h.Outbox.Pending(t.Context(), 0, next, 1000)
		if err != nil || len(envelopes) == 0 {
			t.Fatalf("%d envelopes from %d, %v", len(envelopes), next, err)
		}
		for _, e := range envelopes {
			if e.Seq != next || len(e.Value) != size || e.Value[0] != byte(next-1) {
				t.Fatalf("sequence %d where %d was expected", e.Seq, next)
			}
			next++
		}
		readings = append(readings, len(envelopes))
	}
	if len(readings) != 2 {
		t.Errorf("readings of %v envelopes", readings)
	}
}
