package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/report"
)

// Run verifies one namespace. Whatever was found out is in the report, failures included; an error means that the run
// could not begin (it wraps ErrRefused, ErrNotApplied, ErrAmbiguousName or a failure to read the catalog) or that ctx
// ended.
func Run(ctx context.Context, deps Deps, options Options) (*report.Report, error) {
	options = options.withDefaults()
	applied, err := deps.State.Applied(ctx, options.Namespace)
	if errors.Is(err, manifests.ErrSemanticsVersion) { // R03
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if err != nil {
		return nil, err
	}
	if err := CheckConfiguration(applied, options.Manifest); err != nil {
		return nil, err
	}
	judge, err := pick(deps.Engines, options.Engine, applied.BuiltBy)
	if err != nil {
		return nil, err
	}
	v := newRun(deps, options, applied, judge)
	if err := v.drive(ctx); err != nil {
		return nil, err
	}
	return v.finish(ctx)
}

// CheckConfiguration checks that the recorded configuration is the one that was digested, and, where a manifest is
// given, that manifest's. Its errors wrap ErrRefused.
func CheckConfiguration(a *Applied, given *manifests.Namespace) error {
	digest, business := a.Namespace.NamespaceDigest(), a.Namespace.BusinessDigest(a.SourceTopicID)
	if digest != a.Digest || business != a.BusinessDigest {
		return fmt.Errorf("%w: the recorded configuration of namespace %s was altered after it was applied: digests %s and %s, recorded %s and %s",
			ErrRefused, a.Name, digest, business, a.Digest, a.BusinessDigest)
	}
	if given == nil {
		return nil
	}
	if given.Name != a.Name || given.NamespaceDigest() != a.Digest {
		return fmt.Errorf("%w: the manifest of %s has digest %s, namespace %s was applied with %s; apply a new namespace",
			ErrRefused, given.Name, given.NamespaceDigest(), a.Name, a.Digest)
	}
	return nil
}

// pick chooses the judge: the named engine or the first that shares nothing with what built the state (R26).
func pick(engines []engine.Engine, name, builtBy string) (engine.Engine, error) {
	var names []string
	for _, e := range engines {
		names = append(names, e.Name())
		builder := strings.HasPrefix(builtBy, e.Name())
		switch {
		case name == EngineAuto && !builder:
			return e, nil
		case name == e.Name() && builder:
			mark.Hit("R26 builder may not judge")
			return nil, fmt.Errorf("%w: engine %s built this state (%s) and cannot judge it; use another of %s",
				ErrRefused, name, builtBy, strings.Join(names, ", "))
		case name == e.Name():
			return e, nil
		}
	}
	return nil, fmt.Errorf("%w: no engine %q may judge state built by %s; there are %s",
		ErrRefused, name, builtBy, strings.Join(names, ", "))
}

// run is one verification under way.
type run struct {
	deps    Deps
	options Options
	applied *Applied
	judge   engine.Engine
	machine *boundary.Machine
	report  *report.Report
	began   time.Time
	// phase and phaseBegan serve timings and progress.
	phase      boundary.Phase
	phaseBegan time.Time
	stopDenied bool
	// output is the output topic as last observed.
	output *boundary.Topic
	// found is the outcome of scan and comparison; it enters the report only at a complete boundary.
	found *findings
}

// newRun prepares the report's header.
func newRun(deps Deps, options Options, a *Applied, judge engine.Engine) *run {
	spec := a.Namespace.Spec
	r := report.New()
	r.Namespace, r.Digest, r.BusinessDigest = a.Name, a.Digest, a.BusinessDigest
	r.SemanticsVersion, r.LedgerOrigin, r.Code = spec.SemanticsVersion, spec.LedgerOriginText(), options.Code
	r.Engine, r.BuiltBy, r.ExperimentOf = judge.Name(), a.BuiltBy, a.ExperimentOf
	r.Source.Topic, r.Source.TopicID = spec.Source.Topic, a.SourceTopicID
	r.Output.Topic, r.Output.TopicID = spec.Output.Topic, a.OutputTopicID
	machine := boundary.New(boundary.Config{
		Expected: boundary.Expected{
			SourceTopic: spec.Source.Topic, SourceTopicID: a.SourceTopicID, SourcePartitions: int(spec.Source.Partitions),
			OutputTopic: spec.Output.Topic, OutputTopicID: a.OutputTopicID, OutputPartitions: int(spec.Output.Partitions),
		},
		Timeout: options.Timeout, Settle: options.Settle,
	})
	now := deps.Clock.Now()
	return &run{deps: deps, options: options, applied: a, judge: judge, machine: machine, report: r, began: now, phaseBegan: now}
}

// drive takes the machine from its first phase to its end. Its error is that of ctx, or wraps ErrRefused.
func (v *run) drive(ctx context.Context) error {
	if belongs, err := v.viewBelongs(ctx); !belongs {
		return err
	}
	for {
		v.enter(v.machine.Phase(), "")
		observation, err := v.observe(ctx, v.machine.Want())
		if err != nil {
			v.failed(v.machine.Phase(), err)
			return ctx.Err()
		}
		switch v.machine.Observe(v.elapsed(), observation) {
		case boundary.MoveObserve:
		case boundary.MoveWait:
			err = v.deps.Clock.Sleep(ctx, v.options.Poll)
		case boundary.MoveRequestStop:
			err = v.requestStop(ctx)
		case boundary.MoveCompare:
			if !v.judgeHistory(ctx) {
				return ctx.Err()
			}
			v.machine.Compared()
		case boundary.MoveEnd:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// viewBelongs checks that the view shows the namespace that is verified. Its error is that of ctx, or wraps ErrRefused.
func (v *run) viewBelongs(ctx context.Context) (bool, error) {
	v.enter(boundary.PhaseWriter, "")
	bounded, cancel := context.WithTimeout(ctx, v.options.Timeout)
	defer cancel()
	got, err := v.deps.View.ViewIdentity(bounded, v.applied)
	if errors.Is(err, ErrRefused) {
		return false, err
	}
	if err != nil {
		v.fail(boundary.PhaseView, err)
		return false, ctx.Err()
	}
	a := v.applied
	want := ViewIdentity{Name: a.Name, Digest: a.Digest, OutputTopic: a.Namespace.Spec.Output.Topic, OutputTopicID: a.OutputTopicID}
	if got != want {
		v.incomplete(boundary.PhaseView, false, fmt.Sprintf("the view schema %s shows %+v, not %+v", a.ViewSchema, got, want))
		return false, nil
	}
	return true, nil
}

// requestStop asks the lease holder to stop and waits one poll interval. Its error is that of ctx.
func (v *run) requestStop(ctx context.Context) error {
	lease, err := v.deps.State.Lease(ctx, v.applied.SourceTopicID)
	if err == nil && lease.Held {
		v.tell(fmt.Sprintf("asking %s to stop", lease.Holder))
		err = v.deps.State.RequestStop(ctx, v.applied.SourceTopicID, lease.Term)
	}
	// Any other failure shows again at the next observation.
	v.stopDenied = errors.Is(err, ErrDenied)
	return v.deps.Clock.Sleep(ctx, v.options.Poll)
}

// finish completes the report.
func (v *run) finish(ctx context.Context) (*report.Report, error) {
	result := v.machine.Result()
	r := v.report
	keep(&r.Source.Start, result.SourceStarts)
	keep(&r.Source.End, result.H)
	keep(&r.Output.Start, result.OutputStarts)
	keep(&r.Output.End, result.O)
	keep(&r.Frontiers.Worker, result.Worker)
	keep(&r.Frontiers.View, result.View)
	r.WritersExcludedBy = result.WritersExcludedBy
	r.Incomplete = append(r.Incomplete, result.Incomplete...)
	r.Errors = append(r.Errors, result.Failures...)
	r.Complete = result.Complete && len(r.Incomplete) == 0 && len(r.Errors) == 0
	switch {
	case v.found != nil && r.Complete:
		v.found.fill(r)
	case v.found != nil:
		// The compared histories are unlike: conflicts are known all the same, a mismatch count is not (S10, SC25).
		v.found.fillConflicts(r)
	default:
		v.knownConflicts(ctx)
	}
	v.enter("", "")
	r.Timings.Total = v.elapsed().Milliseconds()
	r.Judge()
	return r, ctx.Err()
}

// keep replaces an empty vector by a captured one.
func keep(into *[]int64, captured []int64) {
	if captured != nil {
		*into = captured
	}
}

// knownConflicts adds what the worker holds to block keys to a report that ended before the oracle could know (S10).
func (v *run) knownConflicts(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, v.options.Timeout)
	defer cancel()
	conflicts, err := v.deps.State.Ambiguous(bounded, v.applied)
	if err != nil {
		if len(v.report.Errors) == 0 {
			v.fail(v.machine.Phase(), err)
		}
		return
	}
	addConflicts(v.report, conflicts, report.Ambiguous)
}

// fail adds an infrastructure failure to the report: its facts make the status ERROR.
func (v *run) fail(phase boundary.Phase, err error) {
	v.report.Errors = append(v.report.Errors, boundary.Reason{Phase: phase, Reason: oneLine(err), Retryable: true})
}

// incomplete adds a reason why the boundary was not reached.
func (v *run) incomplete(phase boundary.Phase, retryable bool, reason string) {
	v.report.Incomplete = append(v.report.Incomplete, boundary.Reason{Phase: phase, Reason: reason, Retryable: retryable})
}

// oneLine is the text of an error on one line.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// elapsed is the time since the run began.
func (v *run) elapsed() time.Duration { return v.deps.Clock.Now().Sub(v.began) }
