package boundary

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/mark"
)

// world is everything an observation can show; tests change it between polls.
type world struct {
	lease          Lease
	source, output *Topic
	pipeline       Pipeline
	changed        string
	tail           Tail
	stopDenied     bool
	acquireDenied  bool
	pending        *Pending
	// config changes the run's configuration.
	config func(*Config)
}

func unlimited() map[string]string {
	return map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
}

// drained is a world at a complete boundary: H [10 20], O [7].
func drained() *world {
	return &world{
		source:   &Topic{ID: "S", Configs: unlimited(), Starts: []int64{0, 0}, Stables: []int64{10, 20}, Ends: []int64{10, 20}},
		output:   &Topic{ID: "O", Starts: []int64{0}, Stables: []int64{7}, Ends: []int64{7}},
		pipeline: Pipeline{Worker: []int64{10, 20}, OutboxNext: []int64{4, 5}, SentThrough: []int64{4, 5}, View: []int64{7}},
	}
}

func (w *world) observe(want Want) Observation {
	o := Observation{Pipeline: &w.pipeline}
	switch want {
	case WantLease:
		o.Lease, o.Pending, o.StopDenied, o.AcquireDenied = &w.lease, w.pending, w.stopDenied, w.acquireDenied
	case WantSource:
		o.Source, o.Output = w.source, w.output
	case WantOutput:
		o.Output = w.output
	case WantRecheck:
		o.Lease, o.Source, o.Output, o.Changed = &w.lease, w.source, w.output, w.changed
	case WantTail:
		o.Tail = &w.tail
	}
	return o
}

// run drives a machine as the shell does, one second a poll; events happen before the given poll, or, at -1, between
// comparison and recheck.
func run(t *testing.T, w *world, events map[int]func(*world)) (*Machine, Result) {
	t.Helper()
	config := Config{Timeout: 10 * time.Second, Settle: 2 * time.Second, Expected: Expected{
		SourceTopic: "in", SourceTopicID: "S", SourcePartitions: 2, OutputTopic: "out", OutputTopicID: "O", OutputPartitions: 1}}
	if w.config != nil {
		w.config(&config)
	}
	m := New(config)
	for poll, moves := 0, 0; moves < 200; moves++ {
		if event := events[poll]; event != nil {
			event(w)
			delete(events, poll)
		}
		switch m.Observe(time.Duration(poll)*time.Second, w.observe(m.Want())) {
		case MoveWait:
			poll++
		case MoveRequestStop:
			w.lease.StopRequested = true
			poll++
		case MoveAcquire:
			if event := events[-2]; event != nil { // what acquiring it leads to, if not to the lease
				event(w)
			} else {
				w.lease = Lease{Held: true, Holder: config.Holder, Term: w.lease.Term + 1}
			}
			poll++
		case MoveCompare:
			if event := events[-1]; event != nil {
				event(w)
			}
			m.Compared()
		case MoveEnd:
			return m, m.Result()
		}
	}
	t.Fatal("the machine does not end")
	return nil, Result{}
}

func TestCompleteBoundary(t *testing.T) {
	m, r := run(t, drained(), nil)
	if !r.Complete || len(r.Incomplete)+len(r.Failures) > 0 || r.WritersExcludedBy != "lease" {
		t.Fatalf("%+v", r)
	}
	if !slices.Equal(r.H, []int64{10, 20}) || !slices.Equal(r.O, []int64{7}) || m.Want() != WantNothing {
		t.Errorf("H %v, O %v, want %v", r.H, r.O, m.Want())
	}
}

