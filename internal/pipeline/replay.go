package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/replay"
)

// Replaying is one replay of an applied namespace (R25).
type Replaying struct {
	Applied *postgres.Applied
	// State is a pool whose search_path is the namespace's state schema.
	State *postgres.Pool
	Kafka kafka.Config
	Range replay.Range
	// MaxBatch is the replay's default where 0.
	MaxBatch int
	// Progress, where not nil, is told what was found so far after each step.
	Progress func(replay.Report)
}

// Replay replays the range to its end, or until ctx ends or a fault lasts. The partition is given back in each case, as
// far as the database answers; a process that is killed leaves it held, until the next replay or resume. What was found
// so far is in the report.
func Replay(ctx context.Context, r Replaying) (replay.Report, error) {
	one, closeTopics, err := r.open()
	if err != nil {
		return replay.Report{}, err
	}
	defer closeTopics()
	err = driveReplay(ctx, one, r.Progress)
	release, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	if closeErr := one.Close(release); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("%w; the partition stays held until the next replay, or amendsctl resume --stage worker", closeErr))
	}
	if err == nil {
		// The owner that was parked looks again by itself within its slow interval; this only makes it do so now.
		_ = postgres.AskResume(release, r.State, Worker, r.Range.Partition)
	}
	return one.Report(), err
}

// LookReplay reads what decides about a replay, and touches nothing.
func LookReplay(ctx context.Context, r Replaying) (replay.Facts, error) {
	one, closeTopics, err := r.open()
	if err != nil {
		return replay.Facts{}, err
	}
	defer closeTopics()
	return one.Look(ctx)
}

// open makes the replay over the production parts.
func (r Replaying) open() (*replay.Replay, func(), error) {
	admin, err := kafka.NewAdmin(r.Kafka)
	if err != nil {
		return nil, nil, err
	}
	ns := r.Applied.Namespace
	source := kafka.Topic{Name: ns.Spec.Source.Topic, ID: r.Applied.SourceTopicID, Partitions: ns.Spec.Source.Partitions}
	return replay.New(replay.Options{
		Config: ledger.NewConfig(ns, r.Applied.SourceTopicID), Range: r.Range,
		Store: postgres.NewReplayStore(r.State, r.Applied.SourceTopicID), Topics: admin, Opener: kafka.NewOpener(r.Kafka, source),
		Log: Operations(r.State, ns.Name), Now: time.Now, Unfinished: r.Applied.Unfinished, MaxBatch: r.MaxBatch,
	}), admin.Close, nil
}

// driveReplay steps a replay to its end. A transient fault is tried again for a while.
func driveReplay(ctx context.Context, one *replay.Replay, progress func(replay.Report)) error {
	var stall *fault.Stall
	for !one.Done() {
		advanced, wake, err := one.Step(ctx)
		switch {
		case ctx.Err() != nil && !one.Done():
			return ctx.Err()
		case err == nil:
			stall = nil
		case errors.Is(err, replay.ErrRefused) || fault.ClassOf(err) != fault.Transient:
			return err
		default:
			stall = fault.DefaultPolicy.Failed(stall, err.Error(), time.Now(), rand.Int64N)
			if waited := time.Since(stall.Since); waited >= generatePatience {
				return fmt.Errorf("gave up after %d attempts in %s: %w", stall.Attempts, waited.Round(time.Second), err)
			}
			wake = stall.NextTry
		}
		if progress != nil {
			progress(one.Report())
		}
		if !advanced || err != nil {
			if err := sleepUntil(ctx, wake); err != nil {
				return err
			}
		}
	}
	return nil
}
