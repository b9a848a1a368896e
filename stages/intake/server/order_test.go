package server

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/intake/intaketest"
	"amends.dev/amends/stages/owner/drain"
)

// hashed is the line of a tokens file.
func hashed(token, author string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:]) + " " + author + "\n"
}

// withTokens demands tokens: t-anna and t-ben.
func withTokens(t *testing.T, o *Options) {
	t.Helper()
	tokens, err := ReadTokens(strings.NewReader("# ours\n\n" + hashed("t-anna", "anna") + hashed("t-ben", "ben b.")))
	if err != nil {
		t.Fatal(err)
	}
	o.Authors = Principals{Tokens: tokens}
}

// TestR35OrderOverHTTP: a request with everything wrong is answered with the first problem; each repair shows the next.
// Every answer carries the field.
func TestR35OrderOverHTTP(t *testing.T) {
	mark.Expect(t, "R35 durability required and unmet", "R35 duplicate before schema")
	now := time.Unix(0, 0)
	s := newSite(t, func(o *Options, _ *intake.Options) {
		withTokens(t, o)
		o.MaxBody, o.Rate, o.Now = 2000, 4, func() time.Time { return now }
	})
	s.world.Offered.Store(durability.Stored)
	anna := []string{"Authorization", "Bearer t-anna"}
	if a := s.post(submission("r1", asking("stored", true)), anna...); a.status != 200 { // the one that is there already
		t.Fatalf("%d %s", a.status, a.text)
	}
	padding := `,"padding":"` + strings.Repeat("x", 3000) + `"`
	bad := `{"request_id":"r1","transaction":{},"deliver_to":"elsewhere","extra":1,"durability_request":{"level":"LEVEL","must_have":true}PADDING}`
	step := func(name string, want int, level, extra, padded string, header ...string) {
		t.Helper()
		body := strings.NewReplacer("LEVEL", level, `"extra":1,`, extra, "PADDING", padded).Replace(bad)
		a := s.post(body, header...)
		if a.status != want || !strings.Contains(a.field(), `"applied":"none"`) || !strings.Contains(a.field(), `"requested":"`+level+`"`) {
			t.Errorf("%s: %d %s, want %d", name, a.status, a.text, want)
		}
	}
	step("no author", 401, "fsync", `"extra":1,`, padding)
	step("foreign token", 401, "fsync", `"extra":1,`, padding, "Authorization", "Bearer t-annA")
	step("no token", 401, "fsync", `"extra":1,`, padding, "Authorization", "Bearer ")
	step("too large", 413, "fsync", `"extra":1,`, padding, anna...)
	for range 3 { // the first one took one of four
		step("body", 400, "fsync", `"extra":1,`, "", anna...)
	}
	step("rate", 429, "fsync", `"extra":1,`, "", anna...)
	now = now.Add(time.Second)
	step("unknown level", 412, "fsync", "", "", anna...)
	step("unmet", 412, "published", "", "", anna...)
	step("duplicate", 409, "stored", "", "", anna...)
	now = now.Add(time.Second)
	bad = strings.ReplaceAll(bad, "r1", "r2")
	step("no handler", 422, "stored", "", "", anna...)
	bad = strings.ReplaceAll(bad, `"deliver_to":"elsewhere",`, "")
	step("schema", 422, "stored", "", "", anna...)
	s.world.Store.Down(true)
	step("no store", 503, "stored", "", "", anna...)
	s.world.Store.Down(false)
	s.world.Lease.Ask()
	intaketest.Eventually(t, "the intake to stand by", func() bool { ready, _ := s.intake.Ready(); return !ready })
	step("standing by", 503, "stored", "", "", anna...)
	now = now.Add(time.Second)
	step("unmet while standing by", 412, "published", "", "", anna...)
	if s.world.Store.Count(t, "anna", "r2") != 0 || len(s.world.Source.All()) > 1 {
		t.Error("a refused request was performed")
	}
}

