package worker_test

import (
	"testing"
	"time"

	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// TestR16NewMemberIDInstallsItsOwnEpoch: a process that lost its place in the group and came back under another member ID
// owns nothing of the former one, although the assignment names the same partition: it installs an epoch of its own.
func TestR16NewMemberIDInstallsItsOwnEpoch(t *testing.T) {
	cfg, store, log, member := workertest.Config("member", 1, 1), workertest.NewStore(1), workertest.NewLog(), workertest.NewMember()
	now := time.Unix(0, 0)
	w := worker.New(worker.Options{
		Config: cfg, Store: store, Opener: log, Membership: member, Now: func() time.Time { return now },
		Random: func(int64) int64 { return 0 }, PollWait: time.Millisecond,
	})
	defer w.Close()
	steps := func() worker.PartitionState {
		for range 5 {
			if _, wake, err := w.Step(t.Context()); err != nil {
				t.Fatal(err)
			} else if wake.After(now) {
				now = wake
			}
		}
		state, _, _ := store.Peek(0)
		return state
	}
	member.Assign("a", 1, 0)
	first := steps()
	member.Assign("a", 1, 0) // published again
	if kept := steps(); kept.Epoch != first.Epoch || first.Member != "a" {
		t.Fatalf("the undamaged twin, the same member: %+v, then %+v", first, kept)
	}
	member.Assign("b", 3, 0)
	if state := steps(); state.Epoch != first.Epoch+1 || state.Member != "b" || state.Generation != 3 {
		t.Errorf("another member ID: %+v", state)
	}
	// In a group that was recreated generations repeat: the same one of another member owns nothing either (R16).
	member.Assign("c", 3, 0)
	state := steps()
	if s := w.Status()[0]; s.Epoch != 0 || s.Stall == nil || state.Member != "b" {
		t.Errorf("another member ID at the same generation: status %+v, state %+v", s, state)
	}
}
