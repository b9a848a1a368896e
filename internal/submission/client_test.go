package submission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// reply is what the server does with one exchange: an answer, or the end of the connection where the status is 0.
type reply struct {
	status int
	body   string
	retry  string
}

// script is a server that answers submissions and looks at the handle one after the other; the last answer of each stands.
type script struct {
	mu           sync.Mutex
	posts, gets  []reply
	sent, looked int
	bodies       []string
	paths        []string
	tokens       []string
}

// next takes an answer.
func next(from *[]reply, otherwise reply) reply {
	if len(*from) == 0 {
		return otherwise
	}
	one := (*from)[0]
	if len(*from) > 1 {
		*from = (*from)[1:]
	}
	return one
}

// ServeHTTP implements http.Handler.
func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	var one reply
	if r.Method == http.MethodPost {
		text, _ := io.ReadAll(r.Body)
		s.bodies, s.paths, s.tokens = append(s.bodies, string(text)), append(s.paths, r.URL.EscapedPath()), append(s.tokens, r.Header.Get("Authorization"))
		s.sent++
		one = next(&s.posts, reply{status: 500})
	} else {
		s.looked++
		one = next(&s.gets, reply{status: 404, body: `{"error":"unknown_request"}`})
	}
	s.mu.Unlock()
	switch one.status {
	case 0:
		panic(http.ErrAbortHandler)
	case silence:
		<-r.Context().Done()
		return
	}
	if one.retry != "" {
		w.Header().Set("Retry-After", one.retry)
	}
	w.WriteHeader(one.status)
	_, _ = io.WriteString(w, one.body)
}

// seen returns the exchanges so far, and the bodies sent.
func (s *script) seen() (sent, looked int, bodies []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent, s.looked, slices.Clone(s.bodies)
}

// silence is the status of a server that does not answer at all.
const silence = -1

// client sends to a script, notes its pauses instead of waiting, and gives up after a while.
func client(t *testing.T, s *script, pauses *[]time.Duration) *Client {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return &Client{
		URL: server.URL, Namespace: "shop", HTTP: server.Client(), Attempts: 4, Timeout: 10 * time.Second,
		Sleep: func(ctx context.Context, d time.Duration) error { *pauses = append(*pauses, d); return ctx.Err() },
	}
}

// The answers of an intake to request r1, which asks for stored.
const (
	good      = `{"request_id":"r1","durability":{"requested":"stored","applied":"stored","handle":"/v1/namespaces/shop/requests/r1"}}`
	entry     = `{"request_id":"r1","level":"published","transaction":{"txn_id": "t1"}}`
	another   = `{"request_id":"r1","level":"stored","transaction":{"txn_id":"t2"}}`
	duplicate = `{"error":"duplicate_request_id","request_id":"r1","durability":{"requested":"stored","applied":"none","reason":"duplicate_request_id"}}`
	refused   = `{"error":"missing_field","detail":"qty","request_id":"r1","durability":{"requested":"stored","applied":"none"}}`
	busy      = `{"error":"unavailable","request_id":"r1","durability":{"requested":"stored","applied":"none"}}`
)

// request is r1.
func request() Request {
	return Request{ID: "r1", Transaction: json.RawMessage(`{ "txn_id" : "t1" }`), Level: "stored", MustHave: true}
}

