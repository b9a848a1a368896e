package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// TestClassOf: the outer mark counts, an unmarked error is transient, text and identity stay.
func TestClassOf(t *testing.T) {
	base := errors.New("row lock lost")
	fenced := Mark(Fenced, base)
	for _, c := range []struct {
		err  error
		want Class
	}{
		{base, Transient},
		{fenced, Fenced},
		{fmt.Errorf("commit: %w", fenced), Fenced},
		{Mark(Stop, fmt.Errorf("commit: %w", fenced)), Stop},
		{errors.Join(base, Mark(Stop, base)), Stop},
	} {
		if got := ClassOf(c.err); got != c.want {
			t.Errorf("ClassOf(%v) = %v, want %v", c.err, got, c.want)
		}
	}
	if !errors.Is(fenced, base) || fenced.Error() != base.Error() || Mark(Stop, nil) != nil {
		t.Error("a mark changed the error")
	}
}

// TestR36Backoff: delays grow, stay within their bounds, and turn into slow fixed probes that never end.
func TestR36Backoff(t *testing.T) {
	p := DefaultPolicy
	random := rand.New(rand.NewPCG(1, 2)).Int64N
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	start, ceiling := now, p.First
	var s *Stall
	for attempt := 1; attempt <= 100; attempt++ {
		s = p.Failed(s, "database is down", now, random)
		wait := s.NextTry.Sub(now)
		switch {
		case attempt < p.Attempts && (wait < ceiling/2 || wait > ceiling || p.Stalled(s)):
			t.Fatalf("attempt %d: wait %v, want %v..%v, not stalled", attempt, wait, ceiling/2, ceiling)
		case attempt >= p.Attempts && (wait != p.Probe || !p.Stalled(s)):
			t.Fatalf("attempt %d: wait %v, want %v, stalled", attempt, wait, p.Probe)
		}
		if s.Attempts != attempt || !s.Since.Equal(start) {
			t.Fatalf("attempt %d: %+v", attempt, s)
		}
		ceiling = min(2*ceiling, p.Max)
		now = s.NextTry
	}
	if p.Stalled(nil) {
		t.Error("no failure is a stall")
	}
	if fresh := p.Failed(nil, "again", now, random); fresh.Attempts != 1 || !fresh.Since.Equal(now) {
		t.Errorf("after a success: %+v", fresh)
	}
}

// TestLasting: stalled from the first failure on, counted after.
func TestLasting(t *testing.T) {
	p, now := DefaultPolicy, time.Unix(0, 0).UTC()
	first := p.Lasting(nil, "topic changed", now)
	second := p.Lasting(first, "topic changed", first.NextTry)
	if !p.Stalled(first) || first.NextTry.Sub(now) != p.Probe || second.Attempts != first.Attempts+1 || second.Since != now {
		t.Errorf("%+v, %+v", first, second)
	}
}

// TestStallJSON: the form of design section 6; a stop has no next try.
func TestStallJSON(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	text, err := json.Marshal(Stall{Reason: "overflow", Since: at, Attempts: 1})
	if want := `{"reason":"overflow","since":"2026-01-02T03:04:05Z","attempts":1}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v", text, err)
	}
	text, err = json.Marshal(Stall{Reason: "down", Since: at, Attempts: 2, NextTry: at})
	if want := `{"reason":"down","since":"2026-01-02T03:04:05Z","attempts":2,"nextTry":"2026-01-02T03:04:05Z"}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v", text, err)
	}
}
