package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
)

// Failure is what a checker found.
type Failure struct {
	// Checker names what found it: one of the checkers, liveness or verdict.
	Checker string `json:"checker"`
	// Detail is one line.
	Detail string `json:"detail"`
}

// Result is what one seed came to.
type Result struct {
	Seed uint64
	// Failure is nil where nothing was found.
	Failure *Failure
	// Verdict is the production verifier's over the drained pipeline.
	Verdict report.Status
	// Actions, Records, Faults and Steps count the schedule, the events of the history, the faults that struck, and the
	// steps of stages, those of the liveness phase included.
	Actions, Records, Faults, Steps int
	// Struck counts the faults that struck by what they do.
	Struck map[string]int
	// Trace is everything that happened, one line each. Digest is the SHA-256 of it, in hex: two runs of one seed with one
	// version of the code have the same.
	Trace  []string
	Digest string
}

// Run runs the scenario of a seed. Equal seeds give equal results. The error is that of ctx, or a bug of the simulator.
func Run(ctx context.Context, seed uint64) (*Result, error) {
	s, err := newScenario(seed)
	if err != nil {
		return nil, err
	}
	return run(ctx, s, wraps{})
}

// run runs a scenario to its end or the first finding.
func run(ctx context.Context, s *scenario, damage wraps) (*Result, error) {
	w := newWorld(ctx, s, damage)
	for w.act() {
	}
	var verdict report.Status
	if w.failure == nil {
		w.drain()
	}
	if w.failure == nil {
		verdict = w.judge()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &Result{
		Seed: s.seed, Failure: w.failure, Verdict: verdict, Actions: len(s.actions), Records: len(s.events), Steps: w.steps,
		Struck: map[string]int{}, Trace: w.trace,
	}
	for m, n := range w.struck {
		r.Faults += n
		if n > 0 {
			r.Struck[mode(m).String()] += n
		}
	}
	digest := sha256.New()
	for _, line := range w.trace {
		fmt.Fprintln(digest, line)
	}
	r.Digest = hex.EncodeToString(digest.Sum(nil))
	return r, nil
}

// drain is the liveness phase: faults off, everything up, the rest of the history produced. Whatever happened before,
// the pipeline must come to rest within a bound.
func (w *world) drain() {
	w.cursor = len(w.actions)
	w.log("liveness", "faults off")
	w.produce(len(w.events))
	w.flush(len(w.late) / 2)
	w.raise()
	w.settleGroup()
	rounds := 200 + 4*len(w.events)
	pause := 50 * time.Millisecond
	for range rounds {
		progress := w.round()
		w.check()
		if w.failure != nil || w.drained() {
			return
		}
		// Stages that wait, wait for ever longer backoffs at most fifteen seconds apart.
		if pause *= 2; progress {
			pause = 50 * time.Millisecond
		}
		w.clock = w.clock.Add(min(pause, 5*time.Second))
	}
	w.fail(findingLiveness, "not drained after %d rounds without faults: %s", rounds, w.behind())
}

// raise starts what is dead.
func (w *world) raise() {
	for _, p := range w.workers {
		if p.dead {
			w.startWorker(p)
		}
	}
	for _, p := range w.relays {
		if p.dead {
			w.startRelay(p)
		}
	}
	for _, p := range w.views {
		if p.dead {
			w.startView(p)
		}
	}
}

// round steps everything that can be stepped, each until it makes no progress or was stepped often enough for a round.
func (w *world) round() (progress bool) {
	again := func(step func() (bool, time.Time)) {
		for range 50 {
			more, _ := step()
			progress = progress || more
			if !more || w.failure != nil {
				return
			}
		}
	}
	for _, p := range w.workers {
		for lane := range p.lanes {
			again(func() (bool, time.Time) { return w.stepWorker(p, lane, nil) })
		}
	}
	for _, p := range w.relays {
		again(func() (bool, time.Time) { return w.stepRelay(p, nil) })
	}
	for _, p := range w.views {
		for partition := range p.views {
			again(func() (bool, time.Time) { return w.stepView(p, partition, nil) })
		}
	}
	return progress
}

// drained reports whether every stage is where the history says it must end.
func (w *world) drained() bool { return w.behind() == "" }

// behind says what is not drained, empty where everything is.
func (w *world) behind() string {
	for p := range w.truths {
		state, _, _ := w.state.Peek(int32(p))
		if stop, stopped := w.deserved().stops[int32(p)]; stopped {
			if state.NextOffset != stop || state.Stop == nil {
				return fmt.Sprintf("source partition %d is at %d, must stop at %d", p, state.NextOffset, stop)
			}
		} else if end := w.source.Reach(int32(p)); state.NextOffset != end {
			return fmt.Sprintf("source partition %d is at %d of %d", p, state.NextOffset, end)
		}
		if sent, end := int64(len(w.outbox.Receipts(int32(p))))+1, w.state.OutboxEnd(int32(p)); sent != end {
			return fmt.Sprintf("outbox of partition %d is sent through %d of %d", p, sent, end)
		}
	}
	progress := w.view.Progress()
	for p, records := range w.records {
		if at := progress[int32(p)].Next; at != int64(len(records)) {
			return fmt.Sprintf("view of output partition %d is at %d of %d", p, at, len(records))
		}
	}
	return ""
}

// judge has the production verifier judge the drained pipeline and compares its verdict with what the history deserves.
func (w *world) judge() report.Status {
	d := w.deserved()
	if len(d.stops) > 0 {
		if w.verdict(&judge{w: w, tables: w.state.Tables()}, report.Error) == "" {
			return ""
		}
	}
	status := w.verdict(&judge{w: w, tables: w.state.Tables(), forgiven: true}, d.status)
	if w.failure == nil {
		w.complete()
	}
	if len(d.stops) > 0 && w.failure == nil {
		return report.Error
	}
	return status
}

// verdict runs the verifier and wants a status.
func (w *world) verdict(j *judge, want report.Status) report.Status {
	r, err := verify.Run(w.ctx, verify.Deps{
		State: j, View: j, Topics: topics{j}, Clock: virtualClock{w}, Engines: []engine.Engine{reference.Engine{}},
	}, verify.Options{Timeout: time.Minute, Limit: 3, Code: "simulator"})
	if err != nil {
		w.fail(findingSimulator, "verify: %v", err)
		return ""
	}
	w.log("verifier", "%s, deserved %s", r.Status, want)
	if r.Status != want {
		w.fail(findingVerdict, "the verifier says %s, the history deserves %s; errors %v, incomplete %v, differences %s",
			r.Status, want, r.Errors, r.Incomplete, differences(r))
	}
	return r.Status
}

// differences are the listed differences on one line.
func differences(r *report.Report) string {
	text := fmt.Sprintf("%d:", r.Counts.Differences)
	for _, d := range r.Differences {
		text += fmt.Sprintf(" %s %s %s/%s %s %s;", d.Kind, d.Family, d.Item, d.Location, d.Day, d.TxnID)
	}
	return text
}

// complete looks once more at everything that must stay: evidence, quarantine and the outbox.
func (w *world) complete() {
	for _, p := range w.views { // what arrived late while the verifier ran
		for partition := range p.views {
			w.stepView(p, partition, nil)
		}
	}
	w.check()
	for _, again := range newCheckers(w) {
		if err := again.check(w); err != nil && w.failure == nil {
			w.fail(again.name(), "at the end: %v", err)
		}
	}
}
