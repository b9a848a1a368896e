package server

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/intake/intaketest"
)

// TestOverload: what does not fit into the queue is refused at once, with Retry-After; what was taken is answered and
// kept, however long the store takes, and the store gets it in few commits.
func TestOverload(t *testing.T) {
	const fits, clients = 5, 30
	s := newSite(t, func(_ *Options, o *intake.Options) { o.Queue = fits })
	s.world.Store.Slow.Lock()
	before := s.world.Store.Entered.Load()
	var answered, refused atomic.Int64
	statuses := make([]int, clients)
	var group sync.WaitGroup
	send := func(n int) {
		group.Go(func() {
			statuses[n] = s.post(submission(fmt.Sprint("o", n), asking("stored", true))).status
			answered.Add(1)
			if statuses[n] == 503 {
				refused.Add(1)
			}
		})
	}
	send(0)
	intaketest.Eventually(t, "a commit under way", func() bool { return s.world.Store.Entered.Load() > before })
	for n := 1; n < clients; n++ {
		send(n)
	}
	intaketest.Eventually(t, "refusals", func() bool { return refused.Load() == clients-fits-1 })
	if answered.Load() != refused.Load() {
		t.Errorf("%d answers, %d refusals: an answer before the commit", answered.Load(), refused.Load())
	}
	s.world.Store.Slow.Unlock()
	group.Wait()
	for n, status := range statuses {
		kept := s.world.Store.Count(t, intake.LocalAuthor, fmt.Sprint("o", n)) == 1
		if status != 200 && status != 503 || kept != (status == 200) {
			t.Errorf("request %d: %d, kept %t", n, status, kept)
		}
	}
	if commits := s.intake.Done().Commits.Load(); commits != 2 {
		t.Errorf("%d commits for one request and %d that waited, want 2", commits, fits)
	}
}

// TestBacklog: while as many kept requests as may wait to be published, those that ask to be kept are told to come again,
// and nothing of them is kept; the others go on, and handles are read. The intake stays ready, for there is no other that
// could take them, and each is due an answer with the durability field (R30). Once they are published, they are taken.
func TestBacklog(t *testing.T) {
	const bound = 4
	s := newSite(t, func(_ *Options, o *intake.Options) { o.Backlog = bound })
	s.world.Held.Store(true)
	for n := range bound {
		if a := s.post(submission(fmt.Sprint("b", n), asking("stored", true))); a.status != 200 {
			t.Fatalf("request %d: %d %s", n, a.status, a.text)
		}
	}
	intaketest.Eventually(t, "the backlog to be counted", func() bool { return s.intake.Unpublished() == bound })
	a := s.post(submission("late", asking("published", true)))
	if a.status != 503 || a.header.Get("Retry-After") == "" || a.field() != `{"applied":"none","requested":"published"}` ||
		a.body["detail"] != "4 kept requests wait to be published" || s.world.Store.Count(t, intake.LocalAuthor, "late") != 0 {
		t.Errorf("%d %v %s", a.status, a.header, a.text)
	}
	if a := s.post(submission("direct", "")); a.status != 200 {
		t.Errorf("a request that is not kept: %d %s", a.status, a.text)
	}
	if a := s.do("GET", handleOf("b0"), ""); a.status != 200 {
		t.Errorf("a handle: %d %s", a.status, a.text)
	}
	if a := s.do("GET", "/readyz", ""); a.status != 200 {
		t.Errorf("a full backlog takes the intake out of service: %d %s", a.status, a.text)
	}
	full := func(want int) {
		t.Helper()
		if text := s.do("GET", "/metrics", "").text; !strings.Contains(text, fmt.Sprintf("\namends_intake_backlog_full %d\n", want)) ||
			!strings.Contains(text, "\namends_intake_ready 1\n") {
			t.Errorf("want %d for a full backlog:\n%s", want, text)
		}
	}
	full(1)
	s.world.Held.Store(false)
	intaketest.Eventually(t, "the backlog to be published", func() bool { return s.intake.Unpublished() == 0 })
	full(0)
	if a := s.post(submission("late", asking("published", true))); a.status != 202 {
		t.Errorf("%d %s", a.status, a.text)
	}
}
