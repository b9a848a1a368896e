package conformance

import (
	"context"
	"fmt"
	"slices"

	"amends.dev/amends/internal/exit"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/diagnostics"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/replay"
)

// bench is the world of one variant at one level. It is used by one goroutine.
type bench interface {
	namespace() *manifests.Namespace
	sourceTopicID() string
	// produce and deliver append to source and output topic.
	produce(ctx context.Context, all []broker.Message) error
	deliver(ctx context.Context, all []broker.Message) error
	// run lets stages work until each has reached the end of its input or has stopped for good.
	run(ctx context.Context, stages []string) error
	crash(ctx context.Context, p Point) error
	lose(ctx context.Context, p Point) error
	restart(ctx context.Context, stage string) error
	rebalance(ctx context.Context, at string) error
	// refuse runs a stage that must not do anything.
	refuse(ctx context.Context, stage string) error
	trim(ctx context.Context, t Trim) error
	recreate(ctx context.Context) error
	// change asks for the namespace under another configuration; nil means that it was refused.
	change(ctx context.Context, other *manifests.Namespace) error
	// replay reads processed records again; an error wraps replay.ErrRefused where it is refused.
	replay(ctx context.Context, r replay.Range) (replay.Report, error)
	// rebuild makes a fresh namespace over the same source topic, in bulk or to be streamed; an error wraps
	// rebuilding.ErrHistory where it is refused. The caller closes the new bench.
	rebuild(ctx context.Context, bulk bool) (bench, error)
	// committed are the envelopes in the outbox, as they are or will be published, by source partition.
	committed(ctx context.Context) ([][]broker.Message, error)
	// verify judges; during, where not nil, is called while it compares.
	verify(ctx context.Context, hurried bool, during func() error) (verdict, error)
	// observe reads what is durable.
	observe(ctx context.Context) (*observed, error)
	close(ctx context.Context)
}

// verdict is what a verification says.
type verdict struct {
	status report.Status
	// conflicts are the unresolved ones of the report.
	conflicts []projection.Conflict
	// report has the diagnostics, in full.
	report *report.Report
	// detail is for people.
	detail string
}

// play takes the steps of a variant and then judges its end. It returns what differs from the expectations.
func play(ctx context.Context, b bench, v *Variant) ([]string, error) {
	var faults []string
	for i := range v.Steps {
		found, err := take(ctx, b, &v.Steps[i])
		for _, line := range found {
			faults = append(faults, fmt.Sprintf("step %d: %s", i+1, line))
		}
		if err != nil {
			return faults, fmt.Errorf("step %d: %w", i+1, err)
		}
		if len(faults) > 0 {
			return faults, nil
		}
	}
	if v.runsToEnd() {
		if err := b.run(ctx, []string{stageWorker, stageRelay, stageView}); err != nil {
			return faults, fmt.Errorf("run to the end: %w", err)
		}
	}
	last := Step{Verify: &Verification{Expect: v.Expect.Verdict}}
	found, err := take(ctx, b, &last)
	faults = append(faults, found...)
	if err != nil {
		return faults, err
	}
	o, err := b.observe(ctx)
	if err != nil {
		return faults, err
	}
	return append(faults, o.compare(b.namespace(), &v.Expect)...), nil
}

// runsToEnd reports whether all stages run after the last step: unless the scenario wants an incomplete boundary.
func (v *Variant) runsToEnd() bool { return v.Expect.Verdict != report.Incomplete }

