package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/storetest"
	"amends.dev/amends/stages/worker/workertest"
)

// newState creates a namespace in a database of its own and returns a pool on its state.
func newState(t *testing.T, partitions int32, configure func(*pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	url := pg.New(t)
	ns := testNamespace("shop", partitions)
	if err := inTx(t, open(t, url, ""), func(tx pgx.Tx) error { return CreateNamespace(t.Context(), tx, ns) }); err != nil {
		t.Fatal(err)
	}
	pool, err := Connect(t.Context(), Options{URL: url, Schema: StateSchema(ns.Name), Configure: configure})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func TestWorkerStore(t *testing.T) {
	admin := open(t, pg.New(t), "")
	cfg := workertest.Config("store", storetest.Partitions, storetest.KeyCount)
	count := 0
	for _, isolation := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead} {
		t.Run(strings.ReplaceAll(string(isolation), " ", "-"), func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Subject {
				count++
				subject := subjectIn(t, admin, cfg, fmt.Sprintf("s%d", count), nil)
				store, ok := subject.Store.(*WorkerStore)
				if !ok {
					t.Fatalf("not a Postgres store: %T", subject.Store)
				}
				store.isolation = isolation
				return subject
			})
		})
	}
}

// recorder keeps the SQL of everything a connection does; a COPY counts as one statement (issue 3, test 3).
type recorder struct{ statements []string }

func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.statements = append(r.statements, data.SQL)
	return ctx
}
func (r *recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (r *recorder) TraceCopyFromStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceCopyFromStartData) context.Context {
	r.statements = append(r.statements, "COPY "+data.TableName.Sanitize())
	return ctx
}
func (r *recorder) TraceCopyFromEnd(context.Context, *pgx.Conn, pgx.TraceCopyFromEndData) {}

