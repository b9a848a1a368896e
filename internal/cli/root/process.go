package root

import (
	"os"
	"time"

	"golang.org/x/term"

	"amends.dev/amends/internal/cli/app"
)

// Process is the world of the running process: its standard streams, environment, terminals and wall clock. It is
// the only place where a verb's surroundings are taken from the operating system.
func Process() *app.App {
	return &app.App{
		Stdin:     os.Stdin,
		Stdout:    os.Stdout,
		Stderr:    os.Stderr,
		Getenv:    os.Getenv,
		StdinTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		StderrTTY: term.IsTerminal(int(os.Stderr.Fd())),
		Now:       time.Now,
	}
}
