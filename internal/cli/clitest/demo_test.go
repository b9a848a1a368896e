package clitest

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"amends.dev/amends/internal/pgserver"
)

// demoWorld is a folder for demos, and the demo's own servers.
func demoWorld(t *testing.T) *world {
	t.Helper()
	if _, err := pgserver.Find(); err != nil {
		if strings.Contains(os.Getenv("AMENDS_TEST_REQUIRE"), "postgres") {
			t.Fatal(err)
		}
		t.Skipf("needs Postgres: %v", err)
	}
	return &world{t: t, dir: t.TempDir()}
}

// demoPasses expects a demo to pass on a folder, whatever happened there before.
func (w *world) demoPasses(args ...string) {
	w.t.Helper()
	if o := w.must(append([]string{"demo", "--data", "demo"}, args...)...); !strings.HasPrefix(o.stdout, "PASS") {
		w.t.Errorf("demo: %s", o.stdout)
	}
}

// TestDemoInterrupted: Ctrl-C in the middle of the history ends the demo with its code and says what is kept; killed, it
// says nothing and keeps as much. The next demo passes on what is there.
func TestDemoInterrupted(t *testing.T) {
	t.Parallel()
	w := demoWorld(t)
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGKILL: -1} {
		args := []string{"demo", "--data", "demo", "--records", "500000", "--reset"}
		p := w.start(args...)
		p.says("published 1", 0)
		o := p.stop(signal, code)
		line, err := o.errorLine(args)
		folder := filepath.Join(w.dir, "demo")
		if code > 0 && (err != nil || !strings.HasPrefix(line, "interrupted: published ") ||
			!strings.HasSuffix(line, "what was published is kept in "+folder+": the next demo goes on from there, --reset starts anew")) {
			t.Errorf("%v: %v: %s", signal, err, o.stderr)
		}
		w.demoPasses()
	}
}

// TestSecondDemo: a folder belongs to one demo at a time, also for --reset, and --reset takes no folder but a demo's.
func TestSecondDemo(t *testing.T) {
	t.Parallel()
	w := demoWorld(t)
	running := w.keepsRunning("--records", "50")
	held := `^another demo is running on ` + w.dir + `/demo; stop it, or name another folder with --data$`
	w.fails(5, held, "demo", "--data", "demo")
	w.fails(5, held, "demo", "--data", "demo", "--reset")
	running.process.stop(syscall.SIGINT, 0) // it had reached its verdict
	w.demoPasses()

	foreign := filepath.Join(w.dir, "foreign")
	file := filepath.Join(foreign, "thesis.txt")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("dear reader"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.fails(5, `is not empty and not a folder of the demo; name another with --data$`, "demo", "--data", "foreign")
	w.fails(5, `is not a folder of the demo .*; remove it yourself, or name another with --data$`, "demo", "--data", "foreign", "--reset")
	w.fails(1, `not a directory; name another with --data$`, "demo", "--data", "foreign/thesis.txt")
	if text, err := os.ReadFile(file); err != nil || string(text) != "dear reader" {
		t.Errorf("the foreign file: %q, %v", text, err)
	}
	entries, err := os.ReadDir(foreign)
	if err != nil || len(entries) != 1 {
		t.Errorf("the foreign folder has %v, %v", entries, err)
	}
}

// TestDemoPortsInUse: each says which flag chooses another, and the folder serves the next demo.
func TestDemoPortsInUse(t *testing.T) {
	t.Parallel()
	w := demoWorld(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	port := strconv.Itoa(portOf(t, taken.Addr().String()))
	for _, flag := range []string{"--broker-port", "--postgres-port"} {
		w.fails(1, port+`: .*address already in use; choose another with `+flag+`, or 0 for a free one$`, "demo", "--data", "demo", flag, port)
		for _, bad := range []string{"-1", "65536"} {
			w.fails(2, `^`+flag+` `+bad+`: want 1 to 65535, or 0 for a free one`, "demo", "--data", "demo", flag, bad)
		}
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	w.demoPasses("--records", "50", "--broker-port", port)
	w.demoPasses("--postgres-port", port)
}

// TestDemoWithoutPath: where PATH leads to no Postgres the demo finds one in the usual places or says how to get one.
func TestDemoWithoutPath(t *testing.T) {
	t.Parallel()
	w := demoWorld(t).with("PATH=" + t.TempDir())
	args := []string{"demo", "--data", "demo", "--records", "50"}
	o := w.ctl(args...)
	if o.code == 0 && strings.HasPrefix(o.stdout, "PASS") {
		return
	}
	if line, err := o.errorLine(args); o.code != 1 || err != nil || !strings.Contains(line, "apt-get install postgresql") || !strings.Contains(line, "--download-postgres") {
		t.Errorf("exit code %d, %v: %s", o.code, err, o.stderr)
	}
}

// runningDemo is a demo that keeps running, and how to reach its servers.
type runningDemo struct {
	process   *process
	variables []string
}

// keepsRunning starts a demo that keeps running.
func (w *world) keepsRunning(args ...string) runningDemo {
	w.t.Helper()
	p := w.start(append([]string{"demo", "--data", "demo", "--keep-running"}, args...)...)
	p.await("runs", func() bool { return strings.Contains(p.stdout.String(), "In a clone") })
	text, err := os.ReadFile(filepath.Join(w.dir, "demo", "env"))
	if err != nil {
		w.t.Fatal(err)
	}
	d := runningDemo{process: p}
	for _, m := range regexp.MustCompile(`(?m)^export (\w+)='(.*)'$`).FindAllStringSubmatch(string(text), -1) {
		d.variables = append(d.variables, m[1]+"="+m[2])
	}
	return d
}