// TestIncompleteBoundary: each fault at an otherwise complete boundary ends in its phase, naming what was waited for
// (SC25, S10). TestCompleteBoundary is the twin.
func TestIncompleteBoundary(t *testing.T) {
	mark.Expect(t, "SC25 view behind")
	cases := []struct {
		name      string
		fault     func(w *world)
		phase     Phase
		want      string
		partition int32
		retryable bool
	}{
		{"R22 foreign lease", func(w *world) { w.lease = Lease{Held: true, Holder: "gen", Term: 3} }, PhaseWriter, "still held by gen (term 3) after 10s", -1, true},
		{"R22 no right to stop", func(w *world) { w.lease, w.stopDenied = Lease{Held: true, Holder: "gen"}, true }, PhaseWriter, "may not ask it to stop", -1, true},
		{"source gone", func(w *world) { w.source = nil }, PhaseSource, "source topic in does not exist", -1, false},
		{"B010 source recreated", func(w *world) { w.source.ID = "S2" }, PhaseSource, "was recreated: its topic ID is S2", -1, false},
		{"repartitioned", func(w *world) {
			for _, v := range []*[]int64{&w.source.Starts, &w.source.Stables, &w.source.Ends} {
				*v = append(*v, 0)
			}
		}, PhaseSource, "has 3 partitions, the namespace 2", -1, false},
		{"B006 history lost", func(w *world) { w.source.Starts[1] = 4 }, PhaseSource, "begins at offset 4", 1, false},
		{"B005 compacted", func(w *world) { w.source.Configs["cleanup.policy"] = "compact,delete" }, PhaseSource, "cleanup.policy=compact,delete", -1, false},
		{"finite retention", func(w *world) { w.source.Configs["retention.ms"] = "604800000" }, PhaseSource, "retention.ms=604800000", -1, false},
		{"finite size", func(w *world) { w.source.Configs["retention.bytes"] = "1" }, PhaseSource, "retention.bytes=1", -1, false},
		{"B003 open transaction", func(w *world) { w.source.Stables[1] = 15 }, PhaseSource, "last stable offset at 15, below the high watermark 20", 1, true},
		{"worker behind", func(w *world) { w.pipeline.Worker[0] = 9 }, PhaseWorker, "worker frontier 9 has not reached H 10 after 10s", 0, true},
		{"worker beyond", func(w *world) { w.pipeline.Worker[0] = 11 }, PhaseWorker, "beyond H 10", 0, true},
		{"relay ahead", func(w *world) { w.pipeline.SentThrough[1] = 9 }, PhaseRelay, "sent through 9, beyond the next outbox sequence 5", 1, false},
		{"B129 relay behind", func(w *world) { w.pipeline.SentThrough[1] = 2 }, PhaseRelay, "3 outbox envelopes are not acknowledged after 10s", 1, true},
		{"output recreated", func(w *world) { w.output.ID = "O2" }, PhaseOutput, "output topic out was recreated", -1, false},
		{"output gone", func(w *world) { w.output = nil }, PhaseOutput, "output topic out does not exist", -1, false},
		{"output recreated while work is pending", func(w *world) { w.output.ID = "O2"; w.pipeline.Worker[0], w.pipeline.SentThrough[0] = 1, 1 }, PhaseOutput, "output topic out was recreated", -1, false},
		{"output repartitioned", func(w *world) { w.output.Ends = append(w.output.Ends, 0) }, PhaseOutput, "has 2 partitions, the namespace 1", -1, false},
		{"view behind", func(w *world) { w.pipeline.View[0] = 6 }, PhaseView, "view frontier 6 has not reached O 7 after 10s", 0, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := drained()
			c.fault(w)
			_, r := run(t, w, nil)
			expect(t, r, c.phase, c.want, c.partition, c.retryable)
		})
	}
}

// TestMovedBoundary: whatever moves between comparison and recheck makes the run INCOMPLETE (R22, B130).
func TestMovedBoundary(t *testing.T) {
	mark.Expect(t, "SC25 R22 source moved during the run", "R22 output grew past O")
	cases := []struct {
		name      string
		event     func(w *world)
		want      string
		partition int32
		retryable bool
	}{
		{"source moved", func(w *world) { w.source.Ends[1], w.source.Stables[1] = 21, 21 }, "the source moved during the run: its end is 21, H was 20", 1, true},
		{"source recreated", func(w *world) { w.source.ID = "S2" }, "was recreated", -1, false},
		{"history deleted", func(w *world) { w.source.Starts[0] = 1 }, "begins at offset 1", 0, false},
		{"output recreated", func(w *world) { w.output.ID = "O2" }, "was recreated", -1, false},
		{"output shrank", func(w *world) { w.output.Ends[0] = 6 }, "the output topic shrank", 0, true},
		{"foreign record past O", func(w *world) { w.output.Ends[0] = 9; w.tail.Foreign = &Coordinates{Offset: 8} }, "repeats no earlier one", 0, true},
		{"lease taken", func(w *world) { w.lease = Lease{Held: true, Holder: "gen"} }, "gen took the writer lease", -1, true},
		{"configuration changed", func(w *world) { w.changed = "other digest" }, "the namespace changed during the run: other digest", -1, false},
		{"view beyond the end", func(w *world) { w.pipeline.View[0] = 8 }, "the view frontier 8 lies beyond the output topic's end 7", 0, false},
		{"new outbox rows", func(w *world) { w.pipeline.OutboxNext[0]++ }, "new outbox rows", -1, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, r := run(t, drained(), map[int]func(*world){-1: c.event})
			expect(t, r, PhaseRecheck, c.want, c.partition, c.retryable)
		})
	}
	t.Run("R22 identical repeats past O", func(t *testing.T) {
		if _, r := run(t, drained(), map[int]func(*world){-1: func(w *world) { w.output.Ends[0], w.pipeline.View[0] = 9, 9 }}); !r.Complete {
			t.Errorf("%+v", r)
		}
	})
}

