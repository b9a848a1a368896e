package intake_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/testkit/child"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/intake/intaketest"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/run"
)

// task is that of a name.
func task(t *testing.T, i *intake.Intake, stage string) run.Task {
	t.Helper()
	tasks := append(i.Tasks(), i.LeaseTask())
	at := slices.IndexFunc(tasks, func(task run.Task) bool { return task.Stage == stage })
	if at < 0 {
		t.Fatalf("no task %s", stage)
	}
	return tasks[at]
}

// still is an intake whose tasks only run where a test takes their steps, with a clock that the test moves.
func still(t *testing.T, w *intaketest.World, edit func(*intake.Options)) (i *intake.Intake, sleep func(time.Duration)) {
	t.Helper()
	now := time.Now()
	options := w.Options()
	options.Clock.Now = func() time.Time { return now }
	options.Status = &intake.Target{Publisher: w.Statuses, Partitions: 3}
	if edit != nil {
		edit(&options)
	}
	i, err := intake.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return i, func(d time.Duration) { now = now.Add(d) }
}

// TestR36NothingIsTriedWithoutALease: while the lease is another's, tasks that need it stand by, which is no failure; while
// nobody can say whose it is, because it was not asked for yet or the database does not answer, their steps claim neither
// success nor failure. The intake is not ready then and says since when, and the lease's task leaves it to the runner to
// say why.
func TestR36NothingIsTriedWithoutALease(t *testing.T) {
	w := intaketest.New()
	i, sleep := still(t, w, nil)
	outbox, err := i.Outbox()
	if err != nil {
		t.Fatal(err)
	}
	lease := task(t, i, "intake")
	all := func(when string, want error) {
		t.Helper()
		for _, stage := range []string{"intake-status", "intake-deliver"} {
			if _, _, err := task(t, i, stage).Step(t.Context()); !errors.Is(err, want) {
				t.Errorf("%s, %s: %v, want %v", stage, when, err, want)
			}
		}
		if _, err := outbox.Acquire(t.Context(), "test", 2*intake.DefaultDeliveryTimeout); !errors.Is(err, want) {
			t.Errorf("the drain, %s: %v, want %v", when, err, want)
		}
	}
	asks := func(want error, ready bool, prefix string) {
		t.Helper()
		if _, _, err := lease.Step(t.Context()); !errors.Is(err, want) {
			t.Errorf("the lease: %v, want %v", err, want)
		}
		if is, why := i.Ready(); is != ready || !strings.HasPrefix(why, prefix) {
			t.Errorf("ready %t: %q, want %q", is, why, prefix)
		}
	}
	all("at first", fault.ErrUntried)
	asks(nil, true, "")
	all("with the lease", nil)
	w.Lease.Take(true)
	asks(nil, false, "the writer lease was lost")
	asks(nil, false, "another process writes")
	all("with another's lease", nil)
	if s := lease.Status()[0].Stall; s == nil || !strings.HasPrefix(s.Reason, "another process") {
		t.Errorf("standing by: %+v", s)
	}
	w.Lease.Take(false)
	asks(nil, true, "")
	w.Lease.Down(true)
	sleep(intake.DefaultLeaseTTL / 2)
	asks(intaketest.ErrDown, false, "the database has not answered since 20")
	if s := lease.Status()[0].Stall; s != nil {
		t.Errorf("it hides what the runner knows: %+v", s)
	}
	all("while the lease is trusted", nil)
	_, since := i.Ready()
	sleep(intake.DefaultLeaseTTL / 2)
	asks(intaketest.ErrDown, false, since)
	all("with the database away", fault.ErrUntried)
	w.Lease.Down(false)
	asks(nil, true, "")
	all("with the lease again", nil)
}

// TestR33TargetThatIsAway: a topic for decisions that is away shows with its failures, waits by itself, and holds up no
// other topic; when it is back it gets what is due, at once where somebody asks for it.
func TestR33TargetThatIsAway(t *testing.T) {
	said := child.NewLog(t, "the intake")
	w := intaketest.New()
	options := w.Options()
	second := intaketest.NewTopic()
	options.Log = slog.New(slog.NewTextHandler(said, nil))
	options.Targets["shop.more"] = intake.Target{Publisher: second, Partitions: 1}
	i := w.Start(t, options)
	submit(t, i, "local", "first", durability.Stored, "shop.more")
	delivered(t, i, "local", "first")
	deliver := task(t, i, "intake-deliver")
	if s := deliver.Status()[0]; s.Stall != nil {
		t.Fatalf("nothing fails, and yet: %+v", s.Stall)
	}
	second.Down(true)
	submit(t, i, "local", "second", durability.Stored, "shop.more")
	stalled := func() bool { s := deliver.Status()[0].Stall; return s != nil && s.Attempts >= 5 }
	intaketest.Eventually(t, "the stall", stalled)
	submit(t, i, "local", "third", durability.Stored, intaketest.Results)
	delivered(t, i, "local", "third")
	if s := deliver.Status()[0].Stall; s == nil || s.Reason != "deliver to topic shop.more: it is down" || s.NextTry.IsZero() {
		t.Errorf("the topic is away: %+v", s)
	}
	const again = `msg="delivery succeeded again" topic=shop.more`
	if text := said.String(); strings.Contains(text, again) || !strings.Contains(text, `msg="delivery failed" topic=shop.more`) {
		t.Errorf("the log says:\n%s", text)
	}
	second.Down(false)
	deliver.Resume(0)
	delivered(t, i, "local", "second")
	intaketest.Eventually(t, "the end of the stall", func() bool { return deliver.Status()[0].Stall == nil })
	if text := said.String(); strings.Count(text, again) != 1 {
		t.Errorf("the log says:\n%s", text)
	}
}

