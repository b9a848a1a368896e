package shelltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// issues sends n transactions of one key, one a day.
func (w *world) issues(n int) {
	for i := range n {
		w.log.Send(w.cfg, workertest.Txn{ID: fmt.Sprint("t", i), Revision: 1, Kind: "NEW", Time: workertest.On(1 + i), Qty: -1})
	}
}

// testFailedBatch: a unit of work of 500 records fails once; what is read next is what the frontier says, though the
// reader stands behind it (B013).
func testFailedBatch(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, workertest.Config("b013", 1, 1))
	w.issues(500)
	w.change = func(o *worker.Options) { o.MaxBatch = 500 }
	failed := false
	w.store.Fate = func(op workertest.Op, _ int32) workertest.Fate {
		if op == workertest.OpCommit && !failed {
			failed = true
			return workertest.Fail
		}
		return workertest.Proceed
	}
	w.drain(w.start())
	d := w.tables(t)
	if !failed || len(d.Authority) != 500 || len(d.Evidence)+len(d.Conflicts) != 0 || d.Partitions[0].Accepted != 500 {
		t.Errorf("failed %v: %d identities, %+v", failed, len(d.Authority), d.Partitions[0])
	}
	same(t, "after a failed batch", w.reference(), d)
}

// testCommitFails: a commit that fails twice goes through at the third try; one that fails for ten minutes shows as a
// stall with bounded tries, quarantines nothing, leaves the frontier alone, and goes through when the cause ends (B039).
func testCommitFails(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, workertest.Config("b039", 1, 1))
	w.issues(3)
	left, tries := 2, 0
	w.store.Fate = func(op workertest.Op, _ int32) workertest.Fate {
		if op != workertest.OpCommit {
			return workertest.Proceed
		}
		tries++
		if left > 0 {
			left--
			return workertest.Fail
		}
		return workertest.Proceed
	}
	worker := w.start()
	w.drain(worker)
	if tries != 3 {
		t.Errorf("%d tries", tries)
	}
	w.issues(4) // three duplicates, one new
	left, tries = 1<<30, 0
	for until := w.clock.now.Add(10 * time.Minute); w.clock.now.Before(until); {
		if tries > 200 {
			t.Fatalf("%d tries", tries)
		}
		w.step(worker)
	}
	d := w.tables(t)
	if s := worker.Status()[0]; s.Stall == nil || s.Stall.NextTry.IsZero() || s.Frontier != 3 {
		t.Errorf("status %+v", s)
	}
	if d.Partitions[0].NextOffset != 3 || len(d.Quarantine) != 0 || d.Partitions[0].StopReason != "" {
		t.Errorf("%+v, %d quarantined", d.Partitions[0], len(d.Quarantine))
	}
	left = 0
	w.drain(worker)
	same(t, "after the cause ended", w.reference(), w.tables(t))
}

// testPoisonRecord: record 40 of 100 is cut off; five workers die around its commit. It is quarantined once, the others
// are applied, and the frontier is 100 (B021).
func testPoisonRecord(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, workertest.Config("b021", 1, 1))
	w.issues(40)
	poison := []byte(`{"txn_id":`)
	w.log.Append(0, w.cfg.BrokerKey(0), poison)
	for i := 40; i < 99; i++ {
		w.log.Send(w.cfg, workertest.Txn{ID: fmt.Sprint("t", i), Revision: 1, Kind: "NEW", Time: workertest.On(1 + i), Qty: -1})
	}
	w.change = func(o *worker.Options) { o.MaxBatch = 7 }
	for life := range 5 {
		w.store.Fate = func(op workertest.Op, _ int32) workertest.Fate {
			if op == workertest.OpCommit && life < 4 {
				return []workertest.Fate{workertest.Fail, workertest.LostUndone}[life%2]
			}
			return workertest.Proceed
		}
		dying := w.start()
		for range 8 + life {
			w.step(dying)
		}
		w.store.Fate = nil
		almost := w.start()
		for w.tables(t).Partitions[0].NextOffset < 35 { // up to the batch that holds it
			w.step(almost)
		}
	}
	w.drain(w.start())
	d := w.tables(t)
	if len(d.Quarantine) != 1 || d.Quarantine[0].Offset != 40 || !identical(d.Quarantine[0].Value, poison) {
		t.Errorf("quarantine %+v", d.Quarantine)
	}
	if len(d.Authority) != 99 || d.Partitions[0].NextOffset != 100 || d.Partitions[0].Rejected != 1 {
		t.Errorf("%d identities, %+v", len(d.Authority), d.Partitions[0])
	}
	same(t, "after five deaths", w.reference(), d)
}

// oneFails is an opener whose readers of one partition fail.
type oneFails struct {
	broker.Opener
	partition int32
}

var errFetch = errors.New("topic authorization failed")

// Open implements broker.Opener.
func (o oneFails) Open(ctx context.Context, partition int32, from int64) (broker.Reader, error) {
	r, err := o.Opener.Open(ctx, partition, from)
	if err != nil || partition != o.partition {
		return r, err
	}
	return failingReader{r}, nil
}

type failingReader struct{ broker.Reader }

// Poll implements broker.Reader.
func (failingReader) Poll(context.Context, int) (broker.Fetch, error) {
	return broker.Fetch{}, errFetch
}

// testOnePartitionFails: one partition cannot be fetched: the others go on, and it shows as a stall with the reason (B015).
func testOnePartitionFails(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, workertest.Config("b015", 2, 12))
	w.issues(5)
	good := w.cfg.SourcePartition(0)
	bad := 1 - good
	w.log.AppendControl(bad)
	w.change = func(o *worker.Options) { o.Opener = oneFails{o.Opener, bad} }
	worker := w.start()
	w.drain(worker, bad)
	for range 20 {
		w.step(worker)
	}
	s := worker.Status()
	if s[good].Stall != nil || s[good].Frontier != 5 {
		t.Errorf("the good partition: %+v", s[good])
	}
	if s[bad].Stall == nil || !strings.Contains(s[bad].Stall.Reason, errFetch.Error()) || s[bad].Frontier != 0 {
		t.Errorf("the bad partition: %+v", s[bad])
	}
}

// testTurns: partitions go from one owner to another and back twenty times while records flow: no record is decided
// twice, no version spent twice, no conflict seen (B035).
func testTurns(t *testing.T, fresh Fresh) {
	w := newWorld(t, fresh, workertest.Config("b035", 1, 1))
	w.change = func(o *worker.Options) { o.MaxBatch = 3 }
	members := []*workertest.Member{workertest.NewMember(), workertest.NewMember()}
	workers := []*worker.Worker{w.startAs(members[0]), w.startAs(members[1])}
	for turn := range int32(20) {
		now, then := turn%2, 1-turn%2
		members[then].Assign(fmt.Sprint("m", then), turn+1)
		members[now].Assign(fmt.Sprint("m", now), turn+1, 0)
		for i := range 10 {
			w.log.Send(w.cfg, workertest.Txn{ID: fmt.Sprint("t", i), Revision: int64(turn) + 1, Kind: "AMEND", Time: workertest.On(1 + i), Qty: int64(turn) - 10})
		}
		for range 3 + turn%4 {
			w.step(workers[now])
			w.step(workers[then])
		}
	}
	members[1].Assign("m1", 21)
	members[0].Assign("m0", 21, 0)
	w.step(workers[1])
	w.drain(workers[0])
	d := w.tables(t)
	if len(d.Conflicts) != 0 {
		t.Errorf("conflicts %+v", d.Conflicts)
	}
	same(t, "twenty turns", w.reference(), d)
}
