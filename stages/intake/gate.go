package intake

import (
	"fmt"
	"sync"
	"time"

	"amends.dev/amends/stages/fault"
)

// gate says whether requests may be performed: only while the writer lease is held, trusted for another delivery, and not
// asked back (R22). Safe for concurrent use.
type gate struct {
	mu sync.Mutex
	// open is set while the lease is held and nobody asked for it.
	open bool
	// until is when trust in the lease ends, by the local clock; term is the lease's.
	until time.Time
	term  int64
	// inside counts the requests being performed.
	inside int
	// unsettled says that messages of a failed publication may still be on their way.
	unsettled bool
	// why says what closed the gate.
	why string
	// unpublished is how many requests were kept and not published, as counted last.
	unpublished int
	// heard says that the database was asked for the lease and answered, silent since when it has not.
	heard  bool
	silent time.Time
}

// answered notes whether the database answered the keeper at now.
func (g *gate) answered(ok bool, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case ok:
		g.heard, g.silent = true, time.Time{}
	case g.silent.IsZero():
		g.silent = now
	}
}

// unknown is why nobody knows who has the lease: an error that wraps fault.ErrUntried, nil where it is known.
func (g *gate) unknown() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.silent.IsZero():
		return fmt.Errorf("%w: %s", fault.ErrUntried, noAnswer(g.silent))
	case !g.heard:
		return fmt.Errorf("%w: the writer lease was not asked for yet", fault.ErrUntried)
	}
	return nil
}

// silence is since when the database has not answered the keeper; zero while it does.
func (g *gate) silence() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.silent
}

// noAnswer says since when the database does not answer.
func noAnswer(since time.Time) string {
	return "the database has not answered since " + since.UTC().Format(time.RFC3339)
}

// enter admits one request, which then leaves; false while the gate is closed.
func (g *gate) enter(now time.Time, delivery time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open || g.until.Sub(now) <= delivery {
		return false
	}
	g.inside++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
}

// trusted reports whether a publication that begins now ends within the lease.
func (g *gate) trusted(now time.Time, delivery time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.until.Sub(now) > delivery
}

// holding is the lease's term and what is left of it, 0 where it is not held.
func (g *gate) holding(now time.Time) (term int64, left time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if left = g.until.Sub(now); left <= 0 {
		return 0, 0
	}
	return g.term, left
}

// held notes that the lease of a term is this holder's until then.
func (g *gate) held(term int64, until time.Time, open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.term, g.until, g.open = term, until, open
	if open {
		g.why = ""
	}
}

// close refuses further requests; those inside go on.
func (g *gate) close(why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open, g.why = false, why
}

// lost closes the gate for those inside too: they may send nothing more.
func (g *gate) lost(why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open, g.until, g.why = false, time.Time{}, why
}

// settle notes how a direct publication ended.
func (g *gate) settle(all bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unsettled = !all
}

// counted notes how many kept requests are not published.
func (g *gate) counted(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unpublished = n
}

// backlog is how many kept requests are not published, as counted last.
func (g *gate) backlog() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.unpublished
}

// state is what shows of the gate.
func (g *gate) state() (open bool, inside int, unsettled bool, why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open, g.inside, g.unsettled, g.why
}
