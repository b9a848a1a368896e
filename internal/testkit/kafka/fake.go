package kafkatest

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Fake starts an in-process imitation of a broker, in memory unless opts say otherwise, on a free port. It is stopped
// when the test ends. Topics are not created on first use, as on the real broker of this kit.
func Fake(t testing.TB, opts ...kfake.Opt) *Cluster {
	t.Helper()
	defaults := []kfake.Opt{kfake.NumBrokers(1), kfake.GroupMinSessionTimeout(0)}
	cluster, err := kfake.NewCluster(append(defaults, opts...)...)
	if err != nil {
		t.Fatalf("start kfake: %v", err)
	}
	t.Cleanup(cluster.Close)
	return &Cluster{Name: "kfake", Seeds: cluster.ListenAddrs(), Fake: cluster}
}
