package verify_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/pgview"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/source"
	"amends.dev/amends/oracle/verify"
)

const (
	stateSchema = "amends_shop"
	viewSchema  = "amends_shop_view"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// These tests wait most of the time.
	if err := flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(kafkatest.Main(m))
}

// world is a namespace whose pipeline is played by hand: topics on kfake, state and view filled with SQL. So these
// tests judge verify alone, and share nothing with the stages.
type world struct {
	t                       *testing.T
	cluster                 *kafkatest.Cluster
	url                     string
	db                      *pgx.Conn
	ns                      *manifests.Namespace
	sourceTopic, outTopic   string
	sourceID, outID         string
	options                 verify.Options
	onEvent                 func(verify.Event)
	snapshot                *verify.Snapshot
	spool                   verify.Spool
	topics                  func(verify.Topics) verify.Topics
	view                    func(viewPort) viewPort
	clock                   verify.Clock
	writers                 func(verify.Writers) verify.Writers
	engines                 []engine.Engine
	stateURL, viewURL       string
	nextOutput, nextOffsets [2]int64
	// bolt is the demo's record of bolts.
	bolt *kgo.Record
}

// newWorld applies a namespace of two partitions and three keys by hand.
func newWorld(t *testing.T, change ...func(*manifests.Spec)) *world {
	t.Helper()
	return newWorldOn(t, kafkatest.Fake(t), change...)
}