// take takes one step.
func take(ctx context.Context, b bench, s *Step) ([]string, error) {
	switch {
	case s.Produce != nil:
		all, err := messages(b.namespace(), s.Produce)
		if err != nil {
			return nil, err
		}
		return nil, b.produce(ctx, all)
	case s.Run != nil:
		return nil, b.run(ctx, s.Run)
	case s.Crash != nil:
		return nil, b.crash(ctx, *s.Crash)
	case s.Lose != nil:
		return nil, b.lose(ctx, *s.Lose)
	case s.Restart != "":
		return nil, b.restart(ctx, s.Restart)
	case s.Rebalance != nil:
		return nil, b.rebalance(ctx, s.Rebalance.At)
	case s.Refuse != "":
		return nil, b.refuse(ctx, s.Refuse)
	case s.Trim != nil:
		return nil, b.trim(ctx, *s.Trim)
	case s.Recreate != "":
		return nil, b.recreate(ctx)
	case s.Deliver != nil:
		return nil, deliver(ctx, b, s.Deliver)
	case s.Verify != nil:
		return verifyStep(ctx, b, s.Verify)
	case s.Check != nil:
		o, err := b.observe(ctx)
		if err != nil {
			return nil, err
		}
		return o.compare(b.namespace(), s.Check), nil
	case s.Replay != nil:
		return replayStep(ctx, b, s.Replay)
	case s.Rebuild != nil:
		return rebuildStep(ctx, b, s.Rebuild)
	case s.Change != nil:
		other, err := s.Change.Namespace(b.namespace().Name)
		if err != nil {
			return nil, err
		}
		return nil, b.change(ctx, other)
	}
	return nil, fmt.Errorf("a step of this kind: %w", errUnsupported)
}

// deliver appends envelopes to the output topic: hand-made ones, or repetitions of what the worker committed.
func deliver(ctx context.Context, b bench, all []Delivery) error {
	var out []broker.Message
	for _, d := range all {
		if d.Envelope != nil {
			m, err := d.Envelope.message(b.namespace(), b.sourceTopicID())
			if err != nil {
				return err
			}
			out = append(out, m)
			continue
		}
		committed, err := b.committed(ctx)
		if err != nil {
			return err
		}
		if len(committed) != 1 || d.Nth > int64(len(committed[0])) {
			return fmt.Errorf("there is no envelope %d in the only source partition", d.Nth)
		}
		out = append(out, committed[0][d.Nth-1])
	}
	return b.deliver(ctx, out)
}

// verifyStep verifies and compares the verdict. A verification that must end incomplete does not wait long.
func verifyStep(ctx context.Context, b bench, v *Verification) ([]string, error) {
	var during func() error
	if v.During != nil {
		all, err := messages(b.namespace(), v.During)
		if err != nil {
			return nil, err
		}
		during = func() error { return b.produce(ctx, all) }
	}
	got, err := b.verify(ctx, v.Expect == report.Incomplete, during)
	if err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	var d differences
	if got.status != v.Expect {
		d.add("verdict: want %s, got %s %s", v.Expect, got.status, got.detail)
	}
	list(&d, "unresolved conflicts of the report", v.Conflicts, got.conflicts)
	succeeds(&d, v, got)
	return d, nil
}

// succeeds compares whether the verification ends with success, under the diagnostics that it was told to expect.
func succeeds(d *differences, v *Verification, got verdict) {
	if v.Ends == "" {
		return
	}
	if v.Diagnostics != nil {
		expected := slices.SortedFunc(slices.Values(v.Diagnostics), diagnostics.Order)
		got.report.Expect("the scenario", &diagnostics.File{Name: "the scenario", Entries: expected})
	}
	if success := got.report.ExitCode == exit.OK; success != (v.Ends == "success") || got.report.Status != got.status {
		d.add("ends: want %s, got %s with exit code %d; diagnostics %+v", v.Ends, got.report.Status, got.report.ExitCode, got.report.Diagnostics())
	}
}

// envelopesOf reads published messages, by source partition.
func envelopesOf(ns *manifests.Namespace, committed [][]broker.Message) ([][]Envelope, error) {
	all := make([][]Envelope, len(committed))
	for p, messages := range committed {
		for _, m := range messages {
			e, _, err := readEnvelope(ns, m.Value)
			if err != nil {
				return nil, err
			}
			all[p] = append(all[p], e)
		}
	}
	return all, nil
}
