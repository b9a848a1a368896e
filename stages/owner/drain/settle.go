package drain

import (
	"context"
	"fmt"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/relay"
)

// maxRounds bounds how often owners that moved are looked at again in one settlement: each time, somebody else got on.
const maxRounds = 100

// fencer advances the fences of many owners in one transaction. A store that is none is asked for each.
type fencer interface {
	AdvanceFences(ctx context.Context, fence uint64, ownerIDs ...string) ([]owner.Result, error)
}

// fence brings the owners of pending effects to the lease's term. An owner that is beyond it belongs to a later holder.
func (o *Outbox) fence(ctx context.Context, pending []owner.Pending) error {
	term := uint64(max(o.term, 0))
	var behind []string
	seen := map[string]bool{}
	for i := range pending {
		switch p := &pending[i]; {
		case p.Fence > term && term > 0:
			return o.lost(p.OwnerID, p.Fence)
		case p.Fence < term && !seen[p.OwnerID]:
			seen[p.OwnerID] = true
			behind = append(behind, p.OwnerID)
		}
	}
	if len(behind) == 0 {
		return nil
	}
	mark.Hit("R22 fence advanced to the term")
	results, err := o.advanceFences(ctx, term, behind)
	if err != nil {
		return err
	}
	for i, result := range results {
		// The fence may have advanced since it was read: to this term by a request of before, or to a later one.
		if result.Outcome != owner.FenceAdvanced && result.Outcome != owner.StaleFence {
			return invariant.Violated("fence of owner %q: %s: %s", behind[i], result.Outcome, result.Detail)
		}
	}
	for i := range pending {
		if seen[pending[i].OwnerID] {
			pending[i].Fence = term
		}
	}
	return nil
}

func (o *Outbox) advanceFences(ctx context.Context, fence uint64, ownerIDs []string) ([]owner.Result, error) {
	if many, ok := o.options.Store.(fencer); ok {
		return many.AdvanceFences(ctx, fence, ownerIDs...)
	}
	results := make([]owner.Result, 0, len(ownerIDs))
	for _, id := range ownerIDs {
		result, err := o.options.Store.AdvanceFence(ctx, id, fence)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

// lost notes that a later holder has taken over.
func (o *Outbox) lost(ownerID string, fence uint64) error {
	mark.Hit("R22 owner is fenced by a later term")
	err := fmt.Errorf("owner %q is under fence %d, the term is %d: %w", ownerID, fence, o.term, relay.ErrLeaseLost)
	o.superseded, o.term = o.term, 0
	for _, p := range o.partitions {
		p.owed = nil // the later holder sends them again and records that
		p.restart()
	}
	return err
}

// readAnew forgets what was read under another term: whoever held the lease since may have sent it. What is owed stays so.
func (o *Outbox) readAnew() {
	for _, p := range o.partitions {
		if len(p.window) > 0 {
			mark.Hit("R34 lease came back under another term")
			p.window = nil // the sequences of another term are refused by their term
		}
	}
}

// settleOwed records what is owed of all source partitions, before anything else is read or sent.
func (o *Outbox) settleOwed(ctx context.Context) error {
	for i, p := range o.partitions {
		if len(p.owed) > 0 && o.term > 0 {
			mark.Hit("R34 receipt recorded after a failure")
			if err := o.settle(ctx, p); err != nil {
				return fmt.Errorf("source partition %d: %w", i, err)
			}
		}
	}
	return nil
}

// settle records the receipts of what is owed, in one group commit; owners that have moved are read and asked again. What
// is still owed after an error may be recorded or not.
func (o *Outbox) settle(ctx context.Context, p *partition) error {
	for range maxRounds {
		if len(p.owed) == 0 {
			return nil
		}
		if err := o.record(ctx, p); err != nil {
			return err
		}
	}
	return fmt.Errorf("owners of %d acknowledged effects move all the time", len(p.owed))
}

// record is one group commit. Afterwards only what was refused because its owner moved is owed.
func (o *Outbox) record(ctx context.Context, p *partition) error {
	units, err := o.units(p.owed)
	if err != nil {
		return err
	}
	results, err := o.options.Store.Commit(ctx, units...)
	if err != nil {
		return fmt.Errorf("record %d receipts: %w", len(units), err)
	}
	if len(results) != len(units) {
		return invariant.Violated("store answered %d of %d units of work", len(results), len(units))
	}
	var moved []acknowledged
	for i, result := range results {
		switch result.Outcome {
		case owner.Committed, owner.Duplicate:
			o.done(p, p.owed[i], &o.counts.Published)
		case owner.InboxConflict, owner.EffectAlreadyReceipt, owner.ReceiptConflict:
			mark.Hit("R34 another process recorded the receipt")
			o.done(p, p.owed[i], &o.counts.Foreign)
		case owner.PositionConflict, owner.StaleFence:
			moved = append(moved, p.owed[i])
		default:
			return invariant.Violated("receipt of effect %q: %s: %s", p.owed[i].effect.ID, result.Outcome, result.Detail)
		}
	}
	p.owed = moved
	for i := range moved {
		if err := o.reread(ctx, &moved[i].effect); err != nil {
			return err
		}
	}
	return nil
}

// done counts an effect that has its receipt.
func (o *Outbox) done(p *partition, a acknowledged, count *int64) {
	o.countsMu.Lock()
	*count++
	if p.handed[a.effect.ID] > 1 {
		o.counts.Repeated++
	}
	o.countsMu.Unlock()
	delete(p.handed, a.effect.ID)
}

// units are the units of work of acknowledged effects. Several of one owner follow each other.
func (o *Outbox) units(owed []acknowledged) ([]owner.Commit, error) {
	ahead := map[string]uint64{}
	units := make([]owner.Commit, 0, len(owed))
	for _, a := range owed {
		a.effect.Position += ahead[a.effect.OwnerID]
		unit, err := o.options.Acknowledged(a.effect, a.at)
		if err != nil {
			return nil, invariant.Violated("receipt of effect %q: %v", a.effect.ID, err)
		}
		ahead[a.effect.OwnerID] += uint64(len(unit.Append))
		if unit.Replace != nil {
			ahead[a.effect.OwnerID]++
		}
		units = append(units, unit)
	}
	return units, nil
}

// reread finds out where the owner of an effect is now.
func (o *Outbox) reread(ctx context.Context, effect *owner.Pending) error {
	mark.Hit("R29 owner moved under a receipt")
	image, err := o.options.Store.Image(ctx, effect.OwnerID)
	if err != nil {
		return err
	}
	if image == nil {
		return invariant.Violated("owner %q of effect %q is gone", effect.OwnerID, effect.ID)
	}
	effect.Position, effect.Fence = image.Position, image.Fence
	one := []owner.Pending{*effect}
	if err := o.fence(ctx, one); err != nil {
		return err
	}
	*effect = one[0]
	return nil
}
