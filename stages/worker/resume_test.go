package worker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// TestR36ResumeForcesATry: a partition in its backoff, and one that was stopped and whose stop was removed, are tried by the
// very next step where a person asks for it, and no sooner where nobody does.
func TestR36ResumeForcesATry(t *testing.T) {
	mark.Expect(t, "R36 try forced")
	cfg, store, log, member := workertest.Config("resume", 1, 1), workertest.NewStore(1), workertest.NewLog(), workertest.NewMember()
	now := time.Unix(0, 0)
	w := worker.New(worker.Options{
		Config: cfg, Store: store, Opener: log, Membership: member, Now: func() time.Time { return now },
		Random: func(int64) int64 { return 0 }, PollWait: time.Millisecond,
	})
	defer w.Close()
	steps := func() {
		t.Helper()
		for range 10 { // no time passes
			if _, _, err := w.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	member.Assign("a", 1, 0)
	log.Send(cfg, workertest.Txn{ID: "t", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: 1})
	log.SetError(errors.New("no broker answers"))
	steps()
	log.SetError(nil)
	steps()
	if s := w.Status()[0]; s.Stall == nil || s.Frontier != 0 {
		t.Fatalf("nobody asked, and yet: %+v", s)
	}
	w.Resume(0)
	w.Resume(7) // no partition of this worker
	steps()
	if s := w.Status()[0]; s.Stall != nil || s.Frontier != 1 {
		t.Errorf("asked, and yet: %+v", s)
	}
}

// probe opens units of a store in memory; nothing here commits.
type probe struct{ *workertest.Store }

// Probe implements worker.Prober.
func (p probe) Probe(ctx context.Context, _ int32, _, _ int64) (worker.Unit, error) {
	return uncommitted{}, ctx.Err()
}

// uncommitted is a unit over an empty state.
type uncommitted struct{ worker.Unit }

func (uncommitted) Keys(context.Context, []int32) ([]ledger.KeyRow, []ledger.DayRow, error) {
	return nil, nil, nil
}

func (uncommitted) Authority(context.Context, []ledger.IdentityRef) ([]ledger.AuthorityRow, error) {
	return nil, nil
}

func (uncommitted) Evidence(context.Context, []ledger.RevisionRef) ([]ledger.EvidenceRow, error) {
	return nil, nil
}

func (uncommitted) KeyAuthority(context.Context, []int32) ([]ledger.AuthorityRow, error) {
	return nil, nil
}

func (uncommitted) Commit(context.Context, ledger.Changes) error { return nil }

func (uncommitted) Rollback(context.Context) {}

// TestR36RecheckOfAnOverflow: an overflow stands for as long as its record decides the same, wherever in the unit of work
// it is; a stop whose record can be decided has lost its cause, and one whose record cannot be read is left.
func TestR36RecheckOfAnOverflow(t *testing.T) {
	cfg := workertest.Config("recheck", 1, 1)
	over := workertest.Txn{ID: "over", Revision: 1, Kind: "NEW", Time: workertest.On(2), Qty: 1}
	near := workertest.Txn{ID: "near", Revision: 1, Kind: "NEW", Time: workertest.On(1), Qty: 1<<63 - 1 - 100}
	for name, c := range map[string]struct {
		log    func(l *workertest.Log)
		offset int64
		stands bool
		fails  bool
	}{
		"stands":             {func(l *workertest.Log) { l.Send(cfg, near, over) }, 1, true, true},
		"stands after a gap": {func(l *workertest.Log) { l.Send(cfg, near); l.AppendGap(0, 3); l.Send(cfg, over) }, 4, true, true},
		"gone":               {func(l *workertest.Log) { l.Send(cfg, over, near) }, 0, false, false},
		"not readable":       {func(l *workertest.Log) { l.Send(cfg, near, over); l.Trim(0, 1) }, 1, false, true},
		"not there":          {func(l *workertest.Log) { l.Send(cfg, near) }, 5, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			log := workertest.NewLog()
			c.log(log)
			state := worker.PartitionState{Epoch: 1, Stop: &worker.Stop{Reason: ledger.StopOverflow, Offset: c.offset}}
			err := worker.Recheck(t.Context(), cfg, probe{workertest.NewStore(1)}, log, state)
			if errors.Is(err, worker.ErrCauseStands) != c.stands || (err != nil) != c.fails {
				t.Errorf("got %v", err)
			}
			if log.OpenReaders() != 0 {
				t.Error("a reader is left open")
			}
		})
	}
}
