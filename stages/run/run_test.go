package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"amends.dev/amends/internal/testkit/child"
	"amends.dev/amends/stages/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options() Options {
	return Options{Now: time.Now, Random: rand.New(rand.NewPCG(1, 2)).Int64N}
}

// start runs a runner in the background; the returned function ends and awaits it.
func start(r *Runner) func() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { r.Run(ctx); close(done) }()
	return func() { cancel(); <-done }
}

// TestWakeAndProgress: progress runs on at once, no progress waits for the wake time and not longer.
func TestWakeAndProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var at []time.Duration
		step := func(context.Context) (bool, time.Time, error) {
			at = append(at, time.Since(begin))
			if len(at)%3 != 0 {
				return true, time.Time{}, nil
			}
			return false, time.Now().Add(time.Minute), nil
		}
		var closed atomic.Bool
		end := start(New(options(), Task{Stage: "worker", Step: step, Close: func() { closed.Store(true) }}))
		time.Sleep(90 * time.Second)
		synctest.Wait()
		end()
		want := []time.Duration{0, 0, 0, time.Minute, time.Minute, time.Minute}
		if !slices.Equal(at, want) || !closed.Load() {
			t.Errorf("steps at %v, closed %v", at, closed.Load())
		}
	})
}

// TestR36StallsAndStops: faults back off, show, and end by themselves; a stop does not, until it is resumed; another task
// goes on all the while.
func TestR36StallsAndStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failing atomic.Pointer[error]
		var tries, others atomic.Int64
		broken := func(context.Context) (bool, time.Time, error) {
			tries.Add(1)
			if err := failing.Load(); err != nil {
				return false, time.Time{}, *err
			}
			return false, time.Now().Add(time.Second), nil
		}
		fine := func(context.Context) (bool, time.Time, error) {
			others.Add(1)
			return false, time.Now().Add(time.Second), nil
		}
		r := New(options(), Task{Stage: "view", Partition: 3, Step: broken}, Task{Stage: "relay", Step: fine})
		down := errors.New("database is down")
		failing.Store(&down)
		end := start(r)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		s := r.Status()
		if s[0].Stall == nil || s[0].Stall.Reason != down.Error() || s[0].Stall.Attempts < fault.DefaultPolicy.Attempts || s[1].Stall != nil {
			t.Errorf("status %+v", s)
		}
		if n := tries.Load(); n > 60 {
			t.Errorf("%d tries in ten minutes", n)
		}
		failing.Store(nil)
		time.Sleep(fault.DefaultPolicy.Probe)
		synctest.Wait()
		if s := r.Status(); s[0].Stall != nil {
			t.Errorf("still stalled: %+v", s[0].Stall)
		}
		bug := fault.Mark(fault.Stop, errors.New("protocol violation"))
		failing.Store(&bug)
		time.Sleep(time.Minute)
		synctest.Wait()
		stopped := tries.Load()
		failing.Store(nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := r.Status(); tries.Load() != stopped || s[0].Stall == nil || !s[0].Stall.NextTry.IsZero() {
			t.Errorf("a stop ended by itself: %+v", s[0])
		}
		if r.Resume("view", 4) || !r.Resume("view", 3) {
			t.Error("resume names the wrong task")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := r.Status(); s[0].Stall != nil {
			t.Errorf("not resumed: %+v", s[0].Stall)
		}
		if others.Load() < 3000 {
			t.Errorf("the other task made %d steps", others.Load())
		}
		end()
	})
}

// TestPanicStopsOneTask: a panic is a visible stop of its task.
func TestPanicStopsOneTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer // written by the one task
		o := options()
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		r := New(o, Task{Stage: "worker", Step: func(context.Context) (bool, time.Time, error) { panic("boom") }})
		end := start(r)
		time.Sleep(time.Hour)
		synctest.Wait()
		if s := r.Status()[0].Stall; s == nil || s.Attempts != 1 || !s.NextTry.IsZero() {
			t.Errorf("got %+v", s)
		}
		end()
		if text := log.String(); !strings.Contains(text, "stopped=true") || strings.Contains(text, "nextTry") {
			t.Errorf("a stop has no next try:\n%s", text)
		}
	})
}

