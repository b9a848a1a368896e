// Package run loops the steps of stages in production: one goroutine for each task, with wake times, visible backoff and
// a clean end. Stages themselves start no goroutine and never sleep; the simulator schedules the same steps by seed.
package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/fault"
)

// Task is one stage, or one part of a stage, to be stepped.
type Task struct {
	// Stage and Partition name the task in status and log.
	Stage     string
	Partition int32
	// Step does one bounded unit of work. progress asks for another Step at once, otherwise not before wake. A step that
	// tried nothing, and so does not know whether what failed would fail again, returns an error that wraps
	// fault.ErrUntried: it ends no stall and counts as no attempt.
	Step func(ctx context.Context) (progress bool, wake time.Time, err error)
	// Classify sorts the errors of Step; nil is fault.ClassOf.
	Classify func(err error) fault.Class
	// Status returns what the stage knows of its partitions, from any goroutine; nil shows the task alone.
	Status func() []Status
	// Covers reports whether the task works on a partition of its stage; nil is Partition alone.
	Covers func(partition int32) bool
	// Resume tells the stage, from any goroutine, that its next Step is to try a partition at once; nil does nothing.
	Resume func(partition int32)
	// Close releases what the stage holds, after its last Step; nil does nothing.
	Close func()
}

// covers reports whether the task works on a partition.
func (t *Task) covers(partition int32) bool {
	if t.Covers != nil {
		return t.Covers(partition)
	}
	return t.Partition == partition
}

// Options are the parts of a Runner.
type Options struct {
	// Now is the clock, Random returns a number in [0, n): both required.
	Now    func() time.Time
	Random func(n int64) int64
	// Backoff is fault.DefaultPolicy where it is the zero value.
	Backoff fault.Policy
	// Log takes one line for each stall, stop and recovery; nil discards.
	Log *slog.Logger
}

// Runner runs tasks until its context ends. Status and Resume may be called from any goroutine.
type Runner struct {
	options Options
	loops   []*loop
}

// loop is one task with its visible state.
type loop struct {
	task   Task
	runner *Runner
	log    *slog.Logger
	resume chan struct{}

	mu    sync.Mutex
	stall *fault.Stall
}

// New prepares a runner of tasks.
func New(options Options, tasks ...Task) *Runner {
	if options.Backoff == (fault.Policy{}) {
		options.Backoff = fault.DefaultPolicy
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	r := &Runner{options: options}
	for _, task := range tasks {
		if task.Classify == nil {
			task.Classify = fault.ClassOf
		}
		log := options.Log.With("stage", task.Stage, "partition", task.Partition)
		r.loops = append(r.loops, &loop{task: task, runner: r, log: log, resume: make(chan struct{}, 1)})
	}
	return r
}

// Run steps all tasks until ctx ends, then lets each finish the step it is in, closes them and returns. A task that
// stops for good keeps its stall visible; the others go on.
func (r *Runner) Run(ctx context.Context) {
	var group sync.WaitGroup
	for _, l := range r.loops {
		group.Go(func() {
			if l.task.Close != nil {
				defer l.task.Close()
			}
			l.run(ctx)
		})
	}
	group.Wait()
}

// Resume makes the tasks that work on a partition of a stage try it now, stopped ones included (R36): one that stopped
// for a reason that stands stops again. It reports whether there are any.
func (r *Runner) Resume(stage string, partition int32) bool {
	found := false
	for _, l := range r.loops {
		if l.task.Stage != stage || !l.task.covers(partition) {
			continue
		}
		found = true
		if l.task.Resume != nil {
			l.task.Resume(partition)
		}
		select {
		case l.resume <- struct{}{}:
		default: // already asked
		}
	}
	return found
}

// Status returns the state of every stage and partition, in the order of the tasks.
func (r *Runner) Status() []Status {
	var all []Status
	for _, l := range r.loops {
		l.mu.Lock()
		stall := l.stall
		l.mu.Unlock()
		if l.task.Status == nil {
			all = append(all, Status{Stage: l.task.Stage, Partition: l.task.Partition, Stall: stall})
			continue
		}
		for _, s := range l.task.Status() {
			if s.Stall == nil {
				s.Stall = stall
			}
			all = append(all, s)
		}
	}
	return all
}

func (l *loop) run(ctx context.Context) {
	for ctx.Err() == nil {
		progress, wake, err := l.step(ctx)
		switch {
		case ctx.Err() != nil: // what the end has cut short proves nothing, neither way
			return
		case errors.Is(err, fault.ErrUntried):
			wake = l.untried(wake)
		case err != nil:
			wake = l.failed(err)
		default:
			l.recovered()
		}
		if !progress || err != nil {
			l.wait(ctx, wake)
		}
	}
}

// step turns a panic of the stage into a stop of its task: no input may bring the process down.
func (l *loop) step(ctx context.Context) (progress bool, wake time.Time, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			l.log.Error("panic", "cause", cause, "stack", string(debug.Stack()))
			err = fault.Mark(fault.Stop, invariant.Violated("panic: %v", cause))
		}
	}()
	return l.task.Step(ctx)
}

// failed makes the error visible and returns when to try again; the zero time is never.
func (l *loop) failed(err error) time.Time {
	options := &l.runner.options
	stopped := l.task.Classify(err) == fault.Stop
	l.mu.Lock()
	l.stall = options.Backoff.Failed(l.stall, fmt.Sprintf("%v", err), options.Now(), options.Random)
	if stopped {
		l.stall.NextTry = time.Time{}
	}
	stall := *l.stall
	l.mu.Unlock()
	attributes := []any{"error", err, "attempts", stall.Attempts, "stopped", stopped}
	if !stopped {
		attributes = append(attributes, "nextTry", stall.NextTry)
	}
	l.log.Warn("step failed", attributes...)
	return stall.NextTry
}

// untried returns when to look again whether the step can be tried. A stall of before stands.
func (l *loop) untried(wake time.Time) time.Time {
	options := &l.runner.options
	if soonest := options.Now().Add(options.Backoff.First); wake.Before(soonest) {
		wake = soonest
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stall != nil {
		stands := *l.stall
		stands.NextTry = wake
		l.stall = &stands
	}
	return wake
}

func (l *loop) recovered() {
	l.mu.Lock()
	stall := l.stall
	l.stall = nil
	l.mu.Unlock()
	if stall != nil {
		l.log.Info("step succeeded again", "attempts", stall.Attempts, "since", stall.Since)
	}
}

// wait returns at wake, when asked to resume, or when ctx ends. Waking at the zero time is waking never.
func (l *loop) wait(ctx context.Context, wake time.Time) {
	var due <-chan time.Time
	if !wake.IsZero() {
		delay := wake.Sub(l.runner.options.Now())
		if delay <= 0 {
			return
		}
		timer := time.NewTimer(delay)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
	case <-l.resume:
	case <-ctx.Done():
	}
}