// TestBodies: strict about the envelope, indifferent to the transaction's inside, and never without the field where a
// marker was readable.
func TestBodies(t *testing.T) {
	s := newSite(t, nil)
	n := 0
	for body, status := range map[string]int{
		`{"request_id":"ID","transaction":TXN}`:                                         200,
		` {"transaction" : TXN , "request_id":"ID","validate":true, "wait":"0s"} `:      200,
		`{"request_id":"ID","transaction":[1, "two",  {"a":1,"a":2}],"validate":false}`: 200,
		`{"request_id":"ID","transaction":"\ud800","validate":false}`:                   200,
		`{"request_id":"ID","transaction":null,"validate":false}`:                       200,
		`{"request_id":"ID","transaction":null}`:                                        422,
		`{"request_id":"ID","transaction":{"a":1,"a":1}}`:                               422,
		`{"request_id":"ID/ä?#%","transaction":TXN}`:                                    200,
		``:                                     400,
		`[]`:                                   400,
		`{"request_id":"ID","transaction":TXN`: 400,
		`{"request_id":"ID","transaction":TXN} {}`:                                                       400,
		`{"request_id":"ID","transaction":TXN,"request_id":"ID"}`:                                        400,
		`{"request_id":"ID","transaction":TXN,"Wait":"1s"}`:                                              400,
		`{"request_id":"ID"}`:                                                                            400,
		`{"transaction":TXN}`:                                                                            400,
		`{"request_id":"","transaction":TXN}`:                                                            400,
		`{"request_id":"..","transaction":TXN}`:                                                          400,
		`{"request_id":"a\u0000","transaction":TXN}`:                                                     400,
		`{"request_id":"\ud800","transaction":TXN}`:                                                      400,
		`{"request_id":"` + strings.Repeat("x", 201) + `","transaction":TXN}`:                            400,
		`{"request_id":7,"transaction":TXN}`:                                                             400,
		`{"request_id":"ID","transaction":TXN,"validate":"no"}`:                                          400,
		`{"request_id":"ID","transaction":TXN,"deliver_to":""}`:                                          400,
		`{"request_id":"ID","transaction":TXN,"deliver_to":null}`:                                        400,
		`{"request_id":"ID","transaction":TXN,"durability_request":null}`:                                400,
		`{"request_id":"ID","transaction":TXN,"durability_request":{}}`:                                  400,
		`{"request_id":"ID","transaction":TXN,"durability_request":{"level":1}}`:                         400,
		`{"request_id":"ID","transaction":TXN,"durability_request":{"level":"stored","must_have":null}}`: 400,
		`{"request_id":"ID","transaction":TXN,"durability_request":{"level":"stored","must":true}}`:      400,
		`{"request_id":"ID","transaction":TXN,"durability_request":{"level":"stored","level":"stored"}}`: 400,
		"{\"request_id\":\"ID\",\"transaction\":\"\xff\",\"validate\":false}":                            400,
	} {
		n++
		text := strings.NewReplacer("ID", fmt.Sprint("b", n), "TXN", txn("x")).Replace(body)
		a := s.post(text)
		if a.status != status || (a.field() != "") != strings.Contains(body, "durability_request") {
			t.Errorf("%s: %d %s, want %d", text, a.status, a.text, status)
		}
	}
	if a := s.do("POST", "/v1/namespaces/other/transactions", submission("x", asking("stored", true))); a.status != 404 || a.field() == "" {
		t.Errorf("another namespace: %d %s", a.status, a.text)
	}
	if a := s.do("POST", "/v1/namespaces/other/transactions", `{"durability_request":{"level":"stored"}}`); a.status != 400 || a.field() == "" {
		t.Errorf("another namespace, malformed: %d %s", a.status, a.text)
	}
}

