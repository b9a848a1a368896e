package server

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/stages/intake"
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
