package egress_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/egress"
	"amends.dev/amends/stages/owner/memory"
)

// receiver keeps what it was given.
type receiver struct {
	got []string
	// during runs while values are being published; err is what those of a given value end in.
	during func()
	err    map[string]error
}

// Publish implements egress.Publisher.
func (r *receiver) Publish(_ context.Context, values []owner.LatestDurableProjection) []error {
	if r.during != nil {
		r.during()
		r.during = nil
	}
	outcomes := make([]error, len(values))
	for n, value := range values {
		v := value.Value()
		text := fmt.Sprintf("%s=%s", value.OwnerID(), v.Bytes)
		if outcomes[n] = r.err[text]; outcomes[n] == nil {
			r.got = append(r.got, text)
		}
	}
	return outcomes
}

type clock struct{}

// Now implements egress.Clock.
func (clock) Now() time.Time { return time.Unix(1000, 0) }

// bring commits a latest value.
func bring(t *testing.T, store owner.Store, ownerID, value string) {
	t.Helper()
	image, err := store.Image(t.Context(), ownerID)
	if err != nil {
		t.Fatal(err)
	}
	p := owner.Payload{SchemaVersion: 1, CodecVersion: 1, Bytes: []byte(value)}
	c := owner.Commit{OwnerID: ownerID, Create: &owner.Config{Mode: owner.EventHistory}, Append: []owner.Payload{p}, Latest: &p}
	if image != nil {
		c.ExpectedPosition = image.Position
	}
	c.Inbox.ID = fmt.Sprint("m", c.ExpectedPosition)
	if results, err := store.Commit(t.Context(), c); err != nil || results[0].Outcome != owner.Committed {
		t.Fatalf("%v, %v", results, err)
	}
}

// steps runs an egress until it has nothing to do.
func steps(t *testing.T, e *egress.Egress) {
	t.Helper()
	for range 10 {
		progress, wake, err := e.Step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !progress {
			if !wake.Equal(time.Unix(1005, 0)) {
				t.Errorf("wakes at %s", wake)
			}
			return
		}
	}
	t.Fatal("never comes to rest")
}

// TestR28ThreeCommitsPublishOnce: of three commits between two drains the last is published, once.
func TestR28ThreeCommitsPublishOnce(t *testing.T) {
	store, r := memory.New(), &receiver{}
	e := egress.New(store, r, clock{}, egress.Config{Prefix: "request/", Batch: 1, Idle: 5 * time.Second})
	for _, value := range []string{"accepted", "published", "applied"} {
		bring(t, store, "request/1", value)
	}
	bring(t, store, "request/2", "accepted")
	bring(t, store, "operation/1", "begun")
	steps(t, e)
	if want := []string{"request/1=applied", "request/2=accepted"}; !slices.Equal(r.got, want) || e.Published() != 2 {
		t.Fatalf("%q, %d published; want %q", r.got, e.Published(), want)
	}
	steps(t, e)
	if len(r.got) != 2 {
		t.Errorf("published again: %q", r.got)
	}
	// Replaced while it is published: the successor follows, whatever was noted.
	bring(t, store, "request/1", "one")
	r.during = func() { bring(t, store, "request/1", "two") }
	steps(t, e)
	if want := []string{"request/1=one", "request/1=two"}; !slices.Equal(r.got[2:], want) {
		t.Errorf("%q, want %q", r.got[2:], want)
	}
}

// TestFaults: what was not published stays pending and holds up no other; what was published and not noted is published
// again.
func TestFaults(t *testing.T) {
	disk := memory.NewDisk()
	store, r, broken := memory.Open(disk), &receiver{}, errors.New("receiver away")
	bring(t, store, "a", "1")
	e := egress.New(store, r, clock{}, egress.Config{Idle: 5 * time.Second})
	bring(t, store, "b", "1")
	r.err = map[string]error{"a=1": broken}
	if _, _, err := e.Step(t.Context()); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	r.err = nil
	r.during = store.CrashBeforeCommit
	if _, _, err := e.Step(t.Context()); !errors.Is(err, memory.ErrCrashed) {
		t.Fatal(err)
	}
	if _, _, err := e.Step(t.Context()); !errors.Is(err, memory.ErrCrashed) {
		t.Fatal(err)
	}
	steps(t, egress.New(memory.Open(disk), r, clock{}, egress.Config{Idle: 5 * time.Second}))
	if want := []string{"b=1", "a=1", "a=1"}; !slices.Equal(r.got, want) || e.Published() != 1 {
		t.Errorf("%q, %d published; want %q", r.got, e.Published(), want)
	}
}
