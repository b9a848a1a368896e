package workertest

import (
	"context"
	"maps"
	"slices"
	"sync"

	"amends.dev/amends/stages/broker"
)

// Member is a broker.Membership whose assignments the test decides. It is safe for concurrent use.
type Member struct {
	mu      sync.Mutex
	current broker.Assignment
	changed chan struct{}
	lag     map[int32]int64
	closed  bool
	fault   error
}

// NewMember returns a member that owns nothing yet.
func NewMember() *Member {
	return &Member{changed: make(chan struct{}), lag: make(map[int32]int64)}
}

var _ broker.Membership = (*Member)(nil)

// Assign makes an assignment the current one.
func (m *Member) Assign(member string, generation int32, partitions ...int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current = broker.Assignment{Member: member, Generation: generation, Partitions: slices.Clone(partitions)}
	close(m.changed)
	m.changed = make(chan struct{})
}

// Current implements broker.Membership.
func (m *Member) Current() (broker.Assignment, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	current := m.current
	current.Partitions = slices.Clone(current.Partitions)
	return current, m.changed
}

// CommitLag implements broker.Membership.
func (m *Member) CommitLag(_ context.Context, frontiers map[int32]int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.Copy(m.lag, frontiers)
	return nil
}

// Fail makes the member lose its place in the group, or regain it where err is nil.
func (m *Member) Fail(err error) {
	m.mu.Lock()
	m.fault = err
	m.mu.Unlock()
	m.Assign("", 0)
}

// Fault implements broker.Membership.
func (m *Member) Fault() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fault
}

// Lag returns the frontiers that were committed as a lag signal.
func (m *Member) Lag() map[int32]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.lag)
}

// Close implements broker.Membership: the member owns nothing any more.
func (m *Member) Close() {
	m.mu.Lock()
	closed := m.closed
	m.closed = true
	m.mu.Unlock()
	if !closed {
		m.Assign("", 0)
	}
}
