package scratch_test

import (
	"testing"

	"go.uber.org/goleak"

	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/postgres/scratch"
)

// TestMain finds connections and pools that were left open.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCrash: what was cut left nothing, what is refused was lost too, and the same unit of work then commits; the schema
// is gone at the end.
func TestCrash(t *testing.T) {
	url := pg.New(t)
	s, err := scratch.New(t.Context(), url, "scratch_a")
	if err != nil {
		t.Fatal(err)
	}
	unit := func(id string, position uint64) owner.Commit {
		return owner.Commit{
			OwnerID: "a", Create: &owner.Config{Mode: owner.EventHistory}, ExpectedPosition: position, Inbox: owner.Inbox{ID: id},
			Append: []owner.Payload{{SchemaVersion: 1, CodecVersion: 1, Bytes: []byte(id)}},
		}
	}
	for _, c := range []owner.Commit{unit("m1", 0), unit("m1", 0), unit("m1", 7)} {
		if lost, err := s.CrashBeforeCommit(t.Context(), c); !lost || err != nil {
			t.Fatalf("%v, %v", lost, err)
		}
		if image, err := s.Store().Image(t.Context(), "a"); image != nil || err != nil {
			t.Fatalf("%+v, %v", image, err)
		}
	}
	for i, want := range []owner.Outcome{owner.Committed, owner.Duplicate} {
		if results, err := s.Store().Commit(t.Context(), unit("m1", 0)); err != nil || results[0].Outcome != want {
			t.Fatalf("%d: %v, %v", i, results, err)
		}
		if err := s.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := scratch.New(t.Context(), url, "scratch_b\x00"); err == nil {
		t.Error("a schema that cannot be")
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := scratch.New(t.Context(), url, "scratch_a")
	if err != nil {
		t.Fatal(err)
	}
	if image, err := again.Store().Image(t.Context(), "a"); image != nil || err != nil {
		t.Errorf("%+v, %v", image, err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
