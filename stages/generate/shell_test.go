package generate_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/generate"
)

// world is a topic, a lease and a clock in memory.
type world struct {
	now time.Time
	// sent is what was acknowledged.
	sent []broker.Message
	// refuse, where set, decides the outcome of each message.
	refuse func(n int, m broker.Message) error
	calls  int
	// short makes the publisher answer too few messages.
	short bool

	holder  string
	expires time.Time
	stop    bool
	// fail is the error of the next lease call.
	fail error
	// failRelease is the error of the next Release.
	failRelease                 error
	acquired, renewed, released int
}

func (w *world) Publish(_ context.Context, messages []broker.Message) []broker.Ack {
	w.calls++
	if w.holder != "me" || w.now.After(w.expires.Add(-10*time.Second)) {
		panic("published without a lease that outlasts the delivery")
	}
	acks := make([]broker.Ack, len(messages))
	for i, m := range messages {
		if w.refuse != nil {
			acks[i].Err = w.refuse(i, m)
		}
		if acks[i].Err == nil {
			acks[i].Offset = int64(len(w.sent))
			w.sent = append(w.sent, m)
		}
	}
	if w.short {
		return acks[1:]
	}
	return acks
}

func (w *world) failure() error {
	err := w.fail
	w.fail = nil
	return err
}

func (w *world) Acquire(_ context.Context, ttl time.Duration) error {
	if err := w.failure(); err != nil {
		return err
	}
	if w.holder != "" && w.holder != "me" && w.now.Before(w.expires) {
		return generate.ErrLeaseHeld
	}
	w.holder, w.expires, w.stop = "me", w.now.Add(ttl), false
	w.acquired++
	return nil
}

func (w *world) Renew(_ context.Context, ttl time.Duration) error {
	if err := w.failure(); err != nil {
		return err
	}
	if w.holder != "me" {
		return generate.ErrLeaseLost
	}
	w.expires = w.now.Add(ttl)
	w.renewed++
	return nil
}

func (w *world) StopRequested(context.Context) (bool, error) {
	if w.holder != "me" {
		return false, generate.ErrLeaseLost
	}
	return w.stop, nil
}

func (w *world) Release(context.Context) error {
	if err := w.failRelease; err != nil {
		w.failRelease = nil
		return err
	}
	if w.holder == "me" {
		w.holder = ""
		w.released++
	}
	return nil
}

