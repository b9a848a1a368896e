package synthetic

import "math/bits"

// random is splitmix64: a sequence is a function of its seed on every machine.
type random struct{ state uint64 }

// newRandom begins one of many sequences that a seed has. Sequences of splitmix64 whose states are a multiple of its step
// apart are the same one, so that states must not be that simple.
func newRandom(seed, stream uint64) random {
	first := random{seed}
	second := random{first.next() ^ stream*0xD1B54A32D192ED03}
	return random{second.next()}
}

// next returns 64 random bits.
func (r *random) next() uint64 {
	r.state += 0x9E3779B97F4A7C15
	x := r.state
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// below returns a number below n.
func (r *random) below(n uint64) uint64 {
	high, _ := bits.Mul64(r.next(), n)
	return high
}

// urn draws keys by weight in constant time (Vose's alias method, in integers): each ball has an equal chance, and is
// itself or its alias.
type urn struct {
	balls []ball
	total uint64 // of the weights
}

// ball is itself where a number below the urn's total is below cut, and else other.
type ball struct {
	cut         uint64
	self, other int32
}

// newUrn fills an urn. The product of the number of keys and any weight must fit 64 bits.
func newUrn(keys []int32, weights []uint64) *urn {
	u := &urn{balls: make([]ball, len(keys))}
	for _, w := range weights {
		u.total += w
	}
	var light, heavy []int32
	for i, w := range weights {
		u.balls[i] = ball{cut: w * uint64(len(keys)), self: keys[i], other: keys[i]}
		if u.balls[i].cut < u.total {
			light = append(light, int32(i))
		} else {
			heavy = append(heavy, int32(i))
		}
	}
	for len(light) > 0 && len(heavy) > 0 {
		l, h := light[len(light)-1], heavy[len(heavy)-1]
		light = light[:len(light)-1]
		u.balls[l].other = keys[h]
		u.balls[h].cut -= u.total - u.balls[l].cut
		if u.balls[h].cut < u.total {
			light, heavy = append(light, h), heavy[:len(heavy)-1]
		}
	}
	return u
}

// draw draws a key.
func (u *urn) draw(r *random) int32 {
	b := &u.balls[r.below(uint64(len(u.balls)))]
	if r.below(u.total) < b.cut {
		return b.self
	}
	return b.other
}
