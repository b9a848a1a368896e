package kafkatest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// wait bounds every single request and wait of the kit. It is long because CI machines are shared and slow.
const wait = 60 * time.Second

// Cluster is one running broker as a test sees it, imitation or real. Safe for concurrent use.
type Cluster struct {
	// Name is "kfake" or "kafka"; it names subtests.
	Name string
	// Seeds are host:port addresses to connect to.
	Seeds []string
	// SASLSeeds are the addresses of the same real broker that want SASLUser and SASLPassword; none for kfake, which is
	// started with kfake.EnableSASL instead.
	SASLSeeds []string
	// Fake is the imitation, for fault injection; nil for a real broker.
	Fake *kfake.Cluster
}

// Each runs test once on kfake and once on the real broker, as subtests named after them. The real one skips where it
// cannot be started.
func Each(t *testing.T, test func(t *testing.T, c *Cluster)) {
	t.Helper()
	t.Run("kfake", func(t *testing.T) { test(t, Fake(t)) })
	t.Run("kafka", func(t *testing.T) { test(t, Real(t)) })
}

// Client returns a client of the cluster that is closed when the test ends.
func (c *Cluster) Client(t testing.TB, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.Seeds...)}, opts...)...)
	if err != nil {
		t.Fatalf("kafka client for %v: %v", c.Seeds, err)
	}
	t.Cleanup(client.Close)
	return client
}

// Admin returns an administration client that is closed when the test ends.
func (c *Cluster) Admin(t testing.TB) *kadm.Client {
	t.Helper()
	// kadm answers from a cache that is up to 5 s old by default.
	return kadm.NewClient(c.Client(t, kgo.MetadataMinAge(10*time.Millisecond)))
}

// UniqueName returns a topic, group or transaction name that no other test uses: the hint, the test's name and 64
// random bits, all of characters that Kafka allows.
func UniqueName(t testing.TB, hint string) string {
	t.Helper()
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		t.Fatalf("random name: %v", err)
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '.'
	}, t.Name())
	return hint + "." + name[:min(len(name), 80)] + "." + hex.EncodeToString(random[:])
}

// within returns the bounded context of one request.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	t.Cleanup(cancel)
	return ctx
}
