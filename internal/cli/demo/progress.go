package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/pipeline"
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

// newProgress returns the progress of one demo. A quiet one writes nothing: under -o json stderr holds an error or
// nothing.
func newProgress(a *app.App, quiet bool) *progress {
	p := &progress{out: a.Stderr, tty: a.StderrTTY, now: a.Now}
	if quiet {
		p.out = io.Discard
	}
	return p
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
	if detail != "" {
		detail = ": " + detail
	}
	p.update(fmt.Sprintf("verifying (%s%s) · %s", phase, detail, frontiers(status)))
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

// frontiers are what each stage has done so far, over all its partitions: the worker's records, and the outputs that
// the relay has published and the view has applied. What stands still says why, the first of it.
func frontiers(status []run.Status) string {
	var stages, stalls []string
	done := map[string]int64{}
	for _, s := range status {
		if !slices.Contains(stages, s.Stage) {
			stages = append(stages, s.Stage)
		}
		if s.Stage == pipeline.Relay {
			s.Frontier = max(s.Frontier-1, 0) // outbox sequences begin at 1
		}
		done[s.Stage] += s.Frontier
		if s.Stall != nil {
			stalls = append(stalls, fmt.Sprintf("%s partition %d: %s", s.Stage, s.Partition, s.Stall.Reason))
		}
	}
	unit := map[string]string{pipeline.Worker: "records", pipeline.Relay: "outputs", pipeline.View: "outputs"}
	var parts []string
	for _, stage := range stages {
		parts = append(parts, fmt.Sprintf("%s %d %s", stage, done[stage], unit[stage]))
	}
	if len(stalls) > 0 {
		parts = append(parts, "stalled: "+first(stalls))
	}
	return strings.Join(parts, " · ")
}

// stallWidth is how many characters of a reason a line of progress shows.
const stallWidth = 200

// first is the first of some reasons, cut to the width of a line, and how many more there are.
func first(reasons []string) string {
	text := []rune(strings.Join(strings.Fields(reasons[0]), " "))
	if len(text) > stallWidth {
		text = append(text[:stallWidth-1], '…')
	}
	if more := len(reasons) - 1; more > 0 {
		return fmt.Sprintf("%s (and %d more)", string(text), more)
	}
	return string(text)
}
