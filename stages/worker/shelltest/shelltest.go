package shelltest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// Run runs the suite over the stores that fresh makes.
func Run(t *testing.T, fresh Fresh) {
	for name, test := range map[string]func(t *testing.T, fresh Fresh){
		"SC02Amendment":            testAmendment,
		"BatchSizes":               testBatchSizes,
		"R08CrashAfterEachPoll":    testCrashAfterEachPoll,
		"R08ControlOnly":           testControlOnly,
		"SC18UnknownOutcomes":      testUnknownOutcomes,
		"B095CrashEverywhere":      testCrashEverywhere,
		"R15StaleCache":            testStaleCache,
		"R16DelayedInstall":        testDelayedInstall,
		"R16RecreatedGroup":        testRecreatedGroup,
		"R16AdministrativeHolder":  testAdministrativeHolder,
		"R14OtherKeyGoesOn":        testOtherKeyGoesOn,
		"R20RestartWithEmptyCache": testRestart,
		"R09Overflow":              testOverflow,
		"R36StallsAreVisible":      testStalls,
		"R36NoPlaceInTheGroup":     testNoPlaceInTheGroup,
		"S4BadInput":               testBadInput,
		"B013FailedBatch":          testFailedBatch,
		"B015OnePartitionFails":    testOnePartitionFails,
		"B021PoisonRecord":         testPoisonRecord,
		"B035TwentyTurns":          testTurns,
		"B039CommitFails":          testCommitFails,
	} {
		t.Run(name, func(t *testing.T) { test(t, fresh) })
	}
}

// testAmendment is SC02, and its replay: nothing changes when the records come again.
func testAmendment(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, workertest.Config("sc02", 2, 1))
	issue := workertest.Txn{ID: "issue", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: -50}
	w.log.Send(w.cfg, issue,
		workertest.Txn{ID: "less", Revision: 1, Kind: "NEW", Time: workertest.On(2), Qty: -20},
		workertest.Txn{ID: "receipt", Revision: 1, Kind: "NEW", Time: workertest.On(3), Qty: 50})
	worker := w.start()
	w.drain(worker)
	d := w.tables(t)
	if diff := cmp.Diff(map[int]int64{1: 50, 2: 30, 3: 80}, closes(d, 0)) + cmp.Diff(map[int]int64{1: 50}, alerts(d, 0)); diff != "" {
		t.Errorf("before the amendment: %s", diff)
	}
	amendment := issue
	amendment.Revision, amendment.Kind, amendment.Qty = 2, "AMEND", -30
	w.log.Send(w.cfg, amendment)
	w.drain(worker)
	d = w.tables(t)
	if diff := cmp.Diff(map[int]int64{1: 70, 2: 50, 3: 100}, closes(d, 0)) + cmp.Diff(map[int]int64{2: 50}, alerts(d, 0)); diff != "" {
		t.Errorf("after the amendment: %s", diff)
	}
	sent := len(d.Outbox)
	w.log.Send(w.cfg, amendment, issue)
	w.drain(worker)
	if again := w.tables(t); len(again.Outbox) != sent {
		t.Errorf("duplicates published: %d envelopes, then %d", sent, len(again.Outbox))
	}
	if lag := w.member.Lag(); len(lag) != 0 && lag[w.cfg.SourcePartition(0)] > 6 {
		t.Errorf("lag signal %v", lag)
	}
	worker.Close()
	if lag := w.member.Lag(); lag[w.cfg.SourcePartition(0)] != 6 {
		t.Errorf("lag signal after Close %v", lag)
	}
	if n := w.log.OpenReaders(); n != 0 {
		t.Errorf("%d readers are open after Close", n)
	}
}

// testBatchSizes: batch size, output bound, input bound, cache size and lanes change nothing in any table.
func testBatchSizes(t *testing.T, fresh Fresh) {
	mark.Expect(t, "B043 large output ends the unit of work")
	cfg := workertest.Config("sizes", 3, 7)
	rng := rand.New(rand.NewPCG(7, 7))
	log := workertest.NewLog()
	log.Mix(cfg, rng, 1500, workertest.Spread{Keys: 7, Identities: 25, Days: 20})
	var want *workertest.Tables
	for name, change := range map[string]func(o *worker.Options){
		"1":          func(o *worker.Options) { o.MaxBatch = 1 },
		"7":          func(o *worker.Options) { o.MaxBatch = 7 },
		"2000":       func(o *worker.Options) { o.MaxBatch = 2000 },
		"no cache":   func(o *worker.Options) { o.MaxBatch, o.CacheRows = 50, -1 },
		"tiny cache": func(o *worker.Options) { o.MaxBatch, o.CacheRows = 20, 30 },
		"few bytes":  func(o *worker.Options) { o.MaxInputBytes, o.MaxOutputBytes = 1000, 3000 },
	} {
		w := newWorld(t, fresh, cfg)
		w.log, w.change = log, change
		if want == nil {
			reference := w.reference()
			want = &reference
			if len(want.Conflicts) == 0 || len(want.Quarantine) == 0 || len(want.Evidence) == 0 || len(want.Outbox) < 1000 {
				t.Fatalf("the history is too tame: %d conflicts, %d rejections, %d envelopes", len(want.Conflicts), len(want.Quarantine), len(want.Outbox))
			}
		}
		worker := w.start()
		w.drain(worker)
		worker.Close()
		same(t, name, *want, w.tables(t))
	}
}

