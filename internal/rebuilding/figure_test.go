//go:build figure

package rebuilding_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/pgserver"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/internal/rebuilding"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/source"
	"amends.dev/amends/stages/generate"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/postgres"
)

var (
	records     = flag.Int64("records", 200_000, "records of the history")
	rounds      = flag.Int("rounds", 3, "interleaved rounds")
	derivers    = flag.Int("derivers", 2, "partitions derived at a time")
	connections = flag.Int("connections", 1, "connections that load, of the rebuild and of the floor")
	streams     = flag.Bool("stream", true, "measure stream mode too")
	drains      = flag.Bool("drain", false, "measure relay and view afterwards, one after the other")
)

const (
	figureKeys       = 4000
	figurePartitions = 4
)

func TestMain(m *testing.M) { flag.Parse(); os.Exit(kafkatest.Main(m)) }

// TestRebuildFigure measures what a bulk rebuild takes from the source topic up to committed worker state, by phase, beside
// stream mode and beside the floor: the same rows by plain COPY, in one transaction for each partition, on as many connections as
// the rebuild has, encoded beforehand. Rounds are interleaved, so that ratios hold on a busy machine, and one of each that is
// not counted is before them: the first one makes Postgres lay out files that the others use again.
//
//	go test -tags figure -run TestRebuildFigure -v -timeout 1h ./internal/rebuilding -records 1000000 -drain
func TestRebuildFigure(t *testing.T) {
	f := newFigure(t)
	warm := f.bulk("warm")
	tables := f.tables(warm.applied)
	f.floor("warmf", tables)
	for round := range *rounds {
		name := fmt.Sprintf("r%d", round)
		var bulk *measured
		var floor time.Duration
		var parts []float64
		for side := range 2 { // who is first changes from round to round
			if side == round%2 {
				bulk = f.bulk(name + "b")
			} else {
				floor, parts = f.floor(name+"f", tables)
			}
		}
		t.Logf("round %d, %d connections: bulk %.2f s (derived %.2f, loading from %.2f, loaded %.2f), floor %.2f s (loaded %.2f); floor/bulk %.2f; %.1f CPU s in this process; %d rows, %.0f MB",
			round+1, *connections, bulk.whole.Seconds(), bulk.derived.Seconds(), bulk.loading.Seconds(), bulk.loaded, floor.Seconds(), parts,
			floor.Seconds()/bulk.whole.Seconds(), bulk.processor.Seconds(), bulk.rows, float64(size(tables))/1e6)
		if *drains {
			t.Logf("round %d, bulk: %s", round+1, f.drain(bulk.applied))
		}
		if *streams {
			applied, stream := f.stream(name + "s")
			t.Logf("round %d, stream %.2f s; stream/bulk %.1f", round+1, stream.Seconds(), stream.Seconds()/bulk.whole.Seconds())
			if *drains {
				t.Logf("round %d, stream: %s", round+1, f.drain(applied))
			}
		}
	}
}

// figure is one history on one broker and one Postgres with fsync.
type figure struct {
	t       *testing.T
	url     string
	kafka   kafka.Config
	ns      *manifests.Namespace
	source  kafka.Topic
	catalog *postgres.Pool
	judge   *source.Client
	ends    []int64
}

func newFigure(t *testing.T) *figure {
	t.Helper()
	server := pg.Server(t, pgserver.Options{})
	cluster := kafkatest.Fake(t)
	f := &figure{t: t, url: server.URL("postgres"), kafka: kafka.Config{Brokers: cluster.Seeds}}
	var err error
	if f.catalog, err = postgres.Connect(t.Context(), postgres.Options{URL: f.url, Schema: postgres.CatalogSchema}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.catalog.Close)
	if f.judge, err = source.Open(source.Config{Brokers: cluster.Seeds}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.judge.Close)
	cluster.CreateTopic(t, "in", figurePartitions, map[string]string{"retention.ms": "-1", "retention.bytes": "-1"})
	created, err := f.judge.Describe(t.Context(), "in")
	if err != nil {
		t.Fatal(err)
	}
	f.source = kafka.Topic{Name: "in", ID: created.ID, Partitions: figurePartitions}
	first := f.apply("history")
	f.ns = first.Namespace
	began := time.Now()
	_, err = pipeline.Generate(t.Context(), pipeline.Generation{
		Applied: first, Catalog: f.catalog, Kafka: f.kafka, Holder: "figure",
		Options: func() generate.Options { o := generate.Defaults(); o.Count = *records; return o }(),
	})
	if err != nil {
		t.Fatal(err)
	}
	topic, err := f.judge.Describe(t.Context(), "in")
	if err != nil {
		t.Fatal(err)
	}
	f.ends = topic.Stables
	t.Logf("%d records of %d keys in %d partitions, generated in %s; %d processors", *records, figureKeys, figurePartitions, time.Since(began).Round(time.Second), runtime.GOMAXPROCS(0))
	return f
}

