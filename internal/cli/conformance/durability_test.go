package conformance_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"amends.dev/amends/internal/durabilityprobe"
	"amends.dev/amends/internal/exit"
)

// TestDurabilityOfAWrongServer: a server that says yes to everything fails, with exit code 1, in both formats; one that is
// not there is an error, and not a verdict.
func TestDurabilityOfAWrongServer(t *testing.T) {
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`)) // a client that is gone
	}))
	defer ts.Close()
	args := []string{"durability", "--url", ts.URL, "-n", "shop", "--patience", "100ms"}
	stdout, stderr, code := invoke(args...)
	if code != exit.Error || !strings.Contains(stdout, "no-silent-discard    FAIL") || !strings.Contains(stdout, "\nFAIL no-silent-discard: ") {
		t.Errorf("exit %d, %s\n%s", code, stderr, stdout)
	}
	stdout, stderr, code = invoke(append(args, "-o", "json")...)
	var report struct {
		Passed bool
		Checks []durabilityprobe.Outcome
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != exit.Error || report.Passed || len(report.Checks) != durabilityprobe.Count() {
		t.Errorf("exit %d, %v, %s\n%s", code, err, stderr, stdout)
	}
	ts.Close()
	if stdout, stderr, code = invoke(args...); code != exit.Error || stdout != "" {
		t.Errorf("nobody answers: exit %d, %s\n%s", code, stderr, stdout)
	}
	file := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code = invoke(append(args, "--transaction", file)...); code != exit.Usage {
		t.Errorf("a file that is not JSON: exit %d, %s", code, stderr)
	}
}
