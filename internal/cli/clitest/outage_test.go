package clitest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"amends.dev/amends/internal/pgserver"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
)

// get reads a path of an intake.
func get(t *testing.T, url string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(all)
}

// failing are the stages that metrics show as failing with a time since when.
func failing(metrics string) map[string]bool {
	stages := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^amends_intake_stalled_since_timestamp_seconds\{stage="([^"]+)"`).FindAllStringSubmatch(metrics, -1) {
		stages[line[1]] = true
	}
	return stages
}

// TestR36IntakeInADatabaseOutage: while the database is really gone, for longer than the writer lease lasts, log, readiness
// and metrics of an intake say that it fails and since when, and nothing says that it has recovered; when the database is
// back every task that failed says once that it works again, the intake is ready, and takes requests.
func TestR36IntakeInADatabaseOutage(t *testing.T) {
	t.Parallel()
	options := pgserver.Options{Dir: t.TempDir(), TCP: true}
	server := pg.Server(t, options)
	options.Port = server.Port() // the same after the restart
	w := worldOn(t, server.TCPURL("postgres"), strings.Join(kafkatest.Fake(t).Seeds, ","))
	w.must("apply", "--yes", "shop.yaml")
	intake, url := w.intake()
	w.must("submit", "-n", "shop", "--url", url, "--records", w.file("before.jsonl", transactions(3)), "--durability", "published")
	if status, text := get(t, url+"/readyz"); status != http.StatusOK {
		t.Fatalf("at first: %d %s", status, text)
	}
	if _, text := get(t, url+"/metrics"); len(failing(text)) != 0 || !strings.Contains(text, "\namends_intake_ready 1\n") {
		t.Fatalf("at first:\n%s", text)
	}
	said := len(intake.stderr.String())
	if err := server.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	gone := time.Now()
	var readiness struct{ Reason string }
	intake.await("is not ready", func() bool {
		status, text := get(t, url+"/readyz")
		return status == http.StatusServiceUnavailable && json.Unmarshal([]byte(text), &readiness) == nil
	})
	first := readiness.Reason
	if !strings.HasPrefix(first, "the database has not answered since 20") {
		t.Errorf("not ready: %s", first)
	}
	// Longer than the lease and the patience of what stands by.
	for time.Since(gone) < 24*time.Second {
		if status, text := get(t, url+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(text, first) {
			t.Fatalf("%v after the database went: %d %s, at first %s", time.Since(gone), status, text, first)
		}
		_, metrics := get(t, url+"/metrics")
		if stages := failing(metrics); time.Since(gone) > time.Second && (!stages["intake"] || !stages["intake-publish"]) {
			t.Fatalf("%v after the database went, failing are %v:\n%s", time.Since(gone), stages, metrics)
		}
		time.Sleep(100 * time.Millisecond)
	}
	during := intake.stderr.String()[said:]
	if strings.Contains(during, "again") || strings.Count(during, "stage=intake-publish") == 0 {
		t.Errorf("while the database was away the log said:\n%s", during)
	}
	pg.Server(t, options)
	intake.await("is ready", func() bool { status, _ := get(t, url+"/readyz"); return status == http.StatusOK })
	intake.await("has recovered", func() bool { _, text := get(t, url+"/metrics"); return len(failing(text)) == 0 })
	w.must("submit", "-n", "shop", "--url", url, "--records", w.file("after.jsonl", transactions(5)), "--durability", "published")
	after := intake.stderr.String()[said:]
	for _, stage := range []string{"intake", "intake-publish"} {
		if n := len(regexp.MustCompile(`(?m)msg="step succeeded again" namespace=shop stage=`+stage+` `).FindAllString(after, -1)); n != 1 {
			t.Errorf("%s says %d times that it works again:\n%s", stage, n, after)
		}
	}
	intake.stop(syscall.SIGTERM, 0)
}
