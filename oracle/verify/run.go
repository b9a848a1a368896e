package verify

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/report"
)

// Run verifies one namespace. Whatever was found out is in the report, failures included; an error means that the run
// could not begin (it wraps ErrRefused, ErrNotApplied, ErrAmbiguousName, ErrLate or a failure to read the catalog) or that
// ctx ended.
func Run(ctx context.Context, deps Deps, options Options) (*report.Report, error) {
	options = options.withDefaults()
	var applied *Applied
	err := within(ctx, options.Timeout, "the catalog", func(ctx context.Context) (err error) {
		applied, err = deps.State.Applied(ctx, options.Namespace)
		return err
	})
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
	scope, err := resolveScope(applied, options.Scope)
	if err != nil {
		return nil, err
	}
	v := newRun(deps, options, applied, judge)
	v.scope = scope
	defer v.releaseLease(ctx)
	err = v.drive(ctx)
	if v.unspool != nil {
		if left := v.unspool(); left != nil { // no verdict is lost for it
			v.tell(oneLine(left))
		}
	}
	if err != nil {
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
	// stopDenied and acquireDenied say what this role may not do with the writer lease; lease is what keeps it.
	stopDenied, acquireDenied bool
	lease                     *keeper
	// handled counts the records that the worker had decided when last observed, by partition; nil where unknown.
	handled []int64
	// scope are the keys that the report shows apart.
	scope []compare.Key
	// snapshot is what is judged in place of the topic: the one of deps, or a copy that unspool removes; nil for the topic.
	snapshot *Snapshot
	unspool  func() error
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
	r.JudgedFrom = "topic"
	if deps.Snapshot != nil {
		r.JudgedFrom = deps.Snapshot.Name
	}
	machine := boundary.New(boundary.Config{
		Expected: boundary.Expected{
			SourceTopic: spec.Source.Topic, SourceTopicID: a.SourceTopicID, SourcePartitions: int(spec.Source.Partitions),
			OutputTopic: spec.Output.Topic, OutputTopicID: a.OutputTopicID, OutputPartitions: int(spec.Output.Partitions),
		},
		Timeout: options.Timeout, Settle: options.Settle, WritersStopped: options.WritersStopped, Holder: holder(deps),
	})
	now := deps.Clock.Now()
	r.Began = now.UTC().Format(time.RFC3339)
	return &run{deps: deps, options: options, applied: a, judge: judge, machine: machine, report: r, began: now, phaseBegan: now, snapshot: deps.Snapshot}
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
		case boundary.MoveAcquire:
			err = v.acquireLease(ctx)
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
	var got ViewIdentity
	err := v.ask(ctx, "what the view shows", func(ctx context.Context) (err error) {
		got, err = v.deps.View.ViewIdentity(ctx, v.applied)
		return err
	})
	if errors.Is(err, ErrRefused) {
		return false, err
	}
	if err != nil {
		v.failed(boundary.PhaseView, err)
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
	r.Checks = append(r.Checks, result.Checks...)
	r.Incomplete = append(r.Incomplete, result.Incomplete...)
	r.Errors = append(r.Errors, result.Failures...)
	v.addStalls(ctx)
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
	v.fillScope()
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
	var conflicts []projection.Conflict
	err := v.ask(ctx, "the conflicts known", func(ctx context.Context) (err error) {
		conflicts, err = v.deps.State.Ambiguous(ctx, v.applied)
		return err
	})
	if err != nil {
		if len(v.report.Errors) == 0 {
			v.failed(v.machine.Phase(), err)
		}
		return
	}
	addConflicts(v.report, conflicts, report.Ambiguous, nil)
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
