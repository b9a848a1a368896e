package generate

// urn holds the classes of all records still to come. Drawing without replacement makes every share come out exactly.
type urn struct{ left Counts }

// draw takes one class out, among those that can occur now, with the weight of what is left of each. Where none can,
// one that cannot is taken and comes out as New, which always can.
func (u *urn) draw(r *random, possible func(Class) bool) Class {
	var candidates Counts
	for class, left := range u.left {
		if left > 0 && possible(Class(class)) {
			candidates[class] = left
		}
	}
	if candidates.Total() == 0 {
		u.take(pick(r, u.left))
		return New
	}
	class := pick(r, candidates)
	u.take(class)
	return class
}

// take removes one record of a class; where there is none, one of New or of the first class that has any.
func (u *urn) take(class Class) {
	for _, c := range append([]Class{class}, New, Backdate, Amend, Move, Cancel, Duplicate, Stale, Conflict, Malformed) {
		if u.left[c] > 0 {
			u.left[c]--
			return
		}
	}
}

// pick chooses a class by weight; the weights must not all be zero.
func pick(r *random, weights Counts) Class {
	n := r.below(weights.Total())
	for class, weight := range weights {
		if n < weight {
			return Class(class)
		}
		n -= weight
	}
	return New
}
