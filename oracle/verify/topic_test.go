package verify_test

import (
	"strings"
	"testing"
	"time"

	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/report"
)

// TestS10TopicChecks: each way in which the topics may have lost history, or are others than the ones applied, is
// INCOMPLETE with the reason, on the embedded broker and on a real one. The twin before and after each that can be undone
// passes.
func TestS10TopicChecks(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		w := newWorldOn(t, c)
		w.demo()
		w.options.Settle = 200 * time.Millisecond
		w.verify(report.Pass)
		for _, d := range []struct{ config, damage, right, want string }{
			{"retention.ms", "604800000", "-1", "retention.ms=604800000 instead of -1"},
			{"retention.bytes", "1073741824", "-1", "retention.bytes=1073741824 instead of -1"},
			{"cleanup.policy", "compact", "delete", "cleanup.policy=compact instead of delete"},
			{"cleanup.policy", "compact,delete", "delete", "cleanup.policy=compact,delete instead of delete"},
		} {
			c.SetConfigs(t, w.sourceTopic, map[string]string{d.config: d.damage})
			w.refuses(boundary.PhaseSource, d.want)
			c.SetConfigs(t, w.sourceTopic, map[string]string{d.config: d.right})
			w.verify(report.Pass)
		}
		// With work pending too, a changed output topic is what is named, and at once (S10 step 3).
		w.exec(`UPDATE partition_state SET outbox_next = outbox_next + 1 WHERE partition = 0`)
		c.AddPartitions(t, w.outTopic, 3)
		w.refuses(boundary.PhaseOutput, "has 3 partitions, the namespace 2; apply a new namespace")
		c.DeleteTopic(t, w.outTopic)
		w.refuses(boundary.PhaseOutput, "the output topic "+w.outTopic+" does not exist")
		w.createTopic(w.outTopic)
		w.refuses(boundary.PhaseOutput, "the output topic "+w.outTopic+" was recreated")

		c.AddPartitions(t, w.sourceTopic, 3)
		w.refuses(boundary.PhaseSource, "has 3 partitions, the namespace 2; apply a new namespace")
		c.DeleteTopic(t, w.sourceTopic)
		w.refuses(boundary.PhaseSource, "the source topic "+w.sourceTopic+" does not exist")
		w.createTopic(w.sourceTopic)
		w.refuses(boundary.PhaseSource, "the source topic "+w.sourceTopic+" was recreated: its topic ID is ")
	})
}

// TestS10DeletedHead: a log whose first records were deleted, on both brokers.
func TestS10DeletedHead(t *testing.T) {
	kafkatest.Each(t, func(t *testing.T, c *kafkatest.Cluster) {
		w := newWorldOn(t, c)
		w.demo()
		w.options.Settle = 200 * time.Millisecond
		w.verify(report.Pass)
		p := int32(0)
		if w.nextOffsets[0] < 2 {
			p = 1
		}
		c.DeleteRecords(t, w.sourceTopic, p, 1)
		w.refuses(boundary.PhaseSource, "the retained history begins at offset 1: earlier records are lost")
	})
}

// refuses expects INCOMPLETE without waiting and without a prospect of another end.
func (w *world) refuses(phase boundary.Phase, want string) {
	w.t.Helper()
	began := time.Now()
	r := w.verify(report.Incomplete)
	got := r.Incomplete[0]
	if got.Phase != phase || !strings.Contains(got.Reason, want) || r.Retryable || time.Since(began) > w.options.Timeout {
		w.t.Errorf("%+v\nwant %s: %s", r.Incomplete, phase, want)
	}
}
