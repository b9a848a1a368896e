// Package child runs a test binary again, as processes of their own that a test stops, freezes and kills.
package child

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// env holds the plan of a child process as JSON.
const env = "AMENDS_CHILD"

// patience bounds the wait for the end of a process that surely ends, on a slow machine too.
const patience = 3 * time.Minute

// Main does what a child process is for, and returns its exit code; is is false in the process of the tests. A TestMain
// begins with it. The context ends when the parent asks the child to stop, or is gone.
func Main[P any](do func(context.Context, P) error) (code int, is bool) {
	text, is := os.LookupEnv(env)
	if !is {
		return 0, false
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // the parent closes it, or is gone
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var plan P
	err := json.Unmarshal([]byte(text), &plan)
	if err == nil {
		err = do(ctx, plan)
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

// Process is a running child process. Its methods are for the goroutine of its test.
type Process struct {
	// Log is what it writes to its standard output and error.
	Log *Log

	t       testing.TB
	command *exec.Cmd
	stdin   io.Closer
	ended   chan struct{}
	err     error
}

// Start starts a child with that plan, a value that JSON keeps whole. It is killed when the test ends, and its log shows
// under that name where the test has failed.
func Start(t testing.TB, name string, plan any) *Process {
	t.Helper()
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{t: t, Log: NewLog(t, name), command: exec.Command(os.Args[0]), ended: make(chan struct{})}
	p.command.Env = append(os.Environ(), env+"="+string(text))
	p.command.Stdout, p.command.Stderr = p.Log, p.Log
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.command.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.Kill)
	return p
}

// ID is the number that the system knows the process by.
func (p *Process) ID() int { return p.command.Process.Pid }

// Signal sends the process a signal.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	if err := p.command.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// Strike kills the process at once, wherever it is, and waits for nothing, so that several fall to one blow.
func (p *Process) Strike() { _ = p.command.Process.Kill() } // it may have ended by itself

// Kill ends the process at once, wherever it is, and waits for its end.
func (p *Process) Kill() {
	p.Strike()
	<-p.ended
}

// Stop asks the process to end and requires that it does so cleanly.
func (p *Process) Stop() {
	p.t.Helper()
	_ = p.stdin.Close()
	p.Finish()
}

// Finish waits for a process that ends by itself, cleanly.
func (p *Process) Finish() {
	p.t.Helper()
	if err := p.Await(); err != nil {
		p.t.Fatalf("child process: %v\n%s", err, p.Log)
	}
}

// Await waits until the process has ended, and returns how: nil, or an *exec.ExitError.
func (p *Process) Await() error {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("child process did not end in %v", patience)
	}
	return p.err
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}