// TestBytesAsSent: the record's value is what stood in the body, byte for byte, and its key is the canonical one.
func TestBytesAsSent(t *testing.T) {
	s := newSite(t, nil)
	text := `{ "txn_id":"\u0074\u0031","stock_key" : {"location":"berlin","item":"\u0077idget"},"revision":1,"kind":"NEW",` +
		`"valid_time":"2026-01-05T10:00:00Z",   "qty":-0,"source_time":"2026-01-05T10:00:00Z" }`
	for id, marker := range map[string]string{"kept": asking("published", true), "direct": ""} {
		if a := s.post(`{"request_id":"` + id + `","transaction":  ` + text + `  ` + marker + `}`); a.status != 200 && a.status != 202 {
			t.Fatalf("%d %s", a.status, a.text)
		}
	}
	intaketest.Eventually(t, "two records", func() bool { return len(s.world.Source.All()) == 2 })
	headers := 0
	for _, m := range s.world.Source.All() {
		if string(m.Value) != text || string(m.Key) != `["widget","berlin"]` {
			t.Errorf("%s %s", m.Key, m.Value)
		}
		for _, h := range m.Headers {
			headers++
			if h.Key != drain.EffectHeader || string(h.Value) != fmt.Sprintf("intake-publish/shop/%d/local/kept", m.Partition) {
				t.Errorf("header %s: %s", h.Key, h.Value)
			}
		}
	}
	if headers != 1 {
		t.Errorf("%d headers: what is kept carries its effect's identity (R34)", headers)
	}
	// A transaction without a readable stock key has the null key, and ends in quarantine.
	a := s.post(`{"request_id":"odd","transaction":{"stock_key":{"item":"widget"}},"validate":false` + asking("stored", true) + `}`)
	entry := s.do("GET", handleOf("odd")+"?wait=20s", "")
	if decision, _ := entry.body["decision"].(map[string]any); a.status != 200 || decision["outcome"] != "quarantined" {
		t.Errorf("%d, %s", a.status, entry.text)
	}
}

// TestB135Parallel: 50 identical requests at once: exactly one success and 49 conflicts, one entry, one record.
func TestB135Parallel(t *testing.T) {
	s := newSite(t, nil)
	for round := range 5 {
		id := fmt.Sprint("p", round)
		statuses := make([]int, 50)
		var group sync.WaitGroup
		for n := range statuses {
			group.Go(func() { statuses[n] = s.post(submission(id, asking("published", true))).status })
		}
		group.Wait()
		count := map[int]int{}
		for _, status := range statuses {
			count[status]++
		}
		if count[202] != 1 || count[409] != 49 {
			t.Errorf("answers %v, want one 202 and 49 times 409", count)
		}
		intaketest.Eventually(t, id+" in the topic", func() bool { return s.world.Source.Holding(`"`+id+`"`) > 0 })
		if n := s.world.Source.Holding(`"` + id + `"`); n != 1 {
			t.Errorf("%d records", n)
		}
	}
}

// TestR32Authors: IDs of one author never meet another's; a handle is nobody else's.
func TestR32Authors(t *testing.T) {
	s := newSite(t, func(o *Options, _ *intake.Options) { withTokens(t, o) })
	for _, token := range []string{"t-anna", "t-ben"} {
		if a := s.post(submission("same", asking("stored", true)), "Authorization", "bearer "+token); a.status != 200 {
			t.Errorf("%s: %d %s", token, a.status, a.text)
		}
	}
	if a := s.post(submission("hers", asking("stored", true)), "Authorization", "Bearer t-anna"); a.status != 200 {
		t.Fatal(a.text)
	}
	for token, want := range map[string]int{"t-anna": 200, "t-ben": 404, "t-none": 401, "": 401} {
		if a := s.do("GET", handleOf("hers"), "", "Authorization", "Bearer "+token); a.status != want {
			t.Errorf("%q: %d %s, want %d", token, a.status, a.text, want)
		}
	}
	a := s.do("GET", handleOf("same"), "", "Authorization", "Bearer t-ben")
	if a.body["author"] != "ben b." {
		t.Errorf("%s", a.text)
	}
	if intake.OwnerID("a", "b/c", "d") == intake.OwnerID("a", "b", "c/d") {
		t.Error("identities run together")
	}
}

