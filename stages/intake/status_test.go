package intake_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"amends.dev/amends/internal/testkit/child"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/intake/intaketest"
	"amends.dev/amends/stages/owner/memory"
	"amends.dev/amends/stages/run"
)

// silent is a world whose intake has a status topic and sends nothing to it, but where a test takes a step of statuses.
func silent(t *testing.T, edit func(*intaketest.World, *intake.Options)) (*intaketest.World, *intake.Intake, run.Task) {
	t.Helper()
	w := intaketest.New()
	w.Silent.Store(true)
	options := w.Options()
	options.Status = &intake.Target{Publisher: w.Statuses, Partitions: 3}
	if edit != nil {
		edit(w, &options)
	}
	i := w.Start(t, options)
	tasks := i.Tasks()
	at := slices.IndexFunc(tasks, func(task run.Task) bool { return task.Stage == "intake-status" })
	if at < 0 {
		return w, i, run.Task{}
	}
	return w, i, tasks[at]
}

// submit has a request performed.
func submit(t *testing.T, i *intake.Intake, author, id string, level durability.Level, deliverTo string) {
	t.Helper()
	text := fmt.Sprintf(`{"txn_id":%q,"stock_key":{"item":"widget","location":"berlin"},"revision":1,"kind":"NEW",`+
		`"valid_time":"2026-01-05T10:00:00Z","qty":5,"source_time":"2026-01-05T10:00:00Z"}`, id)
	b := intake.Body{RequestID: id, Transaction: []byte(text), DeliverTo: deliverTo, Validate: true}
	if level != "" {
		b.Marker = &durability.Marker{Level: level, MustHave: true}
	}
	if r := i.Submit(t.Context(), author, b); !r.Performed() {
		t.Fatalf("%+v", r)
	}
}

// delivered waits until a request went all its way.
func delivered(t *testing.T, i *intake.Intake, author, id string) {
	t.Helper()
	intaketest.Eventually(t, "the delivery", func() bool {
		entry, err := i.Find(t.Context(), author, id, 0)
		return err == nil && entry != nil && entry.Delivered != nil && *entry.Delivered
	})
}