// apply records a namespace over the source topic.
func (f *figure) apply(name string) *postgres.Applied {
	f.t.Helper()
	spec := manifests.Spec{
		LedgerOrigin: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(),
		Source:       manifests.Source{Topic: "in", Partitions: figurePartitions}, Output: manifests.Output{Topic: name + ".out", Partitions: figurePartitions},
	}
	for i := range figureKeys {
		spec.StockKeys = append(spec.StockKeys, manifests.StockKey{Item: fmt.Sprintf("item-%04d", i/10), Location: fmt.Sprintf("warehouse-%d", i%10), OpeningBalance: 1000, ReorderThreshold: 400})
	}
	ns, err := manifests.New(name, spec)
	if err != nil {
		f.t.Fatal(err)
	}
	admin, err := kafka.NewAdmin(f.kafka)
	if err != nil {
		f.t.Fatal(err)
	}
	defer admin.Close()
	output, err := admin.Create(f.t.Context(), name+".out", figurePartitions)
	if err != nil {
		f.t.Fatal(err)
	}
	catalog := postgres.NewCatalog(f.catalog)
	if err := catalog.Migrate(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	if err := catalog.Record(f.t.Context(), ns, f.source.ID, output.ID); err != nil {
		f.t.Fatal(err)
	}
	applied, err := catalog.Load(f.t.Context(), name)
	if err != nil {
		f.t.Fatal(err)
	}
	return applied
}

// settle lets the server finish what the step before left to do, so that nobody pays for another.
func (f *figure) settle() {
	f.t.Helper()
	if _, err := f.catalog.Exec(f.t.Context(), `CHECKPOINT`); err != nil {
		f.t.Fatal(err)
	}
	runtime.GC()
}

// measured is what one bulk rebuild took.
type measured struct {
	applied *postgres.Applied
	// whole is the time it took, of which loading began at loading and deriving had ended at derived; processor is what this
	// process used of the processors, broker included.
	whole, loading, derived, processor time.Duration
	// loaded is when each partition was loaded, in seconds, in the order in which they were.
	loaded []float64
	rows   int64
}

func size(tables [][]byte) (n int) {
	for _, table := range tables {
		n += len(table)
	}
	return n
}

// loadedTables are those that a load writes.
var loadedTables = []string{"authority", "evidence", "conflict", "day_state", "key_state", "quarantine", "outbox"}

func (f *figure) bulk(name string) *measured {
	f.t.Helper()
	applied, dir := f.apply(name), filepath.Join(f.t.TempDir(), "dataset")
	f.settle()
	if err := os.Mkdir(dir, 0o700); err != nil {
		f.t.Fatal(err)
	}
	m, began, used := &measured{applied: applied}, time.Now(), processorTime()
	var told sync.Mutex
	loaded, err := rebuilding.Pass(f.t.Context(), rebuilding.Derivation{
		Namespace: applied.Namespace, TopicID: f.source.ID, Ends: f.ends, Source: rebuilding.FromTopic(f.judge, "in", f.source.ID, f.ends),
		Code: "figure", Parallel: *derivers,
		Derived: func(int32, int64) {
			told.Lock()
			defer told.Unlock()
			if m.derived = time.Since(began); m.loading == 0 {
				m.loading = m.derived
			}
		},
	}, rebuilding.Loading{
		Applied: applied, StateURL: f.url, Dir: dir, Ends: f.ends, Member: "rebuild/" + name, Parallel: *connections, Clock: realTime{},
		Loaded: func(rebuilding.LoadedPartition) error {
			m.loaded = append(m.loaded, time.Since(began).Seconds())
			return nil
		},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	m.whole, m.rows, m.processor = time.Since(began), loaded.Rows, processorTime()-used
	return m
}

// tables encodes all rows of a namespace, by partition and table.
func (f *figure) tables(applied *postgres.Applied) (all [][]byte) {
	f.t.Helper()
	pool := f.pool(applied.StateSchema, 1)
	defer pool.Close()
	for partition := range int32(figurePartitions) {
		for _, table := range loadedTables {
			all = append(all, f.read(pool, table, partition))
		}
	}
	return all
}

// read encodes the rows of one partition of a table as COPY does, in the order in which they were loaded.
func (f *figure) read(pool *pgxpool.Pool, table string, partition int32) []byte {
	f.t.Helper()
	where := fmt.Sprintf("partition = %d", partition)
	if table != "quarantine" && table != "outbox" {
		where = "key_id = ANY ('{" + f.keysOf(partition) + "}')"
	}
	conn, err := pool.Acquire(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Release()
	var b bytes.Buffer
	if _, err := conn.Conn().PgConn().CopyTo(f.t.Context(), &b, `COPY (SELECT * FROM `+table+` WHERE `+where+` ORDER BY ctid) TO STDOUT BINARY`); err != nil {
		f.t.Fatal(err)
	}
	return b.Bytes()
}

// keysOf lists the keys of a partition.
func (f *figure) keysOf(partition int32) string {
	var keys []string
	for i, key := range f.ns.Spec.StockKeys {
		if ledger.PartitionOf(ledger.BrokerKey(key.Item, key.Location), figurePartitions) == partition {
			keys = append(keys, strconv.Itoa(i))
		}
	}
	return strings.Join(keys, ",")
}

// floor writes the same rows by plain COPY, on as many connections as the rebuild has.
func (f *figure) floor(name string, tables [][]byte) (whole time.Duration, loaded []float64) {
	f.t.Helper()
	applied := f.apply(name)
	pool := f.pool(applied.StateSchema, *connections)
	defer pool.Close()
	f.settle()
	began := time.Now()
	var group sync.WaitGroup
	var told sync.Mutex
	var errs [figurePartitions]error
	for partition := range figurePartitions {
		group.Go(func() {
			errs[partition] = copyTables(f.t.Context(), pool, tables[partition*len(loadedTables):])
			told.Lock()
			defer told.Unlock()
			loaded = append(loaded, time.Since(began).Seconds())
		})
	}
	group.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		f.t.Fatal(err)
	}
	return time.Since(began), loaded
}

// copyTables writes the tables of one partition in one transaction.
func copyTables(ctx context.Context, pool *pgxpool.Pool, tables [][]byte) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		for i, table := range loadedTables {
			if _, err := tx.Conn().PgConn().CopyFrom(ctx, bytes.NewReader(tables[i]), `COPY `+table+` FROM STDIN BINARY`); err != nil {
				return err
			}
		}
		return nil
	})
}

// processorTime is what this process used so far.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func (f *figure) pool(schema string, connections int) *pgxpool.Pool {
	f.t.Helper()
	pool, err := postgres.Connect(f.t.Context(), postgres.Options{URL: f.url, Schema: schema, MaxConns: int32(connections)})
	if err != nil {
		f.t.Fatal(err)
	}
	return pool
}

func (f *figure) stream(name string) (*postgres.Applied, time.Duration) {
	f.t.Helper()
	applied := f.apply(name)
	f.settle()
	began := time.Now()
	err := rebuilding.Stream(f.t.Context(), rebuilding.Streaming{
		Pipeline: pipeline.Options{Applied: applied, StateURL: f.url, ViewURL: f.url, Kafka: f.kafka, Holder: name},
		Ends:     slices.Clone(f.ends), Timeout: 5 * time.Minute, Clock: realTime{},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return applied, time.Since(began)
}

// realTime is the clock.
type realTime struct{}

func (realTime) Now() time.Time { return time.Now() }

func (realTime) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
