//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"amends.dev/amends/internal/pipeline"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/report"
)

func init() {
	freezeProcess = func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		time.Sleep(200 * time.Millisecond) // the signal may take a moment to reach all threads
	}
}

// thaw lets a frozen process go on.
func (c *process) thaw() {
	c.t.Helper()
	c.Signal(syscall.SIGCONT)
}

// frozen reports whether the process has stopped itself at the point.
func (c *process) frozen(point string) bool {
	c.t.Helper()
	if c.Ended() {
		c.t.Fatalf("child process ended before it froze: %v\n%s", c.Await(), c.Log)
	}
	return strings.Contains(c.Log.String(), frozenAt(point)+"\n")
}

// delayed returns how the call ended that the process was frozen before; ok is false while it has not.
func (c *process) delayed(point string) (outcome string, ok bool) {
	_, after, ok := strings.Cut(c.Log.String(), thawedAt(point))
	if !ok {
		return "", false
	}
	outcome, _, ok = strings.Cut(after, "\n")
	return outcome, ok
}

// TestB030WorkerFrozen: a worker hangs with polled records in its hands for longer than its session, another process takes
// its partition over and goes on, then the first one wakes: it writes nothing under its old epoch and comes back as a new
// member (S8, R16, SC19).
func TestB030WorkerFrozen(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		newBed(t, c, shape{partitions: 1}).survivesFrozenWorker(workerBeforeBegin, 3)
	})
}

// TestR16FrozenBeforeInstallation: a worker freezes between its assignment and the installation of its epoch; another
// process is assigned the partition, installs and works. The stale installation is refused.
func TestR16FrozenBeforeInstallation(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		newBed(t, c, shape{partitions: 1}).survivesFrozenWorker(workerBeforeInstall, 0)
	})
}

// TestR16FrozenBeforeReading: as TestR16FrozenBeforeInstallation, but it wakes before it has read the row, so that the
// epoch that it would name is the right one: only the generation tells that its assignment is void.
func TestR16FrozenBeforeReading(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		newBed(t, c, shape{partitions: 1}).survivesFrozenWorker(workerBeforeState, 0)
	})
}

// TestB029FrozenInTheTransaction: a worker freezes inside its transaction, with its records decided and the row's lock in
// its hands, and the group gives its partition away. The successor's epoch waits for the lock. Where the frozen one wakes
// in time, its commit is the first; where it does not, the database ends its session, and what it writes when it wakes
// fails (S8, SC19, B030).
func TestB029FrozenInTheTransaction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		late    bool
		outcome string
	}{"wakes in time": {outcome: "<nil>"}, "wakes too late": {late: true, outcome: "write a unit of work"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newBed(t, kafkatest.Real(t), shape{partitions: 1}).survivesFrozenTransaction(c.late, c.outcome)
		})
	}
}

