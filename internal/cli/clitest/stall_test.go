package clitest

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestR36StallIsSeenFromOutside: why a stage of a running process does not move is said by a status asked for anywhere; it is
// no stop, so resume has nothing to remove, and nothing is quarantined for it. It is gone when the stage goes on, when its
// process ends, and some time after its process was killed.
func TestR36StallIsSeenFromOutside(t *testing.T) { //nolint:tparallel // its subtests share one namespace, in turn
	t.Parallel()
	w := appliedWorld(t)
	w.sql(`CREATE FUNCTION public.disk_full() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN RAISE 'could not extend file: no space' USING ERRCODE = '53100'; END$$`)
	const reported = `SELECT count(*) FROM amends_shop.stall WHERE reported_at > now() - interval '15 seconds'`
	for stage, c := range map[string]struct{ table, seed string }{
		"worker": {"amends_shop.outbox", "21"}, "relay": {"amends_shop.receipt", "22"}, "view": {"amends_shop_view.balance", "23"},
	} {
		t.Run(stage, func(t *testing.T) {
			w := w.on(t)
			shown := func(want bool) {
				t.Helper()
				pattern := `(?m)^` + stage + ` +0 .* stalled since .*: .*no space.*, says process .*$|"process": ".+"`
				deadline := time.Now().Add(patience)
				for {
					o := w.must("status")
					seen := strings.Contains(o.stdout, "no space")
					if seen == want {
						break
					}
					if time.Now().After(deadline) {
						t.Fatalf("stall shown: %t, want %t: %s", seen, want, o.stdout)
					}
				}
				if want {
					w.answers(0, pattern, "status")
				}
			}
			w.sql(`CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON ` + c.table + ` EXECUTE FUNCTION public.disk_full()`)
			stages := w.run()
			w.must("generate", "--count", "60", "--seed", c.seed)
			shown(true)
			w.answers(0, `^`+stage+` partition 0 of namespace shop: whatever process runs it is asked to try now|"cleared": ""`,
				"resume", "--stage", stage, "--partition", "0")
			shown(true)
			if n := w.number(`SELECT count(*) FROM amends_shop.quarantine WHERE reason LIKE '%space%'`) + w.number(workersStopped) + w.number(relaysStopped) + w.number(viewsStopped); n != 0 {
				t.Errorf("a full disk became a fact about data, or a stop: %d", n)
			}
			stages.stop(syscall.SIGTERM, 0)
			w.becomes(0, reported)
			shown(false)

			killed := w.run()
			shown(true)
			killed.signal(syscall.SIGKILL)
			killed.wait()
			w.sql(`UPDATE amends_shop.stall SET reported_at = reported_at - interval '1 minute'`)
			shown(false)

			w.sql(`DROP TRIGGER full_disk ON ` + c.table)
			stages = w.run()
			w.passes("shop")
			w.becomes(0, reported)
			shown(false)
			stages.stop(syscall.SIGTERM, 0)
		})
	}
}

// TestB034ShutdownWhereEveryStageWaits: each stage in turn waits for a lock within its transaction when the process is told
// to end: it ends at once and in order, the statement is cancelled in the database, and the next process goes on.
func TestB034ShutdownWhereEveryStageWaits(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	const waiting = `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
	for i, table := range []string{"amends_shop.outbox", "amends_shop.receipt", "amends_shop_view.balance", "amends_shop.partition_state"} {
		holder, err := pgx.Connect(t.Context(), w.database)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = holder.Close(context.Background()) })
		stages := w.run()
		if _, err := holder.Exec(t.Context(), `BEGIN; LOCK TABLE `+table+` IN EXCLUSIVE MODE`); err != nil {
			t.Fatal(err)
		}
		w.must("generate", "--count", "60", "--seed", strconv.Itoa(31+i))
		stages.await("waits for "+table, func() bool { return w.number(waiting) > 0 })
		told := time.Now()
		stages.stop(syscall.SIGTERM, 0)
		if took := time.Since(told); took > 15*time.Second {
			t.Errorf("%s held: the process took %v to end", table, took)
		} else {
			t.Logf("%s held: %v", table, took)
		}
		w.becomes(0, waiting)
		if _, err := holder.Exec(t.Context(), `ROLLBACK`); err != nil {
			t.Fatal(err)
		}
	}
	stages := w.run()
	w.passes("shop")
	stages.stop(syscall.SIGTERM, 0)
}
