package worker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"log/slog"

	"amends.dev/amends/internal/testkit/child"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// pausing is a log whose readers deliver nothing while quiet is set.
type pausing struct {
	*workertest.Log
	quiet bool
}

// Open implements broker.Opener.
func (p *pausing) Open(ctx context.Context, partition int32, from int64) (broker.Reader, error) {
	reader, err := p.Log.Open(ctx, partition, from)
	return &pausingReader{Reader: reader, log: p, at: from}, err
}

// pausingReader is a reader of it.
type pausingReader struct {
	broker.Reader
	log *pausing
	at  int64
}

// Poll implements broker.Reader.
func (r *pausingReader) Poll(ctx context.Context, most int) (broker.Fetch, error) {
	if r.log.quiet {
		return broker.Fetch{Next: r.at}, nil
	}
	fetch, err := r.Reader.Poll(ctx, most)
	r.at = fetch.Next
	return fetch, err
}

// TestR36EmptyPollEndsNoStall: a broker that delivers nothing does not say that the database is back: a partition stays
// stalled, and its failures in a row count on, until the database has answered; also through a new assignment. The twin
// whose database answers has recovered with the first empty poll.
func TestR36EmptyPollEndsNoStall(t *testing.T) {
	said := child.NewLog(t, "the worker")
	cfg, store, member := workertest.Config("outage", 1, 1), workertest.NewStore(1), workertest.NewMember()
	log := &pausing{Log: workertest.NewLog()}
	down := false
	faulty := &workertest.Faulty{Store: store, Fate: func(workertest.Op, int32) workertest.Fate {
		if down {
			return workertest.Fail
		}
		return workertest.Proceed
	}}
	now := time.Unix(0, 0)
	w := worker.New(worker.Options{
		Config: cfg, Store: faulty, Opener: log, Membership: member, Now: func() time.Time { return now },
		Random: func(int64) int64 { return 0 }, PollWait: time.Millisecond, Log: slog.New(slog.NewTextHandler(said, nil)),
	})
	defer w.Close()
	steps := func() {
		t.Helper()
		for range 10 {
			now = now.Add(time.Minute)
			if _, _, err := w.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	member.Assign("a", 1, 0)
	steps()
	down = true
	log.Send(cfg, workertest.Txn{ID: "t", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: 1})
	steps()
	first := w.Status()[0].Stall
	if first == nil || first.Attempts < 10 {
		t.Fatalf("with the database away: %+v", first)
	}
	log.quiet = true
	steps()
	second := w.Status()[0].Stall
	if second == nil || second.Attempts != first.Attempts+10 || !second.Since.Equal(first.Since) {
		t.Fatalf("nothing is delivered and the database is away: %+v, before %+v", second, first)
	}
	member.Assign("a", 2, 0)
	steps()
	if s := w.Status()[0].Stall; s == nil || s.Attempts != second.Attempts+10 || !s.Since.Equal(first.Since) {
		t.Errorf("a new assignment, and the database is away: %+v, before %+v", s, second)
	}
	const again = "partition succeeded again"
	if strings.Contains(said.String(), again) {
		t.Errorf("the log says:\n%s", said)
	}
	down = false
	steps()
	if s := w.Status()[0]; s.Stall != nil || s.Frontier != 0 || strings.Count(said.String(), again) != 1 {
		t.Errorf("nothing is delivered and the database answers: %+v\n%s", s, said)
	}
	log.quiet = false
	steps()
	if s := w.Status()[0]; s.Stall != nil || s.Frontier != 1 {
		t.Errorf("at the end: %+v", s)
	}
}