// testCrashAfterEachPoll: 1,000 records with gaps and markers, ten at a time, a crash before the commit of each poll and
// one after: none is skipped, none decided twice (R08).
func testCrashAfterEachPoll(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, workertest.Config("r08", 1, 3))
	w.log.Mix(w.cfg, rand.New(rand.NewPCG(8, 8)), 1000, workertest.Spread{Keys: 3, Identities: 40, Days: 10})
	w.log.AppendControl(0)
	w.change = func(o *worker.Options) { o.MaxBatch = 10 }
	failBegin := false
	w.store.Fate = func(op workertest.Op, _ int32) workertest.Fate {
		if op == workertest.OpBegin && failBegin {
			return workertest.Fail
		}
		return workertest.Proceed
	}
	polls := 0
	for w.tables(t).Partitions[0].NextOffset < w.end(0) {
		if polls++; polls > 1000 {
			t.Fatal("no end")
		}
		for _, failBegin = range []bool{true, false} {
			crashing := w.start()
			w.step(crashing) // installs the epoch
			w.step(crashing) // polls and commits, or fails to
		}
	}
	if polls < 90 {
		t.Errorf("only %d polls", polls)
	}
	same(t, "after crashes", w.reference(), w.tables(t))
}

// testControlOnly: a log that ends in markers and aborted data is read to the last marker, and empty transactions move
// the frontier without any other change (B001, B004).
func testControlOnly(t *testing.T, fresh Fresh) {
	mark.Expect(t, "R08 advanced without a record")
	w := newWorld(t, fresh, workertest.Config("control", 1, 1))
	worker := w.start()
	for range 3 {
		w.log.AppendGap(0, 5)
		w.log.AppendControl(0)
		w.drain(worker)
	}
	w.log.AppendGap(0, 4)
	w.drain(worker)
	d := w.tables(t)
	want := workertest.Tables{Partitions: []workertest.PartitionRow{{NextOffset: 18, OutboxNext: 1}}}
	same(t, "control markers only", want, d)
}

// testOtherKeyGoesOn: a conflict and another key's record in one fetch are one unit of work; the first key is frozen, the
// other computed (R14, SC08, SC10).
func testOtherKeyGoesOn(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, workertest.Config("r14", 1, 2))
	blocked, other := workertest.Txn{Key: 0, ID: "a", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: -5},
		workertest.Txn{Key: 1, ID: "b", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: -50}
	conflicting := blocked
	conflicting.Qty = -6
	w.log.Send(w.cfg, blocked, conflicting, other)
	worker := w.start()
	commits := 0
	w.store.Fate = func(op workertest.Op, _ int32) workertest.Fate {
		if op == workertest.OpCommit {
			commits++
		}
		return workertest.Proceed
	}
	w.drain(worker)
	d := w.tables(t)
	if commits != 1 || len(d.Keys) != 2 || len(d.Keys[0].Conflicts) != 1 || d.Keys[0].StatusVersion != 2 || len(d.Keys[1].Conflicts) != 0 {
		t.Errorf("%d commits, keys %+v", commits, d.Keys)
	}
	if diff := cmp.Diff(map[int]int64{1: 50}, closes(d, 1)); diff != "" {
		t.Error(diff)
	}
	// The key is resolved by a fresh worker, which has to load all of its authority (SC09).
	resolving := blocked
	resolving.Revision, resolving.Kind, resolving.Qty = 2, "AMEND", -7
	late := workertest.Txn{Key: 0, ID: "z", Revision: 1, Kind: "NEW", Time: workertest.On(2), Qty: -40}
	w.log.Send(w.cfg, late, resolving)
	w.drain(w.start())
	d = w.tables(t)
	if diff := cmp.Diff(map[int]int64{1: 93, 2: 53}, closes(d, 0)); diff != "" || len(d.Keys[0].Conflicts) != 0 || d.Keys[0].StatusVersion != 3 {
		t.Errorf("after the resolution: %+v %s", d.Keys[0], diff)
	}
	same(t, "resolved by another worker", w.reference(), d)
	// Blocked and resolved within one fetch, by a worker that knows only a part of the key: it commits what precedes the
	// resolution, and then loads the rest.
	mark.Expect(t, "S4 key has to be loaded completely")
	conflicting.Revision, resolving.Revision = 2, 3
	w.log.Send(w.cfg, conflicting, resolving, late)
	commits = 0
	w.drain(w.start())
	if commits != 2 {
		t.Errorf("%d commits, want 2", commits)
	}
	same(t, "blocked and resolved at once", w.reference(), w.tables(t))
}

