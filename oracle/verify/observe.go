package verify

import (
	"context"
	"fmt"

	"amends.dev/amends/oracle/boundary"
)

// observe sees what the machine asks for. Every request is bounded by the phase's timeout.
func (v *run) observe(ctx context.Context, want boundary.Want) (boundary.Observation, error) {
	bounded, cancel := context.WithTimeout(ctx, v.options.Timeout)
	defer cancel()
	o := boundary.Observation{StopDenied: v.stopDenied}
	var err error
	if o.Pipeline, err = v.pipeline(bounded); err != nil {
		return o, err
	}
	switch want {
	case boundary.WantLease:
		err = v.observeLease(bounded, &o)
	case boundary.WantSource:
		o.Source, err = v.deps.Topics.Describe(bounded, v.applied.Namespace.Spec.Source.Topic)
	case boundary.WantOutput:
		err = v.observeOutput(bounded, &o)
	case boundary.WantRecheck:
		err = v.observeAgain(bounded, &o)
	case boundary.WantTail:
		o.Tail, err = v.tail(ctx)
	case boundary.WantPipeline, boundary.WantNothing:
	}
	return o, err
}

// pipeline reads the durable progress of worker, relay and view.
func (v *run) pipeline(ctx context.Context) (*boundary.Pipeline, error) {
	progress, err := v.deps.State.Progress(ctx, v.applied)
	if err != nil {
		return nil, err
	}
	view, violations, err := v.deps.View.ViewProgress(ctx, v.applied)
	if err != nil {
		return nil, err
	}
	return &boundary.Pipeline{
		Worker: progress.Worker, OutboxNext: progress.OutboxNext, SentThrough: progress.SentThrough,
		View: view, Stops: append(progress.Stops, violations...),
	}, nil
}

// observeLease reads the writer lease.
func (v *run) observeLease(ctx context.Context, o *boundary.Observation) error {
	lease, err := v.deps.State.Lease(ctx, v.applied.SourceTopicID)
	o.Lease = &lease
	return err
}

// observeOutput describes the output topic and remembers it for the tail.
func (v *run) observeOutput(ctx context.Context, o *boundary.Observation) (err error) {
	o.Output, err = v.deps.Topics.Describe(ctx, v.applied.Namespace.Spec.Output.Topic)
	v.output = o.Output
	return err
}

// observeAgain sees everything that must not have moved.
func (v *run) observeAgain(ctx context.Context, o *boundary.Observation) error {
	if err := v.observeLease(ctx, o); err != nil {
		return err
	}
	identity, err := v.deps.State.Identity(ctx, v.applied.Name)
	if err != nil {
		return err
	}
	if identity != v.applied.Identity {
		o.Changed = fmt.Sprintf("the catalog now says %+v, at the start it said %+v", identity, v.applied.Identity)
	}
	if o.Source, err = v.deps.Topics.Describe(ctx, v.applied.Namespace.Spec.Source.Topic); err != nil {
		return err
	}
	return v.observeOutput(ctx, o)
}
