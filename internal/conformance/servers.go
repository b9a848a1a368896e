package conformance

import (
	"context"
	"fmt"
	"sync/atomic"

	"amends.dev/amends/oracle/source"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/stages/kafka"
)

// Servers are what a machine has. The zero value and nil are one without any. It is safe for concurrent use.
type Servers struct {
	// DatabaseURL is a Postgres for state and views; each variant makes a namespace of its own. Empty: none.
	DatabaseURL string
	// Brokers reach a broker. No addresses: none.
	Brokers kafka.Config
	// Judge reaches the same broker for the verifier's own consumer.
	Judge source.Config
	// Clock is real time. Required where there is a server.
	Clock verify.Clock
	// Run sets the names of this run's namespaces apart from those of any other on the same servers: a few characters of
	// a DNS label.
	Run string
	// Topics does what only a test's broker lets anyone do; nil where nobody may.
	Topics TopicFaults

	// made counts namespaces.
	made atomic.Int64
}

// TopicFaults destroys topics.
type TopicFaults interface {
	// DeleteRecords removes what is before an offset of a partition.
	DeleteRecords(ctx context.Context, topic string, partition int32, before int64) error
	// Recreate deletes a topic and creates it anew.
	Recreate(ctx context.Context, topic string, partitions int32) error
}

func (s *Servers) hasDatabase() bool { return s != nil && s.DatabaseURL != "" }

func (s *Servers) hasBroker() bool { return s.hasDatabase() && len(s.Brokers.Brokers) > 0 }

// unique names the namespace of one variant of a scenario at one level.
func (s *Servers) unique(name string) string {
	return fmt.Sprintf("%s-%s-%d", name, s.Run, s.made.Add(1))
}
