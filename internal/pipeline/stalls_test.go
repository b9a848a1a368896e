package pipeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/run"
)

// TestR36StopsAreDated: a stop whose stage does not say since when it stands is recorded with the time at which it was first
// seen, for as long as it stands for the same reason; what has a time of its own keeps it.
func TestR36StopsAreDated(t *testing.T) {
	s := &stalls{}
	own := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }
	seen := func(minute int, reasons ...string) (since []time.Time) {
		t.Helper()
		status := []run.Status{{Stage: "worker", Stall: &fault.Stall{Reason: "own", Since: own}}}
		for partition, reason := range reasons {
			st := run.Status{Stage: IntakePublish, Partition: int32(partition)}
			if reason != "" {
				st.Stall = &fault.Stall{Reason: reason}
			}
			status = append(status, st)
		}
		now := standing(status)
		s.date(now, at(minute))
		for _, stall := range now {
			since = append(since, stall.Since)
		}
		return since
	}
	for _, step := range []struct {
		minute  int
		reasons []string
		want    []time.Time
	}{
		{1, []string{"damaged", ""}, []time.Time{own, at(1)}},
		{2, []string{"damaged", "damaged"}, []time.Time{own, at(1), at(2)}},
		{3, []string{"another", "damaged"}, []time.Time{own, at(3), at(2)}},
		{4, []string{"", "damaged"}, []time.Time{own, at(2)}},
		{5, []string{"another", "damaged"}, []time.Time{own, at(5), at(2)}},
	} {
		if diff := cmp.Diff(step.want, seen(step.minute, step.reasons...)); diff != "" {
			t.Errorf("minute %d (-want +got):\n%s", step.minute, diff)
		}
	}
}
