package shelltest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/storetest"
	"amends.dev/amends/stages/worker/workertest"
)

// testUnknownOutcomes: commits whose answer is lost, half of them done and half not, and other faults, at random: the
// worker finds out and ends where an undisturbed one does (SC18, R15).
func testUnknownOutcomes(t *testing.T, fresh Fresh) {
	mark.Expect(t, "SC18 unknown commit was done", "SC18 unknown commit was not done")
	w := newWorld(t, fresh, workertest.Config("sc18", 2, 4))
	rng := rand.New(rand.NewPCG(18, 18))
	w.log.Mix(w.cfg, rng, 600, workertest.Spread{Keys: 4, Identities: 20, Days: 10})
	w.change = func(o *worker.Options) { o.MaxBatch = 9 }
	fates := make(map[workertest.Fate]int)
	w.store.Fate = func(op workertest.Op, _ int32) workertest.Fate {
		fate := workertest.Proceed
		switch n := rng.IntN(12); {
		case op == workertest.OpCommit && n < 2:
			fate = workertest.LostDone
		case op == workertest.OpCommit && n < 4:
			fate = workertest.LostUndone
		case n == 11:
			fate = workertest.Fail
		}
		fates[fate]++
		return fate
	}
	worker := w.start()
	w.drain(worker)
	if fates[workertest.LostDone] == 0 || fates[workertest.LostUndone] == 0 || fates[workertest.Fail] == 0 {
		t.Fatalf("fates %v", fates)
	}
	same(t, fmt.Sprintf("fates %v", fates), w.reference(), w.tables(t))
	for _, s := range worker.Status() {
		if s.Stall != nil && w.drained(worker, nil) && s.Stall.Attempts > 1 {
			t.Errorf("still stalled after the drain: %+v", s.Stall)
		}
	}
}

// testCrashEverywhere: one amendment from -50 to -30, with each operation of the store failing once, in each way: the
// close is 70 in all runs, and the version went up once (B095).
func testCrashEverywhere(t *testing.T, fresh Fresh) {
	cfg := workertest.Config("b095", 1, 1)
	issue := workertest.Txn{ID: "issue", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: -50}
	amendment := issue
	amendment.Revision, amendment.Kind, amendment.Qty = 2, "AMEND", -30
	run := func(at int, fate workertest.Fate) (operations int) {
		w := newWorld(t, fresh, cfg)
		w.log.Send(cfg, issue)
		w.drain(w.start())
		w.log.Send(cfg, amendment)
		crashed := false
		w.store.Fate = func(workertest.Op, int32) workertest.Fate {
			operations++
			if operations == at {
				crashed = true
				return fate
			}
			return workertest.Proceed
		}
		worker := w.start()
		for range 3 {
			w.step(worker)
			if crashed { // the process is gone; another one starts from the database
				worker = w.start()
				crashed = false
			}
		}
		w.drain(worker)
		d := w.tables(t)
		if len(d.Days) != 1 || d.Days[0].Close != 70 || d.Days[0].BalanceVersion != 2 || len(d.Evidence) != 1 {
			t.Errorf("operation %d, fate %d: %+v", at, fate, d.Days)
		}
		return operations
	}
	operations := run(0, workertest.Proceed)
	if operations < 6 {
		t.Fatalf("only %d operations", operations)
	}
	for at := range operations {
		for _, fate := range []workertest.Fate{workertest.Fail, workertest.LostUndone, workertest.LostDone} {
			run(at+1, fate)
		}
	}
}

// testStaleCache: A decides, B takes over and changes what A has cached, A comes back under a later epoch of its own; and
// a fenced A that never noticed writes nothing (R15, SC19).
func testStaleCache(t *testing.T, fresh Fresh) {
	mark.Expect(t, "S8 owner fenced", "R16 assignment not newer")
	w := newWorld(t, fresh, workertest.Config("r15", 1, 1))
	send := func(revision, qty int64) {
		w.log.Send(w.cfg, workertest.Txn{ID: "a", Revision: revision, Kind: "NEW", Time: workertest.On(1), Qty: qty})
	}
	memberA, memberB := workertest.NewMember(), workertest.NewMember()
	a, b := w.startAs(memberA), w.startAs(memberB)
	memberA.Assign("a", 1, 0)
	send(1, -1)
	w.drain(a)
	memberB.Assign("b", 2, 0) // A does not hear of it
	send(2, -2)
	w.drain(b)
	before := w.tables(t)
	send(3, -3)
	for range 20 { // A polls with its old epoch and its cache, is fenced, and may not come back by itself
		w.step(a)
	}
	same(t, "fenced owner", before, w.tables(t))
	if s := a.Status(); len(s) != 1 || s[0].Epoch != 0 || s[0].Stall == nil {
		t.Errorf("the fenced owner shows %+v", s)
	}
	memberB.Assign("b", 3)
	memberA.Assign("a", 3, 0)
	w.step(b)
	w.drain(a)
	memberA.Assign("a", 4)
	memberB.Assign("b", 4, 0)
	send(4, -4)
	w.step(a)
	w.drain(b)
	memberB.Assign("b", 5)
	memberA.Assign("a", 5, 0)
	send(5, -5)
	w.step(b)
	w.drain(a)
	same(t, "A, B, A", w.reference(), w.tables(t))
	if d := w.tables(t); d.Days[0].Close != 95 || d.Days[0].BalanceVersion != 5 {
		t.Errorf("%+v", d.Days)
	}
	// A → B → A within one step of A's: it sees only its own newer assignment, and still acts under a fresh epoch.
	memberB.Assign("b", 6, 0)
	send(6, -6)
	w.drain(b)
	memberB.Assign("b", 7)
	memberA.Assign("a", 7, 0)
	send(7, -7)
	w.drain(a)
	same(t, "A, B, A unseen", w.reference(), w.tables(t))
}

