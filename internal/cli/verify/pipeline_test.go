package verify_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/cli/connect"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/run"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// These tests wait most of the time.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(kafkatest.Main(m))
}

// pipeline is a namespace with all its real stages, on a real Postgres and a broker.
type pipeline struct {
	t                  *testing.T
	cluster            *kafkatest.Cluster
	kafka              kafka.Config
	url                string
	ns                 *manifests.Namespace
	source, output     kafka.Topic
	catalog            *pgxpool.Pool
	stateDB, viewDB    *pgxpool.Pool
	stopStages         map[string]func()
	options            verify.Options
	partitions, nextID int32
}

// newPipeline applies a namespace of two partitions and three keys.
func newPipeline(t *testing.T, cluster *kafkatest.Cluster, opening int64) *pipeline {
	t.Helper()
	t.Parallel() // pipelines have nothing in common, and mostly wait
	p := &pipeline{t: t, cluster: cluster, kafka: kafka.Config{Brokers: cluster.Seeds}, url: pg.New(t), partitions: 2, stopStages: map[string]func(){}}
	p.source, p.output = p.createTopic("in"), p.createTopic("out")
	ns, err := manifests.New("shop", manifests.Spec{
		LedgerOrigin: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(),
		Source:       manifests.Source{Topic: p.source.Name, Partitions: p.partitions},
		Output:       manifests.Output{Topic: p.output.Name, Partitions: p.partitions},
		StockKeys: []manifests.StockKey{
			{Item: "bolt", Location: "oslo", OpeningBalance: 10, ReorderThreshold: 1},
			{Item: "nut", Location: "oslo", OpeningBalance: opening},
			{Item: "widget", Location: "berlin", OpeningBalance: 100, ReorderThreshold: 60},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.ns = ns
	ctx := t.Context()
	p.catalog = p.pool(postgres.CatalogSchema)
	if err := postgres.Migrate(ctx, p.catalog, postgres.KindCatalog, postgres.CatalogSchema); err != nil {
		t.Fatal(err)
	}
	err = pgx.BeginFunc(ctx, p.catalog, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO namespace (name, semantics_version, spec, namespace_digest, business_digest, source_topic,
			source_topic_id, output_topic, output_topic_id, state_schema, view_schema) VALUES ($1, 1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			ns.Name, string(ns.SpecJSON()), ns.NamespaceDigest(), ns.BusinessDigest(p.source.ID), p.source.Name, p.source.ID,
			p.output.Name, p.output.ID, postgres.StateSchema(ns.Name), postgres.ViewSchema(ns.Name)); err != nil {
			return err
		}
		if err := postgres.CreateNamespace(ctx, tx, ns); err != nil {
			return err
		}
		return postgres.CreateView(ctx, tx, ns, ns.NamespaceDigest(), p.output.ID)
	})
	if err != nil {
		t.Fatal(err)
	}
	p.stateDB, p.viewDB = p.pool(postgres.StateSchema(ns.Name)), p.pool(postgres.ViewSchema(ns.Name))
	p.options = verify.Options{Namespace: ns.Name, Timeout: time.Minute, Poll: 20 * time.Millisecond, Settle: 100 * time.Millisecond}
	return p
}

// createTopic creates a topic and returns its identity.
func (p *pipeline) createTopic(hint string) kafka.Topic {
	p.t.Helper()
	admin, err := kafka.NewAdmin(p.kafka)
	if err != nil {
		p.t.Fatal(err)
	}
	defer admin.Close()
	info, err := admin.Create(p.t.Context(), kafkatest.UniqueName(p.t, hint), p.partitions)
	if err != nil {
		p.t.Fatal(err)
	}
	return kafka.Topic{Name: info.Name, ID: info.ID, Partitions: p.partitions}
}

// pool connects to one schema.
func (p *pipeline) pool(schema string) *pgxpool.Pool {
	p.t.Helper()
	pool, err := postgres.Connect(p.t.Context(), postgres.Options{URL: p.url, Schema: schema})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(pool.Close)
	return pool
}

// start runs one stage until stop is called for it or the test ends.
func (p *pipeline) start(stage string) {
	p.t.Helper()
	var tasks []run.Task
	switch stage {
	case worker.Stage:
		tasks = []run.Task{p.worker()}
	case relay.Stage:
		tasks = []run.Task{p.relay()}
	case view.Stage:
		for partition := range p.partitions {
			tasks = append(tasks, p.view(partition))
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	runner := run.New(run.Options{Now: time.Now, Random: rand.Int64N}, tasks...)
	go func() {
		defer close(done)
		runner.Run(ctx)
	}()
	stop := func() {
		cancel()
		<-done
	}
	p.stopStages[stage] = stop
	p.t.Cleanup(stop)
}

// worker is the only worker of the group.
func (p *pipeline) worker() run.Task {
	membership, err := kafka.Join(p.kafka, p.source.Name, p.source.Name, kafka.GroupOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	w := worker.New(worker.Options{
		Config: ledger.NewConfig(p.ns, p.source.ID), Store: postgres.NewWorkerStore(p.stateDB, p.source.ID),
		Opener: kafka.NewOpener(p.kafka, p.source), Membership: membership, Now: time.Now, Random: rand.Int64N,
	})
	return run.Task{Stage: worker.Stage, Step: w.Step, Close: func() { w.Close(); membership.Close() }}
}

// relay is the only relay of the namespace.
func (p *pipeline) relay() run.Task {
	const delivery = 5 * time.Second
	publisher, err := kafka.NewPublisher(p.t.Context(), p.kafka, p.output, delivery)
	if err != nil {
		p.t.Fatal(err)
	}
	p.nextID++
	r, err := relay.New(relay.Options{
		Outbox: postgres.NewRelayStore(p.stateDB), Publisher: publisher, Holder: fmt.Sprintf("relay-%d", p.nextID),
		Partitions: p.partitions, Now: time.Now, DeliveryTimeout: delivery, LeaseTTL: 3 * delivery,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return run.Task{Stage: relay.Stage, Step: r.Step, Close: func() { _ = r.Close(context.Background()); publisher.Close() }}
}

// view materializes one output partition.
func (p *pipeline) view(partition int32) run.Task {
	identity, err := postgres.ViewIdentityOf(p.t.Context(), p.viewDB)
	if err != nil {
		p.t.Fatal(err)
	}
	v := view.New(view.Options{
		Config: view.NewConfig(p.ns), Partition: partition, Store: postgres.NewViewStore(p.viewDB, identity),
		Opener: kafka.NewOpener(p.kafka, p.output), Now: time.Now,
	})
	return run.Task{Stage: view.Stage, Partition: partition, Step: v.Step, Close: v.Close}
}

// produce appends records to their partitions in order.
func (p *pipeline) produce(records ...*kgo.Record) {
	p.t.Helper()
	for _, r := range records {
		r.Topic, r.Partition = p.source.Name, ledger.PartitionOf(r.Key, p.partitions)
	}
	p.cluster.Produce(p.t, records...)
}

// record is one source record of a key.
func record(item, location, txn string, revision int64, kind, day string, qty int64) *kgo.Record {
	value := fmt.Sprintf(`{"txn_id":%q,"revision":%d,"kind":%q,"stock_key":{"item":%q,"location":%q},"valid_time":"%sT10:00:00Z","qty":%d,"source_time":"%sT10:00:00Z"}`,
		txn, revision, kind, item, location, day, qty, day)
	return &kgo.Record{Key: ledger.BrokerKey(item, location), Value: []byte(value)}
}

// connections are those of a verification of this namespace.
func (p *pipeline) connections() connect.Connections { return connect.To(p.url, "", p.kafka) }

// exec changes a database by hand.
func exec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
}
