package kafka_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kfake"

	"amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/kafka"
)

func TestDescribeMissingTopic(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		if info, err := admin(t, c).Describe(within(t, bound), kafkatest.UniqueName(t, "none")); info != nil || err != nil {
			t.Fatalf("describe = %v, %v; want nothing", info, err)
		}
	})
}

func TestCreateAndDescribe(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		name := kafkatest.UniqueName(t, "topic")
		a := admin(t, c)
		created, err := a.Create(within(t, bound), name, 3)
		if err != nil {
			t.Fatal(err)
		}
		want := &broker.TopicInfo{
			Name: name, Partitions: 3,
			Configs: map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"},
			Starts:  []int64{0, 0, 0}, Stables: []int64{0, 0, 0}, Ends: []int64{0, 0, 0},
		}
		if diff := cmp.Diff(want, created, cmpopts.IgnoreFields(broker.TopicInfo{}, "ID")); diff != "" || len(created.ID) != 22 {
			t.Fatalf("created with ID %q (-want +got):\n%s", created.ID, diff)
		}
		if _, err := a.Create(within(t, bound), name, 3); !errors.Is(err, kafka.ErrTopicExists) {
			t.Fatalf("create again: %v, want ErrTopicExists", err)
		}
		c.Produce(t, kafkatest.Values(name, 1, "a", "b", "c")...)
		c.DeleteRecords(t, name, 1, 2)
		c.SetConfigs(t, name, map[string]string{"retention.ms": "1000000"})
		info := describe(t, c, name)
		if info.Starts[1] != 2 || info.Stables[1] != 3 || info.Ends[1] != 3 || info.Configs["retention.ms"] != "1000000" {
			t.Fatalf("described = %+v", info)
		}
	})
}

// TestCreateAfterLookingInVain: what apply does for a new topic takes no longer than creating it; the client would
// remember for five seconds that it is missing.
func TestCreateAfterLookingInVain(t *testing.T) {
	c := kafkatest.Fake(t)
	a, name := admin(t, c), kafkatest.UniqueName(t, "topic")
	if info, err := a.Describe(within(t, bound), name); info != nil || err != nil {
		t.Fatalf("describe = %v, %v; want nothing", info, err)
	}
	began := time.Now()
	if _, err := a.Create(within(t, bound), name, 3); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("created after %v", took)
	}
}

func TestUnreachableBroker(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	a, err := kafka.NewAdmin(kafka.Config{Brokers: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Ping(within(t, 5*time.Second)); !errors.Is(err, kafka.ErrUnreachable) {
		t.Fatalf("ping = %v, want ErrUnreachable", err)
	}
}

// ping connects as anna.
func ping(t *testing.T, seeds []string, mechanism, password string) error {
	t.Helper()
	a, err := kafka.NewAdmin(kafka.Config{Brokers: seeds,
		SASL: &kafka.SASL{Mechanism: mechanism, User: kafkatest.SASLUser, Password: kafka.NewSecret(password)}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	return a.Ping(within(t, 10*time.Second))
}

func TestSASL(t *testing.T) {
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run(mechanism, func(t *testing.T) {
			c := kafkatest.Fake(t, kfake.EnableSASL(), kfake.Superuser(mechanism, kafkatest.SASLUser, "right"))
			if err := ping(t, c.Seeds, mechanism, "right"); err != nil {
				t.Fatalf("right password: %v", err)
			}
			// kfake closes the connection without a word.
			if err := ping(t, c.Seeds, mechanism, "wrong"); !errors.Is(err, kafka.ErrClosed) {
				t.Fatalf("wrong password: %v, want ErrClosed", err)
			}
		})
	}
}

func TestSASLOnRealBroker(t *testing.T) {
	c := kafkatest.Real(t)
	if err := ping(t, c.SASLSeeds, "PLAIN", kafkatest.SASLPassword); err != nil {
		t.Fatalf("right password: %v", err)
	}
	for _, bad := range [][2]string{{"PLAIN", "wrong"}, {"SCRAM-SHA-512", kafkatest.SASLPassword}} {
		if err := ping(t, c.SASLSeeds, bad[0], bad[1]); !errors.Is(err, kafka.ErrCredentials) {
			t.Fatalf("%s with %q: %v, want ErrCredentials", bad[0], bad[1], err)
		}
	}
}

func TestInvalidConfig(t *testing.T) {
	for name, config := range map[string]kafka.Config{
		"no broker":         {},
		"unknown mechanism": {Brokers: []string{"b:1"}, SASL: &kafka.SASL{Mechanism: "NTLM"}},
		"missing CA file":   {Brokers: []string{"b:1"}, TLS: &kafka.TLS{CAFile: "/does/not/exist"}},
		"key without cert":  {Brokers: []string{"b:1"}, TLS: &kafka.TLS{KeyFile: "/does/not/exist"}},
	} {
		if _, err := kafka.NewAdmin(config); !errors.Is(err, kafka.ErrConfig) {
			t.Errorf("%s: %v, want ErrConfig", name, err)
		}
	}
}
