package durabilityprobe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/intake/intaketest"
	"amends.dev/amends/stages/intake/server"
)

// transaction is one that the test's namespace accepts.
const transaction = `{"txn_id":"t","stock_key":{"item":"widget","location":"berlin"},"revision":1,"kind":"NEW",` +
	`"valid_time":"2026-01-05T10:00:00Z","qty":5,"source_time":"2026-01-05T10:00:00Z"}`

// fault damages the exchange with a right server: it may change the request, and the answer.
type fault func(request, answer map[string]any, status int, serve func(request map[string]any) (map[string]any, int)) (map[string]any, int)

// damaged is a right server with a fault in front of it; nil has none.
func damaged(t *testing.T, offered durability.Level, f fault) string {
	t.Helper()
	w := intaketest.New()
	w.Offered.Store(offered)
	right := server.New(server.Options{
		Intake: w.Start(t, w.Options()), Namespace: "shop", Offered: w.Offer, Authors: server.Local{}, Now: time.Now,
	})
	front := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		serve := func(body []byte) (map[string]any, int) {
			inner := httptest.NewRequest(r.Method, r.URL.String(), bytes.NewReader(body))
			recorder := httptest.NewRecorder()
			right.ServeHTTP(recorder, inner)
			var answer map[string]any
			_ = json.Unmarshal(recorder.Body.Bytes(), &answer)
			return answer, recorder.Code
		}
		answer, status := serve(text)
		var request map[string]any
		if f != nil && (json.Unmarshal(text, &request) == nil || r.Method == http.MethodGet) {
			if r.Method == http.MethodGet {
				request = map[string]any{"GET": r.URL.Path}
			}
			answer, status = f(request, answer, status, func(request map[string]any) (map[string]any, int) {
				changed, _ := json.Marshal(request)
				return serve(changed)
			})
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(status)
		_ = json.NewEncoder(rw).Encode(answer)
	})
	ts := httptest.NewServer(front)
	t.Cleanup(ts.Close)
	return ts.URL
}

var runs struct {
	sync.Mutex
	count int
}

