package replaytest

import (
	"context"
	"errors"
	"testing"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/replay"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// testKilled: a replay that dies after any number of steps leaves the partition held. The same replay goes on from its
// cursor, and the owner comes back; so it does where the hold is released instead.
func testKilled(t *testing.T, fresh Fresh) {
	mark.Expect(t, "R25 replay goes on")
	w := newWorld(t, fresh, "killed", 1, 400)
	before := w.subject.Tables(t)
	whole := w.whole(0)
	want := w.records(whole)
	former := w.state(0)
	resumed := false
	for steps := 1; ; steps++ {
		dying := w.replay(whole)
		for range steps {
			if _, _, err := dying.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if dying.Done() {
			break
		}
		if state := w.state(0); steps%2 == 0 {
			in, held := replay.Release(state)
			if held {
				if _, err := w.subject.Worker.InstallEpoch(t.Context(), in); err != nil {
					t.Fatal(err)
				}
			}
			w.drain()
		}
		report := w.run(whole)
		resumed = resumed || report.StartedAt > 0
		if report.Fault != nil || report.Confirmed != want || report.Reread != want {
			t.Fatalf("killed after %d steps: %+v, fault %+v", steps, report, report.Fault)
		}
		after := w.state(0)
		if after.Member != former.Member || after.Generation != former.Generation {
			t.Fatalf("killed after %d steps: %+v became %+v", steps, former, after)
		}
		w.drain()
		w.same("afterwards", before)
	}
	if !resumed {
		t.Error("no replay went on from a cursor")
	}
}

// testInterrupted: a replay that is closed gives the partition back at once and stays open; the next one of another range
// takes its place.
func testInterrupted(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, "interrupted", 1, 400)
	former := w.state(0)
	one := w.replay(w.whole(0))
	for range 7 {
		if _, _, err := one.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := w.state(0); after.Member != former.Member || after.Generation != former.Generation || after.Epoch != former.Epoch+2 {
		t.Errorf("%+v became %+v", former, after)
	}
	if open, err := w.subject.Log.Open(t.Context()); err != nil || len(open) != 1 {
		t.Errorf("open operations %+v, %v", open, err)
	}
	w.drain()
	if report := w.run(replay.Range{From: 10, To: 60}); report.Fault != nil || report.StartedAt != 10 {
		t.Errorf("another range: %+v", report)
	}
	if open, err := w.subject.Log.Open(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("open operations %+v, %v", open, err)
	}
}

// unanswered is a store whose answers to installing an epoch are lost: the epoch is installed.
type unanswered struct{ replay.Store }

// errLost is what the caller sees then.
var errLost = errors.New("the connection was closed")

// InstallEpoch implements replay.Store.
func (u unanswered) InstallEpoch(ctx context.Context, in worker.Installation) (worker.PartitionState, error) {
	if _, err := u.Store.InstallEpoch(ctx, in); err != nil {
		return worker.PartitionState{}, err
	}
	return worker.PartitionState{}, errLost
}

// testInterruptedWhileTaking: a replay that is interrupted before it knows whether it holds the partition gives back what it
// holds; one that knows that somebody else took it gives nothing back.
func testInterruptedWhileTaking(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, "taking", 1, 60)
	former := w.state(0)
	interrupt := func(store replay.Store, want error) {
		t.Helper()
		w.change = func(o *replay.Options) { o.Store = store }
		one := w.replay(w.whole(0))
		var err error
		for err == nil && !one.Done() {
			_, _, err = one.Step(t.Context())
		}
		if !errors.Is(err, want) {
			t.Fatalf("error %v, want %v", err, want)
		}
		w.change = nil
		if err := one.Close(t.Context()); err != nil && !errors.Is(err, errLost) {
			t.Fatal(err)
		}
	}
	interrupt(unanswered{w.subject.Store}, errLost)
	if after := w.state(0); after.Member != former.Member || after.Generation != former.Generation {
		t.Errorf("%+v became %+v", former, after)
	}
	w.drain()
	interrupt(overtaken{w.subject.Store}, worker.ErrFenced)
	if after := w.state(0); after.Generation != replay.HoldGeneration {
		t.Errorf("another's hold was given back: %+v", after)
	}
}

// overtaken is a store in which another replay takes every partition first.
type overtaken struct{ replay.Store }

// InstallEpoch implements replay.Store.
func (o overtaken) InstallEpoch(ctx context.Context, in worker.Installation) (worker.PartitionState, error) {
	if _, err := o.Store.InstallEpoch(ctx, in); err != nil {
		return worker.PartitionState{}, err
	}
	return o.Store.InstallEpoch(ctx, in)
}

// testSecondReplay: of two replays of one partition the later one fences the earlier, which reads no further and gives
// nothing back.
func testSecondReplay(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, "second", 1, 400)
	first, second := w.replay(w.whole(0)), w.replay(w.whole(0))
	for _, r := range []*replay.Replay{first, second} {
		for range 4 {
			if _, _, err := r.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, _, err := first.Step(t.Context()); !errors.Is(err, worker.ErrFenced) {
		t.Errorf("the earlier one reads on: %v", err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, held := replay.HeldBy(w.state(0)); !held {
		t.Error("the earlier one gave back what the later one holds")
	}
	if report := w.finish(second, nil); report.Fault != nil {
		t.Errorf("%+v", report.Fault)
	}
	w.drain()
}

// testTakeOver: a partition that a killed replay left held is acquired by a process that was told to take over, and by none
// that was not.
func testTakeOver(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, "takeover", 1, 60)
	dying := w.replay(w.whole(0))
	for range 3 {
		if _, _, err := dying.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.log.Send(w.cfg, workertest.Txn{ID: "new", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: -1})
	for i, takeOver := range []bool{false, true} {
		w.member.Assign("member-9", int32(9+i), 0)
		w.start(takeOver)
		for range 30 {
			w.stepWorker()
		}
		if _, held := replay.HeldBy(w.state(0)); held == takeOver {
			t.Errorf("take over %v: held is %v: %+v", takeOver, held, w.state(0))
		}
	}
	w.drain()
}

// testHistoryLostMeanwhile: records that are deleted while they are read end the replay, and the owner goes on.
func testHistoryLostMeanwhile(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, "meanwhile", 1, 400)
	before := w.subject.Tables(t)
	one := w.replay(w.whole(0))
	var err error
	for i := range 20 {
		if i == 5 {
			w.log.Trim(0, 300)
		}
		if _, _, err = one.Step(t.Context()); err != nil {
			break
		}
	}
	if !errors.Is(err, replay.ErrRefused) {
		t.Errorf("got %v", err)
	}
	if err := one.Close(t.Context()); err != nil {
		t.Error(err)
	}
	w.drain()
	w.same("afterwards", before)
}

// testNotIntact: whatever state lacks, or holds otherwise, is found at its offset; nothing is changed and the owner goes on.
func testNotIntact(t *testing.T, fresh Fresh) {
	mark.Expect(t, "R25 state is not intact")
	w := newWorld(t, fresh, "damaged", 1, 400)
	before := w.subject.Tables(t)
	w.change = func(o *replay.Options) { o.Store = &damaged{Store: o.Store} }
	if report := w.run(w.whole(0)); report.Fault != nil {
		t.Fatalf("the undamaged twin: %+v", report.Fault)
	}
	for name, damage := range damages() {
		t.Run(name, func(t *testing.T) {
			w := *w
			w.t = t
			d := &damaged{change: damage}
			w.change = func(o *replay.Options) { d.Store = o.Store; o.Store = d }
			report := w.run(w.whole(0))
			switch {
			case !d.done:
				t.Fatal("there was nothing to damage")
			case report.Fault == nil || report.Fault.Detail == "":
				t.Errorf("not found: %+v", report)
			case report.Fault.Offset < d.from || report.Fault.Offset >= d.to:
				t.Errorf("found at offset %d, it is in [%d, %d): %s", report.Fault.Offset, d.from, d.to, report.Fault.Detail)
			case report.Cursor > report.Fault.Offset || report.Confirmed > report.Reread:
				t.Errorf("%+v", report)
			}
			w.drain()
			w.same("afterwards", before)
		})
	}
}

// testExtraQuarantine: a quarantine entry of an offset that holds no record, a control marker's, is found at that offset.
func testExtraQuarantine(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, "extra", 1, 30)
	marker := w.state(0).NextOffset - 1
	w.change = func(o *replay.Options) {
		o.Store = &damaged{Store: o.Store, change: func(f *replay.Found) bool {
			f.Quarantine = append(f.Quarantine, ledger.QuarantineRow{Offset: marker, Reason: "invalid_kind"})
			return true
		}}
	}
	report := w.run(w.whole(0))
	if report.Fault == nil || report.Fault.Offset != marker || report.Confirmed != report.Reread {
		t.Errorf("%+v, fault %+v", report, report.Fault)
	}
	w.change = nil
	if report := w.run(w.whole(0)); report.Fault != nil {
		t.Errorf("the undamaged twin: %+v", report.Fault)
	}
}

// entry finds the conflict of an identity's highest revision.
func entry(f *replay.Found, c ledger.ConflictRow) *ledger.AuthorityRow {
	for i := range f.Authority {
		a := &f.Authority[i]
		if a.KeyID == c.KeyID && a.TxnID == c.TxnID && a.Payload.Revision == c.Revision {
			return a
		}
	}
	return nil
}
