//go:build figure

package export

import (
	"context"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/twmb/franz-go/pkg/kgo"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/source"
	"amends.dev/amends/oracle/synthetic"
	"amends.dev/amends/oracle/verify"
)

var (
	figureRecords = flag.Int64("records", 1_000_000, "records of the history")
	figureRounds  = flag.Int("rounds", 5, "interleaved rounds")
	figureFake    = flag.Bool("fake", false, "kfake in this process in place of a real broker")
)

// figurePartitions is the number of partitions of the source topic.
const figurePartitions = 4

// TestExportFigure measures an export, broker to published snapshot, beside a bare franz-go consumer that compresses the same
// keys and values with zstd and writes nothing. Rounds are interleaved, so that ratios hold on a busy machine.
//
//	go test -tags figure -run TestExportFigure -v ./internal/cli/export -records 1000000
func TestExportFigure(t *testing.T) {
	f := newFigure(t)
	var ratios []float64
	for round := range *figureRounds {
		floor := timed(func() { f.floor(t) })
		export := timed(func() { f.export(t) })
		ratios = append(ratios, floor.wall.Seconds()/export.wall.Seconds())
		t.Logf("round %d: consume and zstd %v; export %v; ratio of rates %.2f", round+1, floor, export, ratios[round])
	}
	slices.Sort(ratios)
	t.Logf("%d records, %.0f MB, %d processors: median of the ratios %.2f", *figureRecords, float64(f.bytes)/1e6, runtime.GOMAXPROCS(0), ratios[len(ratios)/2])
}

// figure is a history on a broker.
type figure struct {
	cluster *kafkatest.Cluster
	topics  *source.Client
	state   catalog
	topic   string
	ends    []int64
	bytes   int64
}

func newFigure(t *testing.T) *figure {
	t.Helper()
	f := &figure{topic: kafkatest.UniqueName(t, "in")}
	if f.cluster = kafkatest.Fake(t); !*figureFake {
		f.cluster = kafkatest.Real(t)
	}
	history, err := synthetic.New(synthetic.Config{Rows: *figureRecords, Partitions: figurePartitions, Raw: true})
	if err != nil {
		t.Fatal(err)
	}
	spec := history.Namespace.Spec
	spec.Source.Topic = f.topic
	ns, err := manifests.New("figure", spec)
	if err != nil {
		t.Fatal(err)
	}
	id := f.cluster.CreateTopic(t, f.topic, figurePartitions, nil)
	topicID := base64.RawURLEncoding.EncodeToString(id[:])
	f.state.applied = verify.Applied{Namespace: ns, Identity: verify.Identity{
		Name: ns.Name, Digest: ns.NamespaceDigest(), BusinessDigest: ns.BusinessDigest(topicID), SourceTopicID: topicID}}
	if f.topics, err = source.Open(source.Config{Brokers: f.cluster.Seeds}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.topics.Close)
	f.produce(t, history)
	f.ends = history.Rows()
	return f
}

// produce writes the history to the topic.
func (f *figure) produce(t *testing.T, history *synthetic.History) {
	t.Helper()
	client := f.cluster.Client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(f.topic), kgo.MaxBufferedRecords(1<<16))
	failed := make(chan error, 1)
	for p := range int32(figurePartitions) {
		for run := range history.Partition(p) {
			for i := range run.Rows {
				r := &kgo.Record{Partition: p, Key: slices.Clone(run.Raw.Key.Value(i)), Value: slices.Clone(run.Raw.Value.Value(i))}
				client.Produce(t.Context(), r, func(_ *kgo.Record, err error) {
					if err != nil {
						select {
						case failed <- err:
						default:
						}
					}
				})
			}
		}
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
}

// floor consumes the topic as franz-go does by itself and compresses what it delivers.
func (f *figure) floor(t *testing.T) {
	t.Helper()
	start := map[int32]kgo.Offset{}
	for p := range int32(figurePartitions) {
		start[p] = kgo.NewOffset().At(0)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(f.cluster.Seeds...), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{f.topic: start}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	compressor, err := zstd.NewWriter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	f.bytes = 0
	for n < *figureRecords {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			n++
			f.bytes += int64(len(r.Key) + len(r.Value))
			_, _ = compressor.Write(r.Key)
			_, _ = compressor.Write(r.Value)
		})
	}
	if err := compressor.Close(); err != nil {
		t.Fatal(err)
	}
}

// export exports into a folder of its own.
func (f *figure) export(t *testing.T) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "set")
	r, err := Run(context.Background(), f.state, f.topics, "figure", dir, func(string) {})
	if err != nil || r.Records != *figureRecords || !slices.Equal(r.H, f.ends) {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// spent is what something took, by the clock and of this process's processors.
type spent struct{ wall, cpu time.Duration }

// String is the text of a log line.
func (s spent) String() string {
	return fmt.Sprintf("%.2f s (%.2f CPU s)", s.wall.Seconds(), s.cpu.Seconds())
}

// timed measures.
func timed(do func()) spent {
	runtime.GC()
	cpu := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began, used := time.Now(), cpu()
	do()
	return spent{time.Since(began), cpu() - used}
}
