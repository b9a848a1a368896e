package clitest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// transactions are n new ones, a line each.
func transactions(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, `{"txn_id":"s%d","stock_key":{"item":"widget","location":"berlin"},"revision":1,"kind":"NEW",`+
			`"valid_time":"2026-01-%02dT10:00:00Z","qty":%d,"source_time":"2026-01-05T10:00:00Z"}`+"\n", i, 1+i%28, i%5-2)
	}
	return text.String()
}

// file writes a file into the world's folder.
func (w *world) file(name, text string) string {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return name
}

// intake starts one and returns where it serves.
func (w *world) intake(args ...string) (*process, string) {
	w.t.Helper()
	p := w.start(append([]string{"run", "intake", "--listen", "127.0.0.1:0"}, args...)...)
	p.says("msg=serving", 0)
	at := regexp.MustCompile(`address=(127\.0\.0\.1:\d+)`).FindStringSubmatch(p.stderr.String())
	if at == nil {
		w.t.Fatalf("no address: %s", p.stderr.String())
	}
	return p, "http://" + at[1]
}

// TestIntakeSubmitAndProbe: a file is submitted, again without sending anything twice, longer, and with a bad line; the
// probe has nothing to complain about; SIGTERM ends the intake in order with everything published, and verify passes.
func TestIntakeSubmitAndProbe(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.must("apply", "--yes", "shop.yaml")
	intake, url := w.intake()
	submit := func(want int, file string) (sum struct {
		Sent, Promised, Found int
		Performed             map[string]int
		Refused               []struct {
			Line, Status int
			Error        string
		}
	}) {
		t.Helper()
		o := w.ctl("submit", "-n", "shop", "--url", url, "-o", "json", "--records", file, "--durability", "published", "--must-have")
		if err := json.Unmarshal([]byte(o.stdout), &sum); err != nil || o.code != want {
			t.Fatalf("exit code %d, %v: %s%s", o.code, err, o.stdout, o.stderr)
		}
		return sum
	}
	if s := submit(0, w.file("t.jsonl", transactions(50))); s.Sent != 50 || s.Promised != 50 || s.Performed["stored"] != 50 {
		t.Errorf("first: %+v", s)
	}
	if s := submit(0, "t.jsonl"); s.Found != 50 || s.Promised != 0 {
		t.Errorf("again: %+v", s)
	}
	longer := transactions(60) + `{"txn_id":""}` + "\n"
	if s := submit(1, w.file("t.jsonl", longer)); s.Found != 50 || s.Promised != 10 || len(s.Refused) != 1 || s.Refused[0].Line != 61 || s.Refused[0].Error != "missing_field" {
		t.Errorf("longer: %+v", s)
	}
	transaction, _, _ := strings.Cut(longer, "\n")
	o := w.must("conformance", "durability", "--url", url, "-n", "shop", "--transaction", w.file("one.json", transaction))
	if strings.Contains(o.stdout, "FAIL") || strings.Count(o.stdout, " ok ") < 15 {
		t.Errorf("%s", o.stdout)
	}
	if text := w.must("status", "-n", "shop").stdout; !regexp.MustCompile(`(?m)^\S+/\S+ +\d+ +held +\d+ +0$`).MatchString(text) {
		t.Errorf("the intake is not in the status:\n%s", text)
	}
	intake.stop(syscall.SIGTERM, 0)
	if text := w.must("status", "-n", "shop").stdout; !regexp.MustCompile(`(?m)^- +- +free +0 +0$`).MatchString(text) {
		t.Errorf("an intake that ended in order is in the status, or left something:\n%s", text)
	}
	stages := w.run("-n", "shop")
	w.passes("shop")
	stages.stop(syscall.SIGTERM, 0)
}

// TestIntakeYieldsToVerify: a verification that stops the writers gets the lease from a running intake, which drains and
// goes on afterwards.
func TestIntakeYieldsToVerify(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	intake, url := w.intake("-n", "shop")
	stages := w.run("-n", "shop")
	w.file("a.jsonl", transactions(20))
	w.must("submit", "-n", "shop", "--url", url, "--records", "a.jsonl")
	w.passes("shop")
	w.file("b.jsonl", strings.ReplaceAll(transactions(20), `"txn_id":"s`, `"txn_id":"later-`))
	w.must("submit", "-n", "shop", "--url", url, "--records", "b.jsonl") // told to come again until it may
	w.passes("shop")
	intake.stop(syscall.SIGINT, 0)
	stages.stop(syscall.SIGTERM, 0)
}

