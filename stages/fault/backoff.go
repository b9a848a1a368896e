package fault

import "time"

// Policy is a bounded backoff followed by slow probing (S9, R36). Attempts are bounded, trying is not: a component that
// has used its attempts up is stalled, shows it, and probes at a fixed interval until it gets through.
type Policy struct {
	// First is the delay after the first failure; each further failure doubles it, up to Max.
	First, Max time.Duration
	// Attempts is the number of failures after which the component is stalled.
	Attempts int
	// Probe is the fixed interval between tries while stalled.
	Probe time.Duration
}

// DefaultPolicy is stalled after about twenty seconds and then probes every fifteen.
var DefaultPolicy = Policy{First: 50 * time.Millisecond, Max: 5 * time.Second, Attempts: 10, Probe: 15 * time.Second}

// Stall is the visible state of a component that waits before its next try, or has stopped.
type Stall struct {
	// Reason is the last error, one line.
	Reason string `json:"reason"`
	// Since is when the first of the failures in a row happened; zero where that is not known.
	Since time.Time `json:"since,omitzero"`
	// Attempts counts the failures in a row; 0 where somebody else found out why it does not move.
	Attempts int `json:"attempts"`
	// NextTry is when the component tries again; zero where it never does so by itself.
	NextTry time.Time `json:"nextTry,omitzero"`
	// Process names who said so, where a status was put together elsewhere.
	Process string `json:"process,omitempty"`
}

// Failed returns the state after one more failure at now; previous is nil after a success. random returns a number in
// [0, n) and spreads retries over the upper half of each delay, so that many components do not return at once.
func (p Policy) Failed(previous *Stall, reason string, now time.Time, random func(n int64) int64) *Stall {
	next := &Stall{Reason: reason, Since: now, Attempts: 1}
	if previous != nil {
		next.Since, next.Attempts = previous.Since, previous.Attempts+1
	}
	next.NextTry = now.Add(p.delay(next.Attempts, random))
	return next
}

// Lasting returns the state after a failure that retrying soon cannot cure, such as a recreated topic: stalled at once.
// It may follow itself: previous gives Since and the count.
func (p Policy) Lasting(previous *Stall, reason string, now time.Time) *Stall {
	next := &Stall{Reason: reason, Since: now, Attempts: p.Attempts, NextTry: now.Add(p.Probe)}
	if previous != nil {
		next.Since, next.Attempts = previous.Since, max(p.Attempts, previous.Attempts+1)
	}
	return next
}

// Stalled tells whether the attempts are used up.
func (p Policy) Stalled(s *Stall) bool { return s != nil && s.Attempts >= p.Attempts }

func (p Policy) delay(attempts int, random func(n int64) int64) time.Duration {
	if attempts >= p.Attempts {
		return p.Probe
	}
	delay := p.First
	for range attempts - 1 {
		if delay >= p.Max/2 {
			delay = p.Max
			break
		}
		delay *= 2
	}
	half := delay / 2
	if half <= 0 {
		return delay
	}
	return delay - half + time.Duration(random(int64(half)+1))
}