func (w *world) shell(t *testing.T, count, rate int64, batch int) *generate.Shell {
	t.Helper()
	o := generate.Defaults()
	o.Count = count
	w.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s, err := generate.NewShell(generate.ShellOptions{Stream: mustStream(t, demo(t), o), Publisher: w, Lease: w,
		Now: func() time.Time { return w.now }, Rate: rate, Batch: batch})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// step wants no error.
func step(t *testing.T, s *generate.Shell) (bool, time.Time) {
	t.Helper()
	progress, wake, err := s.Step(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return progress, wake
}

// TestShellPublishesAll: the records reach the topic in the stream's order, in bounded batches, and the lease is
// released at the end.
func TestShellPublishesAll(t *testing.T) {
	w := &world{}
	s := w.shell(t, 1050, 0, 100)
	steps := 0
	for s.State() == generate.Running {
		before := len(w.sent)
		step(t, s)
		if steps++; len(w.sent)-before > 100 {
			t.Fatalf("%d records in one step", len(w.sent)-before)
		}
	}
	if s.State() != generate.Finished || w.released != 1 || w.acquired != 1 || steps != 12 {
		t.Errorf("state %v, %d steps, %+v", s.State(), steps, w)
	}
	o := generate.Defaults()
	o.Count = 1050
	i := 0
	for r := range mustStream(t, demo(t), o).All() {
		if m := w.sent[i]; !bytes.Equal(m.Key, r.Key) || !bytes.Equal(m.Value, r.Value) || m.Partition != r.Partition {
			t.Fatalf("record %d differs", i)
		}
		i++
	}
	if i != len(w.sent) || s.Published().Total() != 1050 || s.Published()[generate.Amend] == 0 {
		t.Errorf("%d sent, %v published", len(w.sent), s.Published().Map())
	}
	if progress, _ := step(t, s); progress || len(w.sent) != 1050 {
		t.Error("a step after the end did something")
	}
}

// TestR22ShellStopsOnRequest: a requested stop ends publication at the next step, with the lease released.
func TestR22ShellStopsOnRequest(t *testing.T) {
	mark.Expect(t, "R22 writer stopped")
	w := &world{}
	s := w.shell(t, 1000, 0, 100)
	step(t, s)
	w.stop = true
	if progress, _ := step(t, s); progress || s.State() != generate.Stopped || w.holder != "" || len(w.sent) != 100 {
		t.Errorf("state %v, holder %q, %d sent", s.State(), w.holder, len(w.sent))
	}
	if s.Close(t.Context()) != nil || w.released != 1 {
		t.Error("closing again released again")
	}
}

// TestR22ShellWantsLease: nothing is sent without the lease, nor once it may be another's.
func TestR22ShellWantsLease(t *testing.T) {
	w := &world{holder: "other", expires: time.Date(2026, 1, 1, 0, 0, 5, 0, time.UTC)}
	s := w.shell(t, 1000, 0, 100)
	if _, _, err := s.Step(t.Context()); !errors.Is(err, generate.ErrLeaseHeld) || fault.ClassOf(err) != fault.Fenced || w.calls != 0 {
		t.Fatalf("%v", err)
	}
	w.now = w.now.Add(6 * time.Second) // it has expired
	step(t, s)
	w.now = w.now.Add(14 * time.Second)
	step(t, s)
	if w.renewed != 0 {
		t.Error("renewed although more than half is left")
	}
	w.now = w.now.Add(2 * time.Second)
	step(t, s)
	if w.renewed != 1 || len(w.sent) != 300 {
		t.Errorf("renewed %d times, %d sent", w.renewed, len(w.sent))
	}
	w.holder = "thief"
	if _, _, err := s.Step(t.Context()); !errors.Is(err, generate.ErrLeaseLost) || fault.ClassOf(err) != fault.Fenced || len(w.sent) != 300 {
		t.Errorf("%v, %d sent", err, len(w.sent))
	}
	w.now = w.now.Add(time.Minute)
	if _, _, err := s.Step(t.Context()); !errors.Is(err, generate.ErrLeaseLost) || len(w.sent) != 300 {
		t.Errorf("%v, %d sent", err, len(w.sent))
	}
}

// TestR22LeaseTooShort: a process that was frozen between renewal and publication sends nothing before it has renewed.
func TestR22LeaseTooShort(t *testing.T) {
	mark.Expect(t, "R22 lease too short to write")
	w := &world{}
	frozen := false
	o := generate.Defaults()
	w.now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	calls := 0
	s, err := generate.NewShell(generate.ShellOptions{Stream: mustStream(t, demo(t), o), Publisher: w, Lease: w, Now: func() time.Time {
		if calls++; calls == 2 { // the second look at the clock is the one before publication
			w.now, frozen = w.now.Add(21*time.Second), true
		}
		return w.now
	}})
	if err != nil {
		t.Fatal(err)
	}
	if progress, _ := step(t, s); !progress || !frozen || w.calls != 0 {
		t.Errorf("progress %v, frozen %v, %d calls", progress, frozen, w.calls)
	}
	step(t, s)
	if w.renewed != 1 || len(w.sent) != generate.DefaultBatch {
		t.Errorf("renewed %d times, %d sent", w.renewed, len(w.sent))
	}
}

// TestShellFaults: what was not acknowledged is sent again, the rest is not, and while copies may be on their way the
// lease is not given up.
func TestShellFaults(t *testing.T) {
	w := &world{}
	s := w.shell(t, 200, 0, 100)
	broken := errors.New("broken")
	w.refuse = func(n int, _ broker.Message) error {
		if n%10 == 3 {
			return broken
		}
		return nil
	}
	if _, _, err := s.Step(t.Context()); !errors.Is(err, broken) || fault.ClassOf(err) != fault.Transient {
		t.Fatalf("%v", err)
	}
	if len(w.sent) != 90 || s.Published().Total() != 90 {
		t.Errorf("%d sent, %d published", len(w.sent), s.Published().Total())
	}
	if err := s.Close(t.Context()); err != nil || w.holder != "me" {
		t.Errorf("the lease was given up with copies on their way: %v", err)
	}
	stopped := *s
	w.stop = true
	step(t, &stopped)
	if stopped.State() != generate.Stopped || w.holder != "me" {
		t.Errorf("stopped with copies on their way: state %v, holder %q", stopped.State(), w.holder)
	}
	w.refuse, w.stop = nil, false
	for s.State() == generate.Running {
		step(t, s)
	}
	if len(w.sent) != 200 || w.released != 1 {
		t.Errorf("%d sent, released %d times", len(w.sent), w.released)
	}
	w = &world{refuse: func(int, broker.Message) error { return broker.ErrTopicChanged }}
	if _, _, err := w.shell(t, 10, 0, 10).Step(t.Context()); fault.ClassOf(err) != fault.Stop {
		t.Errorf("%v", err)
	}
	w = &world{short: true}
	if _, _, err := w.shell(t, 10, 0, 10).Step(t.Context()); fault.ClassOf(err) != fault.Stop {
		t.Errorf("%v", err)
	}
}

// TestShellLeaseFaults: a lease that cannot be reached is a fault to retry, at every call.
func TestShellLeaseFaults(t *testing.T) {
	w := &world{}
	s := w.shell(t, 10, 0, 10)
	unreachable := errors.New("unreachable")
	w.fail = unreachable
	if _, _, err := s.Step(t.Context()); !errors.Is(err, unreachable) || fault.ClassOf(err) != fault.Transient {
		t.Errorf("acquire: %v", err)
	}
	step(t, s)
	w.now, w.fail = w.now.Add(20*time.Second), unreachable
	if _, _, err := s.Step(t.Context()); !errors.Is(err, unreachable) {
		t.Errorf("renew: %v", err)
	}
	w.failRelease = unreachable
	if _, _, err := s.Step(t.Context()); !errors.Is(err, unreachable) || s.State() != generate.Running {
		t.Errorf("release: %v in state %v", err, s.State())
	}
	step(t, s)
	if s.State() != generate.Finished {
		t.Errorf("state %v", s.State())
	}
}

// TestShellRate: at 100 records per second the first is due at once and each next ten milliseconds later; a batch
// bounds what has piled up.
func TestShellRate(t *testing.T) {
	w := &world{}
	s := w.shell(t, 1000, 100, 20)
	step(t, s)
	progress, wake := step(t, s)
	if len(w.sent) != 1 || progress || !wake.Equal(w.now.Add(10*time.Millisecond)) {
		t.Fatalf("%d sent, wake %v", len(w.sent), wake.Sub(w.now))
	}
	w.now = wake
	step(t, s)
	if len(w.sent) != 2 {
		t.Errorf("%d sent at the wake time", len(w.sent))
	}
	w.now = w.now.Add(time.Second)
	step(t, s)
	if len(w.sent) != 22 {
		t.Errorf("%d sent in a batch", len(w.sent))
	}
	start := w.now.Add(-1010 * time.Millisecond)
	for s.State() == generate.Running {
		if progress, wake := step(t, s); !progress && s.State() == generate.Running {
			w.now = wake
		}
	}
	if took := w.now.Sub(start); took < 9980*time.Millisecond || took > 10*time.Second {
		t.Errorf("1000 records at 100/s took %v", took)
	}
}

// TestNewShellRefuses names the wrong option.
func TestNewShellRefuses(t *testing.T) {
	for _, o := range []generate.ShellOptions{{LeaseTTL: time.Second}, {Rate: -1}, {Rate: generate.RateMax + 1}} {
		if _, err := generate.NewShell(o); err == nil {
			t.Errorf("%+v accepted", o)
		}
	}
}