// newWorldOn is newWorld on a given broker.
func newWorldOn(t *testing.T, cluster *kafkatest.Cluster, change ...func(*manifests.Spec)) *world {
	t.Helper()
	t.Parallel() // the worlds have nothing in common, and mostly wait
	w := &world{t: t, cluster: cluster, url: pg.New(t), engines: []engine.Engine{reference.Engine{}}, clock: wallClock{}}
	w.stateURL, w.viewURL = w.url, w.url
	w.sourceTopic, w.outTopic = kafkatest.UniqueName(t, "in"), kafkatest.UniqueName(t, "out")
	w.sourceID, w.outID = w.createTopic(w.sourceTopic), w.createTopic(w.outTopic)
	spec := manifests.Spec{
		LedgerOrigin: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(),
		Source:       manifests.Source{Topic: w.sourceTopic, Partitions: 2}, Output: manifests.Output{Topic: w.outTopic, Partitions: 2},
		StockKeys: []manifests.StockKey{
			{Item: "bolt", Location: "oslo", OpeningBalance: 10, ReorderThreshold: 1},
			{Item: "nut", Location: "oslo"},
			{Item: "widget", Location: "berlin", OpeningBalance: 100, ReorderThreshold: 60},
		},
	}
	for _, c := range change {
		c(&spec)
	}
	ns, err := manifests.New("shop", spec)
	if err != nil {
		t.Fatal(err)
	}
	w.ns = ns
	w.options = verify.Options{Namespace: "shop", Timeout: 30 * time.Second, Poll: 20 * time.Millisecond, Settle: 40 * time.Millisecond, Code: "test"}
	w.db, err = pgx.Connect(context.Background(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.db.Close(context.Background()) })
	w.createSchema("amends", "catalog")
	w.createSchema(stateSchema, "namespace")
	w.createSchema(viewSchema, "view")
	w.exec(`SET search_path = ` + stateSchema)
	w.exec(`INSERT INTO amends.namespace (name, semantics_version, spec, namespace_digest, business_digest, source_topic,
		source_topic_id, output_topic, output_topic_id, state_schema, view_schema) VALUES ('shop', 1, $1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		string(ns.SpecJSON()), ns.NamespaceDigest(), ns.BusinessDigest(w.sourceID), w.sourceTopic, w.sourceID, w.outTopic, w.outID, stateSchema, viewSchema)
	w.exec(`INSERT INTO `+viewSchema+`.namespace (name, namespace_digest, output_topic, output_topic_id) VALUES ('shop', $1, $2, $3)`,
		ns.NamespaceDigest(), w.outTopic, w.outID)
	for i, k := range ns.Spec.StockKeys {
		w.exec(`INSERT INTO stock_key VALUES ($1, $2, $3, $4, $5)`, i, k.Item, k.Location, k.OpeningBalance, k.ReorderThreshold)
		w.exec(`INSERT INTO `+viewSchema+`.stock_key VALUES ($1, $2, $3)`, i, k.Item, k.Location)
	}
	w.exec(`INSERT INTO partition_state (partition) VALUES (0), (1)`)
	w.exec(`INSERT INTO relay_state (partition) VALUES (0), (1)`)
	w.exec(`INSERT INTO ` + viewSchema + `.view_progress (partition) VALUES (0), (1)`)
	return w
}

// createTopic creates a topic and returns its ID in textual form.
func (w *world) createTopic(name string) string {
	w.t.Helper()
	id := w.cluster.CreateTopic(w.t, name, 2, nil)
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// createSchema creates a schema from the migrations, as files: the judge's tests import no stage.
func (w *world) createSchema(schema, kind string) {
	w.t.Helper()
	w.exec(`CREATE SCHEMA ` + schema)
	w.exec(`SET search_path = ` + schema)
	files, err := filepath.Glob(filepath.Join("..", "..", "stages", "postgres", "migrations", kind, "*.sql"))
	if err != nil || len(files) == 0 {
		w.t.Fatalf("no migrations of %s: %v", kind, err)
	}
	for _, file := range files {
		sql, err := os.ReadFile(file)
		if err != nil {
			w.t.Fatal(err)
		}
		w.exec(string(sql))
	}
}

// exec runs one statement, or several without arguments.
func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.db.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("%v\n%s", err, sql)
	}
}

// record is one source record of a key, in the partition that Kafka's default partitioner gives it.
func (w *world) record(item, location, txn string, revision int64, kind, validTime string, qty int64) *kgo.Record {
	key := fmt.Sprintf(`["%s","%s"]`, item, location)
	value := fmt.Sprintf(`{"txn_id":"%s","revision":%d,"kind":"%s","stock_key":{"item":"%s","location":"%s"},"valid_time":"%s","qty":%d,"source_time":"%s"}`,
		txn, revision, kind, item, location, validTime, qty, validTime)
	return &kgo.Record{Topic: w.sourceTopic, Key: []byte(key), Value: []byte(value)}
}

// produce appends source records by key and moves the worker's frontiers along.
func (w *world) produce(records ...*kgo.Record) {
	w.t.Helper()
	client := w.cluster.Client(w.t, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)))
	for _, r := range records {
		if err := client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			w.t.Fatal(err)
		}
		w.nextOffsets[r.Partition] = r.Offset + 1
	}
	for p, next := range w.nextOffsets {
		w.exec(`UPDATE partition_state SET next_offset = $2 WHERE partition = $1`, p, next)
	}
}

// publish appends n output records to a partition and moves outbox, relay and view along.
func (w *world) publish(partition int32, values ...string) {
	w.t.Helper()
	w.cluster.Produce(w.t, kafkatest.Values(w.outTopic, partition, values...)...)
	w.nextOutput[partition] += int64(len(values))
	w.exec(`UPDATE partition_state SET outbox_next = outbox_next + $2 WHERE partition = $1`, partition, len(values))
	w.exec(`UPDATE relay_state SET sent_through = sent_through + $2 WHERE partition = $1`, partition, len(values))
	w.exec(`UPDATE `+viewSchema+`.view_progress SET next_offset = $2 WHERE partition = $1`, partition, w.nextOutput[partition])
}

// balance, alert and status write view rows of a key, given by its index.
func (w *world) balance(key int, day string, closing int64) {
	w.t.Helper()
	w.exec(`INSERT INTO `+viewSchema+`.balance VALUES ($1, $2::text::date, $3, 1, true, '')`, key, day, closing)
}

func (w *world) alert(key int, day string, threshold, closing int64) {
	w.t.Helper()
	w.exec(`INSERT INTO `+viewSchema+`.alert VALUES ($1, $2::text::date, $3, $4, 1, true, '')`, key, day, threshold, closing)
}

func (w *world) status(key int, status string, txns []string, revisions []int64) {
	w.t.Helper()
	w.exec(`INSERT INTO `+viewSchema+`.key_status VALUES ($1, $2, $3, $4, 1, '')`, key, status, txns, revisions)
	w.exec(`INSERT INTO key_state VALUES ($1, 1, $2, $3)`, key, txns, revisions)
}

// quarantine writes the evidence of one rejected record.
func (w *world) quarantine(r *kgo.Record, reason string) {
	w.t.Helper()
	key, value := sha256.Sum256(r.Key), sha256.Sum256(r.Value)
	w.exec(`INSERT INTO quarantine VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, r.Partition, r.Offset, w.sourceID, reason,
		r.Key, r.Value, len(r.Key), len(r.Value), key[:], value[:])
}

