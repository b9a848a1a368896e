package pipeline

import (
	"context"
	"log/slog"
	"time"

	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/run"
)

// requestInterval is how often a running process looks for requests to try something again. It bounds how long resume
// takes to be heard, wherever the process runs.
const requestInterval = time.Second

// requests are what people asked the stages of a namespace to try again (R36), as far as this process has seen them.
type requests struct {
	pool *postgres.Pool
	// stalls is told every time what stands still.
	stalls *stalls
	seen   map[postgres.ResumeTarget]int64
	log    *slog.Logger
}

// watchRequests begins to look for requests to the pipeline.
func (p *Pipeline) watchRequests(ctx context.Context) error {
	pool, err := p.state(ctx, "requests", 1)
	if err != nil {
		return err
	}
	p.requests, err = newRequests(ctx, pool, p.options.Holder, p.options.Log)
	return err
}

// newRequests notes which requests there are already: those are of earlier processes.
func newRequests(ctx context.Context, pool *postgres.Pool, process string, log *slog.Logger) (*requests, error) {
	seen, err := postgres.ResumeRequests(ctx, pool)
	return &requests{pool: pool, log: log, stalls: &stalls{pool: pool, process: process, log: log}, seen: seen}, err
}

// follow passes requests on to the stages, and records what stands still, until ctx ends; the channel is closed then. What
// cannot be read now is read the next time: the stages themselves show that the database is away.
func (r *requests) follow(ctx context.Context, runner *run.Runner) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(requestInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				r.stalls.end(ctx)
				return
			case <-ticker.C:
				r.pass(ctx, runner)
				r.stalls.record(ctx, runner.Status())
			}
		}
	}()
	return done
}

// pass passes on what was asked since the last time.
func (r *requests) pass(ctx context.Context, runner *run.Runner) {
	asked, err := postgres.ResumeRequests(ctx, r.pool)
	if err != nil {
		r.log.Debug("requests unread", "error", err)
		return
	}
	for target, count := range asked {
		if count > r.seen[target] && runner.Resume(target.Stage, target.Partition) {
			r.log.Info("asked to try again", "stage", target.Stage, "partition", target.Partition)
		}
	}
	r.seen = asked
}
