package ownerconformance

import (
	"context"
	"fmt"
	"slices"

	"amends.dev/amends/stages/owner"
)

// What a result says about acknowledging an input.
const (
	ackSafe     = "safe"
	ackWithhold = "withhold"
)

// steps creates the scenario's owner and takes its steps, comparing result and image after each.
func (r *runner) steps(ctx context.Context) error {
	s := r.scenario
	if len(s.Steps) == 0 {
		return nil
	}
	created, err := r.subject.Store().Create(ctx, s.OwnerID, owner.Config{Mode: owner.Mode(s.Mode), Fence: s.Fence})
	if err != nil {
		return fmt.Errorf("create the owner: %w", err)
	}
	if created.Outcome != owner.Committed {
		return fmt.Errorf("create the owner: %s: %s", created.Outcome, created.Detail)
	}
	for i, step := range s.Steps {
		r.checks++
		if err := r.step(ctx, fmt.Sprintf("step %d (%s)", i+1, step.Type), step); err != nil {
			return err
		}
	}
	return nil
}

// step takes one step and compares what came of it.
func (r *runner) step(ctx context.Context, place string, step *Step) error {
	s := r.scenario
	got, detail, err := r.take(ctx, step)
	if err != nil {
		return fmt.Errorf("%s: %w", place, err)
	}
	found, err := r.subject.Store().Image(ctx, s.OwnerID)
	if err != nil {
		return fmt.Errorf("%s: read the image: %w", place, err)
	}
	before := len(r.faults)
	if !step.mayBeRefusedAs(got.Outcome, found) {
		r.compare(place, "result", step.Result, got)
	}
	if len(r.faults) > before && detail != "" {
		r.fault(place, "the store says: "+detail)
	}
	if found == nil {
		r.fault(place, "image: the owner is gone")
		return nil
	}
	if found.OwnerID != s.OwnerID || string(found.Mode) != s.Mode {
		r.fault(place, fmt.Sprintf("image: it is of %q with mode %s", found.OwnerID, found.Mode))
	}
	shown := imageOf(found)
	if s.byIdentity {
		shown = shown.inOrderOf(step.Image)
	}
	r.compare(place, "image", step.Image, shown)
	return nil
}

// mayBeRefusedAs reports whether a commit was refused for its position where its fence was to be the reason, or the other
// way round, and neither was the owner's: the contract does not say which of the two is looked at first. What else the
// result says must hold of both.
func (s *Step) mayBeRefusedAs(got string, found *owner.Image) bool {
	either := []string{string(owner.PositionConflict), string(owner.StaleFence)}
	return s.Type == opCommit && found != nil && s.Commit.OwnerID == found.OwnerID && s.Commit.ExpectedPosition != found.Position &&
		s.Commit.Fence != found.Fence && slices.Contains(either, got) && slices.Contains(either, s.Result.Outcome) &&
		s.Result.Through == nil && (s.Result.Ack == nil || *s.Result.Ack == ackWithhold)
}

// take takes one step and returns what came of it, with the store's own words.
func (r *runner) take(ctx context.Context, step *Step) (got *result, detail string, err error) {
	store := r.subject.Store()
	var found owner.Result
	switch step.Type {
	case opCommit:
		results, err := store.Commit(ctx, step.Commit.unit())
		if err != nil {
			return nil, "", err
		}
		if len(results) != 1 {
			return nil, "", fmt.Errorf("%d results of one unit of work", len(results))
		}
		return answered(results[0]), results[0].Detail, nil
	case opCrashBefore:
		lost, err := r.subject.CrashBeforeCommit(ctx, step.Commit.unit())
		if err != nil {
			return nil, "", err
		}
		if !lost {
			return nil, "", fmt.Errorf("the process outlived its crash")
		}
		return answered(owner.Result{Outcome: owner.Aborted}), "", nil
	case opCrashRecover:
		err = r.subject.Recover(ctx)
		found = owner.Result{Outcome: owner.Recovered}
	case opAdvanceFence:
		found, err = store.AdvanceFence(ctx, r.scenario.OwnerID, step.Fence)
	case opReceipt:
		found, err = store.RecordReceipt(ctx, r.scenario.OwnerID, step.Fence, step.Receipt.receipt())
	}
	if err != nil {
		return nil, "", err
	}
	return answered(found), found.Detail, nil
}

