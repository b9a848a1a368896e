package clitest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/ledger"
)

// longRun asks for the runs that take many minutes.
func longRun() bool { return os.Getenv("AMENDS_LONG") != "" }

// longest is how long one amendsctl may run.
func longest() time.Duration {
	if longRun() {
		return time.Hour
	}
	return 2 * patience
}

// TestRebuildKilled: a rebuild is killed at random moments, in both modes, on a real broker. What it leaves is no namespace
// at all, or an unfinished one that everything refuses, or a finished one; the same rebuild run again finishes it; the
// naive judge says PASS and the comparison EQUAL. Two kills of each mode; 20 where AMENDS_LONG is set.
func TestRebuildKilled(t *testing.T) { //nolint:tparallel // its subtests share one history
	t.Parallel()
	w := worldOn(t, pg.New(t), strings.Join(kafkatest.StartServer(t).Seeds, ","))
	w.must("apply", "--yes", "shop.yaml")
	kills, count := 2, "4000"
	if longRun() {
		kills, count = 20, "50000"
	}
	w.must("generate", "--count", count, "--seed", "7")
	stages := w.run("-n", "shop")
	w.passes("shop")
	stages.stop(syscall.SIGTERM, 0)
	for _, mode := range []string{"stream", "bulk"} {
		t.Run(mode, func(t *testing.T) {
			w := w.on(t)
			began := time.Now()
			w.must("rebuild", "-n", "shop", "--into", mode+"-twin", "--mode", mode)
			whole := time.Since(began)
			w.equals(mode + "-twin")
			for n := range kills {
				name := fmt.Sprintf("%s-%d", mode, n)
				args := []string{"rebuild", "-n", "shop", "--into", name, "--mode", mode}
				p := w.start(args...)
				moment := time.Duration(rand.Int64N(int64(whole)))
				if n%2 == 0 { // from when the new namespace is there: most of the time is over by then
					p.await("creates the namespace", func() bool { return w.left(name) != "nothing" })
					moment = time.Duration(rand.Int64N(int64(whole / 4)))
				}
				select {
				case <-time.After(moment):
				case <-p.done:
				}
				p.signalIfAlive(syscall.SIGKILL)
				p.wait()
				left := w.left(name)
				t.Logf("%s: killed after %v of %v: %s", name, moment, whole, left)
				switch left { // how long it takes depends on what else the machine does
				case "finished":
					whole = max(moment, whole*3/4)
				case "nothing":
					whole += whole / 5
				}
				if left == "unfinished" {
					w.fails(5, `is unfinished: amendsctl rebuild .*; run that command again to finish it`, "run", "-n", name)
					w.fails(5, `is unfinished: amendsctl rebuild .*; run that command again to finish it`, "verify", "--quiesce", "-n", name)
				}
				if o := w.ctl(args...); o.code != 0 && !(o.code == 5 && left == "finished") {
					t.Fatalf("%s: the same rebuild again ended with %d: %s", name, o.code, o.stderr)
				}
				w.equals(name)
			}
		})
	}
}