// conflict writes the row of a conflict and one of evidence for each of its payloads, which are movements of the first of
// January at the hour of the demo's t1, or at midnight, that the given records assert.
func (w *world) conflict(key int, txn string, revision int64, kind, hour int, payloads map[*kgo.Record]int64) {
	w.t.Helper()
	w.exec(`INSERT INTO conflict VALUES ($1, $2, $3, 1)`, key, txn, revision)
	at := time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC).UnixNano()
	for r, qty := range payloads {
		w.exec(`INSERT INTO evidence VALUES ($1, $2, $3, $4, $5, $6, $7)`, key, txn, revision, kind, at, qty, r.Offset)
	}
}

// contest contradicts the demo's b1, so that its key is BLOCKED: authority holds the demo's payload, evidence this one.
func (w *world) contest() {
	w.t.Helper()
	r := w.record("bolt", "oslo", "b1", 1, "NEW", "2026-01-01T00:00:00Z", 6)
	w.produce(r)
	w.conflict(0, "b1", 1, 1, 0, map[*kgo.Record]int64{r: 6})
}

// demo fills the world with the history of SC02 on the widget and one movement of bolts: a complete boundary.
func (w *world) demo() {
	w.t.Helper()
	w.bolt = w.record("bolt", "oslo", "b1", 1, "NEW", "2026-01-01T00:00:00Z", 5)
	w.produce(
		w.record("widget", "berlin", "t1", 1, "NEW", "2026-01-01T10:00:00Z", -50),
		w.record("widget", "berlin", "t2", 1, "NEW", "2026-01-02T10:00:00Z", -20),
		w.record("widget", "berlin", "t3", 1, "NEW", "2026-01-03T10:00:00Z", 50),
		w.record("widget", "berlin", "t1", 2, "AMEND", "2026-01-01T10:00:00Z", -30),
		w.bolt,
	)
	w.balance(2, "2026-01-01", 70)
	w.balance(2, "2026-01-02", 50)
	w.balance(2, "2026-01-03", 100)
	w.balance(0, "2026-01-01", 15)
	w.alert(2, "2026-01-02", 60, 50)
	w.status(2, "READY", []string{}, []int64{})
	w.status(0, "READY", []string{}, []int64{})
	w.publish(0, "o1", "o2", "o3")
	w.publish(1, "o4")
}

// run verifies and returns report and error.
func (w *world) run() (*report.Report, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	state, err := pgview.Open(ctx, w.stateURL)
	if err != nil {
		w.t.Fatal(err)
	}
	defer state.Close()
	view, err := pgview.Open(ctx, w.viewURL)
	if err != nil {
		w.t.Fatal(err)
	}
	defer view.Close()
	topics, err := source.Open(source.Config{Brokers: w.cluster.Seeds, Stall: w.options.Timeout})
	if err != nil {
		w.t.Fatal(err)
	}
	defer topics.Close()
	var shown verify.View = view
	if w.view != nil {
		shown = w.view(viewPort{View: view})
	}
	var writers verify.Writers = state
	if w.writers != nil {
		writers = w.writers(state)
	}
	var broker verify.Topics = topics
	if w.topics != nil {
		broker = w.topics(topics)
	}
	return verify.Run(ctx, verify.Deps{State: state, View: shown, Topics: broker, Spool: w.spool, Engines: w.engines, Clock: w.clock,
		Writers: writers, Holder: "verify-test", Snapshot: w.snapshot, Progress: w.onEvent}, w.options)
}

// verify runs and expects a status and its exit code.
func (w *world) verify(status report.Status) *report.Report {
	w.t.Helper()
	r, err := w.run()
	if err != nil {
		w.t.Fatal(err)
	}
	if r.Status != status || r.ExitCode != status.ExitCode() {
		w.t.Fatalf("status %s, exit %d; want %s\n%s", r.Status, r.ExitCode, status, text(w.t, r))
	}
	return r
}

// wallClock is real time.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) AfterFunc(d time.Duration, f func()) verify.Alarm { return time.AfterFunc(d, f) }

func (wallClock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