// TestStatusJSON: the form of design section 6.
func TestStatusJSON(t *testing.T) {
	now := time.UnixMilli(20_000)
	text, err := json.Marshal(Status{Stage: "worker", Partition: 1, Frontier: 5, Epoch: 2, Owner: "m", RecordMillis: 12_500}.Against(9, now))
	want := `{"stage":"worker","partition":1,"frontier":5,"end":9,"lagRecords":4,"lagSeconds":7,"epoch":2,"owner":"m","stall":null}`
	if err != nil || string(text) != want {
		t.Errorf("got  %s, %v\nwant %s", text, err, want)
	}
	if s := (Status{Frontier: 9}).Against(9, now); *s.LagSeconds != 0 || *s.LagRecords != 0 {
		t.Errorf("at the end: %+v", s)
	}
}

// TestR36ResumeFindsThePartition: a resume reaches the task that works on the partition, whatever the task is called, tells
// it which partition, and wakes it from the longest wait; nobody else is woken.
func TestR36ResumeFindsThePartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var woken [2]atomic.Int64
		var asked [2]atomic.Int64
		lane := func(n int32) Task {
			return Task{
				Stage: "worker", Partition: n,
				Covers: func(partition int32) bool { return partition%2 == n },
				Resume: func(partition int32) { asked[n].Store(int64(partition)) },
				Step: func(context.Context) (bool, time.Time, error) {
					woken[n].Add(1)
					return false, time.Now().Add(time.Hour), nil
				},
			}
		}
		r := New(options(), lane(0), lane(1))
		end := start(r)
		synctest.Wait()
		if r.Resume("view", 1) || !r.Resume("worker", 5) {
			t.Error("resume names the wrong stage or partition")
		}
		synctest.Wait()
		if woken[0].Load() != 1 || woken[1].Load() != 2 || asked[0].Load() != 0 || asked[1].Load() != 5 {
			t.Errorf("woken %d and %d times, asked for %d and %d", woken[0].Load(), woken[1].Load(), asked[0].Load(), asked[1].Load())
		}
		end()
	})
}

// TestR36OnlyWorkEndsAStall: a step that tried nothing neither ends a stall nor counts as an attempt, and one that the end
// of the process cut short is no recovery; one that succeeded is, and says so once. The twin that tries and succeeds at once
// has recovered.
func TestR36OnlyWorkEndsAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := child.NewLog(t, "the runner")
		o := options()
		o.Log = slog.New(slog.NewTextHandler(log, nil))
		var outcome atomic.Pointer[error]
		var steps atomic.Int64
		say := func(err error) { outcome.Store(&err) }
		step := func(context.Context) (bool, time.Time, error) {
			steps.Add(1)
			return false, time.Now().Add(time.Second), *outcome.Load()
		}
		say(errors.New("connection refused"))
		r := New(o, Task{Stage: "intake-publish", Step: step})
		end := start(r)
		time.Sleep(200 * time.Millisecond)
		say(fmt.Errorf("acquire the lease: %w", fault.ErrUntried))
		time.Sleep(time.Hour)
		synctest.Wait()
		before := steps.Load()
		s := r.Status()[0].Stall
		if s == nil || s.Reason != "connection refused" || time.Since(s.Since) < time.Hour || s.NextTry.Before(time.Now()) {
			t.Fatalf("nothing was tried, and yet: %+v", s)
		}
		attempts := s.Attempts
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := steps.Load() - before; n < 59 || n > 61 || r.Status()[0].Stall.Attempts != attempts {
			t.Errorf("%d looks in a minute, %d attempts after %d", n, r.Status()[0].Stall.Attempts, attempts)
		}
		if strings.Contains(log.String(), "again") || strings.Count(log.String(), "step failed") != attempts {
			t.Errorf("the log says:\n%s", log)
		}
		say(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := r.Status()[0].Stall; s != nil || strings.Count(log.String(), "step succeeded again") != 1 {
			t.Errorf("it works: %+v\n%s", s, log)
		}
		end()
	})
}

// TestTheEndIsNoRecovery: a step that returns without error because the process ends has not shown that it works.
func TestTheEndIsNoRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := child.NewLog(t, "the runner")
		o := options()
		o.Log = slog.New(slog.NewTextHandler(log, nil))
		failed := false
		r := New(o, Task{Stage: "intake-direct", Step: func(ctx context.Context) (bool, time.Time, error) {
			if !failed {
				failed = true
				return false, time.Time{}, errors.New("no broker answers")
			}
			<-ctx.Done()
			return false, time.Time{}, nil
		}})
		end := start(r)
		time.Sleep(time.Minute)
		end()
		if s := r.Status()[0].Stall; s == nil || s.Attempts != 1 || strings.Contains(log.String(), "again") {
			t.Errorf("%+v\n%s", s, log)
		}
	})
}
