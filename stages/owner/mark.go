package owner

import (
	"cmp"
	"strconv"
)

// Mark is a position, or a version, as something other than the owner's row has it: a projection, a cache, a report. It
// can be shown and compared, and has no number to be put into a Commit: only an Image or a Pending, which a Store reads
// from the owner's row, supply ExpectedPosition and Fence. The zero value is before the first position.
type Mark struct{ n uint64 }

// MarkAt is a position that was read from where it authorizes nothing.
func MarkAt(n uint64) Mark { return Mark{n} }

// Compare is negative where m is before other, zero where they are equal.
func (m Mark) Compare(other Mark) int { return cmp.Compare(m.n, other.n) }

// Next is the mark after this one; false where there is none.
func (m Mark) Next() (Mark, bool) { return Mark{m.n + 1}, m.n < PositionMax }

// Behind is how far m is behind other; zero where it is not.
func (m Mark) Behind(other Mark) Mark {
	if m.n >= other.n {
		return Mark{}
	}
	return Mark{other.n - m.n}
}

// String is the mark in decimal.
func (m Mark) String() string { return strconv.FormatUint(m.n, 10) }

// MarshalJSON writes a JSON number.
func (m Mark) MarshalJSON() ([]byte, error) { return []byte(m.String()), nil }
