package replaytest

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/replay"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// Run runs the suite over the states that fresh makes.
func Run(t *testing.T, fresh Fresh) {
	for name, test := range map[string]func(t *testing.T, fresh Fresh){
		"SC23Intact":              testIntact,
		"SC23Refused":             testRefused,
		"B006LostHead":            testLostHead,
		"B097OwnerParked":         testOwnerParked,
		"R25Ranges":               testRanges,
		"R25NotIntact":            testNotIntact,
		"R25ExtraQuarantine":      testExtraQuarantine,
		"R25Killed":               testKilled,
		"R25Interrupted":          testInterrupted,
		"R25InterruptedTaking":    testInterruptedWhileTaking,
		"R16SecondReplay":         testSecondReplay,
		"R16TakeOverAfterAKill":   testTakeOver,
		"R16RebalanceDuring":      testRebalanceDuring,
		"R25HistoryLostMeanwhile": testHistoryLostMeanwhile,
	} {
		t.Run(name, func(t *testing.T) { test(t, fresh) })
	}
}

// testIntact: all of a history of every kind is confirmed, record by record, nothing but the epoch changes, and the owner
// goes on.
func testIntact(t *testing.T, fresh Fresh) {
	mark.Expect(t, "R25 owner parked")
	mark.Expect(t, "R25 conflict confirmed")
	w := newWorld(t, fresh, "sc23", 2, 600)
	before := w.subject.Tables(t)
	for p := range int32(2) {
		former := w.state(p)
		report := w.run(w.whole(p))
		if report.Fault != nil || report.Reread != w.records(w.whole(p)) || report.Confirmed != report.Reread {
			t.Errorf("partition %d: %+v, fault %+v", p, report, report.Fault)
		}
		k := report.Kinds
		if p == 0 && (k.Authoritative == 0 || k.Superseded == 0 || k.Duplicate == 0 || k.Conflicting == 0 || k.Quarantined == 0) {
			t.Errorf("the history lacks a kind: %+v", k)
		}
		after := w.state(p)
		if after.Epoch != former.Epoch+2 || after.Member != former.Member || after.Generation != former.Generation || after.NextOffset != former.NextOffset {
			t.Errorf("partition %d: %+v became %+v", p, former, after)
		}
	}
	w.same("after the replay", before)
	w.log.Mix(w.cfg, rand.New(rand.NewPCG(8, 8)), 100, workertest.Spread{Keys: 6, Identities: 8, Days: 10})
	w.drain()
	w.describe()
	if report := w.run(w.whole(0)); report.Fault != nil {
		t.Errorf("after more records: %+v", report.Fault)
	}
	if open, err := w.subject.Log.Open(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("open operations %+v, %v", open, err)
	}
}

// testRefused: what may not be replayed is refused before anything is touched, the owner included.
func testRefused(t *testing.T, fresh Fresh) {
	mark.Expect(t, "SC23 replay refused")
	w := newWorld(t, fresh, "refused", 1, 100)
	end := w.state(0).NextOffset
	whole := w.whole(0)
	for name, c := range map[string]struct {
		r      replay.Range
		damage func(info *broker.TopicInfo)
		says   string
	}{
		"B097 unprocessed input":       {replay.Range{To: end + 1}, nil, "never processed"},
		"starting at the end":          {replay.Range{From: end, To: end + 5}, nil, "never processed"},
		"no offset":                    {replay.Range{From: 5, To: 5}, nil, "no offset"},
		"below zero":                   {replay.Range{From: -1, To: 5}, nil, "no offset"},
		"no such partition":            {replay.Range{Partition: 1, To: 5}, nil, "partitions 0 to 0"},
		"B097 lost head":               {whole, func(i *broker.TopicInfo) { i.Starts[0] = 1 }, "from offset 1 on"},
		"lost tail":                    {whole, func(i *broker.TopicInfo) { i.Ends[0] = end - 1 }, "are lost"},
		"SC28 another topic":           {whole, func(i *broker.TopicInfo) { i.ID = "BBBBBBBBBBBBBBBBBBBBBQ" }, "recreated"},
		"SC28 another partition count": {whole, func(i *broker.TopicInfo) { i.Partitions = 2 }, "2 partitions"},
		"B005 compacted":               {whole, func(i *broker.TopicInfo) { i.Configs["cleanup.policy"] = "compact" }, "compacted"},
	} {
		t.Run(name, func(t *testing.T) {
			w := *w
			w.t = t
			w.describe()
			if c.damage != nil {
				c.damage(w.topics.info)
			}
			w.refused(c.r, c.says)
		})
	}
	w.unprocessed()
	w.topics.info = nil
	w.refused(whole, "does not exist")
	w.describe()
	w.change = func(o *replay.Options) { o.Unfinished = "the namespace is not finished" }
	w.refused(whole, "not finished")
	w.change = nil
	if report := w.run(whole); report.Fault != nil || report.Confirmed == 0 {
		t.Errorf("the undamaged twin: %+v", report)
	}
}

