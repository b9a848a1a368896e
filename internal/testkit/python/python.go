// Package python finds a Python interpreter for tests that read and write files with other tools.
package python

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Interpreter is the interpreter named in AMENDS_TEST_PYTHON, or python3, with the given modules. Without them the test is
// skipped and says so; where AMENDS_TEST_REQUIRE lists python it fails instead.
func Interpreter(t testing.TB, modules ...string) string {
	t.Helper()
	path := os.Getenv("AMENDS_TEST_PYTHON")
	if path == "" {
		path = "python3"
	}
	list := strings.Join(modules, ", ")
	err := exec.Command(path, "-c", "import "+list).Run()
	switch {
	case err == nil:
		return path
	case strings.Contains(os.Getenv("AMENDS_TEST_REQUIRE"), "python"):
		t.Fatalf("%s has no %s: %v", path, list, err)
	}
	t.Skipf("%s has no %s; name an interpreter that has in AMENDS_TEST_PYTHON: %v", path, list, err)
	return ""
}
