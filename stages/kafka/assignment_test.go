package kafka

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/stages/broker"
)

// check compares the current assignment and says whether the channel that was current before was closed.
func (r *roster) check(t *testing.T, before <-chan struct{}, superseded bool, want broker.Assignment) <-chan struct{} {
	t.Helper()
	got, changed := r.get()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("assignment (-want +got):\n%s", diff)
	}
	select {
	case <-before:
		if !superseded {
			t.Fatal("superseded although nothing changed")
		}
	default:
		if superseded {
			t.Fatal("not superseded although it changed")
		}
	}
	return changed
}

func TestRosterKeepsCompleteAssignments(t *testing.T) {
	r := newRoster()
	_, changed := r.get()
	r.add("m1", 3, []int32{2, 0})
	changed = r.check(t, changed, true, broker.Assignment{Member: "m1", Generation: 3, Partitions: []int32{0, 2}})
	r.add("m1", 4, nil)
	changed = r.check(t, changed, false, broker.Assignment{Member: "m1", Generation: 3, Partitions: []int32{0, 2}})
	r.remove(nil)
	r.remove([]int32{7})
	changed = r.check(t, changed, false, broker.Assignment{Member: "m1", Generation: 3, Partitions: []int32{0, 2}})
	r.add("m1", 5, []int32{1})
	changed = r.check(t, changed, true, broker.Assignment{Member: "m1", Generation: 5, Partitions: []int32{0, 1, 2}})
	r.remove([]int32{0, 1})
	changed = r.check(t, changed, true, broker.Assignment{Member: "m1", Generation: 5, Partitions: []int32{2}})
	r.remove([]int32{2})
	r.check(t, changed, true, broker.Assignment{Member: "m1", Generation: 5})
}

func TestR16StaleCallbacksNeverResurrect(t *testing.T) {
	r := newRoster()
	r.add("m1", 5, []int32{0})
	r.remove([]int32{0})
	_, changed := r.get()
	r.add("m1", 4, []int32{0})
	r.check(t, changed, false, broker.Assignment{Member: "m1", Generation: 5})

	// A new member ID holds nothing of the former one, whatever was or was not said about its loss.
	r.add("m1", 6, []int32{0, 1})
	r.add("m2", 7, []int32{2})
	_, changed = r.get()
	changed = r.check(t, changed, false, broker.Assignment{Member: "m2", Generation: 7, Partitions: []int32{2}})

	r.close()
	changed = r.check(t, changed, true, broker.Assignment{Member: "m2", Generation: 7})
	r.add("m2", 8, []int32{2})
	r.close()
	r.check(t, changed, false, broker.Assignment{Member: "m2", Generation: 7})
}

// TestB034CallbacksWaitForNobody: the callbacks of a rebalance only note what they are told. They return though nobody
// reads, and beside readers that never stop; what is left is what the last callback said.
func TestB034CallbacksWaitForNobody(t *testing.T) {
	r := newRoster()
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for _, reading := range []bool{false, true} {
		if reading {
			for range 4 {
				readers.Go(func() {
					for {
						select {
						case <-stop:
							return
						default:
							r.get()
						}
					}
				})
			}
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range int32(2_000) {
				r.add("m", i+1, []int32{0, 1})
				r.remove([]int32{0, 1})
			}
			r.add("m", 2_001, []int32{1})
		}()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatal("a callback does not return")
		}
	}
	close(stop)
	readers.Wait()
	if got, _ := r.get(); got.Generation != 2_001 || len(got.Partitions) != 1 || got.Partitions[0] != 1 {
		t.Errorf("got %+v", got)
	}
}