// unprocessed refuses a range of a partition that no worker ever had.
func (w *world) unprocessed() {
	w.t.Helper()
	r := replay.Range{To: 1}
	err := replay.Check(r, replay.Facts{Partitions: 1, Found: w.topics.info})
	if !errors.Is(err, replay.ErrRefused) || !strings.Contains(err.Error(), "nothing of the partition was ever processed") {
		w.t.Errorf("nothing processed: %v", err)
	}
}

// refused wants a refusal that says something, and leaves the row, every table and the log of operations as they are.
func (w *world) refused(r replay.Range, says string) {
	w.t.Helper()
	before, former := w.subject.Tables(w.t), w.state(0)
	open, err := w.subject.Log.Open(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	one := w.replay(r)
	if _, _, err := one.Step(w.t.Context()); !errors.Is(err, replay.ErrRefused) || !strings.Contains(err.Error(), says) {
		w.t.Errorf("want a refusal that says %q, got %v", says, err)
	}
	if err := one.Close(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	if after := w.state(0); after != former {
		w.t.Errorf("%+v became %+v", former, after)
	}
	if now, err := w.subject.Log.Open(w.t.Context()); err != nil || len(now) != len(open) {
		w.t.Errorf("operations %+v, %v", now, err)
	}
	w.same("after the refusal", before)
}

// testLostHead is B006: the records before offset 4 are deleted after they were processed.
func testLostHead(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, "b006", 1, 10)
	w.log.Trim(0, 4)
	w.topics.info.Starts[0] = 4
	w.refused(w.whole(0), "from offset 4 on")
	retained := w.whole(0)
	retained.From = 4
	if report := w.run(retained); report.Fault != nil || report.Confirmed != w.records(retained) {
		t.Errorf("what is retained: %+v", report)
	}
}

// testOwnerParked is B097: while a range below the frontier is replayed the normal owner writes nothing, although there is
// more to do; the frontier stays, no new version arises, and afterwards it goes on.
func testOwnerParked(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, "b097", 1, 100)
	before := w.subject.Tables(t)
	frontier := w.state(0).NextOffset
	one := w.replay(replay.Range{To: 50})
	w.change = nil
	held := 0
	report := w.finish(one, func() {
		state := w.state(0)
		if _, ok := replay.HeldBy(state); !ok {
			return
		}
		if held++; held == 1 {
			w.log.Send(w.cfg, workertest.Txn{ID: "while held", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: -1})
		}
		for range 20 {
			w.stepWorker()
		}
		if s := w.worker.Status()[0]; s.Epoch != 0 || s.Stall == nil || w.state(0) != state {
			t.Errorf("the owner goes on while a replay holds: %+v, row %+v", s, w.state(0))
		}
		w.same("while it is held", before)
	})
	if held == 0 || report.Fault != nil || report.Frontier != frontier {
		t.Errorf("held %d steps, %+v", held, report)
	}
	w.drain()
	if state := w.state(0); state.NextOffset != frontier+1 || state.Generation != 1 {
		t.Errorf("afterwards %+v", state)
	}
}

// testRanges: any range, in batches of any size, is confirmed for the records that it holds.
func testRanges(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, "ranges", 1, 200)
	rng := rand.New(rand.NewPCG(3, 3))
	frontier := w.state(0).NextOffset
	before := w.subject.Tables(t)
	for range 12 {
		from := rng.Int64N(frontier)
		r := replay.Range{From: from, To: from + 1 + rng.Int64N(frontier-from)}
		w.change = func(o *replay.Options) { o.MaxBatch = 1 + rng.IntN(30); o.Checkpoint = 1 + rng.IntN(50) }
		if report := w.run(r); report.Fault != nil || report.Confirmed != w.records(r) || report.Reread != report.Confirmed {
			t.Errorf("%v: %+v, fault %+v", r, report, report.Fault)
		}
	}
	w.same("after twelve replays", before)
}

// testRebalanceDuring: a rebalance while a replay holds the partition gives it to nobody; the newer assignment gets it
// afterwards, and the former owner's does not.
func testRebalanceDuring(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, "rebalance", 1, 60)
	one := w.replay(w.whole(0))
	for range 3 {
		if _, _, err := one.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	state := w.state(0)
	if _, held := replay.HeldBy(state); !held {
		t.Fatalf("not held: %+v", state)
	}
	newer := worker.Installation{ExpectedEpoch: state.Epoch, Member: "member-2", Generation: 7}
	if _, err := w.subject.Worker.InstallEpoch(t.Context(), newer); !errors.Is(err, worker.ErrFenced) {
		t.Errorf("a newer assignment takes a held partition: %v", err)
	}
	if report := w.finish(one, nil); report.Fault != nil {
		t.Errorf("%+v", report.Fault)
	}
	newer.ExpectedEpoch = w.state(0).Epoch
	if _, err := w.subject.Worker.InstallEpoch(t.Context(), newer); err != nil {
		t.Errorf("a newer assignment after the replay: %v", err)
	}
}
