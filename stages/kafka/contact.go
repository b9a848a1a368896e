package kafka

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// contact notes when a broker last answered a fetch, as a hook of a client. Safe for concurrent use.
type contact struct {
	start time.Time
	// last is the time since start, in nanoseconds.
	last atomic.Int64
}

// newContact counts from now on.
func newContact() *contact { return &contact{start: time.Now()} }

// OnBrokerE2E implements kgo.HookBrokerE2E.
func (c *contact) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	if key == int16(kmsg.Fetch) && e2e.Err() == nil {
		c.now()
	}
}

// now notes a sign of life.
func (c *contact) now() { c.last.Store(int64(time.Since(c.start))) }

// since returns the time since the last sign of life.
func (c *contact) since() time.Duration { return time.Since(c.start) - time.Duration(c.last.Load()) }
