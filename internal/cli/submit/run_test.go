package submit

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/submission"
)

// TestIntakeThatIsNotThere: before anything was sent, an intake that does not answer is waited for half a minute, and then
// the line says what to do; whatever it answers, it is there.
func TestIntakeThatIsNotThere(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	slept := time.Duration(0)
	client := &submission.Client{URL: server.URL, Namespace: "shop", HTTP: server.Client(), Sleep: func(_ context.Context, d time.Duration) error {
		slept += d
		return nil
	}}
	if err := reach(t.Context(), client); err != nil || slept != 0 {
		t.Fatalf("a server that answers: %v after %v", err, slept)
	}
	server.Close()
	err := reach(t.Context(), client)
	if err == nil || !strings.Contains(err.Error(), "nothing was sent: the intake does not answer: ") || !strings.Contains(err.Error(), "amendsctl run intake") || slept != 30*time.Second {
		t.Errorf("a server that is gone: %v after %v", err, slept)
	}
}
