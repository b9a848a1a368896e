package ledger

import (
	"math/big"
	"math/bits"
)

// int128 is a two's complement integer of 128 bits. Deltas, day sums and prefixes are held in it, so that only the
// close of a day is ever tested against int64 (R09): 2^63 transactions of any quantity cannot overflow it.
type int128 struct {
	hi int64
	lo uint64
}

// widen converts an int64.
func widen(v int64) int128 {
	return int128{hi: v >> 63, lo: uint64(v)} // reinterprets the low half
}

// add returns a + b.
func (a int128) add(b int128) int128 {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	return int128{hi: a.hi + b.hi + int64(carry), lo: lo} // carry is 0 or 1
}

// sub returns a - b.
func (a int128) sub(b int128) int128 {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	return int128{hi: a.hi - b.hi - int64(borrow), lo: lo} // borrow is 0 or 1
}

// narrow returns the value as int64, false where it does not fit.
func (a int128) narrow() (int64, bool) {
	v := int64(a.lo) // reinterprets the low half; the comparison tells whether that was all
	return v, a.hi == v>>63
}

// String returns the value in decimal, for diagnostics.
func (a int128) String() string {
	v := new(big.Int).Lsh(big.NewInt(a.hi), 64)
	return v.Add(v, new(big.Int).SetUint64(a.lo)).String()
}
