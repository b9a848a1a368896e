// Package durability is the request-durability rule: what a sender asked for, what the operator offers and what is
// physically in place, turned into a status and the pinned result field (durability extension sections 2 to 8, R30, R31,
// R33, R35). It is pure: whoever serves requests finds the facts and carries the answer.
package durability

// Level is a strength of durability by its name on the wire. Names that are not among Levels can be asked for; they are
// not recognised.
type Level string

// The levels, weakest first.
const (
	// None: not kept. The record goes straight to the source topic, and nothing can be looked up (R31).
	None Level = "none"
	// Stored: committed in the owner store, found again at its handle, also after a crash of every process.
	Stored Level = "stored"
	// Published: stored, and acknowledged by all in-sync replicas of the source topic. It always completes later (R30).
	Published Level = "published"
)

// Levels returns the recognised levels, weakest first.
func Levels() []Level { return []Level{None, Stored, Published} }

// Recognised reports whether a level is one of Levels. Names match exactly.
func (l Level) Recognised() bool { return l.strength() >= 0 }

// AtLeast reports whether a level is recognised and at least as strong as another recognised one.
func (l Level) AtLeast(other Level) bool {
	return l.Recognised() && other.Recognised() && l.strength() >= other.strength()
}

// strength orders the levels; -1 for a name that is none.
func (l Level) strength() int {
	for i, level := range Levels() {
		if l == level {
			return i
		}
	}
	return -1
}

// weaker returns the weaker of two recognised levels.
func weaker(a, b Level) Level {
	if a.AtLeast(b) {
		return b
	}
	return a
}
