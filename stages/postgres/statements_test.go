package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/pgserver"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/storetest"
	"amends.dev/amends/stages/worker/workertest"
)

// maxStatements is the bound of issue 3: begin, lock and commit included, a COPY counted as one.
const maxStatements = 14

// startWorker assigns all partitions of a store to one worker.
func startWorker(cfg *ledger.Config, store worker.Store, log *workertest.Log, change func(o *worker.Options)) *worker.Worker {
	member := workertest.NewMember()
	partitions := make([]int32, cfg.Namespace().Spec.Source.Partitions)
	for i := range partitions {
		partitions[i] = int32(i)
	}
	member.Assign("a", 1, partitions...)
	o := worker.Options{
		Config: cfg, Store: store, Opener: log, Membership: member, Now: time.Now, Random: rand.New(rand.NewPCG(1, 1)).Int64N,
		PollWait: time.Millisecond, Idle: time.Nanosecond,
	}
	if change != nil {
		change(&o)
	}
	return worker.New(o)
}

// drainTo steps a worker until every partition is at the end of its log.
func drainTo(t *testing.T, w *worker.Worker, log *workertest.Log) {
	t.Helper()
	for range 200_000 {
		progress, wake, err := w.Step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done := len(w.Status()) > 0
		for _, s := range w.Status() {
			done = done && s.Epoch > 0 && s.Frontier == log.Reach(s.Partition)
		}
		if done {
			return
		}
		if !progress {
			time.Sleep(time.Until(wake))
		}
	}
	t.Fatalf("not drained: %+v", w.Status())
}

// units splits a statement log into transactions; statements outside of any are left out.
func units(statements []string) [][]string {
	var all [][]string
	open := false
	for _, sql := range statements {
		if strings.HasPrefix(sql, "begin") {
			all = append(all, nil)
			open = true
		}
		if open {
			all[len(all)-1] = append(all[len(all)-1], sql)
		}
		if sql == "commit" || sql == "rollback" {
			open = false
		}
	}
	return all
}

// manyRecords appends 2,000 records that fill 400 keys, supersede some revisions and block 100 keys, and then 2,000 that
// resolve, supersede, repeat what was superseded, add, and are malformed: every statement of the worker has work in it.
func manyRecords(cfg *ledger.Config, log *workertest.Log) {
	const keys = 400
	send := func(id int, revision, qty int64, day int) {
		log.Send(cfg, workertest.Txn{
			Key: int32(id % keys), ID: fmt.Sprintf("txn-%08d", id), Revision: revision, Kind: "NEW", Time: workertest.On(day), Qty: qty,
		})
	}
	for i := range 1700 {
		send(i, 1, int64(i%90)-60, 1+i%45)
	}
	for i := range 200 {
		send(200+i, 2, int64(i%70)-40, 1+i%45)
	}
	for i := range 100 {
		send(i, 1, 1000, 1+i%45)
	}
	for i := range 500 {
		send(i%400, 3, int64(i%80)-40, 1+(i+7)%50)
	}
	for i := range 400 {
		send(200+i%200, 1, int64((200+i%200)%90)-60, 1+(200+i%200)%45)
	}
	for i := range 1000 {
		send(10_000+i, 1, -3, 60)
	}
	for range 100 {
		log.Append(0, []byte("k"), []byte("not json"))
	}
}

