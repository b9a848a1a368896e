package server

import (
	"net/http"
	"sync"
)

// DefaultMaxWaits bounds the answers that are held back at one time, where Options say nothing. Each asks the database
// about twice a second.
const DefaultMaxWaits = 1000

// waits bounds the answers that are held back until the worker has decided: all of them, and those of one author to half as
// many, so that nobody takes them all. Safe for concurrent use.
type waits struct {
	most int

	mu      sync.Mutex
	held    int
	authors map[string]int
}

func newWaits(most int) *waits {
	if most <= 0 {
		most = DefaultMaxWaits
	}
	return &waits{most: most, authors: map[string]int{}}
}

// enter takes a place, which leave gives back. Where there is none it returns the status of the refusal: 429 for an author
// who has too many, 503 where all are taken.
func (w *waits) enter(author string) (refusal int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.authors[author] >= w.ofAuthor():
		return http.StatusTooManyRequests
	case w.held >= w.most:
		return http.StatusServiceUnavailable
	}
	w.held++
	w.authors[author]++
	return 0
}

func (w *waits) leave(author string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held--
	if w.authors[author]--; w.authors[author] == 0 {
		delete(w.authors, author)
	}
}

// ofAuthor is how many one author may have.
func (w *waits) ofAuthor() int { return max(1, w.most/2) }

// now is how many are held back.
func (w *waits) now() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held
}
