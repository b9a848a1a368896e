package e2e_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/cli/apply"
	"amends.dev/amends/internal/cli/connect"
	cliverify "amends.dev/amends/internal/cli/verify"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/internal/testkit/child"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

const (
	// sessionTimeout is how long a killed worker keeps its partitions.
	sessionTimeout = 3 * time.Second
	// patience bounds every wait for something that surely comes, on a slow machine too.
	patience = 90 * time.Second
)

// shape is what a test chooses about its namespace.
type shape struct {
	// partitions is that of source and output, 4 where 0.
	partitions int32
	// origin is the ledger origin, 2026-01-01T00:00:00Z where empty.
	origin string
	// keys are those of the demo where there are none.
	keys []manifests.StockKey
	// apart puts the view into a database of its own.
	apart bool
}

// bed is one applied namespace with topics and databases of its own.
type bed struct {
	t                 *testing.T
	cluster           *kafkatest.Cluster
	stateURL, viewURL string
	ns                *manifests.Namespace
	applied           *postgres.Applied
	// The pools are on the schema of catalog, processing state and view.
	catalog, state, view *pgxpool.Pool
	// deliveryTimeout and maxBatch are those of every stage started later; 0 is the default.
	deliveryTimeout time.Duration
	// stageURL, where set, is how the stages of this process reach the database of processing state.
	stageURL string
	maxBatch int
	holders  int
}

// newBed applies a namespace. Its test runs beside the one on the other broker: both mostly wait.
func newBed(t *testing.T, c *kafkatest.Cluster, s shape) *bed {
	t.Helper()
	b := &bed{t: t, cluster: c, stateURL: pg.New(t)}
	b.viewURL = b.stateURL
	if s.apart {
		b.viewURL = pg.New(t)
	}
	ns, problems := manifests.Parse("manifest.yaml", s.manifest(t), nil)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	b.ns = ns
	b.apply()
	b.state = b.pool(b.stateURL, ns.StateSchema())
	b.view = b.pool(b.viewURL, ns.ViewSchema())
	return b
}

// manifest is the YAML text of a namespace whose name and topics nobody else uses on this broker.
func (s shape) manifest(t *testing.T) []byte {
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		t.Fatal(err)
	}
	keys := s.keys
	if len(keys) == 0 {
		keys = demoKeys()
	}
	if s.origin == "" {
		s.origin = "2026-01-01T00:00:00Z"
	}
	if s.partitions == 0 {
		s.partitions = 4
	}
	var text strings.Builder
	fmt.Fprintf(&text, `apiVersion: amends.dev/v1
kind: Namespace
metadata: {name: e2e-%s}
spec:
  ledgerOrigin: %q
  source: {topic: %s, partitions: %d}
  output: {topic: %s, partitions: %d}
  stockKeys:
`, hex.EncodeToString(random[:]), s.origin, kafkatest.UniqueName(t, "in"), s.partitions, kafkatest.UniqueName(t, "out"), s.partitions)
	for _, k := range keys {
		fmt.Fprintf(&text, "    - {item: %q, location: %q, openingBalance: %d, reorderThreshold: %d}\n",
			k.Item, k.Location, k.OpeningBalance, k.ReorderThreshold)
	}
	return []byte(text.String())
}

// demoKeys are twelve keys that spread over all of four partitions; the first tells the story of SC02.
func demoKeys() []manifests.StockKey {
	keys := []manifests.StockKey{{Item: "widget", Location: "berlin", OpeningBalance: 100, ReorderThreshold: 60}}
	for _, location := range []string{"berlin", "hamburg", "munich", "zürich"} {
		keys = append(keys,
			manifests.StockKey{Item: "gadget", Location: location, OpeningBalance: 40, ReorderThreshold: 25},
			manifests.StockKey{Item: `valve 1/2"`, Location: location, OpeningBalance: 10_000, ReorderThreshold: 2_500})
	}
	return keys
}

// connections are where everything is.
func (b *bed) connections() connect.Connections { return connect.To(b.stateURL, b.viewURL, b.kafka()) }

