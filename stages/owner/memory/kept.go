package memory

import (
	"bytes"
	"context"
	"slices"

	"amends.dev/amends/stages/owner"
)

// kept is one owner with everything that is durable of it. Lists are in the order of acceptance.
type kept struct {
	row       owner.Row
	history   []owner.Positioned
	snapshot  *owner.Positioned
	completed map[string]owner.CompletedRow
	inbox     []string
	effects   map[string]owner.EffectRow
	outbox    []string
	receipts  map[string]owner.Recorded
	recorded  []string
	// settledBy is the receipt of an effect.
	settledBy map[string]string
	// latest are the bytes of the egress of latest states, nil where there never was a value.
	latest []byte
}

// load reads what a request needs of an owner, and no more.
func (s *Store) load(wanted owner.Wanted) *owner.Loaded {
	k := s.owners[wanted.OwnerID]
	if k == nil {
		return owner.NewLoaded(wanted.OwnerID, nil)
	}
	l := owner.NewLoaded(wanted.OwnerID, &k.row)
	for _, id := range wanted.InboxIDs {
		if c, ok := k.completed[id]; ok {
			l.AddCompleted(c)
		}
	}
	for _, id := range wanted.EffectIDs {
		if e, ok := k.effects[id]; ok {
			l.AddEffect(e)
		}
		if r, ok := k.receipts[k.settledBy[id]]; ok {
			l.AddReceipt(r)
		}
	}
	for _, id := range wanted.ReceiptIDs {
		if r, ok := k.receipts[id]; ok {
			l.AddReceipt(r)
		}
	}
	return l
}

// apply writes the changes of one owner.
func (s *Store) apply(c *owner.Changes) {
	ownerID := c.Owner.ID
	k := s.owners[ownerID]
	if k == nil {
		k = &kept{
			completed: map[string]owner.CompletedRow{}, effects: map[string]owner.EffectRow{},
			receipts: map[string]owner.Recorded{}, settledBy: map[string]string{},
		}
		s.owners[ownerID] = k
	}
	k.row = c.Owner
	k.history = append(k.history, c.Events...)
	if c.Snapshot != nil {
		k.snapshot = c.Snapshot
	}
	for _, completed := range c.Completed {
		k.completed[completed.ID] = completed
		k.inbox = append(k.inbox, completed.ID)
	}
	for _, e := range c.Effects {
		k.effects[e.ID] = e
		k.outbox = append(k.outbox, e.ID)
		if e.Pending {
			s.pending = append(s.pending, ref{ownerID, e.ID})
		}
	}
	for i := range c.Receipts {
		r := c.Receipts[i]
		k.receipts[r.ID] = r
		k.recorded = append(k.recorded, r.ID)
		k.settledBy[r.EffectID] = r.ID
	}
	for _, id := range c.Settled {
		e := k.effects[id]
		e.Pending = false
		k.effects[id] = e
		s.pending = slices.DeleteFunc(s.pending, func(r ref) bool { return r == ref{ownerID, id} })
	}
	if c.Latest != nil {
		s.applyLatest(k, c)
	}
}

// applyLatest replaces an owner's latest value in place, or takes it out of the pending ones.
func (s *Store) applyLatest(k *kept, c *owner.Changes) {
	at := slices.Index(s.latest, c.Owner.ID)
	switch {
	case c.Latest.Published && at >= 0:
		s.latest = slices.Delete(s.latest, at, at+1)
	case !c.Latest.Published && at < 0:
		s.latest = append(s.latest, c.Owner.ID)
	}
	k.latest = c.Latest.Bytes
}

// LatestPublished implements owner.Store.
func (s *Store) LatestPublished(ctx context.Context, published owner.LatestDurableProjection) (done bool, err error) {
	err = s.transaction(ctx, func() []*owner.Changes {
		k := s.owners[published.OwnerID()]
		if k == nil || !bytes.Equal(k.latest, published.Bytes()) {
			return nil
		}
		done = true
		return []*owner.Changes{{Owner: k.row, Latest: &owner.LatestRow{Bytes: k.latest, Published: true}}}
	})
	return done && err == nil, err
}

// image is everything durable of the owner, sharing nothing with the store.
func (k *kept) image() *owner.Image {
	image := &owner.Image{
		OwnerID: k.row.ID, Mode: k.row.Mode, Position: k.row.Position, Fence: k.row.Fence,
	}
	for i := range k.history {
		image.History = append(image.History, clonePositioned(k.history[i]))
	}
	if k.snapshot != nil {
		snapshot := clonePositioned(*k.snapshot)
		image.Snapshot = &snapshot
	}
	for _, id := range k.inbox {
		completed := k.completed[id].Completed
		completed.Fingerprint = bytes.Clone(completed.Fingerprint)
		image.Inbox = append(image.Inbox, completed)
	}
	for _, id := range k.outbox {
		e := k.effects[id]
		e.Effect = cloneEffect(e.Effect)
		image.Outbox = append(image.Outbox, e.Accepted)
		if e.Pending {
			image.PendingEffectIDs = append(image.PendingEffectIDs, id)
		}
	}
	for _, id := range k.recorded {
		r := k.receipts[id]
		r.Payload.Bytes = bytes.Clone(r.Payload.Bytes)
		image.Receipts = append(image.Receipts, r)
	}
	return image
}

// clonePositioned is a copy that shares no bytes.
func clonePositioned(p owner.Positioned) owner.Positioned {
	p.Payload.Bytes = bytes.Clone(p.Payload.Bytes)
	return p
}

// cloneEffect is a copy that shares no bytes.
func cloneEffect(e owner.Effect) owner.Effect {
	e.Payload.Bytes = bytes.Clone(e.Payload.Bytes)
	return e
}
