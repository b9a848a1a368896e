// Package chromium runs a headless Chromium for tests of pages.
package chromium

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// RequireEnv is the variable that names the parts, comma separated, whose absence fails a test instead of skipping it;
// this one is called chromium.
const RequireEnv = "AMENDS_TEST_REQUIRE"

// PathEnv is the variable that names the browser's program where it is not on PATH.
const PathEnv = "CHROMIUM"

// loadTimeout bounds one run of the browser on a busy machine.
const loadTimeout = 2 * time.Minute

// result is where a probe leaves its answer in its own document.
var result = regexp.MustCompile(`(?s)<pre id="result">(.*?)</pre>`)

// Path is the browser's program. Where there is none the test is skipped, or fails if RequireEnv contains chromium.
func Path(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv(PathEnv), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	message := "needs Chromium on PATH, or its program named by " + PathEnv
	if strings.Contains(os.Getenv(RequireEnv), "chromium") {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}

// Probe shows a page in a frame of the given width, dark or light, runs the script, an expression of the frame's document
// called d, and stores what it gives as JSON in into. It returns what the console said, the page's own errors included.
func Probe(t testing.TB, page []byte, width int, dark bool, script string, into any) []string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page) // a page that did not arrive fails the probe
	})
	mux.HandleFunc("/probe", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<!DOCTYPE html><title>probe</title><link rel="icon" href="data:,"><body style="margin:0"><pre id="result"></pre>
<iframe src="/page" style="border:0;width:%dpx;height:900px"></iframe><script>
document.querySelector("iframe").onload = e => {
  const d = e.target.contentDocument;
  document.getElementById("result").textContent = JSON.stringify((%s));
};
</script>`, width, script)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	dom, console := run(t, server.URL+"/probe", dark)
	found := result.FindStringSubmatch(dom)
	if found == nil || found[1] == "" {
		t.Fatalf("the probe gave nothing; the console said %q", console)
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), into); err != nil {
		t.Fatalf("read what the probe gave: %v", err)
	}
	return console
}

// run loads a URL and returns its document as it then is, and the lines of its console.
func run(t testing.TB, url string, dark bool) (dom string, console []string) {
	t.Helper()
	scheme := "1"
	if dark {
		scheme = "0"
	}
	profile, err := os.MkdirTemp("", "amends-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	// A helper process may still write while it ends: what stays behind is no fault of the test.
	defer func() { _ = os.RemoveAll(profile) }()
	ctx, cancel := context.WithTimeout(t.Context(), loadTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, Path(t), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-extensions", "--enable-logging=stderr", "--user-data-dir="+profile,
		"--blink-settings=preferredColorScheme="+scheme, "--virtual-time-budget=10000", "--dump-dom", url)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 10 * time.Second // helpers hold the streams open
	if err := cmd.Run(); err != nil {
		t.Fatalf("run Chromium: %v\n%s", err, errs.String())
	}
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, "CONSOLE") {
			console = append(console, strings.TrimSpace(line))
		}
	}
	return out.String(), console
}
