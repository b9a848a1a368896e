package clitest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// TestDeleteRefusesWhileAnythingRuns: each stage alone, and a writer, keeps a namespace from being deleted, and nothing of
// it is touched; when the last one has ended it can be.
func TestDeleteRefusesWhileAnythingRuns(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	for _, stage := range []string{"worker", "relay", "view"} {
		stages := w.run(stage)
		before := w.catalog()
		w.fails(5, `stages of this namespace run: .*`+stage+` is connected to the database.*nothing was deleted$`, "delete", "namespace", "shop", "--confirm", "shop")
		if diff := cmp.Diff(before, w.catalog()); diff != "" {
			t.Errorf("refusing changed the catalog (-want +got):\n%s", diff)
		}
		stages.stop(syscall.SIGTERM, 0)
	}
	w.passesAfterRun()
	writer := w.start("generate", "--count", "1000000", "--rate", "50")
	writer.await("holds the lease", func() bool { return w.number(`SELECT count(*) FROM amends.writer_lease WHERE NOT released`) > 0 })
	w.fails(5, `the writer lease of shop.transactions is held by `, "delete", "namespace", "shop", "--confirm", "shop")
	writer.signal(syscall.SIGINT)
	writer.wait()
	o := w.must("delete", "namespace", "shop", "--confirm", "shop", "--with-topics")
	if !strings.HasPrefix(o.stdout, "deleted namespace shop\n") {
		t.Errorf("says %s", o.stdout)
	}
	if n := w.number(`SELECT count(*) FROM information_schema.schemata WHERE schema_name LIKE 'amends\_shop%'`); n != 0 {
		t.Errorf("%d schemas are left", n)
	}
}

// TestDeleteRefusesUnderReplayAndIntake: what works on a namespace beside its stages keeps it too: a replay, a rebuild, and an intake
// whose source topic another namespace reads, so that its writer lease tells nothing.
func TestDeleteRefusesUnderReplayAndIntake(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	refused := func(who string) {
		t.Helper()
		before := w.tables()
		w.fails(5, `stages of this namespace run: .*`+who+` is connected to the database.*nothing was deleted$`, "delete", "namespace", "shop", "--confirm", "shop")
		if diff := cmp.Diff(before, w.tables()); diff != "" {
			t.Errorf("refusing changed (-want +got):\n%s", diff)
		}
	}
	conn, err := pgx.Connect(t.Context(), w.database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	tx, err := conn.Begin(t.Context())
	if err == nil {
		_, err = tx.Exec(t.Context(), `SELECT FROM amends_shop.partition_state WHERE partition = 0 FOR UPDATE`)
	}
	if err != nil {
		t.Fatal(err)
	}
	one := w.start(span(0, w.frontier(0))...) // it waits for the partition's lock
	w.becomes(1, `SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'amends replay%' AND wait_event_type = 'Lock'`)
	refused("replay")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := one.wait(); o.code != 0 {
		t.Errorf("the replay ended with %d: %s%s", o.code, o.stdout, o.stderr)
	}
	if tx, err = conn.Begin(t.Context()); err == nil {
		_, err = tx.Exec(t.Context(), `LOCK TABLE amends_shop.owner IN SHARE MODE`)
	}
	if err != nil {
		t.Fatal(err)
	}
	other := w.start("rebuild", "-n", "shop", "--into", "fresh") // it waits to write its first step down
	w.becomes(1, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'amends rebuild shop' AND wait_event_type = 'Lock'`)
	refused("rebuild")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if o := other.wait(); o.code != 0 {
		t.Errorf("the rebuild ended with %d: %s%s", o.code, o.stdout, o.stderr)
	}
	w.sharesSource("second")
	intake, _ := w.intake("-n", "shop")
	refused("intake")
	intake.stop(syscall.SIGTERM, 0)
	w.must("delete", "namespace", "shop", "--confirm", "shop")
}

// sharesSource applies another namespace over the source topic of shop.
func (w *world) sharesSource(name string) {
	w.t.Helper()
	w.file(name+".yaml", strings.ReplaceAll(fmt.Sprintf(manifest, name), name+".transactions", "shop.transactions"))
	w.must("apply", "--yes", name+".yaml")
}

// catalog is every row of the catalog's tables.
func (w *world) catalog() map[string][]string {
	all := w.tables()
	for name := range all {
		if !strings.HasPrefix(name, "amends.") {
			delete(all, name)
		}
	}
	return all
}

// passesAfterRun runs the stages and expects PASS: what was refused is still whole.
func (w *world) passesAfterRun() {
	w.t.Helper()
	stages := w.run()
	w.passes("shop")
	stages.stop(syscall.SIGTERM, 0)
}

// TestDeleteKilled: a deletion that is killed at a random moment is finished by the next one, or had not begun.
func TestDeleteKilled(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	random := rand.New(rand.NewPCG(6, 6))
	for range 4 {
		w.must("apply", "--yes", "shop.yaml")
		one := w.start("delete", "namespace", "shop", "--confirm", "shop", "--with-topics")
		time.Sleep(time.Duration(random.Int64N(int64(300 * time.Millisecond))))
		_ = one.cmd.Process.Kill()
		one.wait()
		if w.number(`SELECT count(*) FROM amends.namespace`) > 0 {
			w.must("delete", "namespace", "shop", "--confirm", "shop", "--with-topics")
		}
		left := w.number(`SELECT count(*) FROM information_schema.schemata WHERE schema_name LIKE 'amends\_shop%'`)
		topics, err := w.fake.Admin(t).ListTopics(t.Context(), "shop.outputs", "shop.transactions")
		if err != nil || left != 0 || topics.Has("shop.outputs") || topics.Has("shop.transactions") {
			t.Fatalf("%d schemas and topics %v are left, %v", left, topics.Names(), err)
		}
	}
}
