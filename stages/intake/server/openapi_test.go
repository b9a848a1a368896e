package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/schemas"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/intake/intaketest"
)

// TestOpenAPI: every documented status of every documented route is given, and fits its schema; do holds each answer to
// it. The document is what is served.
func TestOpenAPI(t *testing.T) {
	a, err := theAPI()
	if err != nil {
		t.Fatal(err)
	}
	a.mu.Lock()
	clear(a.seen)
	a.mu.Unlock()
	now := time.Unix(0, 0)
	s := newSite(t, func(o *Options, _ *intake.Options) {
		withTokens(t, o)
		o.MaxBody, o.Rate, o.Now = 2000, 5, func() time.Time { return now }
	})
	anna, ben := []string{"Authorization", "Bearer t-anna"}, []string{"Authorization", "Bearer t-ben"}
	s.post(submission("a", asking("stored", true)), anna...)                                                          // 200
	s.post(submission("b", asking("published", true)+`,"wait":"10s","deliver_to":"`+intaketest.Results+`"`), anna...) // 202
	s.post(submission("a", asking("stored", true)), anna...)                                                          // 409
	s.post(submission("c", asking("more", true)), anna...)                                                            // 412
	s.post(`{"request_id":"c","transaction":1}`, anna...)                                                             // 422
	s.post(submission("c", ""), anna...)                                                                              // 429
	s.post(``, ben...)                                                                                                // 400
	s.post(submission("c", ""))                                                                                       // 401
	s.post(submission("c", `,"x":"`+strings.Repeat("x", 3000)+`"`), ben...)                                           // 413
	s.do("POST", "/v1/namespaces/other/transactions", submission("c", ""), ben...)                                    // 404
	s.post(`{"request_id":"q","transaction":7,"validate":false,"wait":"10s"}`, ben...)                                // 200, quarantined
	intaketest.Eventually(t, "the delivery", func() bool { return len(s.world.Target.All()) == 1 })
	if entry := s.do("GET", handleOf("b")+"?wait=10s", "", anna...); entry.body["delivered"] != true {
		t.Errorf("%s", entry.text)
	}
	s.do("GET", handleOf("b")+"?wait=x", "", anna...)
	s.do("GET", handleOf("b"), "")
	s.do("GET", handleOf("b"), "", ben...)
	if levels := s.do("GET", "/v1/durability", "").text; levels != `{"levels":[{"level":"none","zones":[]},{"level":"stored","zones":["same-host"]},{"level":"published","zones":["same-network"]}]}`+"\n" {
		t.Errorf("%s", levels)
	}
	served := s.do("GET", "/v1/openapi.json", "").text
	if text, err := schemas.Read("openapi.json"); err != nil || served != string(text) {
		t.Errorf("what is served is not the document: %v", err)
	}
	s.do("GET", "/livez", "")
	s.do("GET", "/readyz", "")
	if metrics := s.do("GET", "/metrics", "").text; !strings.Contains(metrics, `amends_intake_answers_total{status="409"} 1`) ||
		!strings.Contains(metrics, "amends_intake_kept_total 2\n") || !strings.Contains(metrics, "amends_intake_delivered_total 1\n") {
		t.Errorf("%s", metrics)
	}
	s.world.Offered.Store(durability.None)
	if levels := s.do("GET", "/v1/durability", "").text; levels != `{"levels":[{"level":"none","zones":[]}]}`+"\n" {
		t.Errorf("%s", levels)
	}
	s.world.Store.Down(true)
	s.do("GET", handleOf("b"), "", anna...) // 503
	s.world.Store.Down(false)
	for range 4 {
		s.do("GET", handleOf("b"), "", anna...) // 429 at last
	}
	s.world.Lease.Ask()
	intaketest.Eventually(t, "refusals", func() bool { return s.do("GET", "/readyz", "").status == 503 })
	s.post(submission("d", ""), ben...) // 503
	if a := s.do("GET", "/v2", ""); a.status != 404 || a.header.Get("Allow") != "" {
		t.Errorf("an unknown route is answered with %d", a.status)
	}
	for path, allowed := range map[string]string{"/v1/durability": "GET", handleOf("b"): "GET", "/v1/namespaces/shop/transactions": "POST"} {
		if a := s.do("DELETE", path, ""); a.status != 405 || a.header.Get("Allow") != allowed {
			t.Errorf("DELETE %s: %d, allowed is %q", path, a.status, a.header.Get("Allow"))
		}
	}
	for pattern, methods := range a.routes {
		for method, statuses := range methods {
			for status := range statuses {
				if key := fmt.Sprintf("%s %s %s", method, pattern, status); !a.seen[key] {
					t.Errorf("documented and never seen: %s", key)
				}
			}
		}
	}
}

// TestOpenAPICatches: the check of the answers refuses what is not documented.
func TestOpenAPICatches(t *testing.T) {
	const path = "/v1/namespaces/shop/transactions"
	good := answer{status: 200, text: `{"request_id":"a","durability":{"requested":"stored","applied":"none","reason":"no_durable_store"}}`}
	if err := documented("POST", path, good); err != nil {
		t.Fatalf("the undamaged twin: %v", err)
	}
	for name, bad := range map[string]answer{
		"status":           {status: 201, text: good.text},
		"unknown member":   {status: 200, text: `{"request_id":"a","more":1}`},
		"missing member":   {status: 200, text: `{}`},
		"promise in 200":   {status: 200, text: `{"request_id":"a","durability":{"requested":"a","applied":"none","committed":"published"}}`},
		"applied a name":   {status: 200, text: `{"request_id":"a","durability":{"requested":"a","applied":"fsync"}}`},
		"no handle":        {status: 200, text: `{"request_id":"a","durability":{"requested":"a","applied":"stored"}}`},
		"handle of none":   {status: 200, text: `{"request_id":"a","durability":{"requested":"a","applied":"none","handle":"/v1/namespaces/a/requests/b"}}`},
		"no max_available": {status: 412, text: `{"error":"unknown_level","durability":{"requested":"a","applied":"none","reason":"unknown_level"}}`},
		"no Retry-After":   {status: 503, text: `{"error":"unavailable"}`},
	} {
		if err := documented("POST", path, bad); err == nil {
			t.Errorf("%s: not found", name)
		}
	}
	if err := documented("GET", "/v1/elsewhere", answer{status: 200, text: `{}`}); err == nil {
		t.Error("an undocumented route was not found")
	}
}
