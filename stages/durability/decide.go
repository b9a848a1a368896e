package durability

// Problem is something because of which a request is not performed, other than its durability. Problems combine.
type Problem uint

// The problems, in the order of R35: where there are several the first one is answered. The levels that cannot be met
// (412) come between Malformed and Unavailable.
const (
	// Unauthenticated: no author, 401.
	Unauthenticated Problem = 1 << iota
	// TooLarge: the body exceeds its limit, 413.
	TooLarge
	// TooMany: the author exceeds their rate, 429.
	TooMany
	// Malformed: the body does not have the shape of a request, 400.
	Malformed
	// Unavailable: the request cannot be performed, or its uniqueness not be decided, at present, 503.
	Unavailable
	// Duplicate: the author's request of that ID is preserved already, 409.
	Duplicate
	// NoHandler: nobody would receive the result at the target of deliver_to, 422.
	NoHandler
	// Invalid: the transaction is not one of the namespace's, 422.
	Invalid
)

// The statuses of the contract.
const (
	ok              = 200
	accepted        = 202
	malformed       = 400
	unauthenticated = 401
	conflict        = 409
	unmet           = 412
	tooLarge        = 413
	unprocessable   = 422
	tooMany         = 429
	unavailable     = 503
)

// answered is one step of R35's order.
type answered struct {
	problem Problem
	status  int
}

// The steps before and after the durability is reconciled.
var (
	before = []answered{{Unauthenticated, unauthenticated}, {TooLarge, tooLarge}, {TooMany, tooMany}, {Malformed, malformed}}
	after  = []answered{{Unavailable, unavailable}, {Duplicate, conflict}, {NoHandler, unprocessable}, {Invalid, unprocessable}}
)

// Case is what is known of one request at the moment of its answer.
type Case struct {
	// Marker is nil where the request has none.
	Marker *Marker
	// Offered is the strongest level that the operator offered when the request was accepted; None where there is no
	// durable store. Whoever offers a level offers every weaker one.
	Offered Level
	// Problems are those found.
	Problems Problem
	// InPlace is the level that this request has physically now; None for one that is not preserved.
	InPlace Level
	// Handle is where the entry is, or will be.
	Handle string
}

// Provide is the level to bring about for a request that is performed: the weaker of what is asked for and what is
// offered, None where the level is not recognised or nothing is asked for (section 4). None is not preserved, and so has
// no uniqueness (R31).
func Provide(marker *Marker, offered Level) Level {
	if marker == nil || !marker.Level.Recognised() || !offered.Recognised() {
		return None
	}
	return weaker(marker.Level, offered)
}

// Unmet reports whether a request is refused for its durability: it must have a level that is not recognised or not
// offered (section 5, 412).
func Unmet(marker *Marker, offered Level) bool {
	return marker != nil && marker.MustHave && !offered.AtLeast(marker.Level)
}

// Decide answers a request.
func Decide(c Case) Answer {
	if Provide(c.Marker, c.Offered) == None {
		c.Problems &^= Duplicate // R31: what is not preserved has no uniqueness
	}
	for _, step := range before {
		if c.Problems&step.problem != 0 {
			return c.refuse(step.status)
		}
	}
	if Unmet(c.Marker, c.Offered) {
		a := c.refuse(unmet)
		a.Durability.MaxAvailable, a.Durability.Reason = strongest(c.Offered), RequiredUnmet
		if !c.Marker.Level.Recognised() {
			a.Durability.Reason = UnknownLevel
		}
		return a
	}
	for _, step := range after {
		if c.Problems&step.problem != 0 {
			a := c.refuse(step.status)
			if step.problem == Duplicate && a.Durability != nil {
				a.Durability.Reason = DuplicateID
			}
			return a
		}
	}
	return c.perform()
}

// perform answers a request that was performed. One that should be preserved and is not is no success.
func (c Case) perform() Answer {
	provide := Provide(c.Marker, c.Offered)
	switch {
	case c.Marker == nil:
		return Answer{Status: ok}
	case provide == None:
		return Answer{Status: ok, Durability: &Result{Requested: c.Marker.Level, Applied: None, Reason: c.whyNone()}}
	case !c.InPlace.AtLeast(Stored):
		return c.refuse(unavailable)
	}
	r := &Result{Requested: c.Marker.Level, Applied: weaker(c.InPlace, provide), Handle: c.Handle}
	if provide != Published {
		return Answer{Status: ok, Durability: r}
	}
	r.Committed = Published
	return Answer{Status: accepted, Durability: r}
}

// whyNone is the reason of a request that is performed and not preserved; none where it asked for that.
func (c Case) whyNone() Reason {
	switch {
	case !c.Marker.Level.Recognised():
		return UnknownLevel
	case c.Marker.Level == None:
		return ""
	}
	return NoDurableStore
}

// refuse answers a request of which nothing was performed.
func (c Case) refuse(status int) Answer {
	if c.Marker == nil {
		return Answer{Status: status}
	}
	return Answer{Status: status, Durability: &Result{Requested: c.Marker.Level, Applied: None}}
}

// strongest is the level to name as the best there is.
func strongest(offered Level) Level {
	if offered.Recognised() {
		return offered
	}
	return None
}
