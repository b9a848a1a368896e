package server

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/intake/intaketest"
)

// TestR30RowsOverHTTP: the eight rows, with what each has done: kept or not, in the topic or not.
func TestR30RowsOverHTTP(t *testing.T) {
	s := newSite(t, nil)
	row := func(offered durability.Level, id, level string, must bool, status int, field string, kept bool) {
		t.Helper()
		s.world.Offered.Store(offered)
		a := s.post(submission(id, asking(level, must)))
		if a.status != status || a.field() != strings.ReplaceAll(field, "HANDLE", handleOf(id)) {
			t.Errorf("%s offered, %s (must %t): %d %s, want %d %s", offered, level, must, a.status, a.text, status, field)
		}
		if got := s.world.Store.Count(t, intake.LocalAuthor, id); (got == 1) != kept {
			t.Errorf("%s: kept %d", id, got)
		}
		if a.status == 200 || a.status == 202 {
			intaketest.Eventually(t, id+" in the topic", func() bool { return s.world.Source.Holding(`"`+id+`"`) == 1 })
		} else if s.world.Source.Holding(`"`+id+`"`) != 0 {
			t.Errorf("%s was refused and is in the topic", id)
		}
		want := 404
		if kept {
			want = 200
		}
		if a := s.do("GET", handleOf(id), ""); a.status != want {
			t.Errorf("%s: the handle answers %d, want %d", id, a.status, want)
		}
	}
	row("published", "r1", "stored", true, 200, `{"applied":"stored","handle":"HANDLE","requested":"stored"}`, true)
	row("stored", "r2", "published", false, 200, `{"applied":"stored","handle":"HANDLE","requested":"published"}`, true)
	row("none", "r3", "stored", false, 200, `{"applied":"none","reason":"no_durable_store","requested":"stored"}`, false)
	row("none", "r4", "stored", true, 412, `{"applied":"none","max_available":"none","reason":"durability_required_unmet","requested":"stored"}`, false)
	row("stored", "r4b", "published", true, 412, `{"applied":"none","max_available":"stored","reason":"durability_required_unmet","requested":"published"}`, false)
	row("published", "r5", "published", true, 202, `{"applied":"stored","committed":"published","handle":"HANDLE","requested":"published"}`, true)
	row("published", "r6", "fsync", false, 200, `{"applied":"none","reason":"unknown_level","requested":"fsync"}`, false)
	row("published", "r7", "fsync", true, 412, `{"applied":"none","max_available":"published","reason":"unknown_level","requested":"fsync"}`, false)
	row("published", "r9", "none", true, 200, `{"applied":"none","requested":"none"}`, false)
	// 8: a duplicate.
	a := s.post(submission("r1", asking("stored", true)))
	if a.status != 409 || a.field() != `{"applied":"none","reason":"duplicate_request_id","requested":"stored"}` {
		t.Errorf("duplicate: %d %s", a.status, a.text)
	}
}

// TestR31Unmarked: as if the extension were not there: straight to the topic, no field, no entry, no uniqueness.
func TestR31Unmarked(t *testing.T) {
	s := newSite(t, nil)
	for n := range 2 {
		a := s.post(submission("u1", ""))
		if a.status != 200 || a.field() != "" || a.body["source"] == nil {
			t.Errorf("%d %s", a.status, a.text)
		}
		if got := s.world.Source.Holding(`"u1"`); got != n+1 {
			t.Errorf("%d records after %d answers", got, n+1)
		}
	}
	if s.world.Store.Count(t, intake.LocalAuthor, "u1") != 0 || s.do("GET", handleOf("u1"), "").status != 404 {
		t.Error("an unmarked request was kept")
	}
	s.world.Source.Down(true)
	if a := s.post(submission("u2", "")); a.status != 503 || a.field() != "" {
		t.Errorf("without an acknowledgement: %d %s", a.status, a.text)
	}
	if a := s.post(submission("u3", asking("none", false))); a.status != 503 || a.field() != `{"applied":"none","requested":"none"}` {
		t.Errorf("without an acknowledgement, marked: %d %s", a.status, a.text)
	}
}

// TestR33Knobs: all eight combinations of marker, wait and deliver_to. wait and deliver_to change neither status nor what
// is kept; the decision arrives where it was asked for.
func TestR33Knobs(t *testing.T) {
	s := newSite(t, nil)
	for n := range 8 {
		id := fmt.Sprintf("k%d", n)
		marked, waits, delivers := n&1 != 0, n&2 != 0, n&4 != 0
		members := ""
		if marked {
			members += asking("stored", true)
		}
		if waits {
			members += `,"wait":"20s"`
		}
		if delivers {
			members += `,"deliver_to":"` + intaketest.Results + `"`
		}
		a := s.post(submission(id, members))
		if a.status != 200 || (a.field() != "") != marked || (s.world.Store.Count(t, intake.LocalAuthor, id) == 1) != marked {
			t.Errorf("marker %t, wait %t, deliver_to %t: %d %s", marked, waits, delivers, a.status, a.text)
		}
		if marked && a.field() != `{"applied":"stored","handle":"`+handleOf(id)+`","requested":"stored"}` {
			t.Errorf("wait %t, deliver_to %t: %s", waits, delivers, a.field())
		}
		if (a.body["decision"] != nil) != waits {
			t.Errorf("marker %t, wait %t: decision %v", marked, waits, a.body["decision"])
		}
		if delivers {
			intaketest.Eventually(t, "the decision about "+id, func() bool { return s.world.Target.Holding(`"request_id":"`+id+`"`) == 1 })
		} else if s.world.Target.Holding(`"`+id+`"`) != 0 {
			t.Errorf("%s: a decision nobody asked for", id)
		}
	}
	for _, m := range s.world.Target.All() {
		if len(m.Key) != 2 || !strings.Contains(string(m.Value), `"outcome":"accepted"`) {
			t.Errorf("delivered %s: %s", m.Key, m.Value)
		}
	}
}

