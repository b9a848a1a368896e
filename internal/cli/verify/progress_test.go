package verify

import (
	"bytes"
	"testing"
	"time"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
)

// TestProgress: one line for each phase, redrawn on a terminal; lines where asked; never under JSON.
func TestProgress(t *testing.T) {
	events := []verify.Event{
		{Phase: boundary.PhaseWriter}, {Phase: boundary.PhaseScan, Elapsed: time.Second},
		{Phase: boundary.PhaseScan, Elapsed: 2 * time.Second, Detail: "100000 records read"}, {Phase: boundary.PhaseCompare, Elapsed: 3 * time.Second},
	}
	lines := "   0.0s writer\n   1.0s scan\n   2.0s scan: 100000 records read\n   3.0s compare\n"
	for _, c := range []struct {
		name  string
		tty   bool
		flags flags
		want  string
	}{
		{"a terminal", true, flags{progress: progressAuto},
			"\r\033[K   0.0s writer\n\r\033[K   1.0s scan\r\033[K   2.0s scan: 100000 records read\n\r\033[K   3.0s compare\n"},
		{"no terminal", false, flags{progress: progressAuto}, ""},
		{"plain", false, flags{progress: progressPlain}, lines},
		{"plain on a terminal", true, flags{progress: progressPlain}, lines},
		{"verbose", false, flags{progress: progressAuto, verbose: true}, lines},
		{"off", true, flags{progress: progressOff}, ""},
		{"JSON on a terminal", true, flags{progress: progressAuto, format: report.FormatJSON}, ""},
		{"JSON and plain", true, flags{progress: progressPlain, format: report.FormatJSON}, ""},
	} {
		var out bytes.Buffer
		p := newProgress(&app.App{Stderr: &out, StderrTTY: c.tty}, &c.flags)
		for _, e := range events {
			p.event(e)
		}
		p.end()
		if out.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, out.String(), c.want)
		}
	}
}
