package sim

// checker watches one sentence of the contract. check is called after every action and looks at what is durable; it
// keeps what it needs to see a change.
type checker interface {
	// name identifies the checker in findings: shortening keeps it.
	name() string
	// check returns what is broken, nil where nothing is.
	check(w *world) error
}

// The names of the findings that no single checker makes.
const (
	findingLiveness  = "liveness"
	findingVerdict   = "verdict"
	findingSimulator = "simulator"
)

// newCheckers returns all checkers for a new world, in the order in which they look.
func newCheckers(w *world) []checker {
	sources, outputs := len(w.truths), len(w.records)
	rows := newOutboxIndex(w)
	return []checker{
		&frontierChecker{last: make([]int64, sources), counted: make([]int64, sources), seen: make([]int, sources)},
		&epochChecker{last: make([]int64, sources)},
		&stopChecker{},
		&quarantineChecker{next: make([]int, sources)},
		&evidenceChecker{next: make([]int, sources)},
		&outboxChecker{rows: rows},
		&versionChecker{rows: rows, seen: make([]int, sources), last: map[outputID]int64{}},
		&orderChecker{rows: rows, seen: make([]int, outputs), appeared: map[route]int{}},
		&sentChecker{rows: rows, seen: make([]int, sources)},
		&leaseChecker{},
		&viewChecker{rows: rows, next: make([]int64, outputs), want: map[outputID]row{}},
	}
}

// below returns how many of the partition's records lie below its durable frontier, counted on from n.
func (w *world) below(partition, n int) int {
	state, _, _ := w.state.Peek(int32(partition))
	records := w.truths[partition]
	for n < len(records) && records[n].offset < state.NextOffset {
		n++
	}
	return n
}
