package server

import (
	"sync"
	"time"
)

// rates bounds the requests of each author: a bucket for each that holds a second's worth.
type rates struct {
	perSecond float64 // requests, not a quantity of the ledger
	now       func() time.Time

	mu      sync.Mutex
	buckets map[string]*bucket
}

// bucket is what an author may still send.
type bucket struct {
	left float64
	at   time.Time
}

func newRates(perSecond int, now func() time.Time) *rates {
	return &rates{perSecond: float64(perSecond), now: now, buckets: map[string]*bucket{}}
}

// allow takes one request from the author's bucket. Authors are authenticated, so their number is bounded.
func (r *rates) allow(author string) bool {
	if r.perSecond <= 0 {
		return true
	}
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[author]
	if b == nil {
		b = &bucket{left: r.perSecond, at: now}
		r.buckets[author] = b
	}
	b.left = min(r.perSecond, b.left+r.perSecond*now.Sub(b.at).Seconds())
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}
