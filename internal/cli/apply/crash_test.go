package apply

import (
	"context"
	"errors"
	"strings"
	"testing"

	"amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/broker"
)

// errCrash is the end of a process, as the code that runs at this moment sees it.
var errCrash = errors.New("crash")

// crasher passes writes on and fails at one of them: before it, or after it was done, when only the answer is lost.
type crasher struct {
	deps   Deps
	at     int
	after  bool
	writes int
}

func (c *crasher) write(do func() error) error {
	c.writes++
	if c.writes != c.at {
		return do()
	}
	if c.after {
		if err := do(); err != nil {
			return err
		}
	}
	return errCrash
}

// The three ports with crashes.
type (
	crashTopics  struct{ *crasher }
	crashCatalog struct {
		Catalog
		*crasher
	}
	crashViews struct {
		Views
		*crasher
	}
)

func (c *crasher) wrap() Deps {
	return Deps{Topics: crashTopics{c}, Catalog: crashCatalog{c.deps.Catalog, c}, Views: crashViews{c.deps.Views, c}}
}

func (c crashTopics) Describe(ctx context.Context, topic string) (*broker.TopicInfo, error) {
	return c.deps.Topics.Describe(ctx, topic)
}

func (c crashTopics) Create(ctx context.Context, topic string, partitions int32) (info *broker.TopicInfo, err error) {
	err = c.write(func() error { info, err = c.deps.Topics.Create(ctx, topic, partitions); return err })
	return info, err
}

func (c crashCatalog) Migrate(ctx context.Context) error {
	return c.write(func() error { return c.deps.Catalog.Migrate(ctx) })
}

func (c crashCatalog) Record(ctx context.Context, ns *manifests.Namespace, source, output string) error {
	return c.write(func() error { return c.deps.Catalog.Record(ctx, ns, source, output) })
}

func (c crashViews) Create(ctx context.Context, ns *manifests.Namespace, output string) error {
	return c.write(func() error { return c.deps.Views.Create(ctx, ns, output) })
}

// TestInterruptedApplyIsCompletedByTheNext crashes before and after each write, with the view in the same and in
// another database, and applies again.
func TestInterruptedApplyIsCompletedByTheNext(t *testing.T) {
	cluster := kafkatest.Fake(t)
	const writes = 5 // two topics, view, catalog schema, record
	for at := 1; at <= writes+1; at++ {
		for _, after := range []bool{false, true} {
			w := newWorld(t, cluster)
			if after {
				w.viewURL = pg.New(t)
				w.open(t)
			}
			ns := w.parse(t)
			c := &crasher{deps: w.deps, at: at, after: after}
			_, err := Do(t.Context(), c.wrap(), ns)
			if at > writes {
				if err != nil || c.writes != writes {
					t.Fatalf("%d writes, %v; want %d and no crash", c.writes, err, writes)
				}
			} else if !errors.Is(err, errCrash) {
				t.Fatalf("write %d: %v, want a crash", at, err)
			}
			plan := w.mustDo(t, ns)
			done := at - 1
			if after {
				done = at
			}
			// The catalog's schema is no item of a plan, and the record is two.
			left := map[int]int{0: 5, 1: 4, 2: 3, 3: 2, 4: 2, 5: 0}[min(done, writes)]
			if plan.ToCreate != left {
				t.Errorf("crash at %d, after %t: the next apply made %d items, want %d", at, after, plan.ToCreate, left)
			}
			applied, err := w.deps.Catalog.Load(t.Context(), "demo")
			if err != nil {
				t.Fatal(err)
			}
			source, err := w.deps.Topics.Describe(t.Context(), w.source)
			if err != nil || source.ID != applied.SourceTopicID {
				t.Errorf("recorded topic ID %s, the broker has %v, %v", applied.SourceTopicID, source, err)
			}
			if state := w.state(t); !strings.Contains(state, "amends_demo_view.view_progress") {
				t.Errorf("no view in\n%s", state)
			}
			w.mustDo(t, ns)
		}
	}
}

func TestConcurrentAppliesEndInOneNamespace(t *testing.T) {
	w := newWorld(t, kafkatest.Fake(t))
	ns := w.parse(t)
	ctx := context.WithoutCancel(t.Context())
	failures := make(chan error, 4)
	for range cap(failures) {
		go func() { _, err := Do(ctx, w.deps, ns); failures <- err }()
	}
	for range cap(failures) {
		if err := <-failures; err != nil && !errors.Is(err, errRaced) && !errors.Is(err, ErrRefused) {
			t.Error(err)
		}
	}
	for range 2 {
		w.mustDo(t, ns)
	}
	if entries, err := w.deps.Catalog.List(t.Context()); err != nil || len(entries) != 1 {
		t.Fatalf("catalog = %v, %v", entries, err)
	}
}
