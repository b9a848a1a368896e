package ownerconformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/projection"
)

// reconciliation replays a case, restarts it from every checkpoint on the way, compares the observed projection, and
// schedules the repair twice on an owner in the store.
func (r *runner) reconciliation(ctx context.Context, c *reconciliationCase, nth int) error {
	place := "case " + c.ID
	from, err := c.Resume.checkpoint()
	if err != nil {
		return fmt.Errorf("resume_from: %w", err)
	}
	observed, err := c.Observed.checkpoint()
	if err != nil {
		return fmt.Errorf("observed_projection: %w", err)
	}
	facts, err := c.facts()
	if err != nil {
		return err
	}
	rebuilt, ok := r.replayed(place, from, facts)
	if !ok {
		return nil
	}
	r.compare(place, "expected", c.Expected.sorted(), checkpointOf(rebuilt))
	r.restarts(place, from, facts, rebuilt)
	found := projection.Compare(r.scenario.OwnerID, rebuilt, observed)
	lag, err := strconv.ParseUint(found.Lag.String(), 10, 64)
	if err != nil {
		return fmt.Errorf("lag: %w", err)
	}
	r.compare(place, "expect", c.Expect, &finding{
		Health: string(found.Health), Drift: found.Drift, Lag: lag, Authority: string(found.TransitionAuthority), EffectID: found.EffectID,
	})
	return r.repair(ctx, place, c, nth, found)
}

// replayed is where the facts lead to; a refusal is a fault of the case.
func (r *runner) replayed(place string, from projection.Checkpoint, facts []projection.Recorded) (projection.Checkpoint, bool) {
	rebuilt, err := projection.Replay(from, facts...)
	if err != nil {
		r.fault(place, "history: "+err.Error())
	}
	return rebuilt, err == nil
}

// restarts resumes from every checkpoint on the way, as it was kept, with the contiguous rest; and wants the rest refused
// where it is not contiguous.
func (r *runner) restarts(place string, from projection.Checkpoint, facts []projection.Recorded, whole projection.Checkpoint) {
	for at := range len(facts) + 1 {
		part, err := projection.Replay(from, facts[:at]...)
		if err != nil {
			r.fault(place, fmt.Sprintf("replay of %d facts: %v", at, err))
			return
		}
		kept, err := part.Payload()
		if err != nil {
			r.fault(place, err.Error())
			return
		}
		read, err := projection.DecodeCheckpoint(kept)
		if err != nil {
			r.fault(place, fmt.Sprintf("the checkpoint after %d facts: %v", at, err))
			return
		}
		resumed, err := projection.Replay(read, facts[at:]...)
		if err != nil || !resumed.Equal(whole) {
			r.fault(place, fmt.Sprintf("restart after %d facts differs from the whole replay: %v", at, err))
		}
		var order *projection.OrderError
		if at > 0 {
			if _, err := projection.Replay(read, facts[at-1:]...); !errors.As(err, &order) {
				r.fault(place, fmt.Sprintf("after %d facts a repeated position was not refused: %v", at, err))
			}
		}
		if at+1 < len(facts) {
			if _, err := projection.Replay(read, facts[at+1:]...); !errors.As(err, &order) {
				r.fault(place, fmt.Sprintf("after %d facts a gap was not refused: %v", at, err))
			}
		}
	}
}

// placedMax is how many events an owner is given to reach a case's position; cases beyond are replayed and compared, and
// not scheduled.
const placedMax = 10_000

