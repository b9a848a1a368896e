package postgres

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/shelltest"
	"amends.dev/amends/stages/worker/storetest"
	"amends.dev/amends/stages/worker/workertest"
)

// cutMode says where a connection breaks around its next COMMIT.
type cutMode int32

const (
	cutNever cutMode = iota
	// cutBefore: COMMIT does not leave this process.
	cutBefore
	// cutDuring: COMMIT is sent, and the connection is gone before the answer.
	cutDuring
	// cutAfter: the server has answered, and the answer is lost.
	cutAfter
)

var errCut = errors.New("connection cut")

// cutter cuts connections at a COMMIT, once for each time that it is armed.
type cutter struct{ mode atomic.Int32 }

func (c *cutter) arm(mode cutMode) { c.mode.Store(int32(mode)) }

func (c *cutter) configure(config *pgxpool.Config) {
	config.ConnConfig.AfterNetConnect = func(_ context.Context, _ *pgconn.Config, conn net.Conn) (net.Conn, error) {
		return &cutConn{Conn: conn, cutter: c}, nil
	}
}

type cutConn struct {
	net.Conn
	cutter *cutter
}

// Write implements net.Conn. pgx sends COMMIT as one simple query.
func (c *cutConn) Write(b []byte) (int, error) {
	if !bytes.Contains(b, []byte("commit\x00")) {
		return c.Conn.Write(b)
	}
	switch cutMode(c.cutter.mode.Swap(int32(cutNever))) {
	case cutBefore:
		_ = c.Close()
		return 0, errCut
	case cutDuring:
		n, err := c.Conn.Write(b)
		_ = c.Close()
		return n, err
	case cutAfter:
		n, err := c.Conn.Write(b)
		if err == nil {
			_, err = c.Read(make([]byte, 1024)) // the answer, which nobody gets to see
		}
		_ = c.Close()
		return n, err
	default:
		return c.Conn.Write(b)
	}
}

// slowCommits makes every commit that writes an outbox row take half a second or more inside the server, whether or not
// it is asked to cancel, as pgx does after a broken connection; then it goes through, or is refused.
func slowCommits(t *testing.T, pool *pgxpool.Pool, refuse bool) {
	t.Helper()
	end := `RETURN NULL;`
	if refuse {
		end = `RAISE EXCEPTION ''refused at commit'';`
	}
	sql := `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
			BEGIN PERFORM pg_sleep(0.5); EXCEPTION WHEN query_canceled THEN PERFORM pg_sleep(0.5); END; ` + end + ` END';
		CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON outbox DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()`
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// TestSC18CommitOutcomes: a commit that certainly did not happen is told from one that may have; the state under the lock
// says which, also where the server is still committing. pgx asks the server to cancel what a broken connection was doing:
// where that request comes before the trigger is at work, a commit under way ends as a rollback (either).
func TestSC18CommitOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		mode                                       cutMode
		refuse, failed, unknown, committed, either bool
	}{
		"never":               {mode: cutNever, committed: true},
		"never, and refused":  {mode: cutNever, refuse: true, failed: true},
		"before":              {mode: cutBefore, failed: true},
		"during":              {mode: cutDuring, failed: true, unknown: true, committed: true, either: true},
		"during, and refused": {mode: cutDuring, refuse: true, failed: true, unknown: true},
		"after":               {mode: cutAfter, failed: true, unknown: true, committed: true},
	} {
		t.Run(name, func(t *testing.T) {
			var cut cutter
			pool := newState(t, 1, cut.configure)
			slowCommits(t, pool, c.refuse)
			store := NewWorkerStore(pool, "topic-id")
			state := storetest.Install(t, store, 0, "a", 1)
			unit, err := store.Begin(t.Context(), 0, state.Epoch, 0)
			if err != nil {
				t.Fatal(err)
			}
			cut.arm(c.mode)
			err = unit.Commit(t.Context(), storetest.FirstChanges())
			if (err != nil) != c.failed || errors.Is(err, worker.ErrUnknownOutcome) != c.unknown {
				t.Errorf("commit: %v", err)
			}
			state, err = store.PartitionState(t.Context(), 0)
			if c.either {
				c.committed = state.NextOffset > 0
			}
			if err != nil || (state.NextOffset > 0) != c.committed {
				t.Errorf("frontier %d, %v", state.NextOffset, err)
			}
			if d := dump(t, pool); (len(d.Authority) > 0) != c.committed || (len(d.Outbox) > 0) != c.committed {
				t.Errorf("partly committed: %+v", d)
			}
		})
	}
}

// TestSC18WorkerOverBrokenConnections: a worker whose connections break around its commits, in turn in every way, ends
// where an undisturbed one does.
func TestSC18WorkerOverBrokenConnections(t *testing.T) {
	var cut cutter
	commits := 0
	admin := open(t, pg.New(t), "")
	shelltest.Compare(t, func(t *testing.T, cfg *ledger.Config) storetest.Subject {
		subject := subjectIn(t, admin, cfg, "cut", cut.configure)
		subject.Store = &workertest.Faulty{Store: subject.Store, Fate: func(op workertest.Op, _ int32) workertest.Fate {
			if op == workertest.OpCommit {
				commits++
				cut.arm(cutMode(commits % 4))
			}
			return workertest.Proceed
		}}
		return subject
	})
	if commits < 40 {
		t.Errorf("only %d commits", commits)
	}
}

// TestCertainlyNotCommitted: answers of the server count, except from a session that it ends.
func TestCertainlyNotCommitted(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "40001"}, true},
		{&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "57P01"}, false},
		{context.DeadlineExceeded, false},
		{net.ErrClosed, false},
	} {
		if got := certainlyNotCommitted(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

// TestCommitDeadline: a commit whose time runs out is of unknown outcome.
func TestCommitDeadline(t *testing.T) {
	mark.Expect(t, "postgres.3 commit of unknown outcome")
	pool := newState(t, 1, nil)
	slowCommits(t, pool, false)
	store := NewWorkerStore(pool, "topic-id")
	state := storetest.Install(t, store, 0, "a", 1)
	unit, err := store.Begin(t.Context(), 0, state.Epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := unit.Commit(ctx, storetest.FirstChanges()); !errors.Is(err, worker.ErrUnknownOutcome) {
		t.Errorf("commit: %v", err)
	}
}
