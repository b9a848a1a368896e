package submit

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/submission"
)

// clientOf is a client of a server that counts how long it slept.
func clientOf(server *httptest.Server, slept *time.Duration) *submission.Client {
	return &submission.Client{URL: server.URL, Namespace: "shop", HTTP: server.Client(), Sleep: func(ctx context.Context, d time.Duration) error {
		*slept += d
		return ctx.Err()
	}}
}

// TestIntakeThatIsNotThere: before anything was sent, an intake that does not answer is waited for half a minute, or as
// often as --attempts says; the wait is told, and then the line says what to do. Whatever it answers, it is there.
func TestIntakeThatIsNotThere(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	slept, told := time.Duration(0), &bytes.Buffer{}
	client, o := clientOf(server, &slept), &options{app: &app.App{Stderr: told}}
	if err := o.reach(t.Context(), client); err != nil || slept != 0 || told.Len() != 0 {
		t.Fatalf("a server that answers: %v after %v, %q", err, slept, told)
	}
	server.Close()
	for attempts, want := range map[int]time.Duration{0: 30 * time.Second, 2: time.Second, 99: 30 * time.Second} {
		slept, o.attempts = 0, attempts
		told.Reset()
		err := o.reach(t.Context(), client)
		if err == nil || !strings.Contains(err.Error(), "nothing was sent: the intake does not answer: ") || !strings.Contains(err.Error(), "amendsctl run intake") || slept != want {
			t.Errorf("a server that is gone, %d attempts: %v after %v", attempts, err, slept)
		}
		if !strings.HasPrefix(told.String(), "waiting for "+server.URL+": ") || strings.Count(told.String(), "\n") != 1 {
			t.Errorf("told %q", told)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	client.Sleep = func(context.Context, time.Duration) error {
		cancel()
		return ctx.Err()
	}
	if err := o.reach(ctx, client); err == nil || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("an interrupted wait names its cause: %v", err)
	}
}

// TestCertificatesAreNotWaitedFor: what only another command line mends is told at once.
func TestCertificatesAreNotWaitedFor(t *testing.T) {
	quiet := log.New(io.Discard, "", 0)
	answers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	secure, plain := httptest.NewUnstartedServer(answers), httptest.NewServer(answers)
	secure.Config.ErrorLog, plain.Config.ErrorLog = quiet, quiet
	secure.StartTLS()
	defer secure.Close()
	defer plain.Close()
	slept, told := time.Duration(0), &bytes.Buffer{}
	o := &options{app: &app.App{Stderr: told}}
	if err := o.reach(t.Context(), clientOf(secure, &slept)); err != nil {
		t.Fatalf("a trusted server: %v", err)
	}
	untrusting := clientOf(secure, &slept)
	untrusting.HTTP = plain.Client()
	mistaken := clientOf(plain, &slept)
	mistaken.URL = strings.Replace(plain.URL, "http:", "https:", 1)
	for name, client := range map[string]*submission.Client{"untrusted": untrusting, "plain text": mistaken} {
		err := o.reach(t.Context(), client)
		if err == nil || !strings.Contains(err.Error(), "nothing was sent: ") || !strings.Contains(err.Error(), "--ca") || slept != 0 || told.Len() != 0 {
			t.Errorf("%s: %v after %v, told %q", name, err, slept, told)
		}
	}
}

// answering submits three lines, the last one not JSON, to a server that answers every submission so, and returns the
// summary and how the run ended.
func answering(t *testing.T, level string, status int, body string) (string, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	var out bytes.Buffer
	o := &options{
		app:     &app.App{Stdin: strings.NewReader("{}\n{}\nnone\n"), Stdout: &out, Stderr: io.Discard, Now: time.Now},
		records: "-", level: level, parallel: 1,
	}
	slept := time.Duration(0)
	return out.String(), o.run(t.Context(), clientOf(server, &slept))
}

// TestHowARunEnds: a line that is not JSON is an error of the data, what is refused to everybody advises no second run,
// and no second run is advised where it would send twice.
func TestHowARunEnds(t *testing.T) {
	const again = "run it again to go on"
	for name, c := range map[string]struct {
		level  string
		status int
		body   string
		want   []string
		not    string
	}{
		"kept":     {"stored", 200, `{"durability":{"requested":"stored","applied":"stored","committed":"stored"}}`, []string{"stdin:3: not JSON", again}, "second time if"},
		"not kept": {"none", 200, `{"durability":{"requested":"none","applied":"none","committed":"none"}}`, []string{"stdin:3: not JSON", "sent a second time if"}, again},
		"unknown":  {"stored", 404, `{"error":"unknown_namespace","detail":"this intake serves shop"}`, []string{"line 1: unknown_namespace: this intake serves shop; set -n"}, again},
		"stranger": {"stored", 401, `{"error":"unauthenticated","detail":"no valid token"}`, []string{"line 1: unauthenticated: no valid token; set --token-file"}, again},
	} {
		_, err := answering(t, c.level, c.status, c.body)
		if exit.Of(err) != exit.Error {
			t.Errorf("%s: exit code %d: %v", name, exit.Of(err), err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v lacks %q", name, err, want)
			}
		}
		if strings.Contains(err.Error(), c.not) {
			t.Errorf("%s: %v says %q", name, err, c.not)
		}
	}
}