// TestR21StopsEndAtOnce: a persisted stop is an ERROR in the phase in which it is first seen, without waiting, and
// names partition and offset (SC17, SC27, B085).
func TestR21StopsEndAtOnce(t *testing.T) {
	mark.Expect(t, "R21 persisted stop ends the run")
	for poll := range 8 {
		w := drained()
		w.lease = Lease{Held: true, Holder: "gen"}
		w.pipeline.Worker[0] = 3
		m, r := run(t, w, map[int]func(*world){
			3: func(w *world) { w.lease.Held = false },
			poll: func(w *world) {
				w.pipeline.Stops = []Stop{{Phase: PhaseWorker, Partition: 1, Offset: 5, Reason: "arithmetic_overflow", Detail: "close"}}
				w.lease.Held = w.lease.Held && poll < 3
			},
		})
		if r.Complete || len(r.Failures) != 1 || len(r.Incomplete) != 0 {
			t.Fatalf("poll %d, phase %s: %+v", poll, m.Phase(), r)
		}
		f := r.Failures[0]
		if *f.Partition != 1 || *f.Offset != 5 || f.Retryable || !strings.Contains(f.Reason, "arithmetic_overflow") {
			t.Errorf("poll %d: %+v", poll, f)
		}
	}
}

func TestWaitsUntilDrained(t *testing.T) {
	w := drained()
	w.lease = Lease{Held: true, Holder: "gen", Term: 1}
	w.pipeline = Pipeline{Worker: []int64{0, 0}, OutboxNext: []int64{1, 1}, SentThrough: []int64{1, 1}, View: []int64{0}}
	w.output.Ends[0] = 0
	_, r := run(t, w, map[int]func(*world){
		2: func(w *world) { w.lease.Held = false },
		// The marker of the last transaction reaches the log late: H settles only then.
		3:  func(w *world) { w.source.Stables[0], w.source.Ends[0] = 9, 11 },
		4:  func(w *world) { w.source.Stables[0] = 11 },
		9:  func(w *world) { w.pipeline.Worker = []int64{11, 20}; w.pipeline.OutboxNext[1] = 9 },
		12: func(w *world) { w.pipeline.SentThrough[1] = 9; w.output.Ends[0] = 8 },
		15: func(w *world) { w.pipeline.View[0] = 8 },
	})
	if !r.Complete || !slices.Equal(r.H, []int64{11, 20}) || !slices.Equal(r.O, []int64{8}) || !w.lease.StopRequested {
		t.Errorf("%+v", r)
	}
}

// TestSourceThatGrows: ends that never stand still are INCOMPLETE.
func TestSourceThatGrows(t *testing.T) {
	events := map[int]func(*world){}
	for poll := range 30 {
		events[poll] = func(w *world) { w.source.Ends[0]++; w.source.Stables[0]++ }
	}
	_, r := run(t, drained(), maps.Clone(events))
	expect(t, r, PhaseSource, "still grows after 10s", -1, true)
}

func expect(t *testing.T, r Result, phase Phase, text string, partition int32, retryable bool) {
	t.Helper()
	if r.Complete || len(r.Failures) > 0 || len(r.Incomplete) == 0 {
		t.Fatalf("%+v", r)
	}
	got := r.Incomplete[0]
	if got.Phase != phase || !strings.Contains(got.Reason, text) || got.Retryable != retryable {
		t.Errorf("%+v\nwant %s: %s, retryable %v", got, phase, text, retryable)
	}
	if p := got.Partition; (p == nil) != (partition < 0) || p != nil && *p != partition {
		t.Errorf("partition %v, want %d", p, partition)
	}
}
