package projection_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/memory"
	"amends.dev/amends/stages/owner/projection"
)

// TestCompare: health, drift and lag of each kind of difference.
func TestCompare(t *testing.T) {
	entry := func(value string) projection.Entry { return projection.Entry{EntityID: "a", Value: value} }
	expected := checkpoint(t, 5, 5, entry("1"))
	for _, c := range []struct {
		observed projection.Checkpoint
		health   projection.Health
		drift    bool
		lag      string
	}{
		{expected, projection.Healthy, false, "0"},
		{checkpoint(t, 5, 8, entry("1")), projection.Healthy, false, "0"},
		{checkpoint(t, 4, 4, entry("1")), projection.Lagging, false, "1"},
		{checkpoint(t, 2, 9, entry("2")), projection.Lagging, true, "3"},
		{projection.Checkpoint{}, projection.Lagging, true, "5"},
		{checkpoint(t, 0, 0, entry("1")), projection.Lagging, false, "5"},
		{checkpoint(t, 0, 0, entry("2")), projection.Lagging, true, "5"},
		{checkpoint(t, 5, 5, entry("2")), projection.Drifted, true, "0"},
		{checkpoint(t, 5, 5), projection.Drifted, true, "0"},
		{checkpoint(t, 5, 5, entry("1"), projection.Entry{EntityID: "b"}), projection.Drifted, true, "0"},
		{checkpoint(t, 6, 6, entry("1")), projection.Drifted, true, "0"},
	} {
		f := projection.Compare("cart/9", expected, c.observed)
		if f.Health != c.health || f.Drift != c.drift || f.Lag.String() != c.lag || f.EffectID != "reconcile/cart/9/5" || f.TransitionAuthority != "durable_owner" {
			t.Errorf("%+v: %+v", c.observed, f)
		}
	}
	nothing := projection.Compare("a", projection.Checkpoint{}, checkpoint(t, 0, 0, entry("1")))
	if nothing.Health != projection.Drifted || !nothing.Drift || nothing.EffectID != "reconcile/a/0" {
		t.Errorf("shown before the first event: %+v", nothing)
	}
	text, err := json.Marshal(projection.Compare("a", expected, projection.Checkpoint{}))
	want := `{"owner_id":"a","source_position":5,"observed_position":0,"lag":5,"drift":true,"health":"lagging",` +
		`"transition_authority":"durable_owner","reconciliation_effect_id":"reconcile/a/5"}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v", text, err)
	}
}

// commitFacts makes an owner with a history of facts.
func commitFacts(t *testing.T, store owner.Store, ownerID string, facts ...projection.Fact) {
	t.Helper()
	image, err := store.Image(t.Context(), ownerID)
	if err != nil {
		t.Fatal(err)
	}
	c := owner.Commit{OwnerID: ownerID, Create: &owner.Config{Mode: owner.EventHistory, Fence: 3}, Fence: 3}
	if image != nil {
		c.ExpectedPosition, c.Fence = image.Position, image.Fence
	}
	c.Inbox.ID = fmt.Sprint("facts/", c.ExpectedPosition)
	for _, f := range facts {
		p, err := projection.FactPayload(f)
		if err != nil {
			t.Fatal(err)
		}
		c.Append = append(c.Append, p)
	}
	if results, err := store.Commit(t.Context(), c); err != nil || results[0].Outcome != owner.Committed {
		t.Fatalf("%v, %v", results, err)
	}
}

// shows is an Observe that always shows one projection.
func shows(c projection.Checkpoint) projection.Observe {
	return func(context.Context, string) (projection.Checkpoint, error) { return c, nil }
}

// TestReconcile: the dry run changes nothing; the repair joins the owner's outbox once, under the owner's own fence, and
// once more for each later position.
func TestReconcile(t *testing.T) {
	store := memory.New()
	commitFacts(t, store, "cart/9", create("a", "1"), amend("a", "2"))
	before, err := store.Image(t.Context(), "cart/9")
	if err != nil {
		t.Fatal(err)
	}
	stale := checkpoint(t, 1, 1, projection.Entry{EntityID: "a", Value: "1"})
	finding, err := projection.DryRun(t.Context(), store, "cart/9", shows(stale), projection.DecodeFact)
	if err != nil || finding.Health != projection.Lagging || !finding.Drift || finding.EffectID != "reconcile/cart/9/2" {
		t.Fatalf("%+v, %v", finding, err)
	}
	after, err := store.Image(t.Context(), "cart/9")
	if diff := cmp.Diff(before, after); err != nil || diff != "" {
		t.Fatalf("the dry run changed the owner: %s, %v", diff, err)
	}
	repair := func(f projection.Finding, want owner.Outcome) {
		t.Helper()
		if result, err := projection.Repair(t.Context(), store, f); err != nil || result.Outcome != want {
			t.Fatalf("%+v, %v; want %s", result, err, want)
		}
	}
	repair(finding, owner.Committed)
	repair(finding, owner.Duplicate)
	// Found in another way at the same position, after a hand-off: still the same repair.
	if result, err := store.AdvanceFence(t.Context(), "cart/9", 8); err != nil || result.Outcome != owner.FenceAdvanced {
		t.Fatal(result, err)
	}
	drifted, err := projection.DryRun(t.Context(), store, "cart/9", shows(checkpoint(t, 2, 2)), projection.DecodeFact)
	if err != nil || drifted.Health != projection.Drifted {
		t.Fatalf("%+v, %v", drifted, err)
	}
	repair(drifted, owner.Duplicate)
	commitFacts(t, store, "cart/9", retract("a"))
	again, err := projection.DryRun(t.Context(), store, "cart/9", shows(stale), projection.DecodeFact)
	if err != nil {
		t.Fatal(err)
	}
	repair(again, owner.Committed)
	image, err := store.Image(t.Context(), "cart/9")
	if err != nil || image.Position != 3 || len(image.PendingEffectIDs) != 2 || image.PendingEffectIDs[1] != "reconcile/cart/9/3" {
		t.Fatalf("%+v, %v", image, err)
	}
	healthy, err := projection.DryRun(t.Context(), store, "cart/9", shows(checkpoint(t, 3, 3)), projection.DecodeFact)
	if err != nil || healthy.Health != projection.Healthy {
		t.Fatalf("%+v, %v", healthy, err)
	}
	repair(healthy, "")
}

// TestDryRunReadsOneMoment: an owner that commits while its projection is read is read again, and one that never stands
// still is an error, not a guess.
func TestDryRunReadsOneMoment(t *testing.T) {
	for _, moves := range []int{0, 3, 100} {
		store := memory.New()
		commitFacts(t, store, "a", create("a", "1"))
		reads := 0
		observe := func(ctx context.Context, _ string) (projection.Checkpoint, error) {
			image, err := store.Image(ctx, "a")
			if err != nil {
				t.Fatal(err)
			}
			n := image.Position
			c := checkpoint(t, n, n, projection.Entry{EntityID: "a", Value: fmt.Sprint(n)})
			if reads < moves {
				commitFacts(t, store, "a", amend("a", fmt.Sprint(n+1))) //nolint:contextcheck // it takes the test's
			}
			reads++
			return c, nil
		}
		f, err := projection.DryRun(t.Context(), store, "a", observe, projection.DecodeFact)
		if moves == 100 {
			if !errors.Is(err, projection.ErrMoving) {
				t.Errorf("%+v, %v", f, err)
			}
			continue
		}
		if err != nil || f.Health != projection.Healthy || f.Source.String() != fmt.Sprint(moves+1) {
			t.Errorf("%d moves: %+v, %v", moves, f, err)
		}
	}
}

// TestReconcileRefuses: no owner, no history, no projection.
func TestReconcileRefuses(t *testing.T) {
	store := memory.New()
	state := owner.Payload{SchemaVersion: 1, CodecVersion: 1}
	if _, err := store.Commit(t.Context(), owner.Commit{
		OwnerID: "state", Create: &owner.Config{Mode: owner.Snapshot}, Inbox: owner.Inbox{ID: "m1"}, Replace: &state,
	}); err != nil {
		t.Fatal(err)
	}
	commitFacts(t, store, "odd", amend("a", "1"))
	for ownerID, want := range map[string]string{"none": "no owner", "state": "not a complete history", "odd": "it is not there"} {
		if _, err := projection.DryRun(t.Context(), store, ownerID, shows(projection.Checkpoint{}), projection.DecodeFact); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", ownerID, err)
		}
	}
	if _, err := projection.Repair(t.Context(), store, projection.Finding{OwnerID: "none", Health: projection.Drifted}); err == nil {
		t.Error("a repair of nothing")
	}
}
