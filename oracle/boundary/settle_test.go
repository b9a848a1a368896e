package boundary

import (
	"slices"
	"testing"
)

// TestR22SettleIsWaitedOut: ends that stood still for a moment only are not H: the marker of a transaction may reach the
// log after EndTransaction has returned.
func TestR22SettleIsWaitedOut(t *testing.T) {
	if _, r := run(t, drained(), nil); !r.Complete || !slices.Equal(r.H, []int64{10, 20}) {
		t.Fatalf("the undamaged twin: %+v", r)
	}
	_, r := run(t, drained(), map[int]func(*world){2: func(w *world) { // seen equal at polls 0 and 1, for less than Settle
		w.source.Stables[0], w.source.Ends[0], w.pipeline.Worker[0] = 11, 11, 11
	}})
	if !r.Complete || !slices.Equal(r.H, []int64{11, 20}) {
		t.Errorf("H %v, want 11 and 20: %+v", r.H, r)
	}
}