// apply does what `amendsctl apply` does, and loads what it recorded.
func (b *bed) apply() {
	b.t.Helper()
	ctx := b.t.Context()
	deps, done, err := apply.Open(ctx, b.connections())
	b.must(err)
	defer done()
	_, err = apply.Do(ctx, deps, b.ns)
	b.must(err)
	b.catalog = b.pool(b.stateURL, postgres.CatalogSchema)
	b.applied, err = postgres.NewCatalog(b.catalog).Load(ctx, b.ns.Name)
	b.must(err)
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) kafka() kafka.Config { return kafka.Config{Brokers: b.cluster.Seeds} }

// pool connects to one schema until the test ends.
func (b *bed) pool(url, schema string) *pgxpool.Pool {
	b.t.Helper()
	pool, err := postgres.Connect(b.t.Context(), postgres.Options{URL: url, Schema: schema, Application: "amends e2e", MaxConns: 4})
	b.must(err)
	b.t.Cleanup(pool.Close)
	return pool
}

// exec runs SQL by hand.
func (b *bed) exec(pool *pgxpool.Pool, sql string) {
	b.t.Helper()
	if _, err := pool.Exec(b.t.Context(), sql); err != nil {
		b.t.Fatalf("%v\n%s", err, sql)
	}
}

// number reads one integer.
func (b *bed) number(pool *pgxpool.Pool, sql string, args ...any) int64 {
	b.t.Helper()
	var n int64
	if err := pool.QueryRow(b.t.Context(), sql, args...).Scan(&n); err != nil {
		b.t.Fatalf("%v\n%s", err, sql)
	}
	return n
}

// text reads one text in a plain session, with the settings that the role has in this database.
func (b *bed) text(url, sql string) string {
	b.t.Helper()
	conn, err := pgx.Connect(b.t.Context(), url)
	b.must(err)
	defer func() { _ = conn.Close(context.Background()) }()
	var text string
	if err := conn.QueryRow(b.t.Context(), sql).Scan(&text); err != nil {
		b.t.Fatalf("%v\n%s", err, sql)
	}
	return text
}

// eventually waits until is holds; stalls of the stages in this process are in the log that a failure prints.
func (b *bed) eventually(what string, is func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if is() {
			return
		}
	}
	b.t.Fatalf("waited %v for %s", patience, what)
}

// holder names one more process or pipeline of this bed.
func (b *bed) holder() string {
	b.holders++
	return fmt.Sprintf("%s-%d", b.ns.Name, b.holders)
}

// start runs stages in this process until stop is called, or the test ends.
func (b *bed) start(stages ...string) (stop func()) {
	b.t.Helper()
	_, stop = b.pipeline(stages...)
	return stop
}

// pipeline is start, and shows what is running.
func (b *bed) pipeline(stages ...string) (p *pipeline.Pipeline, stop func()) {
	b.t.Helper()
	log := child.NewLog(b.t, strings.Join(stages, "+"))
	p, err := pipeline.New(b.t.Context(), pipeline.Options{
		Applied: b.applied, StateURL: cmp.Or(b.stageURL, b.stateURL), ViewURL: b.viewURL, Kafka: b.kafka(), Stages: stages, Holder: b.holder(),
		Log: slog.New(slog.NewTextHandler(log, nil)), MaxBatch: b.maxBatch, DeliveryTimeout: b.deliveryTimeout,
		Group: kafka.GroupOptions{SessionTimeout: sessionTimeout},
	})
	b.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	b.t.Cleanup(stop)
	return p, stop
}

// verify brings the namespace to its boundary, judges it and expects a status.
func (b *bed) verify(want report.Status) *report.Report {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 3*patience)
	defer cancel()
	deps, done, err := cliverify.Connect(ctx, b.connections())
	b.must(err)
	defer done()
	r, err := verify.Run(ctx, deps, verify.Options{
		Namespace: b.ns.Name, Manifest: b.ns, Timeout: patience, Poll: 50 * time.Millisecond, Settle: 200 * time.Millisecond, Code: "e2e",
	})
	b.must(err)
	if r.Status != want || r.ExitCode != want.ExitCode() {
		b.t.Fatalf("%s, exit code %d; want %s\n%s", r.Status, r.ExitCode, want, reportText(b.t, r))
	}
	return r
}

// reportText is the report for people.
func reportText(t *testing.T, r *report.Report) string {
	t.Helper()
	var text strings.Builder
	if err := report.Text(&text, r, 20); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