// survivesFrozenTransaction freezes a worker before its fourth commit, lets the group move its partition, and wakes it
// before or after the database has ended its session.
func (b *bed) survivesFrozenTransaction(late bool, want string) {
	b.t.Helper()
	b.maxBatch = 50
	b.audit()
	b.start(pipeline.Relay, pipeline.View)
	flow := b.flow()
	first := b.spawn(plan{Stages: []string{pipeline.Worker}, Kill: workerBeforeCommit, After: 3, Freeze: true})
	flow.until("the first worker to freeze", func() bool { return first.frozen(workerBeforeCommit) })
	b.exec(b.state, `CREATE TABLE frozen AS SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'amends worker %'`)
	frozenAt := b.frontier()
	second := b.spawn(plan{Stages: []string{pipeline.Worker}})
	flow.until("the second worker's epoch to wait for the lock", func() bool {
		return b.number(b.state, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'amends worker %'
			AND wait_event_type = 'Lock' AND pid NOT IN (SELECT pid FROM frozen)`) > 0
	})
	taken := func() bool { return b.number(b.state, `SELECT epoch FROM partition_state`) == 2 }
	if taken() {
		b.t.Error("the epoch was installed while the former owner held the row")
	}
	if late {
		flow.until("the database to end the frozen session", taken)
		if n := b.number(b.state, `SELECT count(*) FROM audit WHERE epoch > former_epoch AND epoch = 2 AND next_offset <> `+fmt.Sprint(frozenAt)); n != 0 {
			b.t.Error("the frozen transaction was committed")
		}
	}
	first.thaw()
	flow.until("the delayed commit to end", func() bool { _, ok := first.delayed(workerBeforeCommit); return ok })
	if outcome, _ := first.delayed(workerBeforeCommit); !strings.Contains(outcome, want) {
		b.t.Errorf("the delayed commit ended with %q, want %q", outcome, want)
	}
	flow.until("the second worker to own the partition", taken)
	if !late && b.number(b.state, `SELECT count(*) FROM audit WHERE epoch = 2 AND former_epoch = 1 AND former_offset > `+fmt.Sprint(frozenAt)) != 1 {
		b.t.Error("the commit of the one that held the row did not come first")
	}
	moved := b.frontiers()
	flow.until("the partition to move on", func() bool { return b.allPast(moved) })
	r := b.verify(report.Pass)
	first.Stop()
	second.Stop()
	n := b.matchesCore()
	if n.records != flow.published || r.Counts.Records != int64(n.records) || n.rejected != 0 || n.repeats != 0 {
		b.t.Errorf("%s; %d were published, verify counted %d", n, flow.published, r.Counts.Records)
	}
}

// survivesFrozenWorker freezes a worker at a point, after so many passes of it, while records flow, and wakes it when
// another one has long taken over its only partition. There is one partition so that nothing but the frozen step is under
// way: no lock is held that the database would have to take away first.
func (b *bed) survivesFrozenWorker(point string, after int64) {
	b.t.Helper()
	b.maxBatch = 50
	b.audit()
	b.start(pipeline.Relay, pipeline.View)
	flow := b.flow()
	first := b.spawn(plan{Stages: []string{pipeline.Worker}, Kill: point, After: after, Freeze: true})
	flow.until("the first worker to freeze", func() bool { return first.frozen(point) })
	b.exec(b.state, `CREATE TABLE frozen AS SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'amends worker %'`)
	b.exec(b.state, `CREATE TABLE former AS TABLE partition_state`)
	if wrote := b.number(b.state, `SELECT count(*) FROM audit WHERE pid IN (SELECT pid FROM frozen)`); (wrote > 0) != (after > 0) {
		b.t.Fatalf("the first worker has written %d times", wrote)
	}
	second := b.spawn(plan{Stages: []string{pipeline.Worker}})
	flow.until("the second worker to take over", func() bool {
		return b.number(b.state, `SELECT count(*) FROM partition_state p, former f WHERE p.epoch > f.epoch AND p.generation > f.generation AND p.member <> f.member`) == 1
	})
	b.exec(b.state, `CREATE TABLE successor AS TABLE partition_state`)
	flow.until("the second worker to go on", func() bool { return b.frontier() > b.number(b.state, `SELECT next_offset FROM successor`) })

	first.thaw()
	flow.until("the delayed call to end", func() bool { _, ok := first.delayed(point); return ok })
	outcome, _ := first.delayed(point)
	if want := map[bool]string{true: "<nil>", false: "fenced"}[point == workerBeforeState]; !strings.Contains(outcome, want) {
		b.t.Errorf("the delayed call ended with %q, want %q", outcome, want)
	}
	admin := b.cluster.Admin(b.t)
	flow.until("both workers to be in the group", func() bool { return b.members(admin) == 2 })
	moved := b.frontiers()
	flow.until("the partition to move on", func() bool { return b.allPast(moved) })
	r := b.verify(report.Pass)
	first.Stop()
	second.Stop()
	n := b.matchesCore()
	if n.records != flow.published || r.Counts.Records != int64(n.records) || n.rejected != 0 || n.repeats != 0 {
		b.t.Errorf("%s; %d were published, verify counted %d", n, flow.published, r.Counts.Records)
	}
	b.auditPasses()
}

// audit keeps every write to a partition's row, with the database session that made it.
func (b *bed) audit() {
	b.t.Helper()
	b.exec(b.state, `CREATE TABLE audit (pid int, epoch bigint, former_epoch bigint, member text, former_member text,
		generation int, former_generation int, next_offset bigint, former_offset bigint)`)
	b.exec(b.state, `CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO audit VALUES (pg_backend_pid(), NEW.epoch, OLD.epoch, NEW.member, OLD.member,
			NEW.generation, OLD.generation, NEW.next_offset, OLD.next_offset);
		RETURN NULL; END $$`)
	b.exec(b.state, `CREATE TRIGGER audit AFTER UPDATE ON partition_state FOR EACH ROW EXECUTE FUNCTION audit()`)
}

// auditPasses requires that epochs changed under newer assignments only, that no frontier was lowered, and that no session
// of the frozen worker wrote under an epoch of the one that took over.
func (b *bed) auditPasses() {
	b.t.Helper()
	for what, sql := range map[string]string{
		"writes lowered epoch or frontier": `epoch < former_epoch OR next_offset < former_offset`,
		"epochs were installed under an assignment that is not newer": `epoch > former_epoch AND
			(generation < former_generation OR generation = former_generation AND member <> former_member)`,
		"writes changed the owner without an epoch": `epoch = former_epoch AND (generation, member) <> (former_generation, former_member)`,
		"writes of the frozen worker are under the epoch of its successor": `pid IN (SELECT pid FROM frozen) AND
			member IN (SELECT member FROM successor)`,
	} {
		if n := b.number(b.state, `SELECT count(*) FROM audit WHERE `+sql); n != 0 {
			b.t.Errorf("%d %s", n, what)
		}
	}
	if b.number(b.state, `SELECT count(*) FROM audit WHERE member IN (SELECT member FROM successor)`) == 0 {
		b.t.Error("the audit has seen nothing of the second worker")
	}
}

// members counts the workers that the group has, 0 while it is not stable.
func (b *bed) members(admin *kadm.Client) int {
	b.t.Helper()
	name := pipeline.GroupName(b.ns.Name)
	groups, err := admin.DescribeGroups(b.t.Context(), name)
	b.must(err)
	group := groups[name]
	b.must(group.Err)
	if group.State != "Stable" {
		return 0
	}
	return len(group.Members)
}

// TestR17RelayFrozenInMidProduce: a relay freezes when the broker has its messages and the outbox does not know it yet.
// Another one waits the lease out, sends the same bytes again and drains the outbox; the mark of the first one is refused
// when it wakes, and changes nothing (SC20, S9).
func TestR17RelayFrozenInMidProduce(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		t.Parallel()
		b := newBed(t, c, shape{})
		b.deliveryTimeout = 3 * time.Second // and a lease of nine
		c.Produce(t, b.generated(options(1_500))...)
		b.start(pipeline.Worker, pipeline.View)
		b.eventually("the worker to decide everything", func() bool {
			return b.number(b.state, `SELECT sum(accepted)::bigint FROM partition_state`) == 1_500
		})
		first := b.spawn(plan{Stages: []string{pipeline.Relay}, Kill: relayBeforeMark, After: 2, Freeze: true})
		b.eventually("the first relay to freeze", func() bool { return first.frozen(relayBeforeMark) })
		published := 0
		for _, records := range b.published() {
			published += len(records)
		}
		unmarked := published - int(b.number(b.state, `SELECT sum(sent_through - 1)::bigint FROM relay_state`))
		if unmarked == 0 || unmarked == published {
			t.Fatalf("%d of %d messages are not marked", unmarked, published)
		}
		b.exec(b.state, `CREATE TABLE former AS TABLE relay_lease`)
		b.spawn(plan{Stages: []string{pipeline.Relay}})
		b.eventually("the second relay to hold the lease", func() bool { return b.number(b.state, `SELECT term FROM relay_lease`) == 2 })
		if b.number(b.state, `SELECT count(*) FROM former WHERE expires_at <= clock_timestamp()`) != 1 {
			t.Error("the second relay did not wait out the first one's lease")
		}
		b.eventually("the outbox to be drained", func() bool {
			return b.number(b.state, `SELECT count(*) FROM partition_state JOIN relay_state USING (partition) WHERE outbox_next <> sent_through`) == 0
		})
		first.thaw()
		b.eventually("the delayed mark to end", func() bool { _, ok := first.delayed(relayBeforeMark); return ok })
		if outcome, _ := first.delayed(relayBeforeMark); !strings.Contains(outcome, "relay lease lost") {
			t.Errorf("the delayed mark ended with %q", outcome)
		}
		c.Produce(t, b.generated(options(1_500))...) // once more, so that the first relay has something to stand by for
		b.verify(report.Pass)
		first.Stop()
		n := b.matchesCore()
		if n.records != 3_000 || n.repeats != unmarked {
			t.Errorf("%s; want %d repeated", n, unmarked)
		}
		if ignored := b.number(b.view, `SELECT sum(ignored)::bigint FROM view_progress`); ignored != int64(unmarked) {
			t.Errorf("the view ignored %d messages, want %d", ignored, unmarked)
		}
	})
}
