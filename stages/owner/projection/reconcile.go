package projection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"amends.dev/amends/stages/owner"
)

// Health is the outcome of a reconciliation.
type Health string

// The healths.
const (
	// Healthy: nothing lags, nothing differs.
	Healthy Health = "healthy"
	// Lagging: the projection has not consumed everything; what it shows may differ as well.
	Lagging Health = "lagging"
	// Drifted: it has consumed everything and shows something else.
	Drifted Health = "drifted"
)

// Authority is who may authorize a transition.
type Authority string

// DurableOwner is the owner's row, read in the transaction that commits. There is no other authority.
const DurableOwner Authority = "durable_owner"

// Finding is what a dry run found. It is advice: nothing in it can be put into a Commit.
type Finding struct {
	OwnerID string `json:"owner_id"`
	// Source is the history's frontier; Observed is the projection's position.
	Source   owner.Mark `json:"source_position"`
	Observed owner.Mark `json:"observed_position"`
	// Lag is how many positions the projection is behind.
	Lag owner.Mark `json:"lag"`
	// Drift says that its content is another one than that of the history.
	Drift  bool   `json:"drift"`
	Health Health `json:"health"`
	// TransitionAuthority is always DurableOwner.
	TransitionAuthority Authority `json:"transition_authority"`
	// EffectID is the stable identity of a repair: reconcile/<owner>/<source position>.
	EffectID string `json:"reconciliation_effect_id"`
}

// Compare compares a projection with the state that the history leads to. Pure.
func Compare(ownerID string, expected, observed Checkpoint) Finding {
	f := Finding{
		OwnerID: ownerID, Source: expected.through, Observed: observed.through, Lag: observed.through.Behind(expected.through),
		Drift: !observed.sameContent(expected), TransitionAuthority: DurableOwner,
		EffectID: fmt.Sprintf("reconcile/%s/%s", ownerID, expected.through),
	}
	switch {
	case f.Lag != owner.Mark{}:
		f.Health = Lagging
	case f.Drift || observed.through.Compare(expected.through) > 0:
		// A projection ahead of its source shows what never happened, whatever it shows.
		f.Drift, f.Health = true, Drifted
	default:
		f.Health = Healthy
	}
	return f
}

// Source reads owners; every owner.Store is one.
type Source interface {
	// Image reads everything of one owner in one snapshot; nil where it does not exist.
	Image(ctx context.Context, ownerID string) (*owner.Image, error)
}

// Observe reads the projection of an owner, wherever it is kept.
type Observe func(ctx context.Context, ownerID string) (Checkpoint, error)

// ErrMoving is wrapped where an owner committed during every attempt to read it together with its projection.
var ErrMoving = errors.New("the owner is busy")

// attempts is how often DryRun and Repair try while the owner moves.
const attempts = 8

// DryRun rebuilds the projection from the whole history and compares. It changes nothing. Owner and projection are read as
// of one moment: the owner is read before and after the projection, and counts only where it stood still in between,
// which its position and fence, that never go back, tell.
func DryRun(ctx context.Context, source Source, ownerID string, observe Observe, decode Decoder) (Finding, error) {
	for range attempts {
		before, err := read(ctx, source, ownerID)
		if err != nil {
			return Finding{}, err
		}
		observed, err := observe(ctx, ownerID)
		if err != nil {
			return Finding{}, fmt.Errorf("read the projection of %q: %w", ownerID, err)
		}
		after, err := read(ctx, source, ownerID)
		if err != nil {
			return Finding{}, err
		}
		if before.Position != after.Position || before.Fence != after.Fence {
			continue
		}
		history, err := after.CompleteHistory()
		if err != nil {
			return Finding{}, fmt.Errorf("reconcile %q: %w", ownerID, err)
		}
		expected, err := Resume(Checkpoint{}, history, decode)
		if err != nil {
			return Finding{}, fmt.Errorf("reconcile %q: %w", ownerID, err)
		}
		return Compare(ownerID, expected, observed), nil
	}
	return Finding{}, fmt.Errorf("reconcile %q: %w: it moved in each of %d attempts", ownerID, ErrMoving, attempts)
}

// read reads an owner that must exist.
func read(ctx context.Context, source Source, ownerID string) (*owner.Image, error) {
	image, err := source.Image(ctx, ownerID)
	if err != nil {
		return nil, fmt.Errorf("read owner %q: %w", ownerID, err)
	}
	if image == nil {
		return nil, fmt.Errorf("there is no owner %q", ownerID)
	}
	return image, nil
}

// Repair schedules the repair of what a dry run found: one effect in the owner's own outbox, committed under the position
// and fence of the owner's row. Scheduling it again is a Duplicate. What is healthy needs none, and the outcome is empty.
func Repair(ctx context.Context, store owner.Store, f Finding) (owner.Result, error) {
	if f.Health == Healthy {
		return owner.Result{}, nil
	}
	payload, err := json.Marshal(map[string]any{"owner_id": f.OwnerID, "source_position": f.Source})
	if err != nil {
		return owner.Result{}, fmt.Errorf("write the repair of %q: %w", f.OwnerID, err)
	}
	var result owner.Result
	for range attempts {
		authority, err := read(ctx, store, f.OwnerID)
		if err != nil {
			return owner.Result{}, err
		}
		results, err := store.Commit(ctx, owner.Commit{
			OwnerID: f.OwnerID, ExpectedPosition: authority.Position, Fence: authority.Fence,
			Inbox: owner.Inbox{ID: f.EffectID, Fingerprint: payload},
			Effects: []owner.Effect{{
				ID: f.EffectID, Payload: owner.Payload{SchemaVersion: SchemaVersion, CodecVersion: CodecVersion, Bytes: payload},
			}},
		})
		if err != nil {
			return owner.Result{}, fmt.Errorf("schedule the repair of %q: %w", f.OwnerID, err)
		}
		result = results[0]
		if result.Outcome != owner.PositionConflict && result.Outcome != owner.StaleFence {
			return result, nil
		}
	}
	return result, nil
}