// unread are decisions of which those of one source partition cannot be read.
type unread struct {
	intake.Decisions
	partition int32
}

// Decision implements intake.Decisions.
func (u *unread) Decision(ctx context.Context, at intake.Coordinates, value []byte) (*intake.Decision, error) {
	if at.Partition == u.partition {
		return nil, intaketest.ErrDown
	}
	return u.Decisions.Decision(ctx, at, value)
}

// TestR36OtherPartitionProvesNothing: while the deliveries of one partition cannot be read, one that can be goes on, and
// proves nothing of the other: the task has recovered when that one has.
func TestR36OtherPartitionProvesNothing(t *testing.T) {
	w := intaketest.New()
	w.Behind.Store(true)
	first := w.Start(t, w.Options())
	submit(t, first, "local", "a", durability.Published, intaketest.Results)
	var entry *intake.Entry
	intaketest.Eventually(t, "the publication", func() (published bool) {
		entry, _ = first.Find(t.Context(), "local", "a", 0)
		return entry != nil && entry.Source != nil
	})
	reading := &unread{partition: entry.Source.Partition}
	second, _ := still(t, w, func(o *intake.Options) { reading.Decisions, o.Decisions = o.Decisions, reading })
	if _, _, err := task(t, second, "intake").Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	deliver := task(t, second, "intake-deliver")
	round := func() (failed, untried, succeeded int) {
		t.Helper()
		for range w.Config.Namespace().Spec.Source.Partitions {
			switch _, _, err := deliver.Step(t.Context()); {
			case err == nil:
				succeeded++
			case errors.Is(err, fault.ErrUntried):
				untried++
			case errors.Is(err, intaketest.ErrDown):
				failed++
				if want := fmt.Sprintf("deliver decisions of shop, source partition %d: ", reading.partition); !strings.HasPrefix(err.Error(), want) {
					t.Errorf("want %q: %v", want, err)
				}
			default:
				t.Error(err)
			}
		}
		return failed, untried, succeeded
	}
	round()
	if failed, untried, succeeded := round(); failed != 1 || untried != 1 || succeeded != 0 {
		t.Errorf("%d failed, %d say nothing, %d succeeded", failed, untried, succeeded)
	}
	reading.partition = -1
	round()
	if failed, untried, succeeded := round(); failed != 0 || untried != 0 || succeeded != 2 {
		t.Errorf("it can be read: %d failed, %d say nothing, %d succeeded", failed, untried, succeeded)
	}
}

// bursting is an owner store that panics where an owner is looked up.
type bursting struct{ *intaketest.Store }

// Image implements owner.Store.
func (bursting) Image(context.Context, string) (*owner.Image, error) { panic("a bug") }

// TestR22PanicLeavesTheGate: a request whose performance panics does not stay inside: the lease can be asked back. The twin
// that does not panic leaves, too.
func TestR22PanicLeavesTheGate(t *testing.T) {
	for name, bursts := range map[string]bool{"the twin": false, "a panic": true} {
		w := intaketest.New()
		options := w.Options()
		if bursts {
			options.Store = bursting{w.Store}
		}
		i := w.Start(t, options)
		// A request with a fault is looked up, because one that is kept already comes first (R35).
		bad := intake.Body{RequestID: "bad", Transaction: []byte(`{}`), Marker: &durability.Marker{Level: durability.Stored}, Validate: true}
		func() {
			defer func() {
				if (recover() != nil) != bursts {
					t.Errorf("%s: panicked %t", name, !bursts)
				}
			}()
			if r := i.Submit(t.Context(), "local", bad); r.Status != 422 {
				t.Errorf("%s: %+v", name, r)
			}
		}()
		before := w.Lease.Releases()
		w.Lease.Ask()
		intaketest.Eventually(t, name+": the lease given back", func() bool { return w.Lease.Releases() > before })
	}
}