// TestSend: what becomes of a request, by what the server answers. The first is the undamaged twin of all others: the same
// request to a server that answers well at once.
func TestSend(t *testing.T) {
	ok, conflict := reply{status: 200, body: good}, reply{status: 409, body: duplicate}
	away, found := reply{status: 503, body: busy}, []reply{{status: 200, body: entry}}
	for _, c := range []struct {
		name        string
		posts, gets []reply
		// want is the answer's status, 0 where Send gives up.
		want  int
		found bool
		// sent and looked are exchanges of either kind, lost and retried what the answer counts.
		sent, looked, lost, retried int
	}{
		{name: "answered", posts: []reply{ok}, want: 200, sent: 1},
		{name: "promised", posts: []reply{{status: 202, body: good}}, want: 202, sent: 1},
		{name: "busy, then answered", posts: []reply{away, {status: 429, body: busy}, ok}, want: 200, sent: 3, retried: 2},
		{name: "busy for good", posts: []reply{away}, sent: 4, retried: 4},

		{name: "refused", posts: []reply{{status: 422, body: refused}}, want: 422, sent: 1},
		{name: "not authenticated", posts: []reply{{status: 401, body: refused}}, want: 401, sent: 1},
		{name: "level not offered", posts: []reply{{status: 412, body: refused}}, want: 412, sent: 1},

		{name: "duplicate of itself", posts: []reply{conflict}, gets: found, want: 200, found: true, sent: 1, looked: 1},
		{name: "duplicate of another", posts: []reply{conflict}, gets: []reply{{status: 200, body: another}}, want: 409, sent: 1, looked: 1},
		{name: "duplicate, not this author's to read", posts: []reply{conflict}, want: 409, sent: 1, looked: 1},
		{name: "duplicate of nobody knows whom, then itself", posts: []reply{conflict}, gets: []reply{away, away, {status: 200, body: entry}},
			want: 200, found: true, sent: 3, looked: 3},
		{name: "duplicate of nobody knows whom", posts: []reply{conflict}, gets: []reply{away}, sent: 4, looked: 4},
		{name: "duplicate, the entry is none", posts: []reply{conflict}, gets: []reply{{status: 200, body: `{}`}}, sent: 4, looked: 4},
		{name: "duplicate, the entry is cut", posts: []reply{conflict}, gets: []reply{{status: 200, body: entry[:20]}}, sent: 4, looked: 4},

		{name: "cut off, and kept", posts: []reply{{}}, gets: found, want: 200, found: true, sent: 1, looked: 1, lost: 1},
		{name: "cut off, not kept, sent again", posts: []reply{{}, ok}, want: 200, sent: 2, looked: 1, lost: 1},
		{name: "cut off, and nobody knows, sent again", posts: []reply{{}, conflict}, gets: []reply{{}, {status: 200, body: entry}},
			want: 200, found: true, sent: 2, looked: 2, lost: 1},
		{name: "cut off for good", posts: []reply{{}}, gets: []reply{{}}, sent: 4, looked: 4, lost: 4},
		{name: "another has taken the ID meanwhile", posts: []reply{{}, conflict}, gets: []reply{{status: 200, body: another}},
			want: 409, sent: 2, looked: 2, lost: 1},

		{name: "a proxy's page", posts: []reply{{status: 502, body: "<html>"}, ok}, want: 200, sent: 2, looked: 1, lost: 1},
		{name: "an unknown outcome", posts: []reply{{status: 500, body: `{"error":"outcome_unknown"}`}}, gets: found, want: 200, found: true, sent: 1, looked: 1, lost: 1},
		{name: "an unknown outcome, not kept", posts: []reply{{status: 500, body: `{"error":"outcome_unknown"}`}, ok}, want: 200, sent: 2, looked: 1, lost: 1},
		{name: "a status of nobody", posts: []reply{{status: 201, body: good}, ok}, want: 200, sent: 2, looked: 1, lost: 1},
		{name: "cut JSON", posts: []reply{{status: 200, body: good[:30]}, ok}, want: 200, sent: 2, looked: 1, lost: 1},
		{name: "no JSON", posts: []reply{{status: 200}, ok}, want: 200, sent: 2, looked: 1, lost: 1},
		{name: "another JSON", posts: []reply{{status: 200, body: `[]`}, ok}, want: 200, sent: 2, looked: 1, lost: 1},
		{name: "an answer to nothing", posts: []reply{{status: 200, body: `{}`}, ok}, want: 200, sent: 2, looked: 1, lost: 1},
		{name: "an answer to another request", posts: []reply{{status: 200, body: strings.Replace(good, "r1", "r2", 1)}, ok}, want: 200, sent: 2, looked: 1, lost: 1},
		{name: "an answer about another level", posts: []reply{{status: 200, body: strings.Replace(good, "stored", "published", 1)}, ok}, want: 200, sent: 2, looked: 1, lost: 1},
		{name: "an answer that drops the marker", posts: []reply{{status: 200, body: `{"request_id":"r1"}`}, ok}, want: 200, sent: 2, looked: 1, lost: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &script{posts: c.posts, gets: c.gets}
			var pauses []time.Duration
			a, err := client(t, s, &pauses).Send(t.Context(), request())
			switch {
			case c.want == 0 && !errors.Is(err, ErrGaveUp):
				t.Errorf("%+v, %v, want that it gives up", a, err)
			case c.want != 0 && (err != nil || a.Status != c.want || a.Found != c.found):
				t.Errorf("%+v, %v, want %d, found %t", a, err, c.want, c.found)
			}
			sent, looked, bodies := s.seen()
			if sent != c.sent || looked != c.looked || a.Lost != c.lost || a.Retried != c.retried {
				t.Errorf("sent %d, looked %d, lost %d, retried %d; want %d, %d, %d, %d", sent, looked, a.Lost, a.Retried, c.sent, c.looked, c.lost, c.retried)
			}
			for _, body := range bodies {
				if body != bodies[0] {
					t.Errorf("sent again with another body: %s, first %s", body, bodies[0])
				}
			}
		})
	}
}