// testDelayedInstall: a member is frozen at any point between its assignment and the installation of its epoch; when it
// wakes, another one owns the partition and keeps it (R16).
func testDelayedInstall(t *testing.T, fresh Fresh) {
	mark.Expect(t, "R16 assignment not newer", "R16 superseded before installation")
	for _, frozenAt := range []workertest.Op{workertest.OpState, workertest.OpInstall} {
		w := newWorld(t, fresh, workertest.Config("r16", 1, 1))
		w.log.Send(w.cfg, workertest.Txn{ID: "a", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: -1})
		inner := w.store.Store
		var owner worker.PartitionState
		w.store.Fate = func(op workertest.Op, _ int32) workertest.Fate {
			if op == frozenAt && owner.Epoch == 0 {
				owner = storetest.Install(t, inner, 0, "b", 6)
			}
			return workertest.Proceed
		}
		member := workertest.NewMember()
		member.Assign("a", 5, 0)
		frozen := w.startAs(member)
		for until := w.clock.now.Add(time.Minute); w.clock.now.Before(until); {
			w.step(frozen)
		}
		state, err := inner.PartitionState(t.Context(), 0)
		if err != nil || state.Epoch != owner.Epoch || state.Member != "b" || state.NextOffset != 0 {
			t.Errorf("frozen at %s: %+v, %v", frozenAt, state, err)
		}
		s := frozen.Status()[0]
		if s.Epoch != 0 || s.Stall == nil || !strings.Contains(s.Stall.Reason, "held by member b") {
			t.Errorf("frozen at %s: status %+v", frozenAt, s)
		}
		// The next rebalance gives it the partition, and then it works.
		member.Assign("a", 7, 0)
		w.drain(frozen)
	}
	// An assignment that is revoked while the state is being read is not acted on.
	w := newWorld(t, fresh, workertest.Config("r16", 1, 1))
	member := workertest.NewMember()
	member.Assign("a", 5, 0)
	w.store.Fate = func(op workertest.Op, _ int32) workertest.Fate {
		if op == workertest.OpState {
			member.Assign("a", 6)
		}
		return workertest.Proceed
	}
	revoked := w.startAs(member)
	for range 5 {
		w.step(revoked)
	}
	if state, err := w.store.Store.PartitionState(t.Context(), 0); err != nil || state.Epoch != 0 {
		t.Errorf("revoked in time, and yet installed: %+v, %v", state, err)
	}
}

// testRecreatedGroup: generations that start again are refused, until the operator says take over; then once.
func testRecreatedGroup(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, workertest.Config("group", 1, 1))
	storetest.Install(t, w.store.Store, 0, "old", 41)
	w.log.AppendControl(0)
	worker1 := w.start()
	for range 30 {
		w.step(worker1)
	}
	if s := worker1.Status()[0]; s.Epoch != 0 || s.Stall == nil {
		t.Fatalf("a lower generation owns: %+v", s)
	}
	w.change = func(o *worker.Options) { o.TakeOver = true }
	worker2 := w.start()
	w.drain(worker2)
	storetest.Install(t, w.store.Store, 0, "newer", 50)
	w.log.AppendControl(0)
	for range 30 {
		w.step(worker2)
	}
	if s := worker2.Status()[0]; s.Epoch != 0 || s.Stall == nil {
		t.Errorf("took over twice: %+v", s)
	}
}

