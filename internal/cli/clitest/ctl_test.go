package clitest

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"amends.dev/amends/internal/cli/root"
	"amends.dev/amends/internal/testkit/child"
	"amends.dev/amends/internal/testkit/outputs"
)

// ctlVariable makes this test binary behave as amendsctl.
const ctlVariable = "AMENDS_TEST_CTL"

// patience bounds every wait of these tests.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(ctlVariable) != "" {
		a := root.Process()
		watch := outputs.Over(a.Stdout, os.Args[1:])
		a.Stdout = watch
		os.Exit(watch.Code(int(root.Main(a, os.Args[1:])), a.Stderr))
	}
	flag.Parse()
	// Most of these tests wait for other processes most of the time.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// process is one running amendsctl.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr *child.Log
	done           chan struct{}
	args           []string
}

// outcome is how one amendsctl ended. A process that a signal killed has code -1.
type outcome struct {
	code           int
	stdout, stderr string
}

// prepare makes an amendsctl with nothing of this process's environment but PATH, and env, of which the last counts.
func prepare(t *testing.T, dir string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0], args...), stdout: &child.Log{}, stderr: &child.Log{}, done: make(chan struct{}), args: args}
	p.cmd.Dir = dir
	p.cmd.Env = append([]string{ctlVariable + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir}, env...)
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	return p
}

// run starts what was prepared. It is killed at the end of the test, if it still runs.
func (p *process) run() {
	p.t.Helper()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // the outcome is read from the process's state
	}()
	p.t.Cleanup(func() { _ = p.cmd.Process.Kill(); <-p.done })
}

// start starts an amendsctl.
func start(t *testing.T, dir string, env []string, args ...string) *process {
	t.Helper()
	p := prepare(t, dir, env, args...)
	p.run()
	return p
}

// signal sends a signal.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("signal amendsctl %s: %v", strings.Join(p.args, " "), err)
	}
}

// wait returns how the process ended. One that does not end in time fails the test.
func (p *process) wait() outcome {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(longest()):
		p.t.Fatalf("amendsctl %s does not end; stdout: %s\nstderr: %s", strings.Join(p.args, " "), p.stdout, p.stderr)
	}
	return outcome{code: p.cmd.ProcessState.ExitCode(), stdout: p.stdout.String(), stderr: p.stderr.String()}
}

// stop ends a running process in order and checks the exit code.
func (p *process) stop(s syscall.Signal, want int) outcome {
	p.t.Helper()
	p.signal(s)
	o := p.wait()
	if o.code != want {
		p.t.Fatalf("amendsctl %s ended with %d after %v, want %d: %s", strings.Join(p.args, " "), o.code, s, want, o.stderr)
	}
	return o
}

// says waits until the process has written text to stderr, after the first skip bytes.
func (p *process) says(text string, skip int) {
	p.t.Helper()
	p.await("says "+text, func() bool {
		all := p.stderr.String()
		return strings.Contains(all[min(skip, len(all)):], text)
	})
}

// await polls until ok, while the process lives.
func (p *process) await(what string, ok func() bool) {
	p.t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		select {
		case <-p.done:
			if ok() {
				return
			}
			p.t.Fatalf("amendsctl %s ended with %d before it %s; stderr: %s", strings.Join(p.args, " "), p.cmd.ProcessState.ExitCode(), what, p.stderr)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("amendsctl %s: not in time: %s; stderr: %s", strings.Join(p.args, " "), what, p.stderr)
		}
	}
}

// errorLine is the one error of an outcome: the only line on stderr, or, of a verb with progress, the only one that is
// an error, and the last. Under -o json it is the error of the one object, which must carry the process's exit code.
func (o outcome) errorLine(args []string) (string, error) {
	if slices.Contains(args, "json") {
		var object struct {
			Error    string `json:"error"`
			ExitCode int    `json:"exitCode"`
		}
		decoder := json.NewDecoder(strings.NewReader(o.stderr))
		if err := decoder.Decode(&object); err != nil || decoder.More() || object.ExitCode != o.code {
			return "", errors.Join(err, errors.New("stderr is not one error object with the exit code: "+o.stderr))
		}
		return object.Error, singleLine(object.Error)
	}
	text := o.stderr
	if i := strings.LastIndex(text, "amendsctl: "); i > 0 && args[0] == "demo" {
		text = text[i:] // what comes before is progress
	}
	line, found := strings.CutPrefix(strings.TrimSuffix(text, "\n"), "amendsctl: ")
	if !found {
		return "", errors.New("no error line on stderr: " + o.stderr)
	}
	return line, singleLine(line)
}

func singleLine(line string) error {
	if line == "" || strings.Contains(line, "\n") {
		return errors.New("want one line, got: " + line)
	}
	return nil
}