// step takes one, which must succeed.
func step(t *testing.T, task run.Task) (progress bool) {
	t.Helper()
	progress, _, err := task.Step(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return progress
}

// values are those of the records of a topic.
func values(topic *intaketest.Topic) (list []string) {
	for _, m := range topic.All() {
		list = append(list, string(m.Value))
	}
	return list
}

// TestR28ThreeCommitsNotifyOnce: accepted, published and delivered between two steps are one notification, of the last;
// a request whose commits have a step between them gives one for each, in rising positions.
func TestR28ThreeCommitsNotifyOnce(t *testing.T) {
	w, i, task := silent(t, nil)
	const author, id = "CN=anna/ü%", "order 1/2"
	submit(t, i, author, id, durability.Published, intaketest.Results)
	delivered(t, i, author, id)
	if !step(t, task) || step(t, task) {
		t.Error("want one step with something to do")
	}
	want := `{"capability":"latest_state_only","position":3,"schema_version":1,"codec_version":1,"status":{"namespace":"shop",` +
		`"request_id":"order 1/2","author":"CN=anna/ü%","handle":"/v1/namespaces/shop/requests/order%201%2F2","level":"published",` +
		`"source_topic":"shop.in","source_topic_id":"` + intaketest.TopicID + `","source":{"partition":0,"offset":0},"delivered":true}}`
	if got := values(w.Statuses); !slices.Equal(got, []string{want}) {
		t.Fatalf("%s\nwant %s", got, want)
	}
	if key := string(w.Statuses.All()[0].Key); key != intake.OwnerID("shop", author, id) {
		t.Errorf("its key is %s", key)
	}
	w.Held.Store(true)
	submit(t, i, "local", "b", durability.Stored, "")
	step(t, task)
	w.Held.Store(false)
	intaketest.Eventually(t, "the publication", func() bool {
		entry, err := i.Find(t.Context(), "local", "b", 0)
		return err == nil && entry.Source != nil
	})
	step(t, task)
	for text, want := range map[string]int{
		`"position":1,"schema_version":1,"codec_version":1,"status":{"namespace":"shop","request_id":"b","author":"local","handle":"/v1/namespaces/shop/requests/b","level":"stored",`: 1,
		`"position":2,`: 1, `"source":{"partition":0,"offset":1}}}`: 1, `"request_id":"b"`: 2,
	} {
		if got := w.Statuses.Holding(text); got != want {
			t.Errorf("%d times %s, want %d, in %s", got, text, want, values(w.Statuses))
		}
	}
	if done := i.Done().Statuses.Load(); done != 3 {
		t.Errorf("%d counted", done)
	}
}

// TestR28NoTopicNoStatus: without a status topic nothing becomes pending; with one, nothing does for what is not kept.
func TestR28NoTopicNoStatus(t *testing.T) {
	pending := func(w *intaketest.World) int {
		list, err := w.Store.PendingLatest(t.Context(), "", 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	w, i, _ := silent(t, func(_ *intaketest.World, o *intake.Options) { o.Status = nil })
	submit(t, i, "local", "a", durability.Published, intaketest.Results)
	delivered(t, i, "local", "a")
	if n := pending(w); n != 0 {
		t.Errorf("%d statuses without a topic for them", n)
	}
	w, i, _ = silent(t, nil)
	submit(t, i, "local", "a", durability.Stored, "")
	if n := pending(w); n != 1 {
		t.Fatalf("%d statuses of a kept request", n)
	}
	submit(t, i, "local", "b", "", intaketest.Results)
	intaketest.Eventually(t, "the delivery", func() bool { return len(w.Target.All()) == 1 })
	intaketest.Eventually(t, "its receipt", func() bool { return i.Done().Delivered.Load() == 1 })
	if n := pending(w); n != 1 {
		t.Errorf("%d statuses; the second request has no handle", n)
	}
}

// TestR28OnlyTheHolderNotifies: an intake without the writer lease sends nothing; what is pending is sent by the holder.
func TestR28OnlyTheHolderNotifies(t *testing.T) {
	w, i, task := silent(t, nil)
	submit(t, i, "local", "a", durability.Stored, "")
	w.Lease.Take(true)
	intaketest.Eventually(t, "the loss of the lease", func() bool { ready, _ := i.Ready(); return !ready })
	if step(t, task) || len(w.Statuses.All()) != 0 {
		t.Fatalf("a standby sends %s", values(w.Statuses))
	}
	w.Lease.Take(false)
	intaketest.Eventually(t, "the lease", func() bool { ready, _ := i.Ready(); return ready })
	if !step(t, task) || len(w.Statuses.All()) != 1 {
		t.Errorf("the holder sends %s", values(w.Statuses))
	}
}

// TestR22StandbySaysSo: who stands by logs it once, with the holder, and again who has the lease.
func TestR22StandbySaysSo(t *testing.T) {
	log := child.NewLog(t, "the intake")
	w, i, _ := silent(t, func(_ *intaketest.World, o *intake.Options) {
		o.Log = slog.New(slog.NewTextHandler(log, nil))
	})
	const standing, holds = `msg="standing by, another has the writer lease" reason="another writer holds the writer lease"`, `msg="has the writer lease" term=`
	if text := log.String(); strings.Contains(text, standing) || strings.Count(text, holds) != 1 {
		t.Fatalf("at first the log says:\n%s", text)
	}
	w.Lease.Take(true)
	intaketest.Eventually(t, "the standby", func() bool { return strings.Contains(log.String(), standing) })
	w.Lease.Take(false)
	intaketest.Eventually(t, "the lease", func() bool { ready, _ := i.Ready(); return ready })
	if text := log.String(); strings.Count(text, standing) != 1 || strings.Count(text, holds) != 2 || strings.LastIndex(text, holds) < strings.Index(text, standing) {
		t.Errorf("the log says:\n%s", text)
	}
}

// crashing is a topic after whose first acknowledgement the process dies.
type crashing struct {
	*intaketest.Topic
	once  sync.Once
	crash func()
}

// Publish implements broker.Publisher.
func (c *crashing) Publish(ctx context.Context, messages []broker.Message) []broker.Ack {
	acks := c.Topic.Publish(ctx, messages)
	if acks[0].Err == nil {
		c.once.Do(c.crash)
	}
	return acks
}

// TestR28NotifiedAgainAfterACrash: a status that was sent and not noted is sent again by the next process, with the same
// position; one that the topic refused stays pending.
func TestR28NotifiedAgainAfterACrash(t *testing.T) {
	disk := memory.NewDisk()
	store := memory.Open(disk)
	w, i, task := silent(t, func(w *intaketest.World, o *intake.Options) {
		w.Store.Store = store
		w.Held.Store(true)
		o.Status.Publisher = &crashing{Topic: w.Statuses, crash: store.CrashBeforeCommit}
	})
	submit(t, i, "local", "a", durability.Stored, "")
	w.Statuses.Down(true)
	if _, _, err := task.Step(t.Context()); !errors.Is(err, intaketest.ErrDown) {
		t.Fatalf("the topic is down: %v", err)
	}
	w.Statuses.Down(false)
	if _, _, err := task.Step(t.Context()); !errors.Is(err, memory.ErrCrashed) {
		t.Fatalf("the process dies: %v", err)
	}
	next, _, task := silent(t, func(next *intaketest.World, _ *intake.Options) {
		next.Store.Store = memory.Open(disk)
		next.Held.Store(true)
	})
	if !step(t, task) || step(t, task) {
		t.Error("want one step with something to do")
	}
	before, after := values(w.Statuses), values(next.Statuses)
	if len(before) != 1 || !slices.Equal(before, after) || !strings.Contains(after[0], `"position":1,`) {
		t.Errorf("before the crash %s, afterwards %s", before, after)
	}
}

// TestStatusesAreSentByThemselves: the intake's own tasks send them.
func TestStatusesAreSentByThemselves(t *testing.T) {
	w, i, _ := silent(t, func(w *intaketest.World, _ *intake.Options) { w.Silent.Store(false) })
	submit(t, i, "local", "a", durability.Published, intaketest.Results)
	intaketest.Eventually(t, "the last status", func() bool { return w.Statuses.Holding(`"delivered":true`) == 1 })
}
