package generate

import "fmt"

// Class is what a generated record is there for.
type Class int

// The classes, in the order in which counts are printed.
const (
	// New is a NEW of a transaction on the stream's current day.
	New Class = iota
	// Backdate is a NEW on a day before the latest activity of its key (SC01).
	Backdate
	// Amend is a higher revision with another quantity (SC02); of a cancelled transaction it is a reactivation (SC05).
	Amend
	// Move is a higher revision on another day (SC03).
	Move
	// Cancel is a higher revision that makes the transaction inactive (SC04).
	Cancel
	// Duplicate repeats the payload at the highest revision (SC07).
	Duplicate
	// Stale arrives below the highest revision: one that was skipped, or a repetition of an earlier one (SC06).
	Stale
	// Conflict is another payload at the highest revision (SC08). A later correction resolves it (SC09).
	Conflict
	// Malformed is rejected, for one of many reasons (SC22, SC28).
	Malformed

	classes int = iota
)

var classNames = [classes]string{"new", "backdate", "amend", "move", "cancel", "duplicate", "stale", "conflict", "malformed"}

// String is the class in one word.
func (c Class) String() string {
	if c < 0 || int(c) >= classes {
		return fmt.Sprintf("Class(%d)", int(c))
	}
	return classNames[c]
}

// Counts is a number of records by class, indexed by Class.
type Counts [classes]int64

// Total sums all classes.
func (c Counts) Total() int64 {
	total := int64(0)
	for _, n := range c {
		total += n
	}
	return total
}

// Map returns the counts by class name, as JSON shows them.
func (c Counts) Map() map[string]int64 {
	m := make(map[string]int64, classes)
	for class, n := range c {
		m[Class(class).String()] = n
	}
	return m
}