// TestAnswer: what an answer holds comes from the server, and what was found from the entry.
func TestAnswer(t *testing.T) {
	var pauses []time.Duration
	a, err := client(t, &script{posts: []reply{{status: 202, body: `{"request_id":"r1","durability":{"requested":"stored","applied":"none","committed":"stored","handle":"/h"}}`}}}, &pauses).
		Send(t.Context(), request())
	if want := (Answer{Status: 202, Requested: "stored", Applied: "none", Committed: "stored", Handle: "/h"}); err != nil || a != want || !a.Performed() {
		t.Errorf("%+v, %v, want %+v", a, err, want)
	}
	a, err = client(t, &script{posts: []reply{{status: 422, body: refused}}}, &pauses).Send(t.Context(), request())
	if want := (Answer{Status: 422, Requested: "stored", Applied: "none", Error: "missing_field", Detail: "qty"}); err != nil || a != want || a.Performed() {
		t.Errorf("%+v, %v, want %+v", a, err, want)
	}
	a, err = client(t, &script{posts: []reply{{}}, gets: []reply{{status: 200, body: entry}}}, &pauses).Send(t.Context(), request())
	want := Answer{Status: 200, Requested: "stored", Applied: "published", Handle: "/v1/namespaces/shop/requests/r1", Found: true, Lost: 1}
	if err != nil || a != want || !a.Performed() {
		t.Errorf("%+v, %v, want %+v", a, err, want)
	}
	if len(pauses) != 0 {
		t.Errorf("paused %v", pauses)
	}
}

// TestBody: what is sent, and to where: a request without a marker has none, a transaction keeps its members and their
// order, and an ID that is no path segment is escaped.
func TestBody(t *testing.T) {
	for _, c := range []struct {
		r    Request
		want string
	}{
		{Request{ID: "a/b <é>", Transaction: json.RawMessage(`{"z":1,"a":"<&>"}`)}, `{"request_id":"a/b <é>","transaction":{"z":1,"a":"<&>"}}`},
		{Request{ID: "r", Transaction: json.RawMessage(`{}`), Level: "stored"}, `{"durability_request":{"level":"stored","must_have":false},"request_id":"r","transaction":{}}`},
		{Request{ID: "r", Transaction: json.RawMessage(`12345678901234567890123`), Unchecked: true}, `{"request_id":"r","transaction":12345678901234567890123,"validate":false}`},
	} {
		s := &script{posts: []reply{{status: 422, body: refused}}}
		var pauses []time.Duration
		cl := client(t, s, &pauses)
		cl.Namespace, cl.Token = "my shop", "secret"
		if _, err := cl.Send(t.Context(), c.r); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSuffix(s.bodies[0], "\n"); got != c.want || s.paths[0] != "/v1/namespaces/my%20shop/transactions" || s.tokens[0] != "Bearer secret" {
			t.Errorf("%s to %s with %q\nwant %s", got, s.paths[0], s.tokens[0], c.want)
		}
		if want := "/v1/namespaces/my%20shop/requests/a%2Fb%20%3C%C3%A9%3E"; c.r.ID == "a/b <é>" && cl.Handle(c.r.ID) != want {
			t.Errorf("handle %s, want %s", cl.Handle(c.r.ID), want)
		}
	}
}

