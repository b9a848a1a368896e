package operation_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/operation"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/memory"
	ownerpg "amends.dev/amends/stages/owner/postgres"
	"amends.dev/amends/stages/postgres"
)

// stores are what every test runs over.
var stores = map[string]func(*testing.T) owner.Store{
	"memory": func(*testing.T) owner.Store { return memory.New() },
	"postgres": func(t *testing.T) owner.Store {
		url := pg.New(t)
		for _, schema := range []string{"", "owners"} {
			pool, err := postgres.Connect(t.Context(), postgres.Options{URL: url, Schema: schema})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			if schema != "" {
				return ownerpg.New(pool)
			}
			if err := postgres.Migrate(t.Context(), pool, postgres.KindOwner, "owners"); err != nil {
				t.Fatal(err)
			}
		}
		return nil
	},
}

// each runs a test over every store.
func each(t *testing.T, test func(t *testing.T, store owner.Store)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

func step(name, detail string) operation.Step {
	return operation.Step{Name: name, Detail: []byte(detail)}
}

// find wants an operation to be as given.
func find(t *testing.T, log operation.Log, want *operation.Operation, id string) {
	t.Helper()
	got, err := log.Find(t.Context(), id)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Fatalf("operation %s: %v (-want +got):\n%s", id, err, diff)
	}
}

// wants checks an error against the one expected, nil for none.
func wants(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: %v, want %v", what, err, want)
	}
}

// TestR29Operation: steps are found again in order, by another process too; repetitions change nothing, and other
// content under a name is refused.
func TestR29Operation(t *testing.T) {
	each(t, func(t *testing.T, store owner.Store) {
		const id = "rebuild/new"
		ctx := t.Context()
		log := operation.Owned(store, "demo")
		find(t, log, nil, id)
		if err := log.Record(ctx, id, step("copied", `{}`)); err == nil {
			t.Error("a step of an operation that never began was recorded")
		}
		begun, err := log.Begin(ctx, id, []byte(`{ "to": "new" }`))
		want := operation.Operation{ID: id, Request: []byte(`{ "to": "new" }`)}
		if diff := cmp.Diff(want, begun, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("begun: %v\n%s", err, diff)
		}
		wants(t, "copied", log.Record(ctx, id, step("copied", `{"rows": 10}`)), nil)
		wants(t, "audited", log.Record(ctx, id, step("audited", `1`)), nil)
		wants(t, "copied again", log.Record(ctx, id, step("copied", `{"rows": 10}`)), nil)
		wants(t, "copied otherwise", log.Record(ctx, id, step("copied", `{"rows": 11}`)), operation.ErrConflict)
		want.Steps = []operation.Step{step("copied", `{"rows": 10}`), step("audited", `1`)}
		log = operation.Owned(store, "demo") // another process
		find(t, log, &want, id)
		if again, err := log.Begin(ctx, id, want.Request); err != nil || len(again.Steps) != 2 || again.Done {
			t.Errorf("begun again: %+v, %v", again, err)
		}
		_, err = log.Begin(ctx, id, []byte(`{"to": "new"}`))
		wants(t, "begun with other bytes", err, operation.ErrConflict)
		wants(t, "finish", log.Finish(ctx, id, []byte(`"done"`)), nil)
		wants(t, "finish again", log.Finish(ctx, id, []byte(`"done"`)), nil)
		wants(t, "finish otherwise", log.Finish(ctx, id, []byte(`"failed"`)), operation.ErrConflict)
		wants(t, "an old step again", log.Record(ctx, id, step("audited", `1`)), nil)
		wants(t, "a new step", log.Record(ctx, id, step("late", `1`)), operation.ErrConflict)
		want.Done = true
		find(t, log, &want, id)
		if again, err := log.Begin(ctx, id, want.Request); err != nil || !again.Done {
			t.Errorf("begun again after its end: %+v, %v", again, err)
		}
	})
}

