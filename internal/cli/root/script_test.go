package root

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/testkit/outputs"
)

// TestMain lets the scripts run amendsctl, and amendsctl-test which has further verbs that fail in each known way,
// as processes of this test binary.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"amendsctl": func() {
			a := Process()
			watch := outputs.Over(a.Stdout, os.Args[1:])
			a.Stdout = watch
			os.Exit(watch.Code(int(Main(a, os.Args[1:])), a.Stderr))
		},
		"amendsctl-test": func() {
			a := Process()
			os.Exit(int(execute(a, os.Args[1:], append(verbs(a), group{"Fail:", failures(a)}))))
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   exits,
			"signals": signals,
		},
	})
}

// exits runs a command and checks its exact exit code: exits CODE COMMAND ARGS...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitCode(ts.Exec(args[1], args[2:]...)); got != want {
		ts.Fatalf("%s exited with %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// signals starts a command, waits for the line "ready", sends the signal as often as given and checks the exit code:
// signals SIGNAL TIMES CODE COMMAND ARGS...
func signals(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: signals SIGNAL TIMES CODE COMMAND ARGS...")
	}
	signal := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM}[args[0]]
	times, err := strconv.Atoi(args[1])
	ts.Check(err)
	cmd := exec.Command(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], args[3]), args[4:]...)
	cmd.Dir = ts.MkAbs(".")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	lines := bufio.NewScanner(stdout)
	for range times {
		if !lines.Scan() {
			break
		}
		ts.Check(cmd.Process.Signal(signal))
	}
	for lines.Scan() {
		continue
	}
	if got := fmt.Sprint(exitCode(cmd.Wait())); got != args[2] {
		ts.Fatalf("exited with %s, want %s; stderr: %s", got, args[2], stderr.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs("stderr"), []byte(stderr.String()), 0o600))
}

// exitCode is the exit status behind err, 128 + the signal for a process that a signal ended, -1 for another error.
func exitCode(err error) int {
	var failed *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &failed):
		return -1
	}
	if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return failed.ExitCode()
}

// failures are verbs that end in each way a verb can.
func failures(a *app.App) []*cobra.Command {
	verb := func(name string, body func(ctx context.Context) error) *cobra.Command {
		return &cobra.Command{Use: name, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			return body(cmd.Context())
		}}
	}
	ready := func() { _, _ = fmt.Fprintln(a.Stdout, "ready") }
	nested := &cobra.Command{Use: "nested", Short: "Has a verb below it"}
	nested.AddCommand(verb("plain", func(context.Context) error { return errors.New("it broke") }))
	required := verb("required", func(context.Context) error { return nil })
	required.Flags().String("name", "", "a flag that must be given")
	if err := required.MarkFlagRequired("name"); err != nil {
		panic(err)
	}
	return []*cobra.Command{
		nested,
		required,
		verb("plain", func(context.Context) error { return errors.New("it broke") }),
		verb("several", func(context.Context) error { return errors.Join(errors.New("it broke"), errors.New("and so did that")) }),
		verb("manifest", func(context.Context) error {
			return exit.With(exit.ManifestInvalid, errors.New("m.yaml:1:1: one\nm.yaml:2:1: two"))
		}),
		verb("drift", func(context.Context) error { return exit.Quiet(exit.Drift) }),
		verb("badusage", func(context.Context) error { return exit.With(exit.Usage, errors.New("a and b exclude each other")) }),
		verb("panic", func(context.Context) error {
			return []error{}[len(a.Getenv("NO_SUCH_VARIABLE"))]
		}),
		verb("wait", func(ctx context.Context) error {
			ready()
			<-ctx.Done()
			return fmt.Errorf("wait for the end: %w", ctx.Err())
		}),
		verb("drain", func(ctx context.Context) error {
			ready()
			<-ctx.Done()
			return nil
		}),
		verb("verdict", func(ctx context.Context) error {
			ready()
			<-ctx.Done()
			return exit.Quiet(exit.Drift)
		}),
		verb("stuck", func(ctx context.Context) error {
			ready()
			<-ctx.Done()
			ready()
			select {}
		}),
	}
}
