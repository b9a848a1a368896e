package sim

// random is SplitMix64: a run must not depend on the release of Go, so that a kept seed keeps its meaning.
type random struct{ state uint64 }

// newRandom returns the generator of one purpose within a seed, so that drawing more for one leaves the others alone.
func newRandom(seed, purpose uint64) *random {
	r := &random{state: seed*0x9e3779b97f4a7c15 ^ purpose<<56}
	r.next()
	return r
}

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number in [0, n), 0 where n is not positive. The bias of the remainder is of no interest here.
func (r *random) below(n int) int {
	if n <= 0 {
		return 0
	}
	return int(r.next() % uint64(n))
}

// between returns a number in [low, high].
func (r *random) between(low, high int) int { return low + r.below(high-low+1) }

// oneIn is true once in n.
func (r *random) oneIn(n int) bool { return r.below(n) == 0 }

// percent is true p times in a hundred.
func (r *random) percent(p int) bool { return r.below(100) < p }

// pick returns one of the values.
func pick[T any](r *random, values ...T) T { return values[r.below(len(values))] }

// weighted returns an index, each as likely as its weight; 0 where all weights are 0.
func (r *random) weighted(weights []int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	left := r.below(total)
	for i, w := range weights {
		if left < w {
			return i
		}
		left -= w
	}
	return 0
}
