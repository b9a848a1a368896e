package intakeload

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/cli/apply"
	"amends.dev/amends/internal/cli/connect"
	cliverify "amends.dev/amends/internal/cli/verify"
	"amends.dev/amends/internal/pgserver"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/internal/submission"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/postgres"
)

// manifest is the namespace of these tests.
const manifest = `apiVersion: amends.dev/v1
kind: Namespace
metadata: {name: load}
spec:
  ledgerOrigin: "2026-01-01T00:00:00Z"
  source: {topic: %[1]s.in, partitions: 4}
  output: {topic: %[1]s.out, partitions: 4}
  stockKeys:
    - {item: widget, location: berlin, openingBalance: 100, reorderThreshold: 60}
    - {item: gadget, location: berlin, openingBalance: 100, reorderThreshold: 60}
    - {item: hose, location: paris, openingBalance: 100, reorderThreshold: 60}
    - {item: valve, location: rome, openingBalance: 100, reorderThreshold: 60}
`

// bed is a namespace on servers of its own, which can be killed.
type bed struct {
	t       *testing.T
	dir     string
	server  *pgserver.Server
	broker  *kafkatest.Cluster
	url     string
	ns      *manifests.Namespace
	applied *postgres.Applied
	listen  string
	// port names the socket too, so it stays when the server is started again.
	port    int
	holders int
}

func newBed(t *testing.T, broker *kafkatest.Cluster) *bed {
	t.Helper()
	b := &bed{t: t, broker: broker}
	dir, err := os.MkdirTemp("", "amends-load-")
	b.must(err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b.dir, b.port = dir, freePort(t)
	b.startPostgres()
	b.url = b.server.URL("postgres")
	ns, problems := manifests.Parse("manifest.yaml", fmt.Appendf(nil, manifest, kafkatest.UniqueName(t, "load")), nil)
	b.must(problems.Err())
	b.ns = ns
	deps, done, err := apply.Open(t.Context(), b.connections())
	b.must(err)
	defer done()
	_, err = apply.Do(t.Context(), deps, ns)
	b.must(err)
	pool, err := postgres.Connect(t.Context(), postgres.Options{URL: b.url, Schema: postgres.CatalogSchema, MaxConns: 1})
	b.must(err)
	defer pool.Close()
	b.applied, err = postgres.NewCatalog(pool).Load(t.Context(), ns.Name)
	b.must(err)
	b.listen = fmt.Sprint("127.0.0.1:", freePort(t))
	return b
}

// freePort is one that nobody listened on a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	address, _ := listener.Addr().(*net.TCPAddr)
	return address.Port
}

func (b *bed) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// startPostgres starts the server on its folder, with fsync on; again after it was killed.
func (b *bed) startPostgres() {
	b.t.Helper()
	b.server = pg.Server(b.t, pgserver.Options{Dir: b.dir, Port: b.port, Settings: map[string]string{"max_connections": "120"}})
}

func (b *bed) connections() connect.Connections {
	return connect.To(b.url, b.url, kafka.Config{Brokers: b.broker.Seeds})
}

// plan is that of one more intake process.
func (b *bed) plan() plan {
	b.holders++
	return plan{
		StateURL: b.url, Brokers: b.broker.Seeds, Namespace: b.ns.Name, Holder: fmt.Sprint("intake-", b.holders), Listen: b.listen,
	}
}

// client sends to the intake.
func (b *bed) client(conns int) *submission.Client {
	return &submission.Client{
		URL: "http://" + b.listen, Namespace: b.ns.Name, Timeout: time.Minute,
		HTTP: &http.Client{Transport: &http.Transport{MaxIdleConns: conns, MaxIdleConnsPerHost: conns}},
		Sleep: func(ctx context.Context, d time.Duration) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(d):
				return nil
			}
		},
	}
}

// ready waits until the intake performs requests.
func (b *bed) ready() {
	b.t.Helper()
	eventually(b.t, "the intake to be ready", func() bool {
		response, err := http.Get("http://" + b.listen + "/readyz")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

// number reads one integer from the processing state.
func (b *bed) number(sql string) int64 {
	b.t.Helper()
	conn, err := pgx.Connect(b.t.Context(), b.url)
	b.must(err)
	defer func() { _ = conn.Close(context.Background()) }()
	var n int64
	if err := conn.QueryRow(b.t.Context(), sql).Scan(&n); err != nil {
		b.t.Fatalf("%v\n%s", err, sql)
	}
	return n
}

// drained waits until nothing that was accepted is left to publish.
func (b *bed) drained() {
	b.t.Helper()
	eventually(b.t, "publications to be drained", func() bool { return b.pending() == 0 })
}

// pending is how much of what was accepted is left to publish.
func (b *bed) pending() int64 {
	b.t.Helper()
	return b.number(`SELECT count(*) FROM amends_load.owner_pending WHERE kind = 'intake-publish'`)
}

// records reads the whole source topic.
func (b *bed) records() []*kgo.Record {
	b.t.Helper()
	topic := b.ns.Spec.Source.Topic
	ends, err := b.broker.Admin(b.t).ListEndOffsets(b.t.Context(), topic)
	b.must(err)
	want := 0
	for _, o := range ends[topic] {
		want += int(o.Offset)
	}
	client := b.broker.Client(b.t, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	var records []*kgo.Record
	for len(records) < want && ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		fetches.EachRecord(func(r *kgo.Record) { records = append(records, r) })
	}
	if len(records) != want {
		b.t.Fatalf("read %d of %d records", len(records), want)
	}
	return records
}

// verify runs all stages to the end of the source topic and expects PASS.
func (b *bed) verify() {
	b.t.Helper()
	p, err := pipeline.New(b.t.Context(), pipeline.Options{
		Applied: b.applied, StateURL: b.url, ViewURL: b.url, Kafka: kafka.Config{Brokers: b.broker.Seeds}, Holder: "stages",
	})
	b.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Run(ctx)
	}()
	defer func() {
		cancel()
		<-done
	}()
	deps, closed, err := cliverify.Connect(b.t.Context(), b.connections())
	b.must(err)
	defer closed()
	r, err := verify.Run(b.t.Context(), deps, verify.Options{
		Namespace: b.ns.Name, Manifest: b.ns, Timeout: patience, Poll: 50 * time.Millisecond, Settle: 200 * time.Millisecond, Code: "load",
	})
	b.must(err)
	if r.Status != report.Pass {
		b.t.Errorf("verify: %s: %v", r.Status, r.Incomplete)
	}
}
