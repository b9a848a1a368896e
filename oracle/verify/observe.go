package verify

import (
	"context"
	"fmt"

	"amends.dev/amends/oracle/boundary"
)

// observe sees what the machine asks for. Every request is bounded by the phase's timeout.
func (v *run) observe(ctx context.Context, want boundary.Want) (boundary.Observation, error) {
	o := boundary.Observation{StopDenied: v.stopDenied, AcquireDenied: v.acquireDenied}
	var err error
	if o.Pipeline, err = v.pipeline(ctx); err != nil {
		return o, err
	}
	switch want {
	case boundary.WantLease:
		err = v.observeLease(ctx, &o)
	case boundary.WantSource:
		if o.Source, err = v.describe(ctx, v.applied.Namespace.Spec.Source.Topic); err == nil {
			err = v.observeOutput(ctx, &o)
		}
	case boundary.WantOutput:
		err = v.observeOutput(ctx, &o)
	case boundary.WantRecheck:
		err = v.observeAgain(ctx, &o)
	case boundary.WantTail:
		o.Tail, err = v.tail(ctx)
	case boundary.WantPipeline, boundary.WantNothing:
	}
	return o, err
}

// pipeline reads the durable progress of worker, relay and view.
func (v *run) pipeline(ctx context.Context) (*boundary.Pipeline, error) {
	p := &boundary.Pipeline{}
	err := v.ask(ctx, "the progress of the stages", func(ctx context.Context) error {
		progress, err := v.deps.State.Progress(ctx, v.applied)
		if err != nil {
			return err
		}
		view, violations, err := v.deps.View.ViewProgress(ctx, v.applied)
		v.handled = progress.Handled
		p.Worker, p.OutboxNext, p.SentThrough = progress.Worker, progress.OutboxNext, progress.SentThrough
		p.View, p.Stops = view, append(progress.Stops, violations...)
		return err
	})
	return p, err
}

// describe asks the broker about one topic; nil where it does not exist. One that refuses is a failure of the
// infrastructure, one that is silent a boundary that was not reached.
func (v *run) describe(ctx context.Context, topic string) (found *boundary.Topic, err error) {
	err = v.ask(ctx, "the broker to describe topic "+topic, func(ctx context.Context) (err error) {
		found, err = v.deps.Topics.Describe(ctx, topic)
		return err
	})
	return found, err
}

// observeOutput describes the output topic and remembers it for the tail.
func (v *run) observeOutput(ctx context.Context, o *boundary.Observation) (err error) {
	o.Output, err = v.describe(ctx, v.applied.Namespace.Spec.Output.Topic)
	v.output = o.Output
	return err
}

// observeAgain sees everything that must not have moved.
func (v *run) observeAgain(ctx context.Context, o *boundary.Observation) error {
	err := v.ask(ctx, "the catalog", func(ctx context.Context) error {
		lease, err := v.deps.State.Lease(ctx, v.applied.SourceTopicID)
		if err != nil {
			return err
		}
		o.Lease = &lease
		identity, err := v.deps.State.Identity(ctx, v.applied.Name)
		if err == nil && identity != v.applied.Identity {
			o.Changed = fmt.Sprintf("the catalog now says %+v, at the start it said %+v", identity, v.applied.Identity)
		}
		return err
	})
	if err != nil {
		return err
	}
	if o.Source, err = v.describe(ctx, v.applied.Namespace.Spec.Source.Topic); err != nil {
		return err
	}
	return v.observeOutput(ctx, o)
}
