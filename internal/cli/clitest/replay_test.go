package clitest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"amends.dev/amends/stages/replay"
)

// tables is every row of every table of catalog, state and view, as text, sorted within its table.
func (w *world) tables() map[string][]string {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(w.t.Context(), `SELECT format('%I.%I', table_schema, table_name) FROM information_schema.tables
		WHERE table_schema LIKE 'amends%' AND table_type = 'BASE TABLE'`)
	if err != nil {
		w.t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.t.Fatal(err)
	}
	all := map[string][]string{}
	for _, name := range names {
		rows, err := conn.Query(w.t.Context(), `SELECT t::text FROM `+name+` t ORDER BY 1`)
		if err != nil {
			w.t.Fatal(err)
		}
		if all[name], err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			w.t.Fatal(err)
		}
	}
	return all
}

// frontier is a partition's.
func (w *world) frontier(partition int) int64 {
	w.t.Helper()
	return w.number(fmt.Sprintf(`SELECT next_offset FROM amends_shop.partition_state WHERE partition = %d`, partition))
}

// number is what a statement returns.
func (w *world) number(statement string) (n int64) {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if err := conn.QueryRow(w.t.Context(), statement).Scan(&n); err != nil {
		w.t.Fatalf("%s: %v", statement, err)
	}
	return n
}

// span are the flags of a range of partition 0.
func span(from, to int64) []string {
	return []string{"replay", "--partition", "0", "--from", strconv.FormatInt(from, 10), "--to", strconv.FormatInt(to, 10)}
}

// TestSC23Replay: replay through the command, while the stages run: every record is confirmed, the frontier stays, no new
// version arises, and the stages go on. A range that is not processed or not retained is refused before anything is
// touched (B097, B006).
func TestSC23Replay(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	stages := w.run()
	frontier, before := w.frontier(0), w.frontiers()
	o := w.must(append(span(0, frontier), "-o", "json")...)
	var report replay.Report
	if err := json.Unmarshal([]byte(o.stdout), &report); err != nil {
		t.Fatal(err)
	}
	if report.Fault != nil || report.Frontier != frontier || report.Confirmed == 0 || report.Confirmed != report.Reread || report.Kinds.Total() != report.Reread {
		t.Errorf("report %s", o.stdout)
	}
	text := w.must(span(1, frontier)...).stdout
	if !strings.HasPrefix(text, fmt.Sprintf("replay of [1, %d) of partition 0 of namespace shop: every record confirmed\n", frontier)) {
		t.Errorf("text %s", text)
	}
	if after := w.frontiers(); after != before {
		t.Errorf("frontiers %s became %s", before, after)
	}
	w.must("generate", "--count", "40", "--seed", "2")
	w.passes("shop")
	stages.stop(syscall.SIGTERM, 0)

	frontier = w.frontier(0)
	untouched := w.tables()
	w.fails(5, `the frontier is `+strconv.FormatInt(frontier, 10)+`: .*never processed`, span(10, frontier+20)...)
	w.answers(0, `(?s)retained +\[0, |"retained"`, append(span(0, frontier), "--dry-run")...)
	w.fails(5, `the frontier is .*never processed`, append(span(0, frontier+1), "--dry-run")...)
	w.fails(5, `partitions 0 to 1`, "replay", "--partition", "2", "--from", "0", "--to", "1")
	w.fails(2, `--to 5: want more than --from 5`, span(5, 5)...)
	w.fails(2, `--from is required`, "replay", "--partition", "0", "--to", "1")
	w.fake.DeleteRecords(t, "shop.transactions", 0, 1)
	w.fails(5, `from offset 1 on: the records before it are lost`, span(0, frontier)...)
	if diff := cmp.Diff(untouched, w.tables()); diff != "" {
		t.Errorf("refusing changed (-want +got):\n%s", diff)
	}
	w.must(span(1, frontier)...)
}

// TestR25ReplayOfDamagedState: what state lacks is named with its offset, nothing is changed, and the owner goes on.
func TestR25ReplayOfDamagedState(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	w.must(span(0, w.frontier(0))...)
	for partition := range 2 {
		to := w.frontier(partition)
		w.sql(`UPDATE amends_shop.authority SET qty = qty + 1`)
		args := []string{"replay", "--partition", strconv.Itoa(partition), "--from", "0", "--to", strconv.FormatInt(to, 10)}
		if to > 0 {
			damaged := w.tables()
			o := w.ctl(args...)
			if o.code != 1 || !strings.Contains(o.stderr, "state is not intact: partition "+strconv.Itoa(partition)+", offset ") ||
				!strings.Contains(o.stderr, "nothing was changed; rebuild into a new namespace") || !strings.Contains(o.stdout, "state is not intact at offset") {
				t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
			}
			after := w.tables()
			for _, name := range []string{"authority", "evidence", "conflict", "key_state", "day_state", "quarantine", "outbox"} {
				if diff := cmp.Diff(damaged["amends_shop."+name], after["amends_shop."+name]); diff != "" {
					t.Errorf("%s changed: %s", name, diff)
				}
			}
		}
		w.sql(`UPDATE amends_shop.authority SET qty = qty - 1`)
	}
	w.proves("shop", 2)
}

// long asks for the runs that take many minutes.
func long() bool { return os.Getenv("AMENDS_LONG") != "" }

// TestR25ReplayKilled: a replay killed with SIGKILL at a random moment, while the stages run, blocks nothing for good: the
// same replay goes on, or resume gives the partition back, and verify says PASS. Four kills, 20 where AMENDS_LONG is set.
func TestR25ReplayKilled(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.must("apply", "--yes", "shop.yaml")
	w.must("generate", "--count", "20000", "--seed", "5")
	stages := w.run()
	w.passes("shop")
	frontier := w.frontier(0)
	began := time.Now()
	w.must(span(0, frontier)...)
	whole := time.Since(began)
	kills := 4
	if long() {
		kills = 20
	}
	random := rand.New(rand.NewPCG(23, uint64(kills)))
	held := 0
	for kill := range kills {
		one := w.start(span(0, frontier)...)
		time.Sleep(time.Duration(random.Int64N(int64(whole))))
		_ = one.cmd.Process.Kill()
		one.wait()
		if w.number(`SELECT count(*) FROM amends_shop.partition_state WHERE member LIKE 'replay/%'`) > 0 {
			held++
		}
		if kill%2 == 0 {
			w.must("resume", "--stage", "worker", "--partition", "0")
		} else {
			w.must(span(0, frontier)...)
		}
		w.must("generate", "--count", "20", "--seed", strconv.Itoa(100+kill))
		w.passes("shop")
	}
	t.Logf("%d kills within %v, %d of which left the partition held", kills, whole, held)
	for range 2 { // interrupted in order, it gives the partition back
		one := w.start(span(0, frontier)...)
		time.Sleep(time.Duration(random.Int64N(int64(whole))))
		_ = one.cmd.Process.Signal(syscall.SIGINT) // it may have ended
		o := one.wait()
		// -1 is a process that had not come to its first line yet.
		if o.code == 130 && !strings.Contains(o.stderr, "interrupted") || o.code != 130 && o.code != 0 && o.code != -1 {
			t.Errorf("interrupted: exit code %d: %s", o.code, o.stderr)
		}
		if n := w.number(`SELECT count(*) FROM amends_shop.partition_state WHERE member LIKE 'replay/%'`); n != 0 {
			t.Errorf("%d partitions are held after exit code %d: %s", n, o.code, o.stderr)
		}
	}
	w.passes("shop")
	stages.stop(syscall.SIGTERM, 0)
}
