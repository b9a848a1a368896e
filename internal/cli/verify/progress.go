package verify

import (
	"fmt"
	"io"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
)

// The values of --progress.
const (
	progressAuto  = "auto"
	progressPlain = "plain"
	progressOff   = "off"
)

// progress writes to stderr what a verification is doing: on a terminal one line that is redrawn for each phase, plain
// lines where asked. It is used by one goroutine. Progress that cannot be shown changes no verdict.
type progress struct {
	out io.Writer
	tty bool
	// phase is the one on the line now.
	phase boundary.Phase
}

// newProgress returns the progress of one run; one that writes nothing where none is wanted. Under -o json stderr holds
// an error or nothing.
func newProgress(a *app.App, f *flags) *progress {
	plain := f.verbose || f.progress == progressPlain
	switch {
	case f.format == report.FormatJSON || f.progress == progressOff:
	case plain:
		return &progress{out: a.Stderr}
	case a.StderrTTY:
		return &progress{out: a.Stderr, tty: true}
	}
	return &progress{out: io.Discard}
}

// event shows one step of a run.
func (p *progress) event(e verify.Event) {
	line := fmt.Sprintf("%6.1fs %s", e.Elapsed.Seconds(), e.Phase)
	if e.Detail != "" {
		line += ": " + e.Detail
	}
	if !p.tty {
		_, _ = fmt.Fprintln(p.out, line)
		return
	}
	if p.phase != "" && p.phase != e.Phase {
		_, _ = fmt.Fprintln(p.out) // the phase before stays on its line
	}
	p.phase = e.Phase
	_, _ = fmt.Fprintf(p.out, "\r\033[K%s", line)
}

// note shows a line that stays.
func (p *progress) note(text string) {
	if p.tty && p.phase != "" {
		_, _ = fmt.Fprintln(p.out)
	}
	_, _ = fmt.Fprintln(p.out, text)
}

// end leaves the terminal at the beginning of a line.
func (p *progress) end() {
	if p.tty && p.phase != "" {
		_, _ = fmt.Fprintln(p.out)
	}
}