// testAdministrativeHolder: an administrative operation holds a partition by the highest generation, and gives it back by
// restoring the row's generation; the owner comes back by itself within a probe (R16).
func testAdministrativeHolder(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, workertest.Config("admin", 1, 1))
	owner := w.start()
	w.drain(owner)
	held := storetest.Install(t, w.store.Store, 0, "replay", 1<<31-1)
	w.log.AppendControl(0)
	for range 30 {
		w.step(owner)
	}
	if s := owner.Status()[0]; s.Epoch != 0 || s.Frontier != 0 {
		t.Fatalf("an owner goes on under an administrative holder: %+v", s)
	}
	_, err := w.store.Store.InstallEpoch(t.Context(), worker.Installation{
		ExpectedEpoch: held.Epoch, Member: "member-1", Generation: 1, TakeOver: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.drain(owner)
}

// testOverflow: the partition stops at the record that cannot be decided, everything before it is committed, the reason
// is durable, another partition goes on, and a restart does not try again (R09, SC27, B085) — whatever the batch size.
func testOverflow(t *testing.T, fresh Fresh) {
	mark.Expect(t, "R09 record cannot be decided")
	cfg := workertest.Config("r09", 2, 12)
	broken := cfg.SourcePartition(0)
	other := int32(0)
	for cfg.SourcePartition(other) == broken {
		other++
	}
	var want *workertest.Tables
	for _, size := range []int{1, 2, 2000} {
		w := newWorld(t, fresh, cfg)
		w.change = func(o *worker.Options) { o.MaxBatch = size }
		near := workertest.Txn{Key: 0, ID: "near", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: 1<<63 - 1 - 100}
		over := workertest.Txn{Key: 0, ID: "over", Revision: 1, Kind: "NEW", Time: workertest.On(2), Qty: 1}
		fine := workertest.Txn{Key: other, ID: "fine", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: 1}
		w.log.Send(cfg, near)
		w.log.AppendGap(broken, 3)
		w.log.Send(cfg, over, near, fine)
		worker := w.start()
		w.drain(worker, broken)
		for range 20 {
			w.step(worker)
		}
		d := w.tables(t)
		if want == nil {
			want = &d
		}
		same(t, fmt.Sprintf("batch size %d", size), *want, d)
		p := d.Partitions[broken]
		if p.NextOffset != 4 || p.StopReason != ledger.StopOverflow || p.StopOffset != 4 || len(d.Quarantine) != 0 || p.Accepted != 1 {
			t.Errorf("batch size %d: %+v", size, p)
		}
		s := worker.Status()[broken]
		if s.Stall == nil || !s.Stall.NextTry.IsZero() || !strings.Contains(s.Stall.Reason, ledger.StopOverflow) {
			t.Errorf("batch size %d: status %+v", size, s)
		}
		again := w.start()
		w.clock.now = w.clock.now.Add(time.Hour)
		for range 20 {
			w.step(again)
		}
		same(t, "after a restart", *want, w.tables(t))
	}
}

// testStalls: a changed topic and a position out of range leave the frontier alone, show at once, are tried at the slow
// interval only, and the partition goes on when the cause is gone (R36, SC28).
func testStalls(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, workertest.Config("stall", 1, 1))
	w.log.AppendControl(0)
	worker := w.start()
	w.drain(worker)
	for _, cause := range []error{broker.ErrTopicChanged, broker.ErrOffsetOutOfRange, errors.New("broker is down")} {
		w.log.SetError(cause)
		begin, steps := w.clock.now, 0
		for w.clock.now.Before(begin.Add(10 * time.Minute)) {
			if steps++; steps > 5000 {
				t.Fatalf("%v: %d steps in %v", cause, steps, w.clock.now.Sub(begin))
			}
			w.step(worker)
		}
		s := worker.Status()[0]
		if s.Stall == nil || !strings.Contains(s.Stall.Reason, cause.Error()) || s.Epoch == 0 || s.Stall.NextTry.IsZero() {
			t.Errorf("%v: status %+v", cause, s)
		}
		if s.Stall != nil && (s.Stall.Attempts > 80 || s.Stall.Since.After(begin.Add(time.Minute))) {
			t.Errorf("%v: stall %+v", cause, s.Stall)
		}
		w.log.SetError(nil)
		w.log.AppendControl(0)
		w.drain(worker)
		if s := worker.Status()[0]; s.Stall != nil {
			t.Errorf("%v: still stalled: %+v", cause, s.Stall)
		}
	}
	if d := w.tables(t); d.Partitions[0].NextOffset != 4 {
		t.Errorf("frontier %d", d.Partitions[0].NextOffset)
	}
}

// testNoPlaceInTheGroup: a member that lost its place owns nothing, and says why, for as long as that lasts (R36, B015).
func testNoPlaceInTheGroup(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, workertest.Config("noplace", 2, 2))
	worker := w.start()
	w.drain(worker)
	w.member.Fail(errors.New("the coordinator does not answer"))
	var since time.Time
	for range 3 {
		w.step(worker)
		s := worker.Status()
		if len(s) != 1 || s[0].Stall == nil || !strings.Contains(s[0].Stall.Reason, "does not answer") || s[0].Epoch != 0 {
			t.Fatalf("status without a place: %+v", s)
		}
		if since.IsZero() {
			since = s[0].Stall.Since
		}
		if !s[0].Stall.Since.Equal(since) {
			t.Errorf("since %v, then %v", since, s[0].Stall.Since)
		}
	}
	w.member.Fail(nil)
	w.step(worker)
	if s := worker.Status(); len(s) != 0 {
		t.Errorf("status of a member that waits for its turn: %+v", s)
	}
	w.generation++
	w.member.Assign("member-again", w.generation, w.partitions()...)
	w.drain(worker)
	for _, s := range worker.Status() {
		if s.Stall != nil {
			t.Errorf("status with a place: %+v", s)
		}
	}
}