// answered is the result of a step: the position of a unit of work where there is one, and whether an input may be
// acknowledged, which nothing but a commit and its exact repetition makes safe.
func answered(r owner.Result) *result {
	got := &result{Outcome: string(r.Outcome)}
	ack := ackWithhold
	if r.Outcome.SafeToAcknowledge() {
		ack = ackSafe
		got.Through = &r.Through
	}
	got.Ack = &ack
	return got
}

func (p *payload) payload() owner.Payload {
	return owner.Payload{SchemaVersion: p.SchemaVersion, CodecVersion: p.CodecVersion, Bytes: []byte(p.Bytes)}
}

func (r *receipt) receipt() owner.Receipt {
	return owner.Receipt{ID: r.ID, EffectID: r.EffectID, Outcome: r.Outcome, Payload: r.Payload.payload()}
}

// unit is the unit of work as stores take it.
func (c *commit) unit() owner.Commit {
	unit := owner.Commit{
		OwnerID: c.OwnerID, ExpectedPosition: c.ExpectedPosition, Fence: c.Fence,
		Inbox: owner.Inbox{ID: c.InboxID, Fingerprint: []byte(c.IngressFingerprint)},
	}
	if events := c.State.AppendEvents; events != nil {
		for _, e := range *events {
			unit.Append = append(unit.Append, e.payload())
		}
	}
	if c.State.ReplaceSnapshot != nil {
		replaced := c.State.ReplaceSnapshot.payload()
		unit.Replace = &replaced
	}
	for _, e := range c.Effects {
		unit.Effects = append(unit.Effects, owner.Effect{ID: e.ID, Payload: e.Payload.payload()})
	}
	for _, r := range c.Receipts {
		unit.Receipts = append(unit.Receipts, r.receipt())
	}
	return unit
}

// payloadOf is a payload in the shape of the files.
func payloadOf(p owner.Payload) payload {
	return payload{SchemaVersion: p.SchemaVersion, CodecVersion: p.CodecVersion, Bytes: string(p.Bytes)}
}

// imageOf is an image in the shape of the files, with every list present.
func imageOf(i *owner.Image) *image {
	got := &image{
		Position: i.Position, Fence: i.Fence, History: []*record{}, Inbox: []*inboxItem{}, Outbox: []*outboxItem{},
		Receipts: []*receiptRecord{}, PendingEffectIDs: append([]string{}, i.PendingEffectIDs...),
	}
	for _, e := range i.History {
		got.History = append(got.History, &record{Position: e.Position, Payload: payloadOf(e.Payload)})
	}
	if i.Snapshot != nil {
		got.Snapshot = &record{Position: i.Snapshot.Position, Payload: payloadOf(i.Snapshot.Payload)}
	}
	for _, c := range i.Inbox {
		got.Inbox = append(got.Inbox, &inboxItem{ID: c.ID, IngressFingerprint: string(c.Fingerprint), CommittedThrough: c.CommittedThrough})
	}
	for _, e := range i.Outbox {
		got.Outbox = append(got.Outbox, &outboxItem{ID: e.ID, AcceptedAt: e.AcceptedAt, Payload: payloadOf(e.Payload)})
	}
	for _, r := range i.Receipts {
		got.Receipts = append(got.Receipts, &receiptRecord{
			ID: r.ID, EffectID: r.EffectID, Outcome: r.Outcome, RecordedAt: r.RecordedAt, Fence: r.Fence, Payload: payloadOf(r.Payload),
		})
	}
	return got
}