// TestR32LostAnswer: where the commit happened without an answer and asking again finds it, the answer is the first one;
// where nothing can be found out there is none, and the handle tells.
func TestR32LostAnswer(t *testing.T) {
	mark.Expect(t, "R32 answer lost")
	s := newSite(t, func(_ *Options, o *intake.Options) { o.Patience = 300 * time.Millisecond })
	s.world.Store.Cut.Store(true)
	if a := s.post(submission("r1", asking("stored", true))); a.status != 200 {
		t.Errorf("a commit whose answer was lost: %d %s", a.status, a.text)
	}
	// Where a publication finds the store gone before the request does, the request is refused: then once more.
	intaketest.Eventually(t, "a request without an answer", func() bool {
		s.world.Store.Down(true)
		response, err := http.Post(s.url+"/v1/namespaces/shop/transactions", "application/json", strings.NewReader(submission("r2", asking("stored", true))))
		if err != nil {
			return true
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusServiceUnavailable {
			t.Fatalf("an answer where none is true: %d", response.StatusCode)
		}
		s.world.Store.Down(false)
		intaketest.Eventually(t, "the intake to be ready", func() bool { return s.do("GET", "/readyz", "").status == 200 })
		return false
	})
	intaketest.Eventually(t, "refusals", func() bool { return s.post(submission("r3", asking("stored", true))).status == 503 })
	s.world.Store.Down(false)
	if a := s.do("GET", handleOf("r1"), ""); a.status != 200 {
		t.Errorf("the handle of the first: %d %s", a.status, a.text)
	}
	intaketest.Eventually(t, "the intake to go on", func() bool {
		status := s.post(submission("r2", asking("stored", true))).status
		return status == 200 || status == 409
	})
}

// TestR22StopsWhenAsked: the intake refuses, drains, gives the lease back, stands by while somebody else has it, and goes
// on by itself.
func TestR22StopsWhenAsked(t *testing.T) {
	mark.Expect(t, "R22 intake asked to stop", "R22 intake refuses")
	s := newSite(t, nil)
	s.world.Held.Store(true)
	if a := s.post(submission("r1", asking("published", true))); a.status != 202 {
		t.Fatalf("%d %s", a.status, a.text)
	}
	s.world.Lease.Ask()
	intaketest.Eventually(t, "refusals", func() bool { return s.do("GET", "/readyz", "").status == 503 })
	for _, marker := range []string{"", asking("stored", true)} {
		if a := s.post(submission("r2", marker)); a.status != 503 || (a.field() != "") != (marker != "") {
			t.Errorf("%d %s", a.status, a.text)
		}
	}
	if !s.world.Lease.Held() || len(s.world.Source.All()) != 0 {
		t.Error("the lease was given back with a publication pending")
	}
	s.world.Held.Store(false)
	intaketest.Eventually(t, "the lease to be given back", func() bool { return s.world.Lease.Releases() == 1 })
	s.world.Lease.Take(true)
	if len(s.world.Source.All()) != 1 {
		t.Error("not drained")
	}
	if a := s.do("GET", handleOf("r1"), ""); a.status != 200 { // reading goes on
		t.Errorf("%d %s", a.status, a.text)
	}
	s.world.Lease.Take(false)
	intaketest.Eventually(t, "the intake to go on", func() bool { return s.do("GET", "/readyz", "").status == 200 })
	if a := s.post(submission("r2", asking("stored", true))); a.status != 200 {
		t.Errorf("%d %s", a.status, a.text)
	}
}

// TestR22LeaseLost: nothing is sent once the lease may be another's; it stands by and goes on when the lease is free.
func TestR22LeaseLost(t *testing.T) {
	mark.Expect(t, "R22 intake lost its lease")
	s := newSite(t, nil)
	s.world.Lease.Take(true)
	intaketest.Eventually(t, "refusals", func() bool { return s.post(submission("r1", "")).status == 503 })
	before := len(s.world.Source.All())
	if a := s.post(submission("r2", asking("published", true))); a.status != 503 || len(s.world.Source.All()) != before {
		t.Errorf("%d %s", a.status, a.text)
	}
	s.world.Lease.Take(false)
	intaketest.Eventually(t, "the intake to go on", func() bool { return s.do("GET", "/readyz", "").status == 200 })
}
