package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/intake/intaketest"
)

// TestRateIsEachAuthors: a bucket of a second's worth for each author; who has spent theirs takes nothing from others, and
// has it again as time passes.
func TestRateIsEachAuthors(t *testing.T) {
	now := time.Unix(0, 0)
	s := newSite(t, func(o *Options, _ *intake.Options) {
		withTokens(t, o)
		o.Rate, o.Now = 3, func() time.Time { return now }
	})
	anna, ben := []string{"Authorization", "Bearer t-anna"}, []string{"Authorization", "Bearer t-ben"}
	n := 0
	send := func(author []string) int {
		n++
		return s.post(submission(fmt.Sprint("rate", n), asking("stored", true)), author...).status
	}
	for range 3 {
		if status := send(anna); status != 200 {
			t.Fatalf("within the rate: %d", status)
		}
	}
	if status := send(anna); status != 429 {
		t.Errorf("beyond the rate: %d", status)
	}
	if status := send(ben); status != 200 {
		t.Errorf("another author: %d", status)
	}
	now = now.Add(334 * time.Millisecond)
	if first, second := send(anna), send(anna); first != 200 || second != 429 {
		t.Errorf("a third of a second later: %d, %d", first, second)
	}
}

// TestConnectionsAreBounded: a client that does not finish its header is not waited for, one whose header has no end is
// refused, and the rest of a connection has its bounds too.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	s := HTTP(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), nil, slog.New(slog.DiscardHandler))
	if s.ReadTimeout <= 0 || s.WriteTimeout <= intake.WaitMax || s.IdleTimeout <= 0 {
		t.Errorf("read %v, write %v, idle %v", s.ReadTimeout, s.WriteTimeout, s.IdleTimeout)
	}
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = s.Close() })
	talk := func(text string) string {
		t.Helper()
		connection, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = connection.Close() }()
		_ = connection.SetDeadline(time.Now().Add(time.Minute)) // it fails where the answer does
		if _, err := io.WriteString(connection, text); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(connection).ReadString('\n') // nothing where it was cut
		return line
	}
	const head = "GET / HTTP/1.1\r\nHost: a\r\n"
	if line := talk(head + "\r\n"); !strings.Contains(line, " 204 ") {
		t.Fatalf("a whole header: %q", line)
	}
	began := time.Now()
	if line := talk(head); line != "" && !strings.Contains(line, " 408 ") {
		t.Errorf("half a header: %q", line)
	}
	if waited := time.Since(began); waited > 30*time.Second {
		t.Errorf("half a header was waited for %v", waited)
	}
	if line := talk(head + "X: " + strings.Repeat("x", 2*maxHeader) + "\r\n\r\n"); !strings.Contains(line, " 431 ") {
		t.Errorf("a long header: %q", line)
	}
}

// TestHeldAnswersAreBounded: an author has half of the places of held answers at most, all authors have them all together;
// who finds none reads without waiting, and a submission is performed and answered at once. Places are given back, also by
// clients that go away. The undamaged twin of each refusal is the read that has a place.
func TestHeldAnswersAreBounded(t *testing.T) {
	s := newSite(t, func(o *Options, _ *intake.Options) {
		withTokens(t, o)
		o.MaxWaits = 3
		o.Authors = withMore(t, o.Authors)
	})
	s.world.Behind.Store(true)
	as := func(name string) []string { return []string{"Authorization", "Bearer t-" + name} }
	for _, name := range []string{"anna", "ben", "cleo", "dora"} {
		if a := s.post(submission(name, asking("stored", true)), as(name)...); a.status != 200 {
			t.Fatalf("%s: %d %s", name, a.status, a.text)
		}
	}
	held := func() string {
		_, rest, _ := strings.Cut(s.do("GET", "/metrics", "").text, "\namends_intake_held_answers ")
		n, _, _ := strings.Cut(rest, "\n")
		return n
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	hold := func(name string) {
		waiting.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+handleOf(name)+"?wait=30s", nil)
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set("Authorization", as(name)[1])
			if response, err := http.DefaultClient.Do(request); err == nil {
				_ = response.Body.Close()
				t.Errorf("%s is answered: %d", name, response.StatusCode)
			}
		})
	}
	for n, name := range []string{"anna", "ben", "cleo"} {
		hold(name)
		intaketest.Eventually(t, "a held answer", func() bool { return held() == fmt.Sprint(n+1) })
	}
	read := func(name, query string, want int) {
		t.Helper()
		if a := s.do("GET", handleOf(name)+query, "", as(name)...); a.status != want {
			t.Errorf("%s%s: %d %s, want %d", name, query, a.status, a.text, want)
		}
	}
	read("anna", "?wait=30s", 429)
	read("dora", "?wait=30s", 503)
	read("anna", "", 200)
	read("dora", "", 200)
	began := time.Now()
	if a := s.post(submission("dora2", asking("stored", true)+`,"wait":"30s"`), as("dora")...); a.status != 200 || a.body["decision"] != nil || time.Since(began) > 20*time.Second {
		t.Errorf("a submission that finds no place: %d %s after %v", a.status, a.text, time.Since(began))
	}
	cancel()
	waiting.Wait()
	intaketest.Eventually(t, "the places", func() bool { return held() == "0" })
	s.world.Behind.Store(false)
	read("dora", "?wait=30s", 200)
	if held() != "0" {
		t.Errorf("%s answers are held", held())
	}
}

// withMore are the authors of withTokens and two more.
func withMore(t *testing.T, authors Authors) Authors {
	t.Helper()
	known, ok := authors.(Principals)
	if !ok {
		t.Fatalf("%T", authors)
	}
	more, err := ReadTokens(strings.NewReader(hashed("t-cleo", "cleo") + hashed("t-dora", "dora")))
	if err != nil {
		t.Fatal(err)
	}
	known.Tokens = append(known.Tokens, more...)
	return known
}

// TestReadsHaveTheRate: handles are read as often in a second as is submitted, in a bucket of their own.
func TestReadsHaveTheRate(t *testing.T) {
	now := time.Unix(0, 0)
	s := newSite(t, func(o *Options, _ *intake.Options) { o.Rate, o.Now = 2, func() time.Time { return now } })
	for n := range 2 {
		if a := s.post(submission(fmt.Sprint("r", n), asking("stored", true))); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.text)
		}
	}
	for n, want := range []int{200, 200, 429} {
		if a := s.do("GET", handleOf("r0"), ""); a.status != want {
			t.Errorf("read %d: %d %s, want %d", n, a.status, a.text, want)
		}
	}
	now = now.Add(time.Second)
	if a := s.do("GET", handleOf("r0"), ""); a.status != 200 {
		t.Errorf("a second later: %d %s", a.status, a.text)
	}
}