// signalIfAlive sends a signal to a process that may have ended.
func (p *process) signalIfAlive(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// left is what the catalog says of a namespace.
func (w *world) left(name string) string {
	w.t.Helper()
	return w.query(`SELECT coalesce((SELECT CASE WHEN unfinished = '' THEN 'finished' ELSE 'unfinished' END FROM amends.namespace WHERE name = '` + name + `'), 'nothing')`)
}

// query reads one text.
func (w *world) query(sql string) string {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	var text string
	if err := conn.QueryRow(w.t.Context(), sql).Scan(&text); err != nil {
		w.t.Fatal(err)
	}
	return text
}

// equals runs the stages of a rebuilt namespace until the comparison with shop is EQUAL and the naive judge says PASS.
func (w *world) equals(name string) {
	w.t.Helper()
	stages := w.run("-n", name)
	if o := w.must("compare", "shop", name); !strings.HasPrefix(o.stdout, "EQUAL shop and "+name+": ") {
		w.t.Fatalf("compare: %s", o.stdout)
	}
	if o := w.must("verify", "--quiesce", "-n", name, "--engine", "reference"); !strings.HasPrefix(o.stdout, "PASS "+name+": ") {
		w.t.Fatalf("verify: %s", o.stdout)
	}
	stages.stop(syscall.SIGTERM, 0)
}

// everything is a digest of every table of every schema of amends, row by row.
func (w *world) everything() string {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(w.t.Context(), `SELECT quote_ident(nspname) || '.' || quote_ident(relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
		WHERE relkind = 'r' AND nspname LIKE 'amends%' ORDER BY 1`)
	if err != nil {
		w.t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.t.Fatal(err)
	}
	var b strings.Builder
	for _, table := range tables {
		var digest string
		sql := `SELECT coalesce(md5(string_agg(t::text, E'\n' ORDER BY t::text)), 'empty') FROM ` + table + ` t`
		if err := conn.QueryRow(w.t.Context(), sql).Scan(&digest); err != nil {
			w.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s\n", table, digest)
	}
	return b.String()
}

// topics are the names of all topics.
func (w *world) topics() string {
	w.t.Helper()
	listed, err := w.fake.Admin(w.t).ListTopics(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.Join(listed.Names(), " ")
}

// TestRebuildRefusals: whatever forbids a rebuild is found before anything is touched: every row of every table and every
// topic stays as it was. The twin, on the same world undamaged, is rebuilt.
func TestRebuildRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		damage func(w *world)
		code   int
		line   string
		args   []string
	}{
		"B006 deleted head": {
			damage: func(w *world) { w.fake.DeleteRecords(w.t, "shop.transactions", 0, 4) }, code: 5,
			line: `refused: spec.source.topic: topic shop.transactions has lost the beginning of its history: partition 0 starts at offset 4`},
		"compaction": {
			damage: func(w *world) {
				w.fake.SetConfigs(w.t, "shop.transactions", map[string]string{"cleanup.policy": "compact"})
			}, code: 5,
			line: `compaction removes history that is needed`},
		"finite retention": {
			damage: func(w *world) {
				w.fake.SetConfigs(w.t, "shop.transactions", map[string]string{"retention.ms": "86400000"})
			}, code: 5,
			line: `finite retention removes history that is needed`},
		"recreated source": {
			damage: func(w *world) {
				w.fake.DeleteTopic(w.t, "shop.transactions")
				w.fake.CreateTopic(w.t, "shop.transactions", 2, map[string]string{"retention.ms": "-1", "retention.bytes": "-1"})
			}, code: 5, line: `topic shop.transactions was recreated: its topic ID is`},
		"output topic with records": {
			damage: func(w *world) {
				w.fake.CreateTopic(w.t, "fresh.outputs", 2, map[string]string{"retention.ms": "-1", "retention.bytes": "-1"})
				w.fake.Produce(w.t, &kgo.Record{Topic: "fresh.outputs", Value: []byte("x")})
			}, code: 5, line: `holds records that are not of this namespace`},
		"schema of another": {
			damage: func(w *world) { w.sql(`CREATE SCHEMA amends_fresh`) }, code: 5, line: `no namespace of this name is recorded`},
		"unfinished without a record": {
			damage: func(w *world) {
				w.must("rebuild", "-n", "shop", "--into", "fresh")
				w.sql(`UPDATE amends.namespace SET unfinished = 'x' WHERE name = 'fresh'; DELETE FROM amends_shop.owner`)
			}, code: 5, line: `namespace fresh is unfinished, but shop has no record of a rebuild into it`},
		"live": {damage: func(w *world) { w.must("rebuild", "-n", "shop", "--into", "fresh") }, code: 5, line: `namespace fresh is applied already`},
		"close out of domain": {
			damage: func(w *world) {
				w.fake.Produce(w.t, &kgo.Record{Topic: "shop.transactions", Partition: ledger.PartitionOf([]byte(`["widget","berlin"]`), 2), Key: []byte(`["widget","berlin"]`), Value: []byte(
					`{"txn_id":"o","revision":1,"kind":"NEW","stock_key":{"item":"widget","location":"berlin"},"valid_time":"2026-01-02T00:00:00Z","qty":9223372036854775807,"source_time":"2026-01-02T00:00:00Z"}`)})
			}, code: 1, line: `a close is out of domain: widget/berlin on 20.* would close at \d{19}; the worker would stop`},
		"no snapshot": {code: 1, line: `no snapshot`, args: []string{"--from", "absent"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := appliedWorld(t)
			w.must("rebuild", "-n", "shop", "--into", "twin", "--mode", "bulk")
			if c.damage != nil {
				c.damage(w)
			}
			before, topics := w.everything(), w.topics()
			for _, mode := range []string{"bulk", "stream"} {
				if mode == "stream" && (c.code == 1) { // the worker finds out only when it gets there; a snapshot is for bulk
					continue
				}
				w.fails(c.code, c.line, append([]string{"rebuild", "-n", "shop", "--into", "fresh", "--mode", mode}, c.args...)...)
			}
			if after := w.everything(); after != before {
				t.Errorf("tables changed from\n%sto\n%s", before, after)
			}
			if after := w.topics(); after != topics {
				t.Errorf("topics %s became %s", topics, after)
			}
		})
	}
}

// TestRebuildLateMessage: a late message of the old namespace in the new output topic stops that partition, and no other;
// verify and compare say ERROR at once (SC24, S7).
func TestRebuildLateMessage(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	w.must("rebuild", "-n", "shop", "--into", "fresh", "--mode", "bulk")
	w.equals("fresh")
	consumer := w.fake.Client(t, kgo.ConsumeTopics("shop.outputs"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	late := consumer.PollFetches(t.Context()).Records()[0]
	w.fake.Produce(t, &kgo.Record{Topic: "fresh.outputs", Partition: late.Partition, Key: late.Key, Value: late.Value})
	stages := w.run("-n", "fresh")
	pattern := fmt.Sprintf(`view stopped: .*, partition %d, offset`, late.Partition)
	o := w.ctl("compare", "shop", "fresh")
	for deadline := time.Now().Add(patience); o.code == 13 && time.Now().Before(deadline); o = w.ctl("compare", "shop", "fresh", "--timeout", "0s") {
		continue
	}
	if o.code != 1 || !regexp.MustCompile(pattern).MatchString(o.stdout) {
		t.Errorf("compare ended with %d, want 1 and %s: %s%s", o.code, pattern, o.stdout, o.stderr)
	}
	if o := w.ctl("verify", "--quiesce", "-n", "fresh"); o.code != 1 || !strings.HasPrefix(o.stdout, "ERROR fresh: ") {
		t.Errorf("verify ended with %d: %s%s", o.code, o.stdout, o.stderr)
	}
	stopped := w.query(`SELECT string_agg(partition::text, ' ') FROM amends_fresh_view.protocol_violation`)
	if stopped != fmt.Sprint(late.Partition) {
		t.Errorf("stopped partitions: %s, want %d", stopped, late.Partition)
	}
	stages.stop(syscall.SIGTERM, 0)
	w.passes("shop")
}
