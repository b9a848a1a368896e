//go:build figure

package intakeload

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/owner"
	ownerpg "amends.dev/amends/stages/owner/postgres"
	"amends.dev/amends/stages/postgres"
)

// floorSQL writes the rows that one stored request leaves behind. One statement commits a fifth more often than five in one
// round trip.
const floorSQL = `WITH
	o AS (INSERT INTO owner (owner_no, owner_id, mode, position, fence) VALUES ($1, $2, $3, 1, $4)),
	e AS (INSERT INTO owner_event (owner_no, position, schema_version, codec_version, bytes) VALUES ($1, 1, 1, 1, $5)),
	i AS (INSERT INTO owner_inbox (owner_no, inbox_id, fingerprint, digest, committed_through, seq) VALUES ($1, $6, $7, $8, 1, $9)),
	f AS (INSERT INTO owner_effect (owner_no, effect_id, accepted_at, schema_version, codec_version, bytes, seq) VALUES ($1, $10, 1, 1, 2, $11, $12))
	INSERT INTO owner_pending (owner_no, effect_id, seq) VALUES ($1, $10, $12)`

// left are the rows that one stored request left behind.
type left struct {
	ownerID, mode, fence, inboxID, effectID string
	event, fingerprint, digest, effect      []byte
}

// left has a request stored and reads its rows.
func (b *bed) left(t *testing.T) left {
	t.Helper()
	id := fmt.Sprintf("stored-%d-%d-%d", time.Now().UnixNano(), 10, 100)
	b.must(b.wires(1)[0].send(id, transaction(10, 100), "stored"))
	conn, err := pgx.Connect(t.Context(), b.url)
	b.must(err)
	defer func() { _ = conn.Close(t.Context()) }()
	var l left
	b.must(conn.QueryRow(t.Context(), `SELECT o.owner_id, o.mode, o.fence::text, i.inbox_id, f.effect_id, e.bytes, i.fingerprint, i.digest, f.bytes
		FROM amends_load.owner o JOIN amends_load.owner_event e USING (owner_no) JOIN amends_load.owner_inbox i USING (owner_no)
		JOIN amends_load.owner_effect f USING (owner_no)
		WHERE o.owner_id = $1 AND e.position = 1 AND i.inbox_id = 'request'`, intake.OwnerID(b.ns.Name, intake.LocalAuthor, id)).
		Scan(&l.ownerID, &l.mode, &l.fence, &l.inboxID, &l.effectID, &l.event, &l.fingerprint, &l.digest, &l.effect))
	return l
}

// another gives an identity another kind and other digits at its end, so that it is one more of the same length. No effect
// of that kind is published.
func another(id string, n int64) string {
	return "single" + id[len("single"):len(id)-12] + fmt.Sprintf("%012d", n)
}

// transactions is the rate at which Postgres makes requests durable for parallel connections, each of which commits the
// rows of one request in a transaction of its own: one prepared statement, one round trip. The flush of the WAL that commits
// of several sessions share is what Postgres calls group commit.
func (b *bed) transactions(t *testing.T) int64 {
	t.Helper()
	rows := b.left(t)
	pool := b.pool(t, parallel)
	defer pool.Close()
	var last int64
	b.must(pool.QueryRow(t.Context(), `SELECT max(owner_no) + 1000000000 FROM owner`).Scan(&last))
	numbers := atomic.Int64{}
	numbers.Store(last)
	conns := make([]*pgxpool.Conn, parallel)
	for i := range conns {
		conn, err := pool.Acquire(t.Context())
		b.must(err)
		conns[i] = conn
	}
	defer func() {
		for _, conn := range conns {
			conn.Release()
		}
	}()
	count, _ := everybody(t, func(worker, _ int) error {
		number := numbers.Add(3) - 2
		_, err := conns[worker].Exec(t.Context(), floorSQL, number, another(rows.ownerID, number), rows.mode, rows.fence, rows.event,
			rows.inboxID, rows.fingerprint, rows.digest, number+1, another(rows.effectID, number), rows.effect, number+2)
		return err
	})
	return count
}

// pool connects to the schema of the owners.
func (b *bed) pool(t *testing.T, conns int32) *postgres.Pool {
	t.Helper()
	pool, err := postgres.Connect(t.Context(), postgres.Options{URL: b.url, Schema: b.ns.StateSchema(), MaxConns: conns})
	b.must(err)
	return pool
}

// groups is the rate at which the owner store alone makes requests durable, 50 in each commit: what the intake cannot
// exceed with 50 clients and one connection.
func (b *bed) groups(t *testing.T) int64 {
	t.Helper()
	pool := b.pool(t, 2)
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

// single is the rate of plain commits of one row, parallel connections.
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
