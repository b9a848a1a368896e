package intake

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"amends.dev/amends/internal/invariant"
)

// line is a queue of numbers, whose work a test answers.
type line struct {
	*queue[int, int]
	batches [][]int
	// say answers a batch, look the probe.
	say  func(batch []int) ([]int, error)
	look error
}

func newLine(bound, batch int) *line {
	l := &line{say: func(batch []int) ([]int, error) { return batch, nil }}
	l.queue = newQueue(bound, batch, func(_ context.Context, batch []int) ([]int, error) {
		l.batches = append(l.batches, batch)
		return l.say(batch)
	}, func(context.Context) error { return l.look })
	return l
}

// putAll puts 0 to n-1 from goroutines of their own. The errors are complete once wait returns.
func (l *line) putAll(n int) (errs []error, wait func()) {
	errs = make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			out, err := l.put(i)
			if err == nil && out != i {
				err = invariant.Violated("%d got the outcome of %d", i, out)
			}
			errs[i] = err
		})
	}
	return errs, group.Wait
}

// counted are how many errors are nil, how many errUntouched and how many others.
func counted(errs []error) (done, untouched, open int) {
	for _, err := range errs {
		switch {
		case err == nil:
			done++
		case errors.Is(err, errUntouched):
			untouched++
		default:
			open++
		}
	}
	return done, untouched, open
}

// TestR29QueueBatches: what waits is worked on together, no more at once than a batch takes, and everybody gets the outcome
// of what they put; what does not fit into the queue is refused.
func TestR29QueueBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(5, 3)
		errs, wait := l.putAll(7)
		synctest.Wait()
		if l.length() != 5 {
			t.Errorf("%d wait", l.length())
		}
		for range 2 {
			if progress, _, err := l.Step(t.Context()); !progress || err != nil {
				t.Errorf("progress %t, %v", progress, err)
			}
		}
		wait()
		if done, untouched, open := counted(errs); done != 5 || untouched != 2 || open != 0 {
			t.Errorf("%d done, %d refused, %d others", done, untouched, open)
		}
		if len(l.batches) != 2 || len(l.batches[0]) != 3 || len(l.batches[1]) != 2 {
			t.Errorf("batches %v", l.batches)
		}
	})
}

// TestR32FailedBatchIsOpen: where work fails nobody knows what became of the batch, and its senders are told so; what waits
// behind it was surely not begun. Nothing is taken until the probe succeeds.
func TestR32FailedBatchIsOpen(t *testing.T) {
	down := errors.New("it is down")
	synctest.Test(t, func(t *testing.T) {
		l := newLine(5, 2)
		l.say = func([]int) ([]int, error) { return nil, down }
		errs, wait := l.putAll(4)
		synctest.Wait()
		if progress, _, err := l.Step(t.Context()); progress || !errors.Is(err, down) {
			t.Errorf("progress %t, %v", progress, err)
		}
		wait()
		if done, untouched, open := counted(errs); done != 0 || untouched != 2 || open != 2 {
			t.Errorf("%d done, %d refused, %d others", done, untouched, open)
		}
		l.look = down
		errs, wait = l.putAll(1)
		synctest.Wait()
		if l.length() != 0 {
			t.Error("taken while work fails")
		}
		if progress, _, err := l.Step(t.Context()); progress || !errors.Is(err, down) || l.length() != 0 {
			t.Errorf("progress %t, %v, %d wait", progress, err, l.length())
		}
		wait()
		if !errors.Is(errs[0], errUntouched) || len(l.batches) != 1 {
			t.Errorf("%v after %d batches", errs[0], len(l.batches))
		}
		l.look, l.say = nil, func(batch []int) ([]int, error) { return batch, nil }
		if progress, _, err := l.Step(t.Context()); !progress || err != nil { // it says that work goes on before any comes
			t.Errorf("progress %t, %v", progress, err)
		}
		errs, wait = l.putAll(1)
		synctest.Wait()
		if progress, _, err := l.Step(t.Context()); !progress || err != nil {
			t.Errorf("progress %t, %v", progress, err)
		}
		wait()
		if errs[0] != nil {
			t.Error(errs[0])
		}
	})
}

// TestQueueWantsAnOutcomeForEach: work that answers for another number of items than it got has answered for none.
func TestQueueWantsAnOutcomeForEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(5, 5)
		l.say = func(batch []int) ([]int, error) { return batch[:1], nil }
		errs, wait := l.putAll(2)
		synctest.Wait()
		if progress, _, err := l.Step(t.Context()); progress || !invariant.Is(err) {
			t.Errorf("progress %t, %v", progress, err)
		}
		wait()
		if _, _, open := counted(errs); open != 2 {
			t.Error(errs)
		}
	})
}

// TestQueueEnds: when its context ends, what waits is finished all the same.
func TestQueueEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(5, 5)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if progress, _, err := l.Step(ended); progress || err != nil {
			t.Errorf("progress %t, %v", progress, err)
		}
		errs, wait := l.putAll(3)
		synctest.Wait()
		for l.length() > 0 { // a step that finds its context ended first takes what waits
			if _, _, err := l.Step(ended); err != nil {
				t.Fatal(err)
			}
		}
		wait()
		if slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
			t.Error(errs)
		}
	})
}

// TestQueueAnswersWhereWorkPanics: a panic goes on to whoever takes the step, and nobody waits for ever: the batch's outcomes
// are open, what waits behind it was not begun, and so is what comes later. The twin whose work does not panic is done.
func TestQueueAnswersWhereWorkPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLine(5, 2)
		step := func() (cause any) {
			defer func() { cause = recover() }()
			_, _, _ = l.Step(t.Context())
			return nil
		}
		errs, wait := l.putAll(2)
		synctest.Wait()
		if cause := step(); cause != nil {
			t.Fatal(cause)
		}
		wait()
		if done, _, _ := counted(errs); done != 2 {
			t.Fatal(errs)
		}
		l.say = func([]int) ([]int, error) { panic("a bug") }
		errs, wait = l.putAll(3)
		synctest.Wait()
		if cause := step(); cause != "a bug" {
			t.Errorf("the panic is gone: %v", cause)
		}
		wait()
		if done, untouched, open := counted(errs); done != 0 || untouched != 1 || open != 2 {
			t.Errorf("%d done, %d refused, %d others", done, untouched, open)
		}
		if _, err := l.put(7); !errors.Is(err, errUntouched) {
			t.Errorf("after the panic: %v", err)
		}
	})
}
