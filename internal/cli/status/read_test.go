package status

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

// applied is a namespace on real parts, as apply leaves it.
type applied struct {
	connections Connections
	pipeline.Applied
}

func apply(t *testing.T, cluster *kafkatest.Cluster) applied {
	t.Helper()
	ns := &manifests.Namespace{Name: "demo", Spec: manifests.Spec{
		SemanticsVersion: 1,
		Source: manifests.Source{
			Topic: cluster.Topic(t, 2), Partitions: 2, Partitioner: manifests.PartitionerMurmur2, MaxRecordBytes: 65536,
		},
		Output:    manifests.Output{Topic: cluster.Topic(t, 1), Partitions: 1},
		StockKeys: []manifests.StockKey{{Item: "widget", Location: "berlin", OpeningBalance: 100, ReorderThreshold: 60}},
	}}
	url, config := pg.New(t), kafka.Config{Brokers: cluster.Seeds}
	a := applied{connections: Connections{StateURL: url, ViewURL: url, Kafka: config}, Applied: pipeline.Applied{Namespace: ns}}
	admin, err := kafka.NewAdmin(config)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	for name, id := range map[string]*string{ns.Spec.Source.Topic: &a.SourceTopicID, ns.Spec.Output.Topic: &a.OutputTopicID} {
		info, err := admin.Describe(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		*id = info.ID
	}
	pool, err := postgres.Connect(t.Context(), postgres.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err = postgres.CreateNamespace(t.Context(), tx, ns); err == nil {
		err = postgres.CreateView(t.Context(), tx, ns, "digest", a.OutputTopicID)
	}
	if err == nil {
		err = tx.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (a applied) read(t *testing.T) string {
	t.Helper()
	facts, err := Read(t.Context(), a.connections, a.Applied, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := rendered(t, facts)
	return text
}

// TestRead: status of a namespace before any stage ran, with records waiting in one partition, and after its source topic
// was recreated.
func TestRead(t *testing.T) {
	cluster := kafkatest.Fake(t)
	a := apply(t, cluster)
	wants := func(step string, lines ...string) {
		t.Helper()
		text := a.read(t)
		for _, line := range lines {
			found := false
			for got := range strings.Lines(text) {
				found = found || strings.HasPrefix(strings.Join(strings.Fields(got), " "), line)
			}
			if !found {
				t.Errorf("%s: no line %q in\n%s", step, line, text)
			}
		}
	}
	wants("empty", "worker 0 0 0 0 0s - - drained", "worker 1 0 0 0 0s - - drained", "relay 0 1 1 0 0s - - drained", "view 0 0 0 0 0s - - drained")
	old := kgo.Record{
		Topic: a.Namespace.Spec.Source.Topic, Partition: 1, Value: []byte("x"), Timestamp: time.Now().Add(-3*time.Hour - time.Second),
	}
	again := old
	cluster.Produce(t, &old, &again)
	wants("two records wait", "worker 0 0 0 0 0s - - drained", "worker 1 0 2 2 3h0m")
	cluster.DeleteTopic(t, a.Namespace.Spec.Source.Topic)
	wants("SC28 topic gone", "worker 0 0 - - - - - stopped since")
	cluster.CreateTopic(t, a.Namespace.Spec.Source.Topic, 2, nil)
	wants("SC28 topic recreated", "worker 1 0 - - - - - stopped since", "view 0 0 0 0 0s - - drained")
}

// TestReadWithoutAState: what was never applied is named, not shown as empty.
func TestReadWithoutAState(t *testing.T) {
	cluster := kafkatest.Fake(t)
	a := apply(t, cluster)
	a.connections.StateURL = pg.New(t)
	if _, err := Read(context.Background(), a.connections, a.Applied, time.Now); err == nil || !strings.Contains(err.Error(), "apply the namespace first") {
		t.Errorf("Read: %v", err)
	}
}
