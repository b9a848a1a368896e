package intakeload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"amends.dev/amends/internal/pipeline"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/stages/intake"
	"amends.dev/amends/stages/kafka"
)

// cutOff makes every record for a topic fail while the result is set.
func (b *bed) cutOff(topic string, id kadm.TopicID) *atomic.Bool {
	cut := &atomic.Bool{}
	b.broker.Fake.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		b.broker.Fake.KeepControl()
		request, _ := r.(*kmsg.ProduceRequest)
		about := request != nil && slices.ContainsFunc(request.Topics, func(t kmsg.ProduceRequestTopic) bool {
			return t.Topic == topic || t.TopicID == id
		})
		return nil, errors.New("cut off"), about && cut.Load()
	})
	return cut
}

// notified is one record of the status topic.
type notified struct {
	key        string
	partition  int32
	capability string
	position   uint64
	status     intake.Status
}

// String is what the tests compare.
func (n notified) String() string {
	return fmt.Sprintf("%s: %s %d %s %t", n.key, n.capability, n.position, n.status.Level, n.status.Delivered)
}

// statuses reads from a topic until there are as many as wanted.
func (b *bed) statuses(t *testing.T, client *kgo.Client, want int) (all []notified) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for len(all) < want && ctx.Err() == nil {
		for _, r := range client.PollFetches(ctx).Records() {
			var n struct {
				Capability    string        `json:"capability"`
				Position      uint64        `json:"position"`
				SchemaVersion int           `json:"schema_version"`
				CodecVersion  int           `json:"codec_version"`
				Status        intake.Status `json:"status"`
			}
			if err := json.Unmarshal(r.Value, &n); err != nil || n.SchemaVersion != 1 || n.CodecVersion != 1 {
				t.Fatalf("%s: %v", r.Value, err)
			}
			all = append(all, notified{string(r.Key), r.Partition, n.Capability, n.Position, n.Status})
		}
	}
	return all
}

// metric reads a line of an intake's metrics.
func metric(t *testing.T, listen, name string) string {
	t.Helper()
	response, err := http.Get("http://" + listen + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// TestR28StatusTopic: on a real Postgres: three commits that the status topic could not be told of are one notification
// afterwards, by another process; what it may be told of follows in rising positions; a standby sends nothing.
func TestR28StatusTopic(t *testing.T) {
	t.Parallel()
	b := newBed(t, kafkatest.Fake(t))
	results, topic := b.broker.Topic(t, 2), kafkatest.UniqueName(t, "status")
	cut := b.cutOff(topic, b.broker.CreateTopic(t, topic, 3, nil))
	client := b.broker.Client(t, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	b.stages(t)
	cut.Store(true)
	intakes := func(holder, listen string) (stop func()) {
		return b.inProcess(t, pipeline.IntakeOptions{Holder: holder, Listen: listen, Targets: []string{results}, StatusTopic: topic})
	}
	stop := intakes("first", b.listen)
	b.ready()
	b.submit(t, "a", correction("t1", 1, -50), `,"deliver_to":"`+results+`"`)
	if entry := b.entry(t, "a"); entry["delivered"] != true {
		t.Fatalf("%v", entry)
	}
	stop()
	cut.Store(false)
	intakes("second", b.listen)
	b.ready()
	standby := fmt.Sprint("127.0.0.1:", freePort(t))
	intakes("third", standby)
	got := b.statuses(t, client, 1)
	if want := "intake/load/local/a: latest_state_only 3 published true"; len(got) != 1 || got[0].String() != want {
		t.Fatalf("%v, want %s", got, want)
	}
	if s := got[0].status; s.Source == nil || s.RequestID != "a" || s.Author != "local" || s.Handle != intake.Handle("load", "a") || s.Topic != b.ns.Spec.Source.Topic {
		t.Errorf("%+v", s)
	}
	b.submit(t, "b", correction("t2", 1, -1), `,"deliver_to":"`+results+`"`)
	for last := got[0]; last.String() != "intake/load/local/b: latest_state_only 3 published true"; {
		next := b.statuses(t, client, 1)
		if len(next) == 0 {
			t.Fatalf("nothing after %s", last)
		}
		for _, n := range next {
			if n.status.RequestID != "b" || last.key == n.key && (n.position <= last.position || n.partition != last.partition) {
				t.Errorf("%s after %s", n, last)
			}
			last = n
		}
	}
	eventually(t, "no status to be pending", func() bool {
		return b.number(`SELECT count(*) FROM amends_load.owner_latest WHERE pending_seq IS NOT NULL`) == 0
	})
	if n := metric(t, standby, "amends_intake_statuses_total"); n != "0" {
		t.Errorf("the standby sent %s", n)
	}
}

// TestStatusTopicRefusals: the topic exists, is not the namespace's own, and receives nothing else.
func TestStatusTopicRefusals(t *testing.T) {
	t.Parallel()
	b := newBed(t, kafkatest.Fake(t))
	topic := b.broker.Topic(t, 1)
	opens := func(status string, targets ...string) error {
		s, err := pipeline.NewIntake(t.Context(), pipeline.IntakeOptions{
			Applied: b.applied, StateURL: b.url, Kafka: kafka.Config{Brokers: b.broker.Seeds}, Holder: "refused", Listen: b.listen,
			Offered: "published", Targets: targets, StatusTopic: status, DeliveryTimeout: deliveryTimeout,
		})
		if err == nil {
			s.Close()
		}
		return err
	}
	if err := opens(topic); err != nil {
		t.Fatal(err)
	}
	for status, want := range map[string]string{
		b.ns.Spec.Source.Topic: "cannot receive statuses: it is the namespace's own",
		b.ns.Spec.Output.Topic: "cannot receive statuses: it is the namespace's own",
		"absent":               "topic absent for statuses does not exist: create it first",
		topic:                  "cannot receive statuses: it receives decisions",
	} {
		if err := opens(status, topic); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", status, err, want)
		}
	}
}