// ask runs the probe against a server and returns the outcomes by check.
func ask(t *testing.T, url string) map[string]Outcome {
	t.Helper()
	runs.Lock()
	runs.count++
	name := fmt.Sprint("run", runs.count)
	runs.Unlock()
	outcomes, err := Run(t.Context(), Options{
		URL: url, Namespace: "shop", Transaction: json.RawMessage(transaction), Levels: []string{"none", "stored", "published"},
		Run: name, HTTP: http.DefaultClient, Patience: 100 * time.Second,
		Sleep: func(ctx context.Context, d time.Duration) error { return intaketest.Clock().Sleep(ctx, d/10) },
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(outcomes) != Count() {
		t.Fatalf("%d outcomes of %d checks", len(outcomes), Count())
	}
	all := map[string]Outcome{}
	for _, out := range outcomes {
		all[out.ID] = out
	}
	return all
}

// TestRightServers: our intake passes every check, whatever its operator offers; what cannot be checked there says so.
func TestRightServers(t *testing.T) {
	for offered, notMade := range map[durability.Level]string{
		durability.Published: "must-have", durability.Stored: "committed-202", durability.None: "committed-202 applied-in-place handle duplicate prior-stands",
	} {
		for id, out := range ask(t, damaged(t, offered, nil)) {
			want := Passed
			if strings.Contains(" "+notMade+" ", " "+id+" ") {
				want = NotMade
			}
			if out.Result != want {
				t.Errorf("%s offered: %s is %s: %s", offered, id, out.Result, out.Found)
			}
		}
	}
}

// field is the durability field of an answer, for damaging.
func fieldOf(answer map[string]any) map[string]any {
	field, _ := answer["durability"].(map[string]any)
	if field == nil {
		return map[string]any{}
	}
	return field
}

// wanted is what a request asks for.
func wanted(request map[string]any) (level string, must, marked bool) {
	m, marked := request["durability_request"].(map[string]any)
	level, _ = m["level"].(string)
	must, _ = m["must_have"].(bool)
	return level, must, marked
}

// wrong are servers with one fault each, by the check that has to find it.
func wrong() map[string]fault {
	type object = map[string]any
	type serve = func(object) (object, int)
	const unknown = "no-such-level"
	var mu sync.Mutex
	first := map[string]object{}
	return map[string]fault{
		"no-silent-discard": func(_, a object, status int, _ serve) (object, int) {
			if status == 400 {
				delete(a, "durability")
			}
			return a, status
		},
		"shape": func(_, a object, status int, _ serve) (object, int) {
			if a["durability"] != nil {
				fieldOf(a)["certainty"] = "high"
			}
			return a, status
		},
		"echo": func(_, a object, status int, _ serve) (object, int) {
			if level, ok := fieldOf(a)["requested"].(string); ok {
				fieldOf(a)["requested"] = strings.ToLower(level)
			}
			return a, status
		},
		"applied-concrete": func(r, a object, status int, _ serve) (object, int) {
			if level, must, _ := wanted(r); strings.HasPrefix(level, unknown) && !must {
				fieldOf(a)["applied"] = level
			}
			return a, status
		},
		"applied-in-place": func(r, a object, status int, _ serve) (object, int) {
			if level, _, _ := wanted(r); level == "stored" && status == 200 {
				fieldOf(a)["applied"] = "published"
			}
			if r["GET"] != nil && a["level"] != nil {
				a["level"] = "stored"
			}
			return a, status
		},
		"committed-202": func(_, a object, status int, _ serve) (object, int) {
			if status == 202 {
				status = 200
			}
			return a, status
		},
		"best-effort": func(r, a object, status int, _ serve) (object, int) {
			if level, must, _ := wanted(r); strings.HasPrefix(level, unknown) && !must {
				return object{"error": "x", "durability": object{"requested": level, "applied": "none", "max_available": "published", "reason": "unknown_level"}}, 412
			}
			return a, status
		},
		"must-have": func(r, a object, status int, next serve) (object, int) { // refused, and performed all the same
			if level, must, _ := wanted(r); level == "published" && must && status == 412 {
				r["durability_request"] = object{"level": "stored"}
				next(r)
			}
			return a, status
		},
		"must-have-met": func(r, a object, status int, next serve) (object, int) {
			if level, must, _ := wanted(r); level == "published" && must && status == 412 {
				r["durability_request"] = object{"level": "published"}
				return next(r)
			}
			return a, status
		},
		"max-available": func(_, a object, status int, _ serve) (object, int) {
			if status == 412 {
				fieldOf(a)["max_available"] = "none"
			}
			return a, status
		},
		"unknown-required": func(r, a object, status int, next serve) (object, int) {
			if level, must, _ := wanted(r); strings.HasPrefix(level, unknown) && must {
				r["durability_request"] = object{"level": level}
				return next(r)
			}
			return a, status
		},
		"unknown-best-effort": func(r, a object, status int, next serve) (object, int) {
			if level, must, _ := wanted(r); strings.HasPrefix(level, unknown) && !must {
				r["durability_request"] = object{"level": "stored"}
				b, again := next(r)
				fieldOf(b)["requested"] = level
				if again == 409 { // the right server already performed the request, without keeping it
					return a, status
				}
				return b, again
			}
			return a, status
		},
		"handle": func(r, a object, status int, _ serve) (object, int) {
			if r["GET"] != nil && a["transaction"] != nil {
				return object{"error": "unknown_request"}, 404
			}
			return a, status
		},
		"duplicate": func(r, a object, status int, _ serve) (object, int) { // a cached verdict instead of 409
			id, _ := r["request_id"].(string)
			mu.Lock()
			defer mu.Unlock()
			if status == 409 && first[id] != nil {
				return first[id], 200
			}
			if fieldOf(a)["handle"] != nil {
				first[id] = a
			}
			return a, status
		},
		"prior-stands": func(r, a object, status int, _ serve) (object, int) {
			mu.Lock()
			defer mu.Unlock()
			path, _ := r["GET"].(string)
			id := path[strings.LastIndex(path, "/")+1:]
			if status == 409 {
				sent, _ := r["request_id"].(string)
				first["entry "+sent] = r
			}
			if other := first["entry "+id]; other != nil && a["transaction"] != nil {
				a["transaction"] = other["transaction"]
			}
			return a, status
		},
		"reasons": func(_, a object, status int, _ serve) (object, int) {
			if fieldOf(a)["reason"] == "unknown_level" {
				fieldOf(a)["reason"] = "level_unknown"
			}
			return a, status
		},
		"unmarked": func(r, a object, status int, _ serve) (object, int) {
			if _, _, marked := wanted(r); !marked && r["GET"] == nil {
				a["durability"] = object{"requested": "none", "applied": "none"}
			}
			return a, status
		},
		"advertisement": func(r, a object, status int, _ serve) (object, int) {
			if r["GET"] == "/v1/durability" {
				a["levels"] = []object{{"level": "none"}, {"level": "stored"}, {"level": "published"}}
			}
			return a, status
		},
	}
}

// TestWrongServers: each check fails on the server with its fault, whose undamaged twin passes it.
func TestWrongServers(t *testing.T) {
	t.Parallel()
	faults := wrong()
	if len(faults) != Count() {
		t.Errorf("%d wrong servers for %d checks", len(faults), Count())
	}
	for id, f := range faults {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			offered := durability.Published
			if id == "must-have" || id == "must-have-met" || id == "advertisement" || id == "max-available" {
				offered = durability.Stored
			}
			if out := ask(t, damaged(t, offered, nil))[id]; out.Result != Passed {
				t.Fatalf("undamaged twin: %s %s", out.Result, out.Found)
			}
			if out := ask(t, damaged(t, offered, f))[id]; out.Result != Failed || out.Found == "" {
				t.Errorf("%s: %s", out.Result, out.Found)
			}
		})
	}
}

