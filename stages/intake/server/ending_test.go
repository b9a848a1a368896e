package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/intake/intaketest"
)

// TestR22LeaseNotRenewed: an intake that cannot renew its lease refuses before the lease ends, says why, and is not ready.
func TestR22LeaseNotRenewed(t *testing.T) {
	s := newSite(t, func(_ *Options, o *intake.Options) {
		o.DeliveryTimeout, o.LeaseTTL = 200*time.Millisecond, 800*time.Millisecond
	})
	s.world.Lease.Down(true)
	var refused answer
	intaketest.Eventually(t, "refusals", func() bool {
		refused = s.post(submission("r1", ""))
		return refused.status == 503
	})
	if detail := fmt.Sprint(refused.body["detail"]); !strings.Contains(detail, "the database has not answered since 20") {
		t.Errorf("%s", refused.text)
	}
	if ready := s.do("GET", "/readyz", ""); ready.status != 503 || !strings.Contains(ready.text, "the database has not answered since 20") {
		t.Errorf("it refuses, and is ready: %d %s", ready.status, ready.text)
	}
	s.world.Lease.Down(false)
	intaketest.Eventually(t, "the intake to go on", func() bool { return s.post(submission("r1", "")).status == 200 })
}

// TestEndWaits: a process that ends answers those who wait with what is there, also at handles.
func TestEndWaits(t *testing.T) {
	s := newSite(t, nil)
	s.world.Behind.Store(true)
	if a := s.post(submission("e1", asking("stored", true))); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.text)
	}
	answers := make(chan answer, 3)
	go func() { answers <- s.post(submission("e2", asking("published", true)+`,"wait":"30s"`)) }()
	go func() { answers <- s.post(submission("e3", `,"wait":"30s"`)) }()
	go func() { answers <- s.do("GET", handleOf("e1")+"?wait=30s", "") }()
	intaketest.Eventually(t, "the requests to be performed", func() bool { return len(s.world.Source.All()) == 3 })
	select {
	case a := <-answers:
		t.Fatalf("an answer before the wait was over: %d %s", a.status, a.text)
	default:
	}
	s.intake.EndWaits()
	for range 3 {
		select {
		case a := <-answers:
			if a.status != 200 && a.status != 202 || a.body["decision"] != nil {
				t.Errorf("%d %s", a.status, a.text)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("it waits for a worker")
		}
	}
}

// TestLargeKey: whatever passes the door fits into a record of a topic with Kafka's default limits: what cannot be
// published would hold up its partition for ever.
func TestLargeKey(t *testing.T) {
	const kafkaDefault = 1_000_012
	s := newSite(t, func(o *Options, _ *intake.Options) { o.MaxBody = MaxBodyLimit })
	for id, size := range map[string]int{"fits": 60_000, "large": 100_000, "largest": MaxBodyLimit - 1000} {
		a := s.post(fmt.Sprintf(`{"request_id":%q,"transaction":{"stock_key":{"item":"%s","location":"b"}},"validate":false%s}`,
			id, strings.Repeat("k", size), asking("stored", true)))
		if a.status != 200 {
			t.Fatalf("%s: %d %.200s", id, a.status, a.text)
		}
	}
	intaketest.Eventually(t, "the records", func() bool { return len(s.world.Source.All()) == 3 })
	keys := 0
	for _, m := range s.world.Source.All() {
		if size := len(m.Key) + len(m.Value) + 2000; size > kafkaDefault {
			t.Errorf("a record of %d bytes", size)
		}
		if m.Key != nil {
			keys++
		}
	}
	if keys != 1 {
		t.Errorf("%d records have a key, want that which fits", keys)
	}
}

// TestHeldDeliveries: decisions for a topic that is configured no more wait, and hold up nobody else's, however many.
func TestHeldDeliveries(t *testing.T) {
	const many = 450
	former := intaketest.NewTopic()
	s := newSite(t, func(_ *Options, o *intake.Options) {
		o.Targets = map[string]intake.Target{"former": {Publisher: former, Partitions: 1}, intaketest.Results: o.Targets[intaketest.Results]}
	})
	s.world.Behind.Store(true)
	var group sync.WaitGroup
	for sender := range 10 {
		group.Go(func() {
			for n := range many / 10 {
				s.post(submission(fmt.Sprint("f", sender, "-", n), asking("stored", true)+`,"deliver_to":"former"`))
			}
		})
	}
	group.Wait()
	s.post(submission("last", asking("stored", true)+`,"deliver_to":"`+intaketest.Results+`"`))
	intaketest.Eventually(t, "the publications", func() bool { return len(s.world.Source.All()) == many+1 })
	s.world.Lease.Take(true) // another process delivers, which has no former topic
	intaketest.Eventually(t, "the intake to stand by", func() bool { return s.do("GET", "/readyz", "").status == 503 })
	next := intaketest.New()
	next.Store, next.Source = s.world.Store, s.world.Source
	next.Start(t, next.Options())
	intaketest.Eventually(t, "the delivery behind", func() bool { return len(next.Target.All()) == 1 })
	var report intake.Report
	if err := json.Unmarshal(next.Target.All()[0].Value, &report); err != nil || report.RequestID != "last" {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestUnkeptDeliveryRefused: while no obligation to deliver can be kept, a request that is not kept and asks for delivery
// is refused before its record is sent.
func TestUnkeptDeliveryRefused(t *testing.T) {
	s := newSite(t, func(_ *Options, o *intake.Options) { o.Patience = 100 * time.Millisecond })
	s.world.Store.Down(true)
	body := submission("u", `,"deliver_to":"`+intaketest.Results+`"`)
	intaketest.Eventually(t, "the store to be found away", func() bool {
		_, why := s.intake.Ready()
		if !strings.Contains(why, "store") {
			s.post(body)
		}
		return strings.Contains(why, "store")
	})
	before := len(s.world.Source.All())
	if a := s.post(body); a.status != 503 || len(s.world.Source.All()) != before {
		t.Errorf("%d %s: %d records more", a.status, a.text, len(s.world.Source.All())-before)
	}
	if a := s.post(submission("u", "")); a.status != 200 || !bytes.Contains(s.world.Source.All()[before].Value, []byte("t")) {
		t.Errorf("without delivery it needs no store: %d %s", a.status, a.text)
	}
}

// TestForeignPages: a page of another site that the browser of an operator shows is no author; tools and own pages are.
func TestForeignPages(t *testing.T) {
	s := newSite(t, nil)
	for _, of := range []struct {
		header []string
		status int
	}{
		{nil, 200}, {[]string{"Sec-Fetch-Site", "same-origin"}, 200}, {[]string{"Origin", s.url}, 200},
		{[]string{"Sec-Fetch-Site", "cross-site"}, 401}, {[]string{"Origin", "https://evil.example"}, 401},
	} {
		a := s.post(submission("p", asking("none", false)), append(of.header, "Content-Type", "text/plain")...)
		if a.status != of.status || a.field() == "" {
			t.Errorf("%v: %d %s", of.header, a.status, a.text)
		}
	}
}
