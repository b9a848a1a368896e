package progress

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"amends.dev/amends/internal/cli/app"
)

// every is the time between two looks at the counter.
const every = 200 * time.Millisecond

// Line is one line that is written again and again: phase, records, records a second, and the time that is left where the
// total is exact. A nil Line shows nothing. It is safe for concurrent use.
type Line struct {
	out  io.Writer
	now  func() time.Time
	rows atomic.Int64
	stop chan struct{}
	done sync.WaitGroup
	mu   sync.Mutex
	name string
	// total is that of the phase, 0 where it is not exact.
	total int64
	began time.Time
}

// Start begins a line on stderr, or returns nil where that is no terminal. Stop ends it.
func Start(a *app.App) *Line {
	if !a.StderrTTY {
		return nil
	}
	l := newLine(a.Stderr, a.Now)
	l.done.Go(func() {
		ticks := time.NewTicker(every)
		defer ticks.Stop()
		for {
			select {
			case <-l.stop:
				return
			case <-ticks.C:
				l.show()
			}
		}
	})
	return l
}

// newLine is a line that shows itself when it is told to.
func newLine(out io.Writer, now func() time.Time) *Line {
	return &Line{out: out, now: now, stop: make(chan struct{})}
}

// Phase begins a phase over as many records as the total says, 0 where nobody knows exactly.
func (l *Line) Phase(name string, total int64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name, l.total, l.began = name, total, l.now()
	l.rows.Store(0)
}

// Add counts records.
func (l *Line) Add(rows int) {
	if l != nil {
		l.rows.Add(int64(rows))
	}
}

// Stop ends the line and clears it, so that what follows begins on an empty one.
func (l *Line) Stop() {
	if l == nil {
		return
	}
	close(l.stop)
	l.done.Wait()
	_, _ = io.WriteString(l.out, "\r\x1b[K") // a terminal that is gone needs no clearing
}

// show writes the line.
func (l *Line) show() {
	l.mu.Lock()
	text := l.text()
	l.mu.Unlock()
	_, _ = io.WriteString(l.out, "\r\x1b[K"+text) // progress is no result
}

// text is what the line says.
func (l *Line) text() string {
	passed, rows := l.now().Sub(l.began), l.rows.Load()
	if l.total == 0 && rows == 0 || passed <= 0 {
		return l.name
	}
	text := fmt.Sprintf("%s: %d records", l.name, rows)
	if l.total > 0 {
		text += fmt.Sprintf(" of %d", l.total)
	}
	text += fmt.Sprintf(", %.0f records/s", float64(rows)/passed.Seconds())
	if rows > 0 && l.total > rows {
		left := time.Duration(float64(passed) / float64(rows) * float64(l.total-rows))
		text += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return text
}
