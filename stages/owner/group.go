package owner

import (
	"slices"
	"strings"

	"amends.dev/amends/internal/mark"
)

// Group decides the requests of one transaction one after the other, each against what those before it leave. A store
// makes one of what it has loaded, asks, and writes Changes. Not safe for concurrent use.
type Group struct {
	loaded  map[string]*Loaded
	changes map[string]*Changes
}

// NewGroup takes what was loaded, one entry for each owner, owners that do not exist included.
func NewGroup(loaded ...*Loaded) *Group {
	g := &Group{loaded: map[string]*Loaded{}, changes: map[string]*Changes{}}
	for _, l := range loaded {
		g.loaded[l.OwnerID] = l
	}
	return g
}

// of is what was loaded of an owner; a request that is refused for its identities has nothing loaded.
func (g *Group) of(ownerID string) *Loaded {
	if g.loaded[ownerID] == nil {
		g.loaded[ownerID] = NewLoaded(ownerID, nil)
	}
	return g.loaded[ownerID]
}

// keep notes what a request changes.
func (g *Group) keep(l *Loaded, result Result, changes *Changes) Result {
	if changes == nil {
		return result
	}
	l.apply(changes)
	if earlier := g.changes[l.OwnerID]; earlier != nil {
		mark.Hit("R29 second unit of an owner in one transaction")
		earlier.merge(changes)
	} else {
		g.changes[l.OwnerID] = changes
	}
	return result
}

// Commit decides a unit of work (Decide).
func (g *Group) Commit(c *Commit) Result {
	l := g.of(c.OwnerID)
	result, changes := Decide(l, c)
	return g.keep(l, result, changes)
}

// Create decides a creation (DecideCreate).
func (g *Group) Create(ownerID string, config *Config) Result {
	l := g.of(ownerID)
	result, changes := DecideCreate(l, ownerID, config)
	return g.keep(l, result, changes)
}

// AdvanceFence decides an advance of the fence (DecideFence).
func (g *Group) AdvanceFence(ownerID string, fence uint64) Result {
	l := g.of(ownerID)
	result, changes := DecideFence(l, ownerID, fence)
	return g.keep(l, result, changes)
}

// RecordReceipt decides the recording of a receipt (DecideReceipt).
func (g *Group) RecordReceipt(ownerID string, fence uint64, r *Receipt) Result {
	l := g.of(ownerID)
	result, changes := DecideReceipt(l, ownerID, fence, r)
	return g.keep(l, result, changes)
}

// Changes is what there is to write, sorted by owner ID; empty where every request was refused or a repetition.
func (g *Group) Changes() []*Changes {
	list := make([]*Changes, 0, len(g.changes))
	for _, c := range g.changes {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *Changes) int { return strings.Compare(a.Owner.ID, b.Owner.ID) })
	return list
}