// TestUnsendable: what cannot be written is sent to nobody, not even once; its twin is.
func TestUnsendable(t *testing.T) {
	for name, c := range map[string]struct {
		id, transaction string
		sent            int
	}{
		"the twin":      {"r1", `{}`, 1},
		"no JSON":       {"r1", `{`, 0},
		"ID not UTF-8":  {"r\xff", `{}`, 0},
		"two documents": {"r1", `{} {}`, 0},
	} {
		s := &script{posts: []reply{{status: 422, body: refused}}}
		var pauses []time.Duration
		cl := client(t, s, &pauses)
		cl.Attempts = 0
		_, err := cl.Send(t.Context(), Request{ID: c.id, Transaction: json.RawMessage(c.transaction)})
		if sent, _, _ := s.seen(); errors.Is(err, ErrUnsendable) != (c.sent == 0) || sent != c.sent {
			t.Errorf("%s: sent %d times, %v", name, sent, err)
		}
	}
}

// TestPauses: they double up to two seconds, and a server may ask for longer ones, of at most a minute.
func TestPauses(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		retry string
		want  []time.Duration
	}{
		{"", []time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 2 * time.Second, 2 * time.Second}},
		{"1", []time.Duration{time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second, 2 * time.Second}},
		{"7", []time.Duration{7 * time.Second, 7 * time.Second}},
		{"61", []time.Duration{time.Minute, time.Minute}},
		{"9223372037", []time.Duration{time.Minute}},           // more nanoseconds than int64 holds
		{"99999999999999999999", []time.Duration{time.Minute}}, // more seconds than uint64 holds
		{"-5", []time.Duration{50 * ms}},
		{"Wed, 21 Oct 2026 07:28:00 GMT", []time.Duration{50 * ms}},
	} {
		s := &script{posts: []reply{{status: 503, body: busy, retry: c.retry}}}
		var pauses []time.Duration
		cl := client(t, s, &pauses)
		cl.Attempts = len(c.want) + 1
		if _, err := cl.Send(t.Context(), request()); !errors.Is(err, ErrGaveUp) || fmt.Sprint(pauses) != fmt.Sprint(c.want) {
			t.Errorf("Retry-After %q: %v, paused %v, want %v", c.retry, err, pauses, c.want)
		}
	}
}

// TestSilence: an exchange that is not answered in time is lost like one that is cut off, and no longer waited for; the end
// of the context ends the sending, with its error, and says nothing of the request.
func TestSilence(t *testing.T) {
	s := &script{posts: []reply{{status: silence}, {status: 200, body: good}}}
	var pauses []time.Duration
	cl := client(t, s, &pauses)
	cl.Timeout = 100 * time.Millisecond
	a, err := cl.Send(t.Context(), request())
	if _, looked, _ := s.seen(); err != nil || a.Status != 200 || a.Lost != 1 || looked != 1 {
		t.Errorf("a server that is silent once: %+v, %v", a, err)
	}

	s = &script{posts: []reply{{status: silence}}}
	cl = client(t, s, &pauses)
	cl.Attempts = 0
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if a, err := cl.Send(ctx, request()); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrGaveUp) || a.Performed() || a.Lost != 1 {
		t.Errorf("a context that ends: %+v, %v", a, err)
	}

	s = &script{posts: []reply{{status: 503, body: busy}}}
	cl = client(t, s, &pauses)
	cl.Attempts = 0
	ctx, cancel = context.WithCancel(t.Context())
	cl.Sleep = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	a, err = cl.Send(ctx, request())
	if sent, _, _ := s.seen(); !errors.Is(err, context.Canceled) || a.Retried != 1 || sent != 1 {
		t.Errorf("a context that ends in a pause: %+v, %v", a, err)
	}
}

// TestFind: an entry, no entry, and what is neither.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		name          string
		get           reply
		found, failed bool
	}{
		{"an entry", reply{status: 200, body: entry}, true, false},
		{"no entry", reply{status: 404, body: `{"error":"unknown_request"}`}, false, false},
		{"away", reply{status: 503, body: busy}, false, true},
		{"cut off", reply{}, false, true},
		{"no JSON", reply{status: 200, body: "<html>"}, false, true},
		{"no entry in it", reply{status: 200, body: `{"request_id":"r1"}`}, false, true},
	} {
		var pauses []time.Duration
		e, err := client(t, &script{gets: []reply{c.get}}, &pauses).Find(t.Context(), "r1")
		if (e != nil) != c.found || (err != nil) != c.failed {
			t.Errorf("%s: %+v, %v", c.name, e, err)
		}
		if c.found && (e.Level != "published" || e.Source != nil || e.Decision != nil) {
			t.Errorf("%+v", e)
		}
	}
}
