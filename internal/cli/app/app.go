// Package app is what every verb of amendsctl receives: its streams, environment and clock, so that commands are
// tested without a process.
package app

import (
	"io"
	"time"
)

// App is the world as one invocation sees it. It is not changed after construction.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Getenv reads an environment variable.
	Getenv func(string) string
	// StdinTTY and StderrTTY say whether prompts and progress bars are possible.
	StdinTTY, StderrTTY bool
	// Now is the clock.
	Now func() time.Time
}
