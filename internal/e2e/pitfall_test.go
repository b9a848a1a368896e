package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/pipeline"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/stages/ledger"
)

// oneKey is a namespace of one partition and one key.
func oneKey() shape {
	return shape{partitions: 1, keys: []manifests.StockKey{{Item: "widget", Location: "berlin", OpeningBalance: 100, ReorderThreshold: 60}}}
}

// issues publishes the transactions from to to (exclusive) of the only key.
func (b *bed) issues(from, to int) {
	b.t.Helper()
	var txs []transaction
	for i := from; i < to; i++ {
		txs = append(txs, transaction{"widget", "berlin", fmt.Sprint("t", i), 1, "NEW", fmt.Sprintf("2026-01-%02d", 1+i%28), int64(i%9) - 4})
	}
	b.produce(txs...)
}

// frontier is that of the only partition.
func (b *bed) frontier() int64 {
	b.t.Helper()
	return b.number(b.state, `SELECT next_offset FROM partition_state`)
}

// TestB013FailedBatchIsReadAgain: the first units of work die in the database with a session that an administrator ended;
// the reader of the log stands behind them by then.
func TestB013FailedBatchIsReadAgain(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, oneKey())
		b.exec(b.state, `CREATE SEQUENCE units`) // counts on through a rollback
		b.exec(b.state, `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('units') <= 2 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END $$`)
		b.exec(b.state, `CREATE TRIGGER fail AFTER INSERT ON outbox FOR EACH STATEMENT EXECUTE FUNCTION fail()`)
		b.issues(0, 500)
		b.start()
		r := b.verify(report.Pass)
		n := b.matchesCore()
		if failures := b.number(b.state, `SELECT last_value FROM units`); failures < 3 {
			t.Errorf("only %d units of work", failures)
		}
		if n.records != 500 || n.accepted != 500 || r.Counts.Records != 500 || b.number(b.state, `SELECT count(*) FROM authority`) != 500 {
			t.Errorf("%s; verify counted %d", n, r.Counts.Records)
		}
	})
}

// TestB014B016GroupOffsetDecidesNothing: the group of a namespace that has processed nothing has a committed offset of
// another tool, behind the end; every record is processed from the retained start on.
func TestB014B016GroupOffsetDecidesNothing(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, oneKey())
		b.issues(0, 60)
		var offsets kadm.Offsets
		offsets.AddOffset(b.ns.Spec.Source.Topic, 0, 50, -1)
		b.must(c.Admin(t).CommitAllOffsets(t.Context(), pipeline.GroupName(b.ns.Name), offsets))
		b.start()
		r := b.verify(report.Pass)
		first := b.number(b.state, `SELECT min(source_offset) FROM authority`)
		if n := b.matchesCore(); n.records != 60 || n.accepted != 60 || r.Counts.Records != 60 || first != 0 {
			t.Errorf("%s; verify counted %d, the first record in evidence is %d", n, r.Counts.Records, first)
		}
	})
}

// TestB008HistoryGoneBelowTheFrontier: the log begins above the frontier when the worker comes back: it stands still
// rather than go on from what is left, and the boundary cannot be reached.
func TestB008HistoryGoneBelowTheFrontier(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, oneKey())
		stop := b.start()
		b.issues(0, 3)
		b.verify(report.Pass)
		stop()
		b.issues(3, 10)
		c.DeleteRecords(t, b.ns.Spec.Source.Topic, 0, 8)
		epoch := b.number(b.state, `SELECT epoch FROM partition_state`)
		b.start(pipeline.Worker)
		b.eventually("the worker to own the partition again", func() bool {
			return b.number(b.state, `SELECT epoch FROM partition_state`) > epoch
		})
		for begin := time.Now(); time.Since(begin) < 2*time.Second; time.Sleep(100 * time.Millisecond) {
			if at := b.frontier(); at != 3 {
				t.Fatalf("the frontier moved to %d", at)
			}
		}
		if n := b.number(b.state, `SELECT count(*) FROM authority WHERE source_offset >= 3`); n != 0 {
			t.Errorf("%d records above the gap were processed", n)
		}
		b.verify(report.Incomplete)
	})
}

// TestB019B020B021BadRecords: null, empty and cut-off values, and keys that are null, empty or another's, are rejected
// each once with evidence; the records around them are applied.
func TestB019B020B021BadRecords(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, oneKey())
		b.start()
		b.issues(0, 40)
		good := b.record(transaction{"widget", "berlin", "never", 1, "NEW", "2026-01-01", -7})
		bad := func(key, value []byte) *kgo.Record {
			return &kgo.Record{Topic: good.Topic, Key: key, Value: value}
		}
		c.Produce(t,
			bad(good.Key, nil), bad(good.Key, []byte{}), bad(good.Key, []byte("null")), bad(good.Key, []byte(`{"txn_id":`)),
			bad(nil, good.Value), bad([]byte{}, good.Value), bad(ledger.BrokerKey("nut", "oslo"), good.Value))
		b.issues(40, 93)
		r := b.verify(report.Exclusions)
		n := b.matchesCore()
		if n.records != 100 || n.accepted != 93 || n.rejected != 7 || len(r.Rejections) != 7 || b.frontier() != 100 {
			t.Errorf("%s; verify lists %d rejections, frontier %d", n, len(r.Rejections), b.frontier())
		}
		nulls := b.number(b.state, `SELECT count(*) FROM quarantine WHERE key IS NULL OR value IS NULL`)
		if rows := b.number(b.state, `SELECT count(*) FROM quarantine`); rows != 7 || nulls != 2 {
			t.Errorf("%d rows, %d with a null", rows, nulls)
		}
	})
}