// TestStatementsPerBatch: at most 14 statements for each committed batch, whatever its size; 2,000 records are one
// transaction (issue 3, test 3).
func TestStatementsPerBatch(t *testing.T) {
	admin := open(t, pg.New(t), "")
	cfg := workertest.Config("statements", 1, 400)
	log := workertest.NewLog()
	manyRecords(cfg, log)
	for _, size := range []int{1, 40, 2000} {
		trace := &recorder{}
		subject := subjectIn(t, admin, cfg, fmt.Sprintf("s%d", size), func(c *pgxpool.Config) { c.ConnConfig.Tracer = trace })
		var before, after string
		lsn := `SELECT pg_current_wal_insert_lsn()::text`
		if err := admin.QueryRow(t.Context(), lsn).Scan(&before); err != nil {
			t.Fatal(err)
		}
		w := startWorker(cfg, subject.Store, log, func(o *worker.Options) {
			o.MaxBatch, o.CacheRows = size, -1 // no cache: every batch has to read everything
		})
		begin := time.Now()
		if size == 1 { // a round trip each is slow; a part of the log says as much
			for range 400 {
				if _, _, err := w.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		} else {
			drainTo(t, w, log)
		}
		elapsed := time.Since(begin)
		if err := admin.QueryRow(t.Context(), lsn).Scan(&after); err != nil {
			t.Fatal(err)
		}
		most := 0
		transactions := units(trace.statements)
		for _, unit := range transactions {
			most = max(most, len(unit))
			if len(unit) > maxStatements || unit[len(unit)-1] != "commit" {
				t.Errorf("batches of %d: %d statements: %q", size, len(unit), unit)
			}
		}
		d := subject.Tables(t)
		records := d.Partitions[0].Accepted + d.Partitions[0].Rejected
		if want := (records + int64(size) - 1) / int64(size); int64(len(transactions)) != want {
			t.Errorf("batches of %d: %d transactions for %d records, want %d", size, len(transactions), records, want)
		}
		if size == 2000 && most < maxStatements {
			t.Errorf("the history is too tame: at most %d statements", most)
		}
		var wal int64
		if err := admin.QueryRow(t.Context(), `SELECT ($1::pg_lsn - $2::pg_lsn)::bigint`, after, before).Scan(&wal); err != nil {
			t.Fatal(err)
		}
		rows := len(d.Authority) + len(d.Evidence) + len(d.Conflicts) + len(d.Days) + len(d.Keys) + len(d.Quarantine)
		t.Logf("batches of %4d: %5d records in %4d transactions, at most %2d statements, %d WAL bytes and %.2f rows a record, %.0f records/s",
			size, records, len(transactions), most, wal/records, float64(rows)/float64(records), float64(records)/elapsed.Seconds())
	}
}

// breaker cuts the connection at one statement of a log, before the server gets it or after it was answered.
type breaker struct {
	recorder
	at    int
	after bool
	hit   bool
}

func (b *breaker) cut(conn *pgx.Conn, after bool) {
	if len(b.statements) == b.at && b.after == after && !b.hit {
		b.hit = true
		_ = conn.PgConn().Conn().Close()
	}
}

func (b *breaker) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	ctx = b.recorder.TraceQueryStart(ctx, conn, data)
	b.cut(conn, false)
	return ctx
}

func (b *breaker) TraceQueryEnd(_ context.Context, conn *pgx.Conn, _ pgx.TraceQueryEndData) {
	b.cut(conn, true)
}

func (b *breaker) TraceCopyFromStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceCopyFromStartData) context.Context {
	ctx = b.recorder.TraceCopyFromStart(ctx, conn, data)
	b.cut(conn, false)
	return ctx
}

func (b *breaker) TraceCopyFromEnd(_ context.Context, conn *pgx.Conn, _ pgx.TraceCopyFromEndData) {
	b.cut(conn, true)
}

