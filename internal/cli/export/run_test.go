package export

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/oracle/source"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/vectorized/snapshot"
)

// catalog knows one applied namespace; export asks nothing else of the database.
type catalog struct {
	verify.State
	applied verify.Applied
}

func (c catalog) Applied(context.Context, string) (*verify.Applied, error) { return &c.applied, nil }

// shop is a namespace on a topic of two partitions, its exporter and its folder.
type shop struct {
	t       *testing.T
	cluster *kafkatest.Cluster
	state   catalog
	topics  *source.Client
	topic   string
	dir     string
	seen    map[string]bool
}

func newShop(t *testing.T, cluster *kafkatest.Cluster) *shop {
	t.Helper()
	s := &shop{t: t, cluster: cluster, topic: kafkatest.UniqueName(t, "in"), dir: filepath.Join(t.TempDir(), "set"), seen: map[string]bool{}}
	id := cluster.CreateTopic(t, s.topic, 2, nil)
	ns, err := manifests.New("shop", manifests.Spec{
		LedgerOrigin: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano(),
		Source:       manifests.Source{Topic: s.topic, Partitions: 2}, Output: manifests.Output{Topic: "out", Partitions: 1},
		StockKeys: []manifests.StockKey{{Item: "bolt", Location: "oslo", OpeningBalance: 10}, {Item: "nut", Location: "oslo"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	topicID := base64.RawURLEncoding.EncodeToString(id[:])
	s.state.applied = verify.Applied{Namespace: ns, Identity: verify.Identity{
		Name: ns.Name, Digest: ns.NamespaceDigest(), BusinessDigest: ns.BusinessDigest(topicID), SourceTopicID: topicID}}
	if s.topics, err = source.Open(source.Config{Brokers: cluster.Seeds, Stall: 30 * time.Second}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.topics.Close)
	return s
}

// values are n records of one key, some of them rejected, for one partition.
func (s *shop) values(partition int32, from, n int) []*kgo.Record {
	var records []*kgo.Record
	for i := from; i < from+n; i++ {
		r := &kgo.Record{Topic: s.topic, Partition: partition, Key: []byte(`["bolt","oslo"]`)}
		switch i % 10 {
		case 7: // a null key and value
			r.Key = nil
		case 8:
			r.Key, r.Value = []byte{}, []byte{}
		default:
			r.Value = fmt.Appendf(nil, `{"txn_id":"p%d-%d","revision":1,"kind":"NEW","stock_key":{"item":"bolt","location":"oslo"},"valid_time":"2026-01-%02dT00:00:00Z","qty":%d,"source_time":"2026-01-01T00:00:00Z"}`,
				partition, i, 1+i%28, i-3)
		}
		records = append(records, r)
	}
	return records
}

// export runs and returns what the folder holds.
func (s *shop) export() *Result {
	s.t.Helper()
	r, err := Run(s.t.Context(), s.state, s.topics, "shop", s.dir, func(string) {})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// compute is the projection of a history, by the reference engine.
func (s *shop) compute(history engine.History) *projection.Projection {
	s.t.Helper()
	p, err := reference.Engine{}.Compute(s.t.Context(), s.state.applied.Namespace, history)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// equalsTopic holds the folder to the topic: raw records byte for byte, and the projections from typed and raw rows.
func (s *shop) equalsTopic(r *Result) {
	s.t.Helper()
	set, err := snapshot.Open(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	topic := s.topics.History(boundary.Range{Topic: s.topic, TopicID: r.TopicID, From: r.Starts, To: r.H})
	want, got := records(s.t, topic), records(s.t, set.History())
	for _, kind := range []string{snapshot.KindTyped, snapshot.KindRaw} {
		times := s.brokerTimes(set.FilesOf(kind))
		if len(times) != len(got) {
			s.t.Fatalf("%d times of %d records", len(times), len(got))
		}
		for i := range got { // a History leaves them out
			got[i].BrokerTime = times[i]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			s.t.Fatalf("topic and folder differ, times of %s files:\n%s", kind, diff)
		}
	}
	if r.Records != int64(len(want)) {
		s.t.Errorf("%d records reported, %d in the topic", r.Records, len(want))
	}
	expected := s.compute(topic)
	if diff := cmp.Diff(expected, s.compute(set.History())); diff != "" {
		s.t.Errorf("projection of the raw rows:\n%s", diff)
	}
	typed, err := arrow.Engine{}.ComputeColumns(s.t.Context(), s.state.applied.Namespace, set.Typed(), arrow.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(expected, typed.Projection()); diff != "" {
		s.t.Errorf("projection of the typed rows:\n%s", diff)
	}
}

// brokerTimes reads the column broker_time of files, which are sorted by partition and offset.
func (s *shop) brokerTimes(files []snapshot.File) []int64 {
	s.t.Helper()
	var times []int64
	for _, f := range files {
		rows, err := parquet.ReadFile[struct {
			BrokerTime int64 `parquet:"broker_time"`
		}](filepath.Join(s.dir, f.Name))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, row := range rows {
			times = append(times, row.BrokerTime)
		}
	}
	return times
}

// records reads a history, sorted by partition and offset.
func records(t *testing.T, history engine.History) []engine.Record {
	t.Helper()
	var all []engine.Record
	for r, err := range history(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		r.Key, r.Value = slices.Clone(r.Key), slices.Clone(r.Value)
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b engine.Record) int {
		if a.Partition != b.Partition {
			return int(a.Partition - b.Partition)
		}
		return int(a.Offset - b.Offset)
	})
	return all
}

func TestExportAppendsAndEqualsTheTopic(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		s := newShop(t, c)
		c.Produce(t, s.values(0, 0, 30)...)
		p := c.Producer(t)
		p.Transaction(false, s.values(1, 0, 3)...) // aborted: 0 1 2, marker 3
		p.Transaction(true, s.values(1, 3, 5)...)  // 4 to 8, marker 9
		c.AwaitEnd(t, s.topic, 1, 10)
		r := s.export()
		if !slices.Equal(r.H, []int64{30, 10}) || !slices.Equal(r.From, []int64{0, 0}) || r.Exported != 35 {
			t.Fatalf("%+v", r)
		}
		s.equalsTopic(r)

		again := s.export()
		if again.Exported != 0 || again.Records != 35 {
			t.Errorf("nothing new: %+v", again)
		}
		c.Produce(t, s.values(0, 30, 10)...)
		r = s.export()
		if r.Exported != 10 || r.Records != 45 || r.From[0] != 30 {
			t.Errorf("appended: %+v", r)
		}
		s.equalsTopic(r)
	})
}

// TestExportResumes: an interrupted export leaves what was published before, and the next one completes it.
func TestExportResumes(t *testing.T) {
	s := newShop(t, kafkatest.Fake(t))
	s.cluster.Produce(t, s.values(0, 0, 20)...)
	first := s.export()
	s.cluster.Produce(t, s.values(0, 20, 20_000)...)
	ctx, cancel := context.WithCancel(t.Context())
	broken := interrupted{Client: s.topics, after: 10_000, cancel: cancel}
	if _, err := Run(ctx, s.state, broken, "shop", s.dir, func(string) {}); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	set, err := snapshot.Open(s.dir)
	if err != nil || !slices.Equal(set.Meta().Ends, first.H) {
		t.Fatalf("after the interruption: %v, %v", set, err)
	}
	r := s.export()
	if r.Records != 20_020 {
		t.Errorf("%+v", r)
	}
	s.equalsTopic(r)
}

// interrupted cancels a context after some records.
type interrupted struct {
	*source.Client
	after  int
	cancel func()
}

func (i interrupted) History(r boundary.Range) engine.History {
	return func(ctx context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			n := 0
			for record, err := range i.Client.History(r)(ctx) {
				if n++; n == i.after {
					i.cancel()
					yield(engine.Record{}, ctx.Err())
					return
				}
				if !yield(record, err) {
					return
				}
			}
		}
	}
}

// cleanup sets the topic's cleanup.policy.
func (s *shop) cleanup(policy string) {
	s.t.Helper()
	change := kadm.AlterConfig{Op: kadm.SetConfig, Name: "cleanup.policy", Value: &policy}
	responses, err := s.cluster.Admin(s.t).AlterTopicConfigs(s.t.Context(), []kadm.AlterConfig{change}, s.topic)
	for _, r := range responses {
		err = errors.Join(err, r.Err)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestExportRefuses(t *testing.T) {
	s := newShop(t, kafkatest.Fake(t))
	s.cluster.Produce(t, s.values(0, 0, 10)...)
	s.export()
	refused := func(what string) {
		t.Helper()
		if r, err := Run(t.Context(), s.state, s.topics, "shop", s.dir, func(string) {}); !errors.Is(err, verify.ErrRefused) {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
	applied := s.state.applied
	s.state.applied.Digest = "other"
	refused("altered configuration")
	s.state.applied = applied
	s.cleanup("compact")
	refused("B005 compacted")
	s.cleanup("delete")
	s.export()
	s.cluster.DeleteRecords(t, s.topic, 0, 3)
	refused("B006 history lost")
	s.cluster.DeleteTopic(t, s.topic)
	refused("no topic")
	s.cluster.CreateTopic(t, s.topic, 2, nil)
	refused("B010 topic recreated")

	// A folder that holds something else stays as it is.
	other := newShop(t, s.cluster)
	other.dir = s.dir
	var mismatch *snapshot.MismatchError
	if _, err := Run(t.Context(), other.state, other.topics, "shop", other.dir, func(string) {}); !errors.As(err, &mismatch) {
		t.Errorf("another history's folder: %v", err)
	}
	foreign := filepath.Join(t.TempDir(), "foreign")
	if err := errors.Join(os.Mkdir(foreign, 0o755), os.WriteFile(filepath.Join(foreign, "letter.txt"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), other.state, other.topics, "shop", foreign, func(string) {}); err == nil {
		t.Error("a folder that is no snapshot was accepted")
	}
}
