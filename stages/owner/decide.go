package owner

import (
	"bytes"
	"fmt"

	"amends.dev/amends/internal/mark"
)

// refused is a refusal with its reason in words.
func refused(outcome Outcome, format string, args ...any) (Result, *Changes) {
	return Result{Outcome: outcome, Detail: fmt.Sprintf(format, args...)}, nil
}

// Decide decides one unit of work against what a store has loaded of its owner (Want). Changes are nil unless the outcome
// is Committed. The order of checks is part of the contract: identities and versions before anything is looked at;
// then the completed input, before position and fence, so that a redelivery finds its commit after any hand-off; then
// mode, position, fence; then effects and receipts. Nothing of l or c is changed.
func Decide(l *Loaded, c *Commit) (Result, *Changes) {
	if problem := c.identities(); problem != "" {
		return refused(InvalidIdentity, "%s", problem)
	}
	if problem := c.payloads(versioned); problem != "" {
		return refused(UnsupportedVersion, "%s", problem)
	}
	row := l.row
	created := row == nil && c.Create != nil
	if created {
		result, changes := newRow(c.OwnerID, c.Create)
		if changes == nil {
			return result, nil
		}
		row = &changes.Owner
	}
	if row == nil {
		return refused(UnknownOwner, "there is no owner %q", c.OwnerID)
	}
	if problem := c.payloads(row.Supported.check); problem != "" {
		mark.Hit("R27 version outside the owner's set")
		return refused(UnsupportedVersion, "%s", problem)
	}
	digest := c.Digest()
	if completed, ok := l.completed[c.Inbox.ID]; ok {
		return repeated(&completed, digest), nil
	}
	if result, ok := admitted(row, c); !ok {
		return result, nil
	}
	changes := &Changes{Owner: *row, Created: created}
	changes.state(c)
	through := changes.Owner.Position
	changes.Completed = []CompletedRow{{
		Completed: Completed{ID: c.Inbox.ID, Fingerprint: append([]byte{}, c.Inbox.Fingerprint...), CommittedThrough: through}, Digest: digest,
	}}
	if result, ok := changes.outbox(l, c); !ok {
		return result, nil
	}
	for i := range c.Receipts {
		if result := changes.receipt(l, &c.Receipts[i]); result.Outcome != ReceiptRecorded && result.Outcome != ReceiptDuplicate {
			return result, nil
		}
	}
	if c.Latest != nil {
		changes.Latest = &LatestRow{Bytes: newLatest(c.OwnerID, through, c.Latest).Bytes()}
	}
	return Result{Outcome: Committed, Through: through}, changes
}

// repeated is the result of a unit of work whose input was completed before: the position of that commit, whatever has
// happened since, or a conflict where the identity stands for other content.
func repeated(completed *CompletedRow, digest Digest) Result {
	if completed.Digest == digest {
		mark.Hit("B139 redelivery finds its commit")
		return Result{Outcome: Duplicate, Through: completed.CommittedThrough}
	}
	mark.Hit("B134 inbox identity with other content")
	result, _ := refused(InboxConflict, "input %q was completed at position %d with other content", completed.ID, completed.CommittedThrough)
	return result
}

// admitted checks that the unit of work fits the owner as it is now: mode, then position, then fence, then room for the
// positions that it takes.
func admitted(row *Row, c *Commit) (Result, bool) {
	no := func(outcome Outcome, format string, args ...any) (Result, bool) {
		result, _ := refused(outcome, format, args...)
		return result, false
	}
	switch {
	case c.Create != nil && c.Create.Mode != row.Mode:
		return no(ModeConflict, "owner %q has mode %s, not %q", c.OwnerID, row.Mode, c.Create.Mode)
	case row.Mode == EventHistory && c.Replace != nil:
		return no(ModeConflict, "owner %q keeps its event history and takes no snapshot", c.OwnerID)
	case row.Mode == Snapshot && (len(c.Append) > 0 || c.Replace == nil):
		return no(ModeConflict, "owner %q is replaced as a snapshot and takes exactly one", c.OwnerID)
	case c.ExpectedPosition != row.Position:
		return no(PositionConflict, "owner %q is at position %d, not %d", c.OwnerID, row.Position, c.ExpectedPosition)
	case c.Fence != row.Fence:
		return no(StaleFence, "owner %q is under fence %d, not %d", c.OwnerID, row.Fence, c.Fence)
	case c.taken() > PositionMax-row.Position:
		return no(PositionExhausted, "owner %q is at position %d, %d more do not fit", c.OwnerID, row.Position, c.taken())
	}
	return Result{}, true
}

// taken is how many positions the unit of work takes.
func (c *Commit) taken() uint64 {
	if c.Replace != nil {
		return 1
	}
	return uint64(len(c.Append))
}

// state adds events or snapshot, each at the next position.
func (ch *Changes) state(c *Commit) {
	for i := range c.Append {
		ch.Owner.Position++
		ch.Events = append(ch.Events, Positioned{Position: ch.Owner.Position, Payload: c.Append[i].clone()})
	}
	if c.Replace != nil {
		ch.Owner.Position++
		ch.Snapshot = &Positioned{Position: ch.Owner.Position, Payload: c.Replace.clone()}
	}
}

// outbox adds the effects that do not stand yet.
func (ch *Changes) outbox(l *Loaded, c *Commit) (Result, bool) {
	for i := range c.Effects {
		e := &c.Effects[i]
		if known := ch.effect(l, e.ID); known != nil {
			if known.Payload.equal(&e.Payload) {
				continue // the first acceptance stands
			}
			result, _ := refused(EffectConflict, "effect %q was accepted at position %d with other content", e.ID, known.AcceptedAt)
			return result, false
		}
		ch.Effects = append(ch.Effects, EffectRow{
			Accepted: Accepted{Effect: Effect{ID: e.ID, Payload: e.Payload.clone()}, AcceptedAt: ch.Owner.Position}, Pending: true,
		})
	}
	return Result{}, true
}

// effect finds an effect among the changes and what was loaded.
func (ch *Changes) effect(l *Loaded, id string) *EffectRow {
	for i := range ch.Effects {
		if ch.Effects[i].ID == id {
			return &ch.Effects[i]
		}
	}
	if e, ok := l.effects[id]; ok {
		return &e
	}
	return nil
}

// clone is a copy that shares no bytes. Empty bytes are not nil.
func (p *Payload) clone() Payload {
	copied := *p
	copied.Bytes = append([]byte{}, p.Bytes...)
	return copied
}

// equal reports whether versions and bytes are the same.
func (p *Payload) equal(other *Payload) bool {
	return p.SchemaVersion == other.SchemaVersion && p.CodecVersion == other.CodecVersion && bytes.Equal(p.Bytes, other.Bytes)
}
