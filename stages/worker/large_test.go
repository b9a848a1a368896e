package worker_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// TestR10LargeStatusIsTold: the status of a key names each of its ambiguous revisions, so that it grows with every one; the
// log says so long before the output topic takes it no more, and not at every record.
func TestR10LargeStatusIsTold(t *testing.T) {
	for _, limit := range []int{0, 2000} {
		cfg, store, log, member := workertest.Config("large", 1, 1), workertest.NewStore(1), workertest.NewLog(), workertest.NewMember()
		var said bytes.Buffer
		now := time.Unix(0, 0)
		w := worker.New(worker.Options{
			Config: cfg, Store: store, Opener: log, Membership: member, Now: func() time.Time { return now },
			Random: func(int64) int64 { return 0 }, PollWait: time.Millisecond, LargeOutput: limit, MaxBatch: 5,
			Log: slog.New(slog.NewTextHandler(&said, nil)),
		})
		member.Assign("a", 1, 0)
		const identities = 100
		for i := range identities {
			for qty := range int64(2) {
				log.Send(cfg, workertest.Txn{ID: fmt.Sprintf("t%03d", i), Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: qty + 1})
			}
		}
		for range 200 {
			if _, wake, err := w.Step(t.Context()); err != nil {
				t.Fatal(err)
			} else if wake.After(now) {
				now = wake
			}
		}
		if s := w.Status()[0]; s.Frontier != 2*identities {
			t.Fatalf("%+v", s)
		}
		told := strings.Count(said.String(), "an envelope grows large")
		if limit == 0 && told != 0 || limit > 0 && (told < 2 || told > 5) {
			t.Errorf("with a limit of %d the log tells %d times:\n%s", limit, told, said.String())
		}
		w.Close()
	}
}
