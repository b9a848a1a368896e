package status

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

// applied is a namespace on real parts, as apply leaves it.
type applied struct {
	url     string
	cluster *kafkatest.Cluster
	*postgres.Applied
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
	url := pg.New(t)
	admin, err := kafka.NewAdmin(kafka.Config{Brokers: cluster.Seeds})
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	ids := map[string]string{}
	for _, name := range []string{ns.Spec.Source.Topic, ns.Spec.Output.Topic} {
		info, err := admin.Describe(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = info.ID
	}
	pool, err := postgres.Connect(t.Context(), postgres.Options{URL: url, Schema: postgres.CatalogSchema})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err = postgres.CreateView(t.Context(), tx, ns, ns.NamespaceDigest(), ids[ns.Spec.Output.Topic]); err == nil {
		err = tx.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	catalog := postgres.NewCatalog(pool)
	if err = catalog.Migrate(t.Context()); err == nil {
		err = catalog.Record(t.Context(), ns, ids[ns.Spec.Source.Topic], ids[ns.Spec.Output.Topic])
	}
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := catalog.Load(t.Context(), ns.Name)
	if err != nil {
		t.Fatal(err)
	}
	return applied{url: url, cluster: cluster, Applied: loaded}
}

// status runs the verb, with its connections in the environment.
func (a applied) status(t *testing.T, args ...string) (string, error) {
	t.Helper()
	env := map[string]string{"AMENDS_DATABASE_URL": a.url, "AMENDS_BROKERS": strings.Join(a.cluster.Seeds, ",")}
	var stdout bytes.Buffer
	cmd := New(&app.App{Stdout: &stdout, Getenv: func(name string) string { return env[name] }, Now: time.Now})
	cmd.Flags().StringP("output", "o", "text", "") // the root command's
	cmd.SetArgs(args)
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	err := cmd.ExecuteContext(t.Context())
	return stdout.String(), err
}

// exec changes the processing state by hand.
func (a applied) exec(t *testing.T, sql string) {
	t.Helper()
	pool, err := postgres.Connect(t.Context(), postgres.Options{URL: a.url, Schema: a.StateSchema})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// TestRead: status of a namespace before any stage ran, with records waiting in one partition, and after its source topic
// was recreated.
func TestRead(t *testing.T) {
	cluster := kafkatest.Fake(t)
	a := apply(t, cluster)
	wants := func(step string, lines ...string) {
		t.Helper()
		text, err := a.status(t)
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
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
	a.exec(t, `INSERT INTO partition_state (partition) VALUES (9); INSERT INTO relay_state (partition) VALUES (9)`)
	wants("a row of no partition", "worker 1 0 2 2 3h0m", "worker 9 0 - - - - - behind, and nobody owns it")
	a.exec(t, `UPDATE partition_state SET member = 'gone' WHERE partition = 1`)
	wants("a worker that left", "worker 1 0 2 2 3h0m")
	if text, _ := a.status(t); strings.Contains(text, "gone") {
		t.Errorf("a member of no group owns a partition:\n%s", text)
	}
	a.exec(t, `DELETE FROM partition_state WHERE partition = 9; DELETE FROM relay_state WHERE partition = 9`)
	cluster.DeleteTopic(t, a.Namespace.Spec.Source.Topic)
	wants("SC28 topic gone", "worker 0 0 - - - - - stopped: topic")
	cluster.CreateTopic(t, a.Namespace.Spec.Source.Topic, 2, nil)
	wants("SC28 topic recreated", "worker 1 0 - - - - - stopped: topic", "view 0 0 0 0 0s - - drained")
}

// TestVerb: how the verb is called and how it fails.
func TestVerb(t *testing.T) {
	a := apply(t, kafkatest.Fake(t))
	text, err := a.status(t, "-n", "demo", "-o", "json")
	var d Document
	if err == nil {
		err = json.Unmarshal([]byte(text), &d)
	}
	if err != nil || d.Namespace != "demo" || len(d.Stages) != 5 {
		t.Errorf("as JSON: %v\n%s", err, text)
	}
	if _, err = a.status(t, "-n", "other"); exit.Of(err) != exit.Error || !strings.Contains(err.Error(), "not applied") {
		t.Errorf("a namespace that is not applied: %v (%d)", err, exit.Of(err))
	}
	a.url = pg.New(t)
	if _, err = a.status(t); exit.Of(err) != exit.Error || !strings.Contains(err.Error(), "amendsctl apply") {
		t.Errorf("an empty database: %v (%d)", err, exit.Of(err))
	}
	a.url = ""
	if _, err = a.status(t); exit.Of(err) != exit.Usage {
		t.Errorf("no database: %v (%d)", err, exit.Of(err))
	}
}
