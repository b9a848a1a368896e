package vectorized

import (
	"math/big"
	"math/bits"
)

// Wide is a signed number of 128 bits. It holds the sum of 2^63 products of two int64 that are not both extreme, and of
// 2^64 values of int64 (R09).
type Wide struct {
	hi int64
	lo uint64
}

// WideOf widens.
func WideOf(n int64) Wide { return Wide{n >> 63, uint64(n)} }

// Product is a × b.
func Product(a, b int64) Wide {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	return Wide{int64(hi) - a>>63&b - b>>63&a, lo}
}

// Plus adds.
func (w Wide) Plus(o Wide) Wide {
	lo, carry := bits.Add64(w.lo, o.lo, 0)
	return Wide{w.hi + o.hi + int64(carry), lo}
}

// Fits reports whether int64 holds it.
func (w Wide) Fits() bool { return w.hi == int64(w.lo)>>63 }

// Int64 is the number where it fits.
func (w Wide) Int64() int64 { return int64(w.lo) }

// Big is the exact number.
func (w Wide) Big() *big.Int {
	n := big.NewInt(w.hi)
	return n.Lsh(n, 64).Add(n, new(big.Int).SetUint64(w.lo))
}
