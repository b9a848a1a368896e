package intakeload

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/durabilityprobe"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/internal/testkit/child"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/kafka"
)

// serve runs an intake in this process, and the stages beside it, until the test ends.
func (b *bed) serve(t *testing.T, targets ...string) {
	t.Helper()
	b.stages(t)
	b.inProcess(t, pipeline.IntakeOptions{Holder: "in process", Listen: b.listen, Targets: targets})
	b.ready()
}

// inProcess runs an intake in this process until the test ends, or it is stopped.
func (b *bed) inProcess(t *testing.T, o pipeline.IntakeOptions) (stop func()) {
	t.Helper()
	log := child.NewLog(t, o.Holder)
	o.Applied, o.StateURL, o.Kafka, o.Offered = b.applied, b.url, kafka.Config{Brokers: b.broker.Seeds}, durability.Published
	o.DeliveryTimeout, o.Log = deliveryTimeout, slog.New(slog.NewTextHandler(log, nil))
	s, err := pipeline.NewIntake(t.Context(), o)
	b.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop = func() {
		cancel()
		<-ended
	}
	t.Cleanup(func() {
		stop()
		if t.Failed() {
			t.Logf("%s:\n%s", o.Holder, log)
		}
	})
	return stop
}

// stages runs the stages in this process until the test ends.
func (b *bed) stages(t *testing.T) {
	t.Helper()
	p, err := pipeline.New(t.Context(), pipeline.Options{
		Applied: b.applied, StateURL: b.url, ViewURL: b.url, Kafka: kafka.Config{Brokers: b.broker.Seeds}, Holder: "stages",
	})
	b.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

// correction is a transaction of one identity on the widget in Berlin.
func correction(txn string, revision, qty int) string {
	return fmt.Sprintf(`{"txn_id":%q,"stock_key":{"item":"widget","location":"berlin"},"revision":%d,"kind":%q,"valid_time":"2026-01-05T10:00:00Z",`+
		`"qty":%d,"source_time":"2026-01-05T10:00:00Z"}`, txn, revision, map[bool]string{true: "NEW", false: "AMEND"}[revision == 1], qty)
}

// submit keeps a transaction and waits for the worker's decision; it returns the answer's body.
func (b *bed) submit(t *testing.T, id, transaction, members string) map[string]any {
	t.Helper()
	body := fmt.Sprintf(`{"request_id":%q,"transaction":%s,"durability_request":{"level":"published","must_have":true},"wait":"30s"%s}`, id, transaction, members)
	response, err := http.Post("http://"+b.listen+"/v1/namespaces/load/transactions", "application/json", strings.NewReader(body))
	b.must(err)
	defer func() { _ = response.Body.Close() }()
	return read(t, response)
}

func read(t *testing.T, response *http.Response) map[string]any {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%d %s", response.StatusCode, text)
	}
	return value
}

// entry reads a handle.
func (b *bed) entry(t *testing.T, id string) map[string]any {
	t.Helper()
	response, err := http.Get("http://" + b.listen + intake.Handle("load", id) + "?wait=30s")
	b.must(err)
	defer func() { _ = response.Body.Close() }()
	return read(t, response)
}

// decided is what an answer or entry says the worker made of the record, with the outputs by type.
func decided(value map[string]any) string {
	d, _ := value["decision"].(map[string]any)
	text := fmt.Sprint(d["outcome"], " ", d["reason"], " ", d["authority"], ":")
	outputs, _ := d["outputs"].([]any)
	for _, o := range outputs {
		output, _ := o.(map[string]any)
		text += fmt.Sprint(" ", output["type"], " ", output["version"])
	}
	return text
}

// TestHandlesTellWhatBecameOfIt: on a real Postgres, with the real worker: accepted, superseded, duplicate, conflicting and
// quarantined records, the outputs that name them, and the decision at the topic that was asked for; and the probe finds
// nothing to complain about.
func TestHandlesTellWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	b := newBed(t, kafkatest.Fake(t))
	results := b.broker.Topic(t, 2)
	b.serve(t, results)
	says := func(id, want string, got map[string]any) {
		t.Helper()
		if decided(got) != want {
			t.Errorf("%s: %s\nwant %s\nin %v", id, decided(got), want, got)
		}
	}
	says("first", "accepted <nil> current: BalanceStated 1 AlertRaised 1 KeyStatusStated 1",
		b.submit(t, "first", correction("t1", 1, -50), `,"deliver_to":"`+results+`"`))
	says("amended", "accepted <nil> current: BalanceStated 2 AlertRetracted 2", b.submit(t, "amended", correction("t1", 2, -10), ""))
	says("first later", "accepted <nil> superseded: BalanceStated 1 AlertRaised 1 KeyStatusStated 1", b.entry(t, "first"))
	says("again", "accepted <nil> duplicate:", b.submit(t, "again", correction("t1", 2, -10), ""))
	says("conflict", "accepted <nil> conflicting: KeyStatusStated 2", b.submit(t, "conflict", correction("t1", 2, -11), ""))
	says("amended later", "accepted <nil> conflicting: BalanceStated 2 AlertRetracted 2", b.entry(t, "amended"))
	says("bad", "quarantined unknown_stock_key <nil>:",
		b.submit(t, "bad", strings.Replace(correction("t2", 1, 1), "widget", "unheard of", 1), `,"validate":false`))
	says("odd", "quarantined wrong_type <nil>:", b.submit(t, "odd", `"no object"`, `,"validate":false`))
	if a := b.submit(t, "refused", `"no object"`, ""); a["error"] != "wrong_type" {
		t.Errorf("checked at the door: %v", a)
	}
	client := b.broker.Client(t)
	client.AddConsumeTopics(results)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for got := 0; got == 0 && ctx.Err() == nil; {
		for _, r := range client.PollFetches(ctx).Records() {
			got++
			if string(r.Key) != "first" || !strings.Contains(string(r.Value), `"outcome":"accepted"`) {
				t.Errorf("delivered %s: %s", r.Key, r.Value)
			}
		}
	}
	outcomes, err := durabilityprobe.Run(t.Context(), durabilityprobe.Options{
		URL: "http://" + b.listen, Namespace: "load", Run: "probe", HTTP: http.DefaultClient, Sleep: b.client(1).Sleep,
		Levels: []string{"none", "stored", "published"},
	}, nil)
	b.must(err)
	for _, out := range outcomes {
		if out.Result == durabilityprobe.Failed {
			t.Errorf("%s: %s", out.ID, out.Found)
		}
	}
}