// TestB033LockComesFirst: nothing that may change is read before the lock, in the order that the server sees.
func TestB033LockComesFirst(t *testing.T) {
	log := &recorder{}
	pool := newState(t, 1, func(c *pgxpool.Config) { c.ConnConfig.Tracer = log })
	store := NewWorkerStore(pool, "topic-id")
	state := storetest.Install(t, store, 0, "a", 1)
	log.statements = nil
	unit, err := store.Begin(t.Context(), 0, state.Epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := unit.Keys(t.Context(), []int32{0}); err != nil {
		t.Fatal(err)
	}
	if err := unit.Commit(t.Context(), storetest.FirstChanges()); err != nil {
		t.Fatal(err)
	}
	if len(log.statements) < 3 || log.statements[0] != "begin isolation level read committed" || log.statements[1] != workerLockSQL {
		t.Errorf("got %q", log.statements)
	}
	if !strings.Contains(workerLockSQL, "FOR UPDATE") {
		t.Error("the first statement takes no lock")
	}
}

// TestInfrastructureIsNoQuarantine: a killed session, a serialization failure and a deadlock are faults to try again,
// nothing is written, and the next unit of work goes through (S4).
func TestInfrastructureIsNoQuarantine(t *testing.T) {
	for _, c := range []struct {
		code, sql string
	}{
		{"57P01", `SELECT pg_terminate_backend(pg_backend_pid())`},
		{"40001", `DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$`},
		{"40P01", `DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40P01'; END $$`},
		{"53100", `DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = 'disk_full'; END $$`},
	} {
		t.Run(c.code, func(t *testing.T) {
			pool := newState(t, 1, nil)
			store := NewWorkerStore(pool, "topic-id")
			state := storetest.Install(t, store, 0, "a", 1)
			before := dump(t, pool)
			unit, err := store.Begin(t.Context(), 0, state.Epoch, 0)
			if err != nil {
				t.Fatal(err)
			}
			inner, ok := unit.(*workerUnit)
			if !ok {
				t.Fatal("not a Postgres unit")
			}
			if _, err := inner.tx.Exec(t.Context(), c.sql); sqlState(err) != c.code {
				t.Fatalf("got %v", err)
			}
			err = unit.Commit(t.Context(), storetest.FirstChanges())
			if err == nil || errors.Is(err, worker.ErrUnknownOutcome) || fault.ClassOf(err) != fault.Transient {
				t.Fatalf("class %v: %v", fault.ClassOf(err), err)
			}
			if diff := storetest.Diff(before, dump(t, pool)); diff != "" {
				t.Error(diff)
			}
			unit, err = store.Begin(t.Context(), 0, state.Epoch, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := unit.Commit(t.Context(), storetest.FirstChanges()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestB031RowCounts: the store test of B031 by SQL, counted in the five tables themselves.
func TestB031RowCounts(t *testing.T) {
	pool := newState(t, 1, nil)
	store := NewWorkerStore(pool, "topic-id")
	old := storetest.Install(t, store, 0, "a", 1)
	storetest.Install(t, store, 0, "b", 2)
	_, err := store.Begin(t.Context(), 0, old.Epoch, 0)
	if !errors.Is(err, worker.ErrFenced) {
		t.Fatal(err)
	}
	var rows int
	err = pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM authority) + (SELECT count(*) FROM day_state)
		+ (SELECT count(*) FROM outbox) + (SELECT count(*) FROM quarantine) + (SELECT sum(next_offset) FROM partition_state)`).Scan(&rows)
	if err != nil || rows != 0 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// TestB030IdleSessionFreesTheLock: a frozen owner loses its lock, and what it then tries to commit is refused.
func TestB030IdleSessionFreesTheLock(t *testing.T) {
	first := newState(t, 1, nil)
	frozen, err := Connect(t.Context(), Options{URL: first.Config().ConnString(), Schema: "amends_shop", IdleInTransaction: 300_000_000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(frozen.Close)
	store := NewWorkerStore(first, "topic-id")
	state := storetest.Install(t, store, 0, "a", 1)
	unit, err := NewWorkerStore(frozen, "topic-id").Begin(t.Context(), 0, state.Epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	// The frozen process does nothing; another member waits for the lock, and gets it.
	storetest.Install(t, store, 0, "b", 2)
	err = unit.Commit(t.Context(), storetest.FirstChanges())
	var server *pgconn.PgError
	if err == nil || errors.As(err, &server) && server.Code != "25P03" || errors.Is(err, worker.ErrUnknownOutcome) {
		t.Errorf("commit of a session that the server ended: %v", err)
	}
	if d := dump(t, first); len(d.Authority) != 0 || d.Partitions[0].NextOffset != 0 {
		t.Errorf("written: %+v", d)
	}
}

// TestB030FrozenInsideCopy: an owner that is frozen while it copies rows is not idle to the server, whose timeouts leave it
// alone; the one who waits for its lock gets it all the same.
func TestB030FrozenInsideCopy(t *testing.T) {
	first := newState(t, 1, nil)
	options := Options{URL: first.Config().ConnString(), Schema: "amends_shop", IdleInTransaction: 300 * time.Millisecond}
	pool := func() *pgxpool.Pool {
		p, err := Connect(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		return p
	}
	state := storetest.Install(t, NewWorkerStore(first, "topic-id"), 0, "a", 1)
	unit, err := NewWorkerStore(pool(), "topic-id").Begin(t.Context(), 0, state.Epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	frozen, copied := make(chan struct{}), make(chan error, 1)
	thaw := sync.OnceFunc(func() { close(frozen) })
	defer thaw()
	row := ledger.EvidenceRow{TxnID: strings.Repeat("t", 200), Payload: ledger.Payload{Revision: 1, Kind: ledger.KindNew}}
	go func() {
		rows := 0
		source := pgx.CopyFromFunc(func() ([]any, error) {
			if rows++; rows == 10_000 { // several buffers were sent by now
				<-frozen
				return nil, nil
			}
			v := make([]any, len(evidenceColumns))
			row.SourceOffset, row.Payload.Qty = int64(rows), int64(rows)
			evidenceValues(v, &row)
			return v, nil
		})
		_, err := unit.(*workerUnit).tx.CopyFrom(t.Context(), pgx.Identifier{"evidence"}, evidenceColumns, source)
		copied <- err
	}()
	waiting := NewWorkerStore(pool(), "topic-id")
	tries := 0
	for begin := time.Now(); ; tries++ {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		state, err = waiting.PartitionState(ctx, 0)
		cancel()
		if err == nil {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("the lock is still held: %v", err)
		}
	}
	thaw()
	if err := <-copied; err == nil || state.NextOffset != 0 {
		t.Errorf("copy of a session that was ended: %v; frontier %d", err, state.NextOffset)
	}
	t.Logf("got the lock after %d tries", tries+1)
	unit.Rollback(t.Context())
	if d := dump(t, first); len(d.Evidence) != 0 {
		t.Errorf("written: %d rows", len(d.Evidence))
	}
}

// TestB094NamespacesApart: two namespaces in one process and database share nothing.
func TestB094NamespacesApart(t *testing.T) {
	first := newState(t, 1, nil)
	other := testNamespace("shop-2", 1)
	if err := inTx(t, first, func(tx pgx.Tx) error { return CreateNamespace(t.Context(), tx, other) }); err != nil {
		t.Fatal(err)
	}
	second := open(t, first.Config().ConnString(), StateSchema(other.Name))
	for pool, next := range map[*pgxpool.Pool]int64{first: 10, second: 1000} {
		store := NewWorkerStore(pool, "topic-id")
		state := storetest.Install(t, store, 0, "a", 1)
		unit, err := store.Begin(t.Context(), 0, state.Epoch, 0)
		if err != nil {
			t.Fatal(err)
		}
		changes := storetest.FirstChanges()
		changes.NextOffset = next
		if err := unit.Commit(t.Context(), changes); err != nil {
			t.Fatal(err)
		}
	}
	for pool, next := range map[*pgxpool.Pool]int64{first: 10, second: 1000} {
		d := dump(t, pool)
		if d.Partitions[0].NextOffset != next || len(d.Outbox) != len(storetest.FirstChanges().Envelopes) {
			t.Errorf("want frontier %d: %+v", next, d.Partitions)
		}
	}
}

var _ worker.Unit = (*workerUnit)(nil)
