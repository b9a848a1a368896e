package postgres

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/storetest"
	"amends.dev/amends/stages/worker/workertest"
)

// swallower lets a statement fail right before the next COMMIT, behind everybody's back.
type swallower struct{ armed bool }

func (s *swallower) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if s.armed && data.SQL == "commit" {
		s.armed = false
		_, _ = conn.PgConn().Exec(ctx, "SELECT 1/0").ReadAll() // the failure is swallowed
	}
	return ctx
}
func (s *swallower) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestB037CommitThatRollsBack: COMMIT of a transaction in which a statement failed is answered ROLLBACK, without an error
// of the server. It is not committed, which is certain, and the worker does the work again.
func TestB037CommitThatRollsBack(t *testing.T) {
	swallow := &swallower{}
	admin := open(t, pg.New(t), "")
	cfg := workertest.Config("b037", 1, 1)
	subject := subjectIn(t, admin, cfg, "b037", func(c *pgxpool.Config) { c.ConnConfig.Tracer = swallow })
	state := storetest.Install(t, subject.Store, 0, "a", 1)
	unit, err := subject.Store.Begin(t.Context(), 0, state.Epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	swallow.armed = true
	err = unit.Commit(t.Context(), storetest.FirstChanges())
	if !errors.Is(err, pgx.ErrTxCommitRollback) || errors.Is(err, worker.ErrUnknownOutcome) || fault.ClassOf(err) == fault.Stop || swallow.armed {
		t.Fatalf("commit: %v", err)
	}
	if d := subject.Tables(t); len(d.Authority)+len(d.Outbox) != 0 || d.Partitions[0].NextOffset != 0 {
		t.Fatalf("partly committed: %+v", d)
	}

	subject = subjectIn(t, admin, cfg, "b037again", func(c *pgxpool.Config) { c.ConnConfig.Tracer = swallow })
	log := workertest.NewLog()
	for i := range 5 {
		log.Send(cfg, workertest.Txn{ID: fmt.Sprint("t", i), Revision: 1, Kind: "NEW", Time: workertest.On(1 + i), Qty: -1})
	}
	w := startWorker(cfg, subject.Store, log, nil)
	swallow.armed = true
	drainTo(t, w, log)
	memory := workertest.NewStore(1)
	drainTo(t, startWorker(cfg, memory, log, nil), log)
	if diff := storetest.Diff(memory.Tables(), subject.Tables(t)); diff != "" || swallow.armed {
		t.Errorf("swallowed %v: %s", !swallow.armed, diff)
	}
}

// TestB039SerializationFailureAtCommit: COMMIT itself is refused with 40001 and 40P01, twice each; the unit of work is
// tried again each time, and what is there in the end is what one undisturbed worker leaves.
func TestB039SerializationFailureAtCommit(t *testing.T) {
	admin := open(t, pg.New(t), "")
	cfg := workertest.Config("b039", 1, 1)
	log := workertest.NewLog()
	log.Send(cfg, workertest.Txn{ID: "t", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: -1})
	memory := workertest.NewStore(1)
	drainTo(t, startWorker(cfg, memory, log, nil), log)
	for i, code := range []string{"40001", "40P01"} {
		name := fmt.Sprint("b039x", i)
		subject := subjectIn(t, admin, cfg, name, nil)
		state := open(t, admin.Config().ConnString(), StateSchema(name))
		sql := `CREATE SEQUENCE commits;
			CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
				IF nextval(''commits'') <= 2 THEN RAISE EXCEPTION ''x'' USING ERRCODE = ''` + code + `''; END IF; RETURN NULL; END';
			CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON authority DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()`
		if _, err := state.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		drainTo(t, startWorker(cfg, subject.Store, log, nil), log)
		var commits int
		if err := state.QueryRow(t.Context(), `SELECT last_value FROM commits`).Scan(&commits); err != nil || commits != 3 {
			t.Errorf("%s: %d commits, want 3 (%v)", code, commits, err)
		}
		if diff := storetest.Diff(memory.Tables(), subject.Tables(t)); diff != "" {
			t.Errorf("%s: %s", code, diff)
		}
	}
}

// TestB034ShutdownInAStalledTransaction: the worker is told to stop while its unit of work waits for a lock in the
// database: it returns at once, the statement is cancelled, nothing of it is there, and the next worker does it.
func TestB034ShutdownInAStalledTransaction(t *testing.T) {
	admin := open(t, pg.New(t), "")
	cfg := workertest.Config("b034", 1, 1)
	subject := subjectIn(t, admin, cfg, "b034", nil)
	state := open(t, admin.Config().ConnString(), StateSchema("b034"))
	holder, err := state.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback(context.Background()) }()
	if _, err := holder.Exec(t.Context(), `LOCK TABLE outbox IN EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	log := workertest.NewLog()
	log.Send(cfg, workertest.Txn{ID: "t", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: -1})
	w := startWorker(cfg, subject.Store, log, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stalled := func() bool {
		const sql = `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
		var n int
		if err := admin.QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Error(err)
		}
		return n > 0
	}
	told := make(chan time.Time, 1)
	go func() {
		for !stalled() && t.Context().Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		told <- time.Now()
		cancel()
	}()
	for ctx.Err() == nil {
		if _, _, err := w.Step(ctx); err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
	}
	w.Close()
	if took := time.Since(<-told); took > worker.DefaultUnitTimeout/4 {
		t.Errorf("stopped after %v", took)
	}
	for deadline := time.Now().Add(worker.DefaultUnitTimeout / 4); stalled(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the statement still waits in the database")
		}
	}
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := subject.Tables(t); len(d.Authority) != 0 || d.Partitions[0].NextOffset != 0 {
		t.Errorf("%+v", d)
	}
	drainTo(t, startWorker(cfg, subject.Store, log, func(o *worker.Options) { o.TakeOver = true }), log)
	if d := subject.Tables(t); len(d.Authority) != 1 || d.Partitions[0].NextOffset != 1 {
		t.Errorf("%+v", d)
	}
}