// testRestart: after a restart with an empty cache, exact duplicates and distinct payloads are told apart at every
// revision ever seen, superseded ones included (R20).
func testRestart(t *testing.T, fresh Fresh) {
	mark.Expect(t, "R20 evidence read")
	w := newWorld(t, fresh, workertest.Config("r20", 1, 1))
	first := workertest.Txn{ID: "a", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: -1}
	second, third := first, first
	second.Revision, second.Qty = 2, -2
	third.Revision, third.Qty = 3, -3
	w.log.Send(w.cfg, first, second, third)
	w.drain(w.start())
	before := w.tables(t)
	w.log.Send(w.cfg, first, second, third)
	w.drain(w.start())
	after := w.tables(t)
	before.Partitions, after.Partitions = nil, nil
	same(t, "exact duplicates after a restart", before, after)
	other := first
	other.Qty = -9
	w.log.Send(w.cfg, other)
	w.drain(w.start())
	w.log.Send(w.cfg, other, first)
	w.drain(w.start())
	d := w.tables(t)
	if len(d.Conflicts) != 1 || d.Conflicts[0].Revision != 1 || len(d.Evidence) != 3 || len(d.Keys[0].Conflicts) != 0 {
		t.Errorf("conflict at a superseded revision: %+v, evidence %+v", d.Conflicts, d.Evidence)
	}
	same(t, "restarts", w.reference(), d)
}

// testBadInput: what is no transaction is kept byte by byte, with its progress, and touches nothing else (B046, B047,
// B048, SC22).
func testBadInput(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, workertest.Config("bad", 1, 1))
	noise := make([]byte, 1<<20)
	chacha := rand.NewChaCha8([32]byte{47})
	_, _ = chacha.Read(noise) // never fails
	key := w.cfg.BrokerKey(0)
	nul := workertest.Txn{ID: "a\x00b", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: -7}
	raw := []struct{ key, value []byte }{
		{key, []byte{0xff, 0, '{', '"'}},
		{[]byte{0}, noise},
		{nil, nil},
		{[]byte{}, []byte{}},
		{key, nul.Encode(w.cfg)},
		{key, slices.Concat(noise, []byte{'x'})},
	}
	for _, r := range raw {
		w.log.Append(0, r.key, r.value)
	}
	fine := workertest.Txn{ID: "ab", Revision: 1, Kind: "NEW", Time: "2026-03-21T23:59:59.9999999Z", Qty: -5}
	w.log.Send(w.cfg, fine)
	w.drain(w.start())
	d := w.tables(t)
	if len(d.Quarantine) != len(raw) || d.Partitions[0].NextOffset != 7 || d.Partitions[0].Rejected != 6 || d.Partitions[0].Accepted != 1 {
		t.Fatalf("%d quarantined, %+v", len(d.Quarantine), d.Partitions)
	}
	for i, r := range raw {
		q := d.Quarantine[i]
		if len(r.value) > 1<<20 {
			r.value = nil // above 1 MiB only length and digest are kept (R06)
		}
		if !identical(r.key, q.Key) || !identical(r.value, q.Value) {
			t.Errorf("record %d: kept %d and %d bytes, want %d and %d", i, len(q.Key), len(q.Value), len(r.key), len(r.value))
		}
	}
	if last := d.Quarantine[5]; last.ValueLength != 1<<20+1 || len(last.ValueSHA256) != 32 {
		t.Errorf("oversized: %d bytes, digest %x", last.ValueLength, last.ValueSHA256)
	}
	// 100 nanoseconds before midnight are still that day (B048).
	day := dayOf2026(d.Days[0].Day)
	if len(d.Authority) != 1 || d.Authority[0].TxnID != "ab" || day != 31+28+21 || d.Authority[0].Payload.ValidTime%1_000_000_000 != 999_999_900 {
		t.Errorf("authority %+v on day %d", d.Authority, day)
	}
	same(t, "bad input", w.reference(), d)
}

// identical compares bytes; null and empty differ.
func identical(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
