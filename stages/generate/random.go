package generate

import "math/bits"

// random is SplitMix64. A generator of our own keeps the stream of a seed the same for ever; the standard library does
// not promise that of its functions.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number in [0, n); n must be at least 1. The bias of the multiplication is below 2^-32 for every n in
// use here.
func (r *random) below(n int64) int64 {
	high, _ := bits.Mul64(r.next(), uint64(n))
	return int64(high)
}

// between returns a number in [low, high].
func (r *random) between(low, high int64) int64 { return low + r.below(high-low+1) }

// oneIn is true once in n times.
func (r *random) oneIn(n int64) bool { return r.below(n) == 0 }