// TestRefusalsPromiseNothing: a conflict that names what is committed, or to be had, is found too.
func TestRefusalsPromiseNothing(t *testing.T) {
	t.Parallel()
	for _, member := range []string{"committed", "max_available"} {
		url := damaged(t, durability.Published, func(_, a map[string]any, status int, _ func(map[string]any) (map[string]any, int)) (map[string]any, int) {
			if status == http.StatusConflict {
				fieldOf(a)[member] = "published"
			}
			return a, status
		})
		if out := ask(t, url)["duplicate"]; out.Result != Failed || !strings.Contains(out.Found, member) {
			t.Errorf("%s: %s %s", member, out.Result, out.Found)
		}
	}
}

// TestUnreachable: no verdict about a server that does not answer.
func TestUnreachable(t *testing.T) {
	ts := httptest.NewServer(http.NotFoundHandler())
	ts.Close()
	if _, err := Run(t.Context(), Options{URL: ts.URL, Namespace: "shop", HTTP: http.DefaultClient, Run: "x"}, nil); err == nil {
		t.Error("no error")
	}
}

// noSleep waits for nothing.
func noSleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// TestNoPlaceForRequests: a server that is not for this namespace or this sender is no breach of the contract.
func TestNoPlaceForRequests(t *testing.T) {
	for _, status := range []int{401, 403, 404, 405, 429, 503} {
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"error":"unknown_namespace"}`)) // a client that is gone
		}))
		out, err := Run(t.Context(), Options{URL: ts.URL, Namespace: "shop", HTTP: http.DefaultClient, Run: "x", Sleep: noSleep}, nil)
		if len(out) > 0 || err == nil || !strings.Contains(err.Error(), "namespace shop") || !strings.Contains(err.Error(), "unknown_namespace") {
			t.Errorf("%d: %v, %v", status, out, err)
		}
		ts.Close()
	}
}

// TestReadmeListsTheChecks holds the page for other implementations to the checks.
func TestReadmeListsTheChecks(t *testing.T) {
	page, err := os.ReadFile("../../conformance/durability/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks() {
		if !strings.Contains(string(page), "\n| "+c.id+" | ") {
			t.Errorf("no row for %s", c.id)
		}
	}
	if rows := strings.Count(string(page), "\n| ") - 1; rows != Count() {
		t.Errorf("%d rows for %d checks", rows, Count())
	}
}
