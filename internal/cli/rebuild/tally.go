package rebuild

import (
	"fmt"
	"sync"
	"time"
)

// tally counts what a phase has done, for its progress. It is safe for concurrent use.
type tally struct {
	began      time.Time
	partitions int

	mu          sync.Mutex
	done        int
	sum         int64
	first, last time.Duration
}

func newTally(partitions int) *tally { return &tally{began: time.Now(), partitions: partitions} }

// add counts a partition, and says how far the phase is and how fast it was so far.
func (t *tally) add(n int64, what string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done++
	t.sum += n
	if t.last = time.Since(t.began); t.first == 0 {
		t.first = t.last
	}
	return fmt.Sprintf("%d %s; %d of %d partitions, %d %s, %.0f/s", n, what, t.done, t.partitions, t.sum, what, float64(t.sum)/t.last.Seconds())
}

// times are when the first partition was done and when the last, from the beginning; zero where none is.
func (t *tally) times() (first, last time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first, t.last
}
