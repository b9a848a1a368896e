package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/owner"
	ownerpg "amends.dev/amends/stages/owner/postgres"
)

// text is a payload.
func text(s string) owner.Payload {
	return owner.Payload{SchemaVersion: 1, CodecVersion: 1, Bytes: []byte(s)}
}

// group are the units of work of n owners that do not exist yet: each has an event, an effect that is settled at once,
// and one that is not.
func group(name string, n int) []owner.Commit {
	units := make([]owner.Commit, n)
	for i := range units {
		id := fmt.Sprintf("%s/%03d", name, i)
		units[i] = owner.Commit{
			OwnerID: id, Create: &owner.Config{Mode: owner.EventHistory, Fence: 3}, Fence: 3,
			Inbox: owner.Inbox{ID: "request", Fingerprint: []byte(id)}, Append: []owner.Payload{text("accepted " + id)},
			Effects:  []owner.Effect{{ID: "audit/" + id, Payload: text("audit")}, {ID: "publish/" + id, Payload: text("publish")}},
			Receipts: []owner.Receipt{{ID: "audited", EffectID: "audit/" + id, Outcome: "written", Payload: text("")}},
		}
	}
	return units
}

// there counts the owners of a group that exist. One of them that is there in part fails the test.
func there(t *testing.T, store owner.Store, units []owner.Commit) (n int) {
	t.Helper()
	for _, c := range units {
		image, err := store.Image(t.Context(), c.OwnerID)
		if err != nil {
			t.Fatal(err)
		}
		if image == nil {
			continue
		}
		n++
		want := &owner.Image{
			OwnerID: c.OwnerID, Mode: owner.EventHistory, Position: 1, Fence: 3,
			History:          []owner.Positioned{{Position: 1, Payload: c.Append[0]}},
			Inbox:            []owner.Completed{{ID: "request", Fingerprint: c.Inbox.Fingerprint, CommittedThrough: 1}},
			Outbox:           []owner.Accepted{{Effect: c.Effects[0], AcceptedAt: 1}, {Effect: c.Effects[1], AcceptedAt: 1}},
			Receipts:         []owner.Recorded{{Receipt: c.Receipts[0], RecordedAt: 1, Fence: 3}},
			PendingEffectIDs: []string{c.Effects[1].ID},
		}
		if diff := cmp.Diff(want, image); diff != "" {
			t.Fatalf("owner %s (-want +got):\n%s", c.OwnerID, diff)
		}
	}
	return n
}

// again commits a group once more. All of its units are committed by that, or all of them were before; they are there
// afterwards, once. It returns which.
func again(t *testing.T, store owner.Store, units []owner.Commit) owner.Outcome {
	t.Helper()
	results, err := store.Commit(t.Context(), units...)
	if err != nil {
		t.Fatal(err)
	}
	outcome := results[0].Outcome
	for _, r := range results {
		if !r.Outcome.SafeToAcknowledge() || r.Outcome != outcome || r.Through != 1 {
			t.Fatalf("committed in part: %+v", results)
		}
	}
	if n := there(t, store, units); n != len(units) {
		t.Fatalf("%d of %d owners", n, len(units))
	}
	return outcome
}

// fresh commits a group that was not there.
func fresh(t *testing.T, store owner.Store, units []owner.Commit) {
	t.Helper()
	if outcome := again(t, store, units); outcome != owner.Committed {
		t.Fatalf("%s, want it committed", outcome)
	}
}

// slowCommits makes every commit that writes an inbox row take a while inside the server; then it goes through, or is
// refused.
func slowCommits(t *testing.T, url string, refuse bool) {
	t.Helper()
	end := `RETURN NULL;`
	if refuse {
		end = `RAISE EXCEPTION ''refused at commit'';`
	}
	sql := `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
			BEGIN PERFORM pg_sleep(0.2); EXCEPTION WHEN query_canceled THEN PERFORM pg_sleep(0.2); END; ` + end + ` END';
		CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON owner_snapshot DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()`
	if _, err := connect(t, url, nil).Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// TestCommitOutcomes: a group of which nothing was sent did certainly not happen; later nobody knows, and says so, and
// asking again with the same identities finds out, also while the server is still committing. Either way
// all owners of the group are there completely, or none.
func TestCommitOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		mode                               cutMode
		refuse, failed, unknown, committed bool
	}{
		"never":               {mode: cutNever, committed: true},
		"never, and refused":  {mode: cutNever, refuse: true, failed: true},
		"unsent":              {mode: cutUnsent, failed: true},
		"before":              {mode: cutBefore, failed: true, unknown: true}, // nobody can tell it from "during"
		"during":              {mode: cutDuring, failed: true, unknown: true, committed: true},
		"during, and refused": {mode: cutDuring, refuse: true, failed: true, unknown: true},
		"after":               {mode: cutAfter, failed: true, unknown: true, committed: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.unknown {
				mark.Expect(t, "R29 commit of unknown outcome")
			}
			url := newSchema(t)
			slowCommits(t, url, c.refuse)
			var cut cutter
			store, other := ownerpg.New(connect(t, url, cut.configure)), ownerpg.New(connect(t, url, nil))
			units := group("a", 5)
			slow := owner.Commit{ // waits at its commit
				OwnerID: "slow", Create: &owner.Config{Mode: owner.Snapshot}, Inbox: owner.Inbox{ID: "s"}, Replace: new(owner.Payload),
			}
			*slow.Replace = text("slow")
			cut.arm(c.mode)
			results, err := store.Commit(t.Context(), append(slices.Clone(units), slow)...)
			if (err != nil) != c.failed || errors.Is(err, owner.ErrUnknownOutcome) != c.unknown || err != nil && results != nil {
				t.Errorf("commit: %v, %v", results, err)
			}
			// pgx asks the server to cancel what a broken connection was doing, so that a commit under way may end as a
			// rollback: what happened is what another store finds, which waits for the end.
			if outcome := again(t, other, units); c.mode != cutDuring && (outcome == owner.Duplicate) != c.committed || c.refuse && outcome == owner.Duplicate {
				t.Errorf("found %s", outcome)
			}
			if outcome := again(t, other, units); outcome != owner.Duplicate {
				t.Errorf("afterwards: %s", outcome)
			}
		})
	}
}

// TestRefusedAtCommitIsClassified: a violated constraint is nothing to try again.
func TestRefusedAtCommitIsClassified(t *testing.T) {
	url := newSchema(t)
	pool := connect(t, url, nil)
	if _, err := pool.Exec(t.Context(), `ALTER TABLE owner_event ADD CHECK (position < 2)`); err != nil {
		t.Fatal(err)
	}
	store := ownerpg.New(pool)
	good, bad := group("good", 1), group("bad", 1)
	bad[0].Append = append(bad[0].Append, text("second"))
	if _, err := store.Commit(t.Context(), good...); err != nil {
		t.Fatalf("the undamaged twin: %v", err)
	}
	if _, err := store.Commit(t.Context(), bad...); fault.ClassOf(err) != fault.Stop || errors.Is(err, owner.ErrUnknownOutcome) {
		t.Errorf("%v (%v), want a stop", err, fault.ClassOf(err))
	}
	if there(t, store, bad) > 0 {
		t.Error("written in part")
	}
	if outcome := again(t, store, good); outcome != owner.Duplicate { // over the same connection
		t.Errorf("afterwards: %s", outcome)
	}
}