// TestR33WaitOnlyDelays: with the worker behind, the answer comes when the time is up, and is what it would have been.
func TestR33WaitOnlyDelays(t *testing.T) {
	s := newSite(t, nil)
	s.world.Behind.Store(true)
	s.world.Held.Store(true)
	for level, want := range map[string]string{
		"stored":    `{"applied":"stored","handle":"HANDLE","requested":"stored"}`,
		"published": `{"applied":"stored","committed":"published","handle":"HANDLE","requested":"published"}`,
	} {
		start := time.Now()
		a := s.post(submission(level, asking(level, true)+`,"wait":"300ms"`))
		if took := time.Since(start); took < 300*time.Millisecond || a.field() != strings.ReplaceAll(want, "HANDLE", handleOf(level)) {
			t.Errorf("%s after %v: %d %s", level, took, a.status, a.text)
		}
	}
	// A published request claims what is in place when the bytes are written, and stays a 202.
	s.world.Held.Store(false)
	s.world.Behind.Store(false)
	a := s.post(submission("p", asking("published", true)+`,"wait":"20s"`))
	if a.status != 202 || a.field() != `{"applied":"published","committed":"published","handle":"`+handleOf("p")+`","requested":"published"}` {
		t.Errorf("%d %s", a.status, a.text)
	}
	for _, wait := range []string{"31s", "-1s", "soon", ""} {
		if a := s.post(submission("w", asking("stored", true)+`,"wait":"`+wait+`"`)); a.status != 400 {
			t.Errorf("wait %q: %d", wait, a.status)
		}
		if a := s.do("GET", handleOf("p")+"?wait="+url.QueryEscape(wait), ""); a.status != 400 && wait != "" {
			t.Errorf("GET with wait %q: %d", wait, a.status)
		}
	}
}

// TestR33NoHandler: a target that is not configured is refused up front, with nothing performed; a duplicate comes first.
func TestR33NoHandler(t *testing.T) {
	s := newSite(t, nil)
	for _, marker := range []string{"", asking("stored", true), asking("none", false)} {
		a := s.post(submission("n1", marker+`,"deliver_to":"elsewhere"`))
		if a.status != 422 || a.word() != "deliver_to_no_handler" || (a.field() != "") != (marker != "") {
			t.Errorf("%s: %d %s", marker, a.status, a.text)
		}
	}
	if s.world.Store.Count(t, intake.LocalAuthor, "n1") != 0 || s.world.Source.Holding("n1") != 0 {
		t.Error("something was performed")
	}
	if a := s.post(submission("n1", asking("stored", true)+`,"deliver_to":"`+intaketest.Results+`"`)); a.status != 200 {
		t.Errorf("the same request with a target that is there: %d %s", a.status, a.text)
	}
	if a := s.post(submission("n1", asking("stored", true)+`,"deliver_to":"elsewhere"`)); a.status != 409 {
		t.Errorf("duplicate without a handler: %d %s", a.status, a.text)
	}
}

// TestB134SameIDOtherBody: 409, and the prior entry stands, whatever differs.
func TestB134SameIDOtherBody(t *testing.T) {
	mark.Expect(t, "R32 duplicate request", "R35 duplicate before schema")
	s := newSite(t, nil)
	if a := s.post(submission("r1", asking("stored", true))); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.text)
	}
	before := s.do("GET", handleOf("r1")+"?wait=20s", "").text
	for name, body := range map[string]string{
		"the same again":     submission("r1", asking("stored", true)),
		"other body":         `{"request_id":"r1","transaction":` + txn("other") + asking("stored", true) + `}`,
		"other level":        submission("r1", asking("published", false)),
		"invalid":            `{"request_id":"r1","transaction":{}` + asking("stored", true) + `}`,
		"invalid, unchecked": `{"request_id":"r1","transaction":{}` + asking("stored", true) + `,"validate":false}`,
	} {
		a := s.post(body)
		if a.status != 409 || a.word() != "duplicate_request_id" || !strings.Contains(a.field(), `"reason":"duplicate_request_id"`) {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
	}
	if after := s.do("GET", handleOf("r1"), "").text; after != before {
		t.Errorf("the prior entry changed:\n%s%s", before, after)
	}
	if n := s.world.Source.Holding("r1") + s.world.Source.Holding("other"); n != 1 {
		t.Errorf("%d records in the topic, want 1", n)
	}
}

// TestB137RefusedIsForgotten: what was refused for its durability, its target or its schema blocks no retry.
func TestB137RefusedIsForgotten(t *testing.T) {
	s := newSite(t, nil)
	s.world.Offered.Store(durability.Stored)
	a := s.post(submission("r1", asking("published", true)))
	if a.status != 412 || a.field() != `{"applied":"none","max_available":"stored","reason":"durability_required_unmet","requested":"published"}` {
		t.Errorf("%d %s", a.status, a.text)
	}
	if a := s.post(`{"request_id":"r1","transaction":{}` + asking("stored", true) + `}`); a.status != 422 {
		t.Errorf("%d %s", a.status, a.text)
	}
	if s.world.Store.Count(t, intake.LocalAuthor, "r1") != 0 || len(s.world.Source.All()) != 0 {
		t.Error("a refused request was performed")
	}
	if a := s.post(submission("r1", asking("stored", true))); a.status != 200 {
		t.Errorf("the retry at a level that is offered: %d %s", a.status, a.text)
	}
}