// TestB095CrashAtEveryStatement: the process dies at each statement boundary of the unit of work that amends -50 to -30.
// Another one starts from the database: the close is 70 in all runs, and the version went up once.
func TestB095CrashAtEveryStatement(t *testing.T) {
	admin := open(t, pg.New(t), "")
	cfg := workertest.Config("b095", 1, 1)
	issue := workertest.Txn{ID: "issue", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: -50}
	amendment := issue
	amendment.Revision, amendment.Kind, amendment.Qty = 2, "AMEND", -30
	runs := 0
	run := func(at int, after bool) (statements int) {
		runs++
		b := &breaker{at: at, after: after}
		log := workertest.NewLog()
		log.Send(cfg, issue)
		name := fmt.Sprintf("r%d", runs)
		calm := subjectIn(t, admin, cfg, name, nil)
		drainTo(t, startWorker(cfg, calm.Store, log, nil), log)
		log.Send(cfg, amendment)
		pool, err := Connect(t.Context(), Options{URL: admin.Config().ConnString(), Schema: StateSchema(name), MaxConns: 1,
			Configure: func(c *pgxpool.Config) { c.ConnConfig.Tracer = b }})
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Close()
		b.statements = nil
		dying := startWorker(cfg, NewWorkerStore(pool, cfg.SourceTopicID()), log, nil)
		for step := 0; step < 3 && !b.hit; step++ {
			if _, _, err := dying.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if at > 0 && !b.hit {
			t.Fatalf("statement %d was never reached", at)
		}
		drainTo(t, startWorker(cfg, calm.Store, log, nil), log)
		d := calm.Tables(t)
		if len(d.Days) != 1 || d.Days[0].Close != 70 || d.Days[0].BalanceVersion != 2 || len(d.Evidence) != 1 || d.Partitions[0].Accepted != 2 {
			t.Errorf("statement %d, after %v: %+v %+v", at, after, d.Days, d.Partitions)
		}
		return len(b.statements)
	}
	statements := run(0, false)
	if statements < 9 {
		t.Fatalf("only %d statements", statements)
	}
	for at := range statements {
		run(at+1, false)
		run(at+1, true)
	}
	t.Logf("%d crashes", 2*statements)
}

// TestB043ThirtyThousandDays: one backdated record restates 30,000 closes in one transaction.
func TestB043ThirtyThousandDays(t *testing.T) {
	const days = 30_000
	admin := open(t, pg.New(t), "")
	cfg := workertest.Config("b043", 1, 1)
	trace := &recorder{}
	subject := subjectIn(t, admin, cfg, "b043", func(c *pgxpool.Config) { c.ConnConfig.Tracer = trace })
	log := workertest.NewLog()
	for i := range days {
		log.Send(cfg, workertest.Txn{ID: fmt.Sprintf("d%d", i), Revision: 1, Kind: "NEW", Time: workertest.On(2 + i), Qty: 1})
	}
	w := startWorker(cfg, subject.Store, log, nil)
	drainTo(t, w, log)
	envelopes := len(subject.Tables(t).Outbox)
	log.Send(cfg, workertest.Txn{ID: "late", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: 1000})
	trace.statements = nil
	begin := time.Now()
	drainTo(t, w, log)
	elapsed := time.Since(begin)
	transactions := units(trace.statements)
	if len(transactions) != 1 || len(transactions[0]) > maxStatements {
		t.Errorf("%d transactions: %q", len(transactions), transactions)
	}
	d := subject.Tables(t)
	if len(d.Days) != days+1 || len(d.Outbox) != envelopes+days+1 {
		t.Errorf("%d days, %d envelopes", len(d.Days), len(d.Outbox)-envelopes)
	}
	for i, row := range d.Days[1:] {
		if row.Close != 100+1000+int64(i+1) || row.BalanceVersion != 2 {
			t.Fatalf("day %d: %+v", i+2, row)
		}
	}
	t.Logf("30,000 restated days in %v", elapsed)
}

// TestServerKilled: the server is killed in mid-stream and starts again; what was committed is there, and the worker goes
// on by itself to the right end.
func TestServerKilled(t *testing.T) {
	options := pgserver.Options{Dir: t.TempDir(), Port: 54_321} // the port is part of the socket's name
	server := pg.Server(t, options)
	admin := open(t, server.URL("postgres"), "")
	cfg := workertest.Config("killed", 2, 4)
	log := workertest.NewLog()
	log.Mix(cfg, rand.New(rand.NewPCG(3, 3)), 800, workertest.Spread{Keys: 4, Identities: 60, Days: 20})
	subject := subjectIn(t, admin, cfg, "killed", nil)
	w := startWorker(cfg, subject.Store, log, func(o *worker.Options) { o.MaxBatch = 20 })
	for range 20 {
		if _, _, err := w.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	committed := subject.Tables(t)
	pg.Kill(t, options.Dir)
	for range 5 {
		if _, _, err := w.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if s := w.Status(); s[0].Stall == nil && s[1].Stall == nil {
		t.Errorf("no stall is visible: %+v", s)
	}
	pg.Server(t, options)
	after := subject.Tables(t)
	for i, p := range after.Partitions {
		if p.NextOffset < committed.Partitions[i].NextOffset {
			t.Errorf("partition %d lost a commit: %d, then %d", i, committed.Partitions[i].NextOffset, p.NextOffset)
		}
	}
	drainTo(t, w, log)
	memory := workertest.NewStore(2)
	drainTo(t, startWorker(cfg, memory, log, nil), log)
	if diff := storetest.Diff(memory.Tables(), subject.Tables(t)); diff != "" {
		t.Error(diff)
	}
}