// repair schedules the repair twice on an owner at the case's position, and wants one effect of that identity in its
// outbox, under its own position and fence; a healthy case wants none.
func (r *runner) repair(ctx context.Context, place string, c *reconciliationCase, nth int, found projection.Finding) error {
	if c.Expected.Through > placedMax || found.Source.Compare(owner.MarkAt(placedMax)) > 0 {
		return nil
	}
	ownerID := fmt.Sprintf("%s/case/%d", r.scenario.OwnerID, nth)
	store := r.subject.Store()
	if err := r.placed(ctx, store, ownerID, found.Source); err != nil {
		return err
	}
	found.OwnerID = ownerID
	for _, want := range []owner.Outcome{owner.Committed, owner.Duplicate} {
		if found.Health == projection.Healthy {
			want = ""
		}
		got, err := projection.Repair(ctx, store, found)
		if err != nil {
			return err
		}
		if got.Outcome != want {
			r.fault(place, fmt.Sprintf("scheduling the repair: want %q, found %q: %s", want, got.Outcome, got.Detail))
		}
	}
	image, err := store.Image(ctx, ownerID)
	if err != nil {
		return err
	}
	want := []string{c.Expect.EffectID}
	if found.Health == projection.Healthy {
		want = []string{}
	}
	r.compare(place, "outbox after two repairs", want, append([]string{}, image.PendingEffectIDs...))
	if owner.MarkAt(image.Position) != found.Source || image.Fence != r.scenario.Fence {
		r.fault(place, fmt.Sprintf("the repair moved its owner to position %d, fence %d", image.Position, image.Fence))
	}
	return nil
}

// placed makes an event owner at a position.
func (r *runner) placed(ctx context.Context, store owner.Store, ownerID string, at owner.Mark) error {
	unit := owner.Commit{
		OwnerID: ownerID, Create: &owner.Config{Mode: owner.EventHistory, Fence: r.scenario.Fence}, Fence: r.scenario.Fence,
		Inbox: owner.Inbox{ID: "placed"},
	}
	for m := (owner.Mark{}); m.Compare(at) < 0; m, _ = m.Next() {
		unit.Append = append(unit.Append, owner.Payload{SchemaVersion: 1, CodecVersion: 1, Bytes: []byte(m.String())})
	}
	results, err := store.Commit(ctx, unit)
	if err != nil {
		return err
	}
	if results[0].Outcome != owner.Committed {
		return fmt.Errorf("place an owner: %s: %s", results[0].Outcome, results[0].Detail)
	}
	return nil
}

// facts are the case's facts.
func (c *reconciliationCase) facts() ([]projection.Recorded, error) {
	var facts []projection.Recorded
	for i, f := range c.History {
		if (f.Value == nil) != (f.Type == string(projection.Retract)) {
			return nil, fmt.Errorf("history[%d]: a %s with or without a value", i, f.Type)
		}
		fact := projection.Fact{Kind: projection.Kind(f.Type), EntityID: f.EntityID}
		if f.Value != nil {
			fact.Value = *f.Value
		}
		facts = append(facts, projection.Recorded{Position: owner.MarkAt(f.Position), Fact: fact})
	}
	return facts, nil
}

// checkpoint is a checkpoint of a file; nil is the one before the first fact.
func (c *checkpoint) checkpoint() (projection.Checkpoint, error) {
	if c == nil {
		return projection.Checkpoint{}, nil
	}
	entries := make([]projection.Entry, 0, len(c.Entries))
	for _, e := range c.Entries {
		entries = append(entries, projection.Entry{EntityID: e.EntityID, Value: e.Value})
	}
	return projection.NewCheckpoint(owner.MarkAt(c.Through), owner.MarkAt(c.Version), entries)
}

// sorted is the same checkpoint with its entries in the order of their names, which files need not keep.
func (c *checkpoint) sorted() *checkpoint {
	entries := slices.Clone(c.Entries)
	slices.SortStableFunc(entries, func(a, b *entry) int { return strings.Compare(a.EntityID, b.EntityID) })
	return &checkpoint{Through: c.Through, Version: c.Version, Entries: entries}
}

// checkpointOf is a checkpoint in the shape of the files.
func checkpointOf(c projection.Checkpoint) map[string]any {
	return map[string]any{"through": c.Through(), "projection_version": c.Version(), "entries": c.Entries()}
}
