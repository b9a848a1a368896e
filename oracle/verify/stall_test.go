package verify_test

import (
	"strings"
	"testing"
	"time"

	"amends.dev/amends/oracle/report"
)

// TestIncompleteSaysWhy: a frontier that was waited for in vain comes with what the stage's process says is the matter, as
// long as it says so and the stage has not gone on since.
func TestIncompleteSaysWhy(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.options.Timeout = time.Second
	const stall = `INSERT INTO stall (stage, partition, process, reason, since, attempts, frontier, reported_at)
		VALUES ('view', $1, 'p', E'no\nanswer', now(), 3, $2, now() - $3::interval)`
	w.exec(`UPDATE amends_shop_view.view_progress SET next_offset = 2 WHERE partition = 0`)
	for _, c := range []struct {
		partition, frontier int
		age                 string
		said                bool
	}{{0, 2, "0 seconds", true}, {0, 1, "0 seconds", false}, {1, 2, "0 seconds", false}, {0, 2, "1 minute", false}} {
		w.exec(`DELETE FROM stall`)
		w.exec(stall, c.partition, c.frontier, c.age)
		const why = "has not reached O 3 after 1s; it is stalled after 3 attempts: no answer"
		if r := w.verify(report.Incomplete); strings.Contains(r.Incomplete[0].Reason, why) != c.said {
			t.Errorf("%+v: %q", c, r.Incomplete[0].Reason)
		}
	}
	w.exec(`ALTER TABLE stall RENAME TO unread`)
	if r := w.verify(report.Incomplete); !strings.HasSuffix(r.Incomplete[0].Reason, "has not reached O 3 after 1s") {
		t.Errorf("without the stalls: %q", r.Incomplete[0].Reason)
	}
}
