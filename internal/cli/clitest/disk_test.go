package clitest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// full is a device on which every write fails as on a full disk.
const full = "/dev/full"

// needsFull skips on systems without the device.
func needsFull(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(full); err != nil {
		t.Skipf("needs a device that is always full: %v", err)
	}
}

// TestAnswerCannotBeWritten: a full disk under stdout is an error of each verb, and what the verb did stays done.
func TestAnswerCannotBeWritten(t *testing.T) {
	needsFull(t)
	t.Parallel()
	w := emptyWorld(t)
	silenced := func(args ...string) {
		t.Helper()
		p := prepare(t, w.dir, w.env, args...)
		out, err := os.OpenFile(full, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = out.Close() }()
		p.cmd.Stdout = out
		p.run()
		o := p.wait()
		if line, err := o.errorLine(args); o.code != 1 || err != nil || !strings.Contains(line, "no space left on device") {
			t.Errorf("amendsctl %s: exit code %d, %v: %s", strings.Join(args, " "), o.code, err, o.stderr)
		}
	}
	silenced("apply", "--yes", "shop.yaml")
	w.must("apply", "--yes", "shop.yaml")
	w.proves("shop", 1)
	for _, args := range [][]string{serverVerbs[1], serverVerbs[3], serverVerbs[4], serverVerbs[5]} {
		silenced(args...)
		silenced(append(append([]string{}, args...), "-o", "json")...)
	}
	w.proves("shop", 2)
	silenced("verify", "--quiesce")
	silenced("verify", "--quiesce", "-o", "json")
	w.must("export", "--out", "dump")
}

// TestDemoFilesCannotBeWritten: full disk under a file that the demo leaves: one line that names it; the log of the
// stages is no reason to stop.
func TestDemoFilesCannotBeWritten(t *testing.T) {
	needsFull(t)
	t.Parallel()
	w := demoWorld(t)
	w.demoPasses("--records", "50")
	for _, name := range []string{"report.json", "report.html", "env"} {
		path := filepath.Join(w.dir, "demo", name)
		redirect(t, path)
		w.fails(1, path+`: no space left on device`, "demo", "--data", "demo")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	redirect(t, filepath.Join(w.dir, "demo", "stages.log"))
	w.demoPasses()
}

// redirect makes a path lead to the full device.
func redirect(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.Remove(path), os.Symlink(full, path)); err != nil {
		t.Fatal(err)
	}
}
