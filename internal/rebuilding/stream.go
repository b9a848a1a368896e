package rebuilding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/stages/postgres"
)

// ErrStopped is wrapped where the worker stopped a partition for good: its history cannot be processed (R09, R36).
var ErrStopped = errors.New("the worker stopped")

// ErrStalled is wrapped where the worker made no progress for as long as it may.
var ErrStalled = errors.New("no progress")

// Streaming says what the worker is to process.
type Streaming struct {
	// Pipeline has the fresh namespace and its servers; its stages are set to the worker alone.
	Pipeline pipeline.Options
	// Ends are H: the worker ends when every frontier has reached it.
	Ends []int64
	// Timeout is how long no frontier may move.
	Timeout time.Duration
	Clock   Clock
	// Progress, where not nil, is told the frontiers now and then.
	Progress func(frontiers []int64)
}

// pollInterval is the time between two looks at the frontiers.
const pollInterval = 100 * time.Millisecond

// Stream runs the worker from the namespace's frontiers to H. An error wraps ErrStopped, ErrStalled, broker.ErrTopicChanged,
// or is a fault. Running it again goes on.
func Stream(ctx context.Context, s Streaming) error {
	s.Pipeline.Stages = []string{pipeline.Worker}
	applied := s.Pipeline.Applied
	pool, err := postgres.Connect(ctx, postgres.Options{
		URL: s.Pipeline.StateURL, Schema: applied.StateSchema, Application: postgres.ApplicationName(pipeline.RebuildName, applied.Name), MaxConns: 1,
	})
	if err != nil {
		return err
	}
	defer pool.Close()
	p, err := pipeline.New(ctx, s.Pipeline)
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(running)
	}()
	defer func() { cancel(); <-done }()
	return s.await(ctx, postgres.NewWorkerStore(pool, applied.SourceTopicID), p)
}

// await returns once every frontier has reached H.
func (s *Streaming) await(ctx context.Context, store *postgres.WorkerStore, p *pipeline.Pipeline) error {
	frontiers, moved := make([]int64, len(s.Ends)), s.Clock.Now()
	for {
		complete := true
		before := slices.Clone(frontiers)
		for partition, end := range s.Ends {
			state, err := store.PartitionState(ctx, int32(partition))
			if err != nil {
				return err
			}
			if stop := state.Stop; stop != nil {
				return fmt.Errorf("%w: partition %d, offset %d: %s: %s", ErrStopped, partition, stop.Offset, stop.Reason, stop.Detail)
			}
			frontiers[partition] = state.NextOffset
			complete = complete && state.NextOffset >= end
		}
		if complete {
			return nil
		}
		if s.Progress != nil {
			s.Progress(frontiers)
		}
		if !slices.Equal(before, frontiers) {
			moved = s.Clock.Now()
		} else if s.Clock.Now().Sub(moved) > s.Timeout {
			return errors.Join(fmt.Errorf("%w for %s: worker at %v, H is %v", ErrStalled, s.Timeout, frontiers, s.Ends), p.Fault())
		}
		if err := s.Clock.Sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}
