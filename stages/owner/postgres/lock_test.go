package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/owner"
	ownerpg "amends.dev/amends/stages/owner/postgres"
)

// race commits first with a held COMMIT and second while it is held, and returns what became of both once the second
// waits for the first.
func race(t *testing.T, url string, first, second []owner.Commit) (results [2][]owner.Result) {
	t.Helper()
	pool := connect(t, url, nil)
	var hold cutter
	slow, other := ownerpg.New(connect(t, url, hold.configure)), ownerpg.New(pool)
	type answer struct {
		results []owner.Result
		err     error
	}
	answers := [2]chan answer{make(chan answer, 1), make(chan answer, 1)}
	commit := func(i int, store owner.Store, units []owner.Commit) {
		results, err := store.Commit(context.Background(), units...)
		answers[i] <- answer{results, err}
	}
	reached, release := hold.hold()
	go commit(0, slow, first)
	<-reached
	go commit(1, other, second)
	waiting := 0
	for deadline := time.Now().Add(30 * time.Second); waiting == 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		// The server is that of other tests too: only who waits in this database counts.
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND wait_event_type = 'Lock'`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	for i := range answers {
		a := <-answers[i]
		if a.err != nil {
			t.Fatalf("committer %d: %v", i, a.err)
		}
		results[i] = a.results
	}
	if waiting == 0 {
		t.Error("the second did not wait for the first")
	}
	return results
}

// outcomes are those of results.
func outcomes(results []owner.Result) []owner.Outcome {
	var list []owner.Outcome
	for _, r := range results {
		list = append(list, r.Outcome)
	}
	return list
}

// TestB135CreatedMeanwhile: two committers create the same owner at the same moment. The second finds it once the first has
// committed, and no error of the database is seen.
func TestB135CreatedMeanwhile(t *testing.T) {
	mark.Expect(t, "B135 created by another transaction meanwhile")
	url := newSchema(t)
	units := group("a", 2)
	more := append(group("a", 2)[1:], group("b", 1)...)
	results := race(t, url, units, more)
	if diff := cmp.Diff([]owner.Outcome{owner.Committed, owner.Committed}, outcomes(results[0])); diff != "" {
		t.Errorf("first: %s", diff)
	}
	if diff := cmp.Diff([]owner.Outcome{owner.Duplicate, owner.Committed}, outcomes(results[1])); diff != "" {
		t.Errorf("second: %s", diff)
	}
	if n := there(t, ownerpg.New(connect(t, url, nil)), append(units, more[1])); n != 3 {
		t.Errorf("%d of 3 owners", n)
	}
}

// TestB033SecondSeesTheFirst: a commit to an owner that exists waits for the one before, and is decided by what that left.
func TestB033SecondSeesTheFirst(t *testing.T) {
	url := newSchema(t)
	fresh(t, ownerpg.New(connect(t, url, nil)), group("a", 1))
	next := func(input string) []owner.Commit {
		return []owner.Commit{{
			OwnerID: "a/000", ExpectedPosition: 1, Fence: 3, Inbox: owner.Inbox{ID: input, Fingerprint: []byte(input)},
			Append: []owner.Payload{text(input)},
		}}
	}
	results := race(t, url, next("one"), next("two"))
	got := append(outcomes(results[0]), outcomes(results[1])...)
	if diff := cmp.Diff([]owner.Outcome{owner.Committed, owner.PositionConflict}, got); diff != "" {
		t.Error(diff)
	}
}
