package worker_test

import (
	"strings"
	"testing"
	"time"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// TestR36RestartLeavesAStoppedPartitionAlone: a process that starts on a partition that stopped for good shows why, and
// installs no epoch there, however long it runs.
func TestR36RestartLeavesAStoppedPartitionAlone(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		store, member := workertest.NewStore(1), workertest.NewMember()
		former, err := store.InstallEpoch(t.Context(), worker.Installation{Member: "a", Generation: 1})
		if err != nil {
			t.Fatal(err)
		}
		want := former.Epoch + 1
		if stopped {
			want = former.Epoch
			stop := worker.Stop{Reason: ledger.StopOverflow, Detail: "a close"}
			if err := store.RecordStop(t.Context(), 0, former.Epoch, 0, stop); err != nil {
				t.Fatal(err)
			}
		}
		now := time.Unix(0, 0)
		w := worker.New(worker.Options{
			Config: workertest.Config("stop", 1, 1), Store: store, Opener: workertest.NewLog(), Membership: member,
			Now: func() time.Time { return now }, Random: func(int64) int64 { return 0 }, PollWait: time.Millisecond,
		})
		member.Assign("b", 2, 0)
		for range 10 {
			if _, wake, err := w.Step(t.Context()); err != nil {
				t.Fatal(err)
			} else if wake.After(now) {
				now = wake
			}
		}
		if state, _, _ := store.Peek(0); state.Epoch != want {
			t.Errorf("stopped %v: epoch %d, want %d", stopped, state.Epoch, want)
		}
		stall := w.Status()[0].Stall
		if shown := stall != nil && strings.Contains(stall.Reason, ledger.StopOverflow); shown != stopped {
			t.Errorf("stopped %v: status %+v", stopped, stall)
		}
		w.Close()
	}
}