// TestOpenFindsWhatIsNotFinished: of one namespace, oldest first, more than one look takes.
func TestOpenFindsWhatIsNotFinished(t *testing.T) {
	each(t, func(t *testing.T, store owner.Store) {
		ctx := t.Context()
		log, other := operation.Owned(store, "demo"), operation.Owned(store, "demo2")
		var want []operation.Operation
		for i := range 102 {
			id, request := fmt.Sprintf("replay/%d", 900-i), fmt.Append(nil, i)
			if _, err := log.Begin(ctx, id, request); err != nil {
				t.Fatal(err)
			}
			want = append(want, operation.Operation{ID: id, Request: request})
		}
		if _, err := other.Begin(ctx, "replay/900", []byte(`"other"`)); err != nil {
			t.Fatal(err)
		}
		wants(t, "finish", log.Finish(ctx, want[1].ID, []byte(`1`)), nil)
		want = append(want[:1], want[2:]...)
		got, err := log.Open(ctx)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("open: %v (-want +got):\n%s", err, diff)
		}
		if got, err = other.Open(ctx); err != nil || len(got) != 1 || string(got[0].Request) != `"other"` {
			t.Errorf("open in the other namespace: %v, %v", got, err)
		}
	})
}

// TestNotJSONIsRefused, and so is an operation without a name.
func TestNotJSONIsRefused(t *testing.T) {
	ctx := t.Context()
	log := operation.Owned(memory.New(), "demo")
	if _, err := log.Begin(ctx, "good", []byte(`{}`)); err != nil {
		t.Fatalf("the undamaged twin: %v", err)
	}
	_, begin := log.Begin(ctx, "bad", []byte(`{`))
	_, unnamed := log.Begin(ctx, "", []byte(`{}`))
	for name, err := range map[string]error{
		"request": begin, "no name": unnamed, "detail": log.Record(ctx, "good", step("s", `{`)), "outcome": log.Finish(ctx, "good", []byte(`no`)),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	find(t, log, &operation.Operation{ID: "good", Request: []byte(`{}`)}, "good")
}

// TestStepsAtOnce: of steps recorded at the same moment each is kept once, and a finish ends them.
func TestStepsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, store owner.Store) {
		mark.Expect(t, "R29 operation moved under a step")
		const id, workers = "replay/1", 8
		log := operation.Owned(&eager{Store: store, together: make(chan struct{}), left: workers}, "demo")
		if _, err := log.Begin(t.Context(), id, []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for i := range workers {
			group.Go(func() {
				if err := log.Record(context.Background(), id, step(fmt.Sprint(i%4), `{}`)); err != nil { // two of each
					t.Error(err)
				}
			})
		}
		group.Wait()
		found, err := log.Find(t.Context(), id)
		if err != nil || len(found.Steps) != workers/2 {
			t.Errorf("%d steps, %v", len(found.Steps), err)
		}
	})
}

// eager lets the first images that are read be read by everybody before anybody goes on.
type eager struct {
	owner.Store
	mu       sync.Mutex
	begun    bool
	left     int
	together chan struct{}
}

func (e *eager) Image(ctx context.Context, ownerID string) (*owner.Image, error) {
	image, err := e.Store.Image(ctx, ownerID)
	e.mu.Lock()
	wait := e.begun && e.left > 0
	if wait {
		e.left--
		if e.left == 0 {
			close(e.together)
		}
	}
	e.begun = true // the first is Begin's
	e.mu.Unlock()
	if wait {
		<-e.together
	}
	return image, err
}

// TestUnknownOutcomeIsNoConflict: an error of the store is one of infrastructure, and asking again finds out.
func TestUnknownOutcomeIsNoConflict(t *testing.T) {
	ctx := t.Context()
	store := &answerless{Store: memory.New()}
	log := operation.Owned(store, "demo")
	for what, ask := range map[string]func() error{
		"begin":  func() error { _, err := log.Begin(ctx, "a", []byte(`{}`)); return err },
		"step":   func() error { return log.Record(ctx, "a", step("s", `{}`)) },
		"finish": func() error { return log.Finish(ctx, "a", []byte(`{}`)) },
	} {
		_, _ = log.Begin(ctx, "a", []byte(`{}`))
		store.lose = true
		if err := ask(); !errors.Is(err, owner.ErrUnknownOutcome) || errors.Is(err, operation.ErrConflict) {
			t.Errorf("%s: %v", what, err)
		}
		if err := ask(); err != nil {
			t.Errorf("%s again: %v", what, err)
		}
		store.Store = memory.New()
	}
}

// answerless commits once without an answer.
type answerless struct {
	owner.Store
	lose bool
}

func (a *answerless) Commit(ctx context.Context, commits ...owner.Commit) ([]owner.Result, error) {
	results, err := a.Store.Commit(ctx, commits...)
	if err == nil && a.lose {
		a.lose = false
		return nil, owner.ErrUnknownOutcome
	}
	return results, err
}