// TestR28RunIntakeStatusTopic: the topic that is named, by flag or environment, has the last status of each kept request.
func TestR28RunIntakeStatusTopic(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.must("apply", "--yes", "shop.yaml")
	w.fake.CreateTopic(t, "shop.status", 2, nil)
	w.file("a.jsonl", transactions(4))
	client := w.fake.Client(t, kgo.ConsumeTopics("shop.status"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	last := map[string]string{}
	reads := func(requests int) {
		for level := `"level":"published"`; ctx.Err() == nil; {
			done := 0
			for _, status := range last {
				done += strings.Count(status, level)
			}
			if done == requests {
				return
			}
			for _, r := range client.PollFetches(ctx).Records() {
				last[string(r.Key)] = string(r.Value)
			}
		}
		t.Errorf("want %d published requests: %v", requests, last)
	}
	intake, url := w.intake("--status-topic", "shop.status")
	w.must("submit", "-n", "shop", "--url", url, "--records", "a.jsonl", "--durability", "stored")
	reads(4)
	intake.stop(syscall.SIGTERM, 0)
	w.file("b.jsonl", strings.ReplaceAll(transactions(3), `"txn_id":"s`, `"txn_id":"later-`))
	intake, url = w.with("AMENDS_INTAKE_STATUS_TOPIC=shop.status").intake()
	w.must("submit", "-n", "shop", "--url", url, "--records", "b.jsonl", "--durability", "stored")
	reads(7)
	intake.stop(syscall.SIGTERM, 0)
	for key, status := range last {
		if !strings.HasPrefix(key, "intake/shop/local/") || !strings.HasPrefix(status, `{"capability":"latest_state_only","position":2,`) {
			t.Errorf("%s: %s", key, status)
		}
	}
}

// TestIntakeRefusals: what run intake, submit and the probe refuse, and how they say it.
func TestIntakeRefusals(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.must("apply", "--yes", "shop.yaml")
	w.file("tokens", strings.Repeat("ab", 32)+" anna\n")
	w.file("bad", "hunter2 anna\n")
	w.fails(5, `listen on 0\.0\.0\.0:0: only loopback is served without authentication and TLS; give --tokens`, "run", "intake", "--listen", "0.0.0.0:0")
	w.fails(5, `only loopback`, "run", "intake", "--listen", ":0", "--tokens", "tokens")
	w.fails(2, `line 1: want the SHA-256 of a token`, "run", "intake", "--tokens", "bad")
	w.fails(2, `--durability fsync: want none, stored or published`, "run", "intake", "--durability", "fsync")
	w.fails(2, `--zone x: want LEVEL=ZONE`, "run", "intake", "--zone", "x")
	w.fails(2, `--serve-tls-cert and --serve-tls-key come together`, "run", "intake", "--serve-tls-key", "tokens")
	w.fails(2, `--max-body 0`, "run", "intake", "--max-body", "0")
	w.fails(1, `topic elsewhere for decisions does not exist: create it first`, "run", "intake", "--deliver-to", "elsewhere")
	w.fails(1, `topic elsewhere for statuses does not exist: create it first`, "run", "intake", "--status-topic", "elsewhere")
	w.fails(1, `topic shop\.outputs cannot receive statuses: it is the namespace's own`, "run", "intake", "--status-topic", "shop.outputs")
	w.fails(2, `no namespace given; set -n`, "submit", "--records", "x")
	w.fails(2, `no file given; set --records`, "submit", "-n", "shop")
	w.fails(2, `--records: open absent`, "submit", "-n", "shop", "--records", "absent")
	w.fails(2, `--url ftp://x: want http`, "submit", "-n", "shop", "--url", "ftp://x", "--records", "absent")
	w.fails(1, `connection refused`, "conformance", "durability", "-n", "shop", "--url", "http://127.0.0.1:1")
	tokens, url := w.intake("--tokens", "tokens")
	o := w.ctl("submit", "-n", "shop", "--url", url, "--records", w.file("a.jsonl", transactions(3)))
	if o.code != 1 || !strings.Contains(o.stderr, "unauthenticated") {
		t.Errorf("without a token: %d %s%s", o.code, o.stdout, o.stderr)
	}
	tokens.stop(syscall.SIGTERM, 0)
}

// TestIntakeEndsWaits: SIGTERM answers those who wait for a decision that does not come, and the lease is given back.
func TestIntakeEndsWaits(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t) // without stages nobody decides
	intake, url := w.intake("-n", "shop")
	transaction, _, _ := strings.Cut(transactions(1), "\n")
	body := `{"request_id":"r","durability_request":{"level":"stored"},"wait":"30s","transaction":` + transaction + `}`
	statuses := make(chan int, 1)
	w.must("submit", "-n", "shop", "--url", url, "--records", w.file("first.jsonl", transactions(1))) // it accepts
	go func() {
		response, err := http.Post(url+"/v1/namespaces/shop/transactions", "application/json", strings.NewReader(body))
		if err != nil {
			statuses <- 0
			return
		}
		_ = response.Body.Close() // the status says enough
		statuses <- response.StatusCode
	}()
	for kept := false; !kept; {
		response, err := http.Get(url + "/v1/namespaces/shop/requests/r")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		kept = response.StatusCode == http.StatusOK
	}
	start := time.Now()
	intake.stop(syscall.SIGTERM, 0)
	if status := <-statuses; status != http.StatusOK || time.Since(start) > 20*time.Second {
		t.Errorf("status %d, ended after %v", status, time.Since(start))
	}
	if text := w.must("status", "-n", "shop").stdout; !regexp.MustCompile(`(?m)^- +- +free +0 +0$`).MatchString(text) {
		t.Errorf("%s", text)
	}
}

// TestR36ResumeOfAPublication: an accepted request that cannot be published stops its source partition in the intake, which
// a status shows that is asked for elsewhere; resume refuses while the cause stands, and lets the running intake go on when it
// is gone: nothing that was accepted is lost.
func TestR36ResumeOfAPublication(t *testing.T) {
	t.Parallel()
	w := appliedWorld(t)
	w.sql(`CREATE FUNCTION public.later() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.codec_version := 99; RETURN NEW; END$$`)
	w.sql(`CREATE TRIGGER later BEFORE INSERT ON amends_shop.owner_effect FOR EACH ROW EXECUTE FUNCTION public.later()`)
	intake, url := w.intake("-n", "shop")
	w.file("a.jsonl", transactions(20))
	w.must("submit", "-n", "shop", "--url", url, "--records", "a.jsonl", "--durability", "stored")
	const stalled = `SELECT count(*) FROM amends_shop.stall WHERE stage = 'intake-publish' AND next_try IS NULL`
	w.becomes(1, stalled)
	w.answers(0, `(?m)^intake-publish +\d .* stopped.* since 20\d\d-.*outbox_damaged.* codec version 99|"stage": "intake-publish"`, "status")
	partition := fmt.Sprint(w.number(`SELECT min(partition) FROM amends_shop.stall WHERE stage = 'intake-publish'`))
	w.fails(5, `^intake-publish partition `+partition+` stays stopped: .*codec version 99.*the cause stands`, "resume", "--stage", "intake-publish", "--partition", partition)
	w.sql(`DROP TRIGGER later ON amends_shop.owner_effect`)
	w.sql(`UPDATE amends_shop.owner_effect SET codec_version = 2`)
	w.must("resume", "--stage", "intake-publish", "--partition", partition)
	w.becomes(0, `SELECT count(*) FROM amends_shop.owner_pending`)
	w.becomes(0, stalled)
	w.fails(2, `has partitions 0 to 0`, "resume", "--stage", "intake-commit", "--partition", "1")
	w.must("resume", "--stage", "intake-commit", "--partition", "0")
	intake.says("stage=intake-commit", 0)
	stages := w.run("-n", "shop")
	w.passes("shop")
	intake.stop(syscall.SIGTERM, 0)
	stages.stop(syscall.SIGTERM, 0)
}
