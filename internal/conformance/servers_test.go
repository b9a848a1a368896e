package conformance_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"flag"
	"os"
	"slices"
	"testing"
	"time"

	"amends.dev/amends/internal/conformance"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/oracle/source"
	"amends.dev/amends/stages/kafka"
)

func TestMain(m *testing.M) {
	// Variants on servers mostly wait: more of them at a time than there are processors.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(kafkatest.Main(m))
}

// realTime is the clock of the servers.
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

// topicFaults lets the tests' broker lose history.
type topicFaults struct {
	t       *testing.T
	cluster *kafkatest.Cluster
}

func (f topicFaults) DeleteRecords(_ context.Context, topic string, partition int32, before int64) error {
	f.cluster.DeleteRecords(f.t, topic, partition, before) //nolint:contextcheck // the kit bounds its own requests
	return nil
}

func (f topicFaults) Recreate(_ context.Context, topic string, partitions int32) error {
	f.cluster.DeleteTopic(f.t, topic)                  //nolint:contextcheck // as above
	f.cluster.CreateTopic(f.t, topic, partitions, nil) //nolint:contextcheck // as above
	return nil
}

// servers are a database and, where there is a cluster, its broker.
func servers(t *testing.T, url string, cluster *kafkatest.Cluster) *conformance.Servers {
	t.Helper()
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		t.Fatal(err)
	}
	s := &conformance.Servers{DatabaseURL: url, Clock: realTime{}, Run: hex.EncodeToString(random[:])}
	if cluster != nil {
		s.Brokers, s.Judge = kafka.Config{Brokers: cluster.Seeds}, source.Config{Brokers: cluster.Seeds}
		s.Topics = topicFaults{t, cluster}
	}
	return s
}

func TestStore(t *testing.T) {
	url := pg.New(t)
	variants(t, func(t *testing.T, s *conformance.Scenario, v *conformance.Variant) {
		t.Parallel()
		passes(t, v, conformance.Run(t.Context(), s, v, conformance.Store, servers(t, url, nil)))
	})
}

func TestPipeline(t *testing.T) {
	url, cluster := pg.New(t), kafkatest.Fake(t)
	variants(t, func(t *testing.T, s *conformance.Scenario, v *conformance.Variant) {
		t.Parallel()
		passes(t, v, conformance.Run(t.Context(), s, v, conformance.Pipeline, servers(t, url, cluster)))
	})
}

// TestRealBroker runs the scenarios in which the broker takes part in the fault on Apache Kafka, where no double counts:
// crashes, lost answers, zombies, lost history and invalid boundaries.
func TestRealBroker(t *testing.T) {
	url, cluster := pg.New(t), kafkatest.Real(t)
	variants(t, func(t *testing.T, s *conformance.Scenario, v *conformance.Variant) {
		if !slices.Contains([]string{"SC18", "SC19", "SC20", "SC21", "SC23", "SC25"}, s.ID) {
			return
		}
		t.Parallel()
		passes(t, v, conformance.Run(t.Context(), s, v, conformance.Pipeline, servers(t, url, cluster)))
	})
}
