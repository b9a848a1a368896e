package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/stages/run"
)

// The least time between two updates, on a terminal and elsewhere.
const (
	redrawInterval = 100 * time.Millisecond
	lineInterval   = 2 * time.Second
)

// progress writes to stderr what the demo is doing: one line that is redrawn on a terminal, a few lines elsewhere. It
// is used by one goroutine.
type progress struct {
	out   io.Writer
	tty   bool
	now   func() time.Time
	next  time.Time
	drawn bool
}

func newProgress(a *app.App) *progress {
	return &progress{out: a.Stderr, tty: a.StderrTTY, now: a.Now}
}

// say writes one lasting line.
func (p *progress) say(format string, args ...any) {
	p.clear()
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}

// clear removes the redrawn line.
func (p *progress) clear() {
	if p.drawn {
		_, _ = fmt.Fprint(p.out, "\r\033[K")
		p.drawn = false
	}
}

// stages shows how far the history has come.
func (p *progress) stages(published, total int64, status []run.Status) {
	p.update(fmt.Sprintf("published %d of %d · %s", published, total, frontiers(status)))
}

// phase shows what the verification is doing.
func (p *progress) phase(phase, detail string, status []run.Status) {
	p.update(fmt.Sprintf("verify %s: %s · %s", phase, detail, frontiers(status)))
}

// update redraws the line, or now and then writes one.
func (p *progress) update(line string) {
	now := p.now()
	if now.Before(p.next) {
		return
	}
	if p.tty {
		p.next = now.Add(redrawInterval)
		_, _ = fmt.Fprintf(p.out, "\r\033[K%s", line)
		p.drawn = true
		return
	}
	p.next = now.Add(lineInterval)
	_, _ = fmt.Fprintln(p.out, line)
}

// frontiers are the sums of the stages' frontiers: positions of worker and view, sequences of the relay.
func frontiers(status []run.Status) string {
	var order []string
	sums := map[string]int64{}
	for _, s := range status {
		if _, ok := sums[s.Stage]; !ok {
			order = append(order, s.Stage)
		}
		sums[s.Stage] += s.Frontier
		if s.Stall != nil {
			order = append(order, fmt.Sprintf("%s partition %d stalled: %s", s.Stage, s.Partition, s.Stall.Reason))
		}
	}
	for i, stage := range order {
		if n, ok := sums[stage]; ok {
			order[i] = fmt.Sprintf("%s %d", stage, n)
		}
	}
	return strings.Join(order, " · ")
}
