package owner

import (
	"bytes"
	"slices"
)

// Row is what a store keeps of an owner itself. What is stored beside it (events, snapshot, inbox, outbox, receipts)
// belongs to it by its ID.
type Row struct {
	ID   string
	Mode Mode
	// Position is that of the last event, or of the snapshot; 0 before the first. It never exceeds PositionMax.
	Position uint64
	// Fence is the authority token in force. It takes all 64 bits.
	Fence uint64
	// Supported are the versions that the owner was created with; nil accepts all positive ones.
	Supported *Supported
}

// Digest identifies the content of a unit of work under its inbox identity (Commit.Digest).
type Digest [32]byte

// CompletedRow is one completed input with what tells an exact repetition from another use of its identity.
type CompletedRow struct {
	Completed
	Digest Digest
}

// EffectRow is one effect of the outbox.
type EffectRow struct {
	Accepted
	// Pending says that it has no receipt.
	Pending bool
}

// LatestRow is an owner's value in the egress of latest states.
type LatestRow struct {
	// Bytes are those of a LatestDurableProjection, capability included.
	Bytes []byte
	// Published says that these bytes were published; a commit's value never is.
	Published bool
}

// Wanted names the rows of one owner that a store reads before a group of units of work is decided (R29): the owner's
// row; the completed inputs in InboxIDs; the effects in EffectIDs; the receipts in ReceiptIDs, and those whose effect is
// in EffectIDs. Lists are sorted and without repetition.
type Wanted struct {
	OwnerID                         string
	InboxIDs, EffectIDs, ReceiptIDs []string
}

// Want says what a group of units of work needs, one entry for each owner, sorted by owner ID: owners locked in this
// order cannot lock each other out. Identities that cannot be stored are left out, since units with one are refused
// without looking.
func Want(commits ...Commit) []Wanted {
	byOwner := map[string]*Wanted{}
	for i := range commits {
		c := &commits[i]
		if c.identities() != "" {
			continue
		}
		w := byOwner[c.OwnerID]
		if w == nil {
			w = &Wanted{OwnerID: c.OwnerID}
			byOwner[c.OwnerID] = w
		}
		w.InboxIDs = append(w.InboxIDs, c.Inbox.ID)
		for j := range c.Effects {
			w.EffectIDs = append(w.EffectIDs, c.Effects[j].ID)
		}
		for j := range c.Receipts {
			w.ReceiptIDs = append(w.ReceiptIDs, c.Receipts[j].ID)
			w.EffectIDs = append(w.EffectIDs, c.Receipts[j].EffectID)
		}
	}
	return sortedWanted(byOwner)
}

// sortedWanted puts what is wanted in order.
func sortedWanted(byOwner map[string]*Wanted) []Wanted {
	result := make([]Wanted, 0, len(byOwner))
	for _, w := range byOwner {
		for _, list := range []*[]string{&w.InboxIDs, &w.EffectIDs, &w.ReceiptIDs} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		result = append(result, *w)
	}
	slices.SortFunc(result, func(a, b Wanted) int { return bytes.Compare([]byte(a.OwnerID), []byte(b.OwnerID)) })
	return result
}

// WantReceipt says what recording a receipt needs; an empty OwnerID where an identity cannot be stored, so that there is
// nothing to read.
func WantReceipt(ownerID string, r *Receipt) Wanted {
	if receiptIdentities(r) != "" || WantOwner(ownerID).OwnerID == "" {
		return Wanted{}
	}
	return Wanted{OwnerID: ownerID, EffectIDs: []string{r.EffectID}, ReceiptIDs: []string{r.ID}}
}

// WantOwner says that the owner's row is needed; an empty OwnerID where it is none that can be stored.
func WantOwner(ownerID string) Wanted {
	if identity("owner ID", ownerID, OwnerIDMax) != "" {
		return Wanted{}
	}
	return Wanted{OwnerID: ownerID}
}

// Loaded is what a store has read of one owner, under the lock of the owner's row. The zero value of everything but
// OwnerID is an owner that does not exist.
type Loaded struct {
	OwnerID   string
	row       *Row
	completed map[string]CompletedRow
	effects   map[string]EffectRow
	receipts  map[string]Recorded
	// settledBy is the receipt of an effect.
	settledBy map[string]string
}

// NewLoaded begins with an owner's row; nil where the owner does not exist.
func NewLoaded(ownerID string, row *Row) *Loaded {
	l := &Loaded{
		OwnerID: ownerID, completed: map[string]CompletedRow{}, effects: map[string]EffectRow{},
		receipts: map[string]Recorded{}, settledBy: map[string]string{},
	}
	if row != nil {
		kept := *row
		l.row = &kept
	}
	return l
}

// AddCompleted adds a completed input that was read.
func (l *Loaded) AddCompleted(c CompletedRow) { l.completed[c.ID] = c }

// AddEffect adds an effect that was read.
func (l *Loaded) AddEffect(e EffectRow) { l.effects[e.ID] = e }

// AddReceipt adds a receipt that was read.
func (l *Loaded) AddReceipt(r Recorded) {
	l.receipts[r.ID] = r
	l.settledBy[r.EffectID] = r.ID
}

// Changes is everything that a store writes of one owner, in one transaction. Lists are in the order of acceptance,
// which images keep. Empty lists and nil are nothing to write; Owner is always the whole row as it is afterwards.
type Changes struct {
	Owner Row
	// Created says that the owner's row is new.
	Created bool
	// Events are appended; Snapshot replaces the one before.
	Events   []Positioned
	Snapshot *Positioned
	// Completed, Effects and Receipts are new rows.
	Completed []CompletedRow
	Effects   []EffectRow
	Receipts  []Recorded
	// Settled are effects accepted in earlier transactions that are no longer pending.
	Settled []string
	// Latest replaces the owner's value in the egress of latest states and makes it pending.
	Latest *LatestRow
}

// apply makes the loaded rows what they are after the changes, so that a later unit of work of the same group sees them.
func (l *Loaded) apply(c *Changes) {
	row := c.Owner
	l.row = &row
	for _, completed := range c.Completed {
		l.AddCompleted(completed)
	}
	for _, e := range c.Effects {
		l.AddEffect(e)
	}
	for i := range c.Receipts {
		l.AddReceipt(c.Receipts[i])
	}
	for _, id := range c.Settled {
		e := l.effects[id]
		e.Pending = false
		l.effects[id] = e
	}
}

// merge adds the changes of a later unit of work of the same owner.
func (ch *Changes) merge(later *Changes) {
	ch.Owner = later.Owner
	ch.Created = ch.Created || later.Created
	ch.Events = append(ch.Events, later.Events...)
	if later.Snapshot != nil {
		ch.Snapshot = later.Snapshot
	}
	ch.Completed = append(ch.Completed, later.Completed...)
	ch.Effects = append(ch.Effects, later.Effects...)
	ch.Receipts = append(ch.Receipts, later.Receipts...)
	for _, id := range later.Settled {
		// An effect of an earlier unit of this group is written as settled in the first place.
		if at := slices.IndexFunc(ch.Effects, func(e EffectRow) bool { return e.ID == id }); at >= 0 {
			ch.Effects[at].Pending = false
			continue
		}
		ch.Settled = append(ch.Settled, id)
	}
	if later.Latest != nil {
		ch.Latest = later.Latest
	}
}
