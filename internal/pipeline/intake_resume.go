package pipeline

import (
	"context"
	"fmt"

	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/intake"
	ownerpg "amends.dev/amends/stages/owner/postgres"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/run"
)

// IntakeStages are the tasks of an intake that a person may ask to try again (R36): first the one that publishes what was
// accepted, whose partitions are the source topic's; the others have partition 0 alone.
func IntakeStages() []string { return append([]string{IntakePublish}, intake.Stages()...) }

// watchRequests begins to look for requests to the intake.
func (s *IntakeServer) watchRequests(ctx context.Context) error {
	pool, err := s.pool(ctx, s.options.Applied.Namespace.StateSchema(), 1)
	if err != nil {
		return err
	}
	s.requests, err = newRequests(ctx, pool, s.options.Holder, s.options.Log)
	return err
}

// publications shows the relay that drains an intake as the intake's own task. Its sequences mean nothing to other processes.
func publications(all []run.Status, detail func(partition int32) string) []run.Status {
	for i := range all {
		if why := detail(all[i].Partition); why != "" && all[i].Stall != nil {
			all[i].Stall = &fault.Stall{Reason: all[i].Stall.Reason + ": " + why}
		}
		all[i].Stage, all[i].Frontier, all[i].End, all[i].LagRecords, all[i].LagSeconds = IntakePublish, 0, nil, nil, nil
	}
	return all
}

// intake looks into what the publication of a source partition stands at. A stop is in the intake's memory alone, where the
// process that is asked forgets it; the other tasks have none whose cause could be looked into from here.
func (r Resuming) intake(ctx context.Context, _ *Resumed) error {
	if r.Stage != IntakePublish {
		return nil
	}
	ns := r.Applied.Namespace
	prefix := intake.PublishPrefixes(ns.Name, ns.Spec.Source.Partitions)[r.Partition]
	pending, err := ownerpg.New(r.State).Pending(ctx, prefix, 1)
	if err != nil || len(pending) == 0 {
		return err
	}
	if _, err := intake.Message(pending[0].Effect); err != nil {
		return fmt.Errorf("%w: %w", err, relay.ErrCauseStands)
	}
	return nil
}
