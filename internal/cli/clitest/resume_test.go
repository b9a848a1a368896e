package clitest

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// becomes waits until a statement returns n.
func (w *world) becomes(n int64, statement string) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for w.number(statement) != n {
		if time.Now().After(deadline) {
			w.t.Fatalf("not in time: %s is %d, want %d", statement, w.number(statement), n)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

const (
	workersStopped = `SELECT count(*) FROM amends_shop.partition_state WHERE stop_reason IS NOT NULL`
	relaysStopped  = `SELECT count(*) FROM amends_shop.relay_state WHERE stop_reason IS NOT NULL`
	viewsStopped   = `SELECT count(*) FROM amends_shop_view.view_progress WHERE stopped`
)

// TestR36ResumeAfterTheCauseIsGone: for every stage, a persisted stop is looked into and left while its cause stands, with
// nothing changed; when the cause is gone the stop is removed, and the process that runs goes on at once, without a
// restart.
func TestR36ResumeAfterTheCauseIsGone(t *testing.T) { //nolint:tparallel // its subtests share one namespace, in turn
	t.Parallel()
	w := appliedWorld(t)
	for stage, c := range map[string]struct{ damage, undo, stopped, count string }{
		"worker": {
			damage:  `ALTER TABLE amends_shop.outbox ADD CONSTRAINT broken CHECK (first_seq < 0) NOT VALID`,
			undo:    `ALTER TABLE amends_shop.outbox DROP CONSTRAINT broken`,
			stopped: workersStopped, count: "2",
		},
		"view": {
			damage:  `ALTER TABLE amends_shop_view.balance ADD CONSTRAINT broken CHECK (version < 0) NOT VALID`,
			undo:    `ALTER TABLE amends_shop_view.balance DROP CONSTRAINT broken`,
			stopped: viewsStopped, count: "2",
		},
		"relay": {
			damage:  `ALTER TABLE amends_shop.outbox RENAME COLUMN frames TO kept; ALTER TABLE amends_shop.outbox ADD COLUMN frames bytea NOT NULL DEFAULT ''`,
			undo:    `UPDATE amends_shop.outbox SET frames = kept WHERE kept IS NOT NULL; ALTER TABLE amends_shop.outbox DROP COLUMN kept`,
			stopped: relaysStopped, count: "2",
		},
	} {
		t.Run(stage, func(t *testing.T) {
			w := w.on(t)
			seed := map[string]string{"worker": "11", "view": "12", "relay": "13"}[stage]
			var stages *process
			if stage == "relay" { // its rows are damaged between worker and relay
				w.must("generate", "--count", "60", "--seed", seed)
				worker := w.run("worker")
				w.drained()
				worker.stop(syscall.SIGTERM, 0)
				w.sql(c.damage)
				stages = w.run()
			} else {
				stages = w.run()
				w.sql(c.damage)
				w.must("generate", "--count", "60", "--seed", seed)
			}
			w.becomes(2, c.stopped)
			w.answers(0, `stopped since .*|"stall": \{`, "status")
			if stage == "worker" { // and a replay of the stopped partition was killed
				w.sql(`UPDATE amends_shop.partition_state SET epoch = epoch + 1, member = 'replay/' || generation || '/' || member,
					generation = 2147483647 WHERE partition = 0`)
			}
			before := w.tables()
			for _, partition := range []string{"0", "1"} {
				w.fails(5, `^`+stage+` partition `+partition+` stays stopped: .*the cause stands`, "resume", "--stage", stage, "--partition", partition)
			}
			after := w.tables()
			for _, name := range []string{"amends_shop.partition_state", "amends_shop.relay_state", "amends_shop.resume_request", "amends_shop_view.view_progress"} {
				if diff := cmp.Diff(before[name], after[name]); diff != "" || before[name] == nil {
					t.Errorf("refusing changed %s (-want +got):\n%s", name, diff)
				}
			}
			w.sql(c.undo)
			for _, partition := range []string{"0", "1"} {
				o := w.must("resume", "--stage", stage, "--partition", partition)
				if !strings.Contains(o.stdout, "its stop is removed (") ||
					strings.Contains(o.stdout, "given back by a replay") != (stage == "worker" && partition == "0") {
					t.Errorf("resume says %s", o.stdout)
				}
			}
			w.passes("shop")
			stages.stop(syscall.SIGTERM, 0)
		})
	}
}

// drained waits until the worker has processed the source topic, and has nothing left in its own partitions.
func (w *world) drained() {
	w.t.Helper()
	ends, err := w.fake.Admin(w.t).ListEndOffsets(w.t.Context(), "shop.transactions")
	if err != nil {
		w.t.Fatal(err)
	}
	end := int64(0)
	ends.Each(func(o kadm.ListedOffset) { end += o.Offset })
	w.becomes(end, `SELECT sum(next_offset) FROM amends_shop.partition_state`)
}

// TestR36ResumeOfAViolation: a protocol violation is in the output topic for good, so resume never removes its stop (SC17).
func TestR36ResumeOfAViolation(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	stages := w.run()
	w.fake.Produce(t, &kgo.Record{Topic: "shop.outputs", Partition: 0, Value: []byte(`{"not":"an envelope"}`)})
	w.becomes(1, viewsStopped)
	before := w.tables()
	w.fails(5, `^view partition 0 stays stopped: .*the cause stands`, "resume", "--stage", "view", "--partition", "0")
	after := w.tables()
	for _, name := range []string{"amends_shop_view.view_progress", "amends_shop_view.protocol_violation", "amends_shop_view.balance"} {
		if strings.Join(before[name], "\n") != strings.Join(after[name], "\n") {
			t.Errorf("%s changed", name)
		}
	}
	w.answers(0, `partition 1 of namespace shop: whatever process runs it is asked to try now|"cleared": ""`, "resume", "--stage", "view", "--partition", "1")
	stages.says("asked to try again", 0)
	w.fails(2, `--stage "nothing": want one of worker, relay, view`, "resume", "--stage", "nothing", "--partition", "1")
	w.fails(2, `has partitions 0 to 1`, "resume", "--stage", "view", "--partition", "2")
	w.fails(2, `--partition is required`, "resume", "--stage", "view")
	stages.stop(syscall.SIGTERM, 0)
}
