package kafka

import (
	"maps"
	"slices"
	"sync"

	"amends.dev/amends/stages/broker"
)

// roster turns the increments of group callbacks into complete assignments. Safe for concurrent use.
type roster struct {
	mu         sync.Mutex
	owned      map[int32]bool
	current    broker.Assignment
	superseded chan struct{}
	closed     bool
}

func newRoster() *roster {
	return &roster{owned: map[int32]bool{}, superseded: make(chan struct{})}
}

// get implements broker.Membership.Current. The partitions are the caller's own copy.
func (r *roster) get() (broker.Assignment, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	current := r.current
	current.Partitions = slices.Clone(current.Partitions)
	return current, r.superseded
}

// add takes partitions that the group gave to this member. An empty callback changes nothing, and one of an older
// generation of the same member is too late: what it gave may be another's by now.
func (r *roster) add(member string, generation int32, partitions []int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stale := member == r.current.Member && generation < r.current.Generation
	if r.closed || stale || len(partitions) == 0 {
		return
	}
	if member != r.current.Member {
		// Another member ID shares nothing with the former one: what that held was lost, said or not.
		clear(r.owned)
	}
	for _, partition := range partitions {
		r.owned[partition] = true
	}
	r.publish(member, generation)
}

// remove takes partitions away, after a revocation or a loss. It is never too late. What stays is still held under the
// assignment that gave it.
func (r *roster) remove(partitions []int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	held := false
	for _, partition := range partitions {
		held = held || r.owned[partition]
		delete(r.owned, partition)
	}
	if held {
		r.publish(r.current.Member, r.current.Generation)
	}
}

// close ends ownership of everything for good.
func (r *roster) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.closed = true
	clear(r.owned)
	r.publish(r.current.Member, r.current.Generation)
}

// publish makes the owned set the current assignment. The caller holds mu.
func (r *roster) publish(member string, generation int32) {
	r.current = broker.Assignment{
		Member:     member,
		Generation: generation,
		Partitions: slices.Sorted(maps.Keys(r.owned)),
	}
	close(r.superseded)
	r.superseded = make(chan struct{})
}
