// Package shelltest is the one suite of the worker's shell over a store: the same histories, crashes and take-overs run
// in memory and on Postgres.
package shelltest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/storetest"
	"amends.dev/amends/stages/worker/workertest"
)

// Fresh makes an empty store for a namespace.
type Fresh func(t *testing.T, cfg *ledger.Config) storetest.Subject

// maxSteps bounds every drain: more steps are a livelock.
const maxSteps = 20_000

// clock is moved by hand.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// world is one namespace with its log, its store, and what a member needs.
type world struct {
	t      *testing.T
	cfg    *ledger.Config
	log    *workertest.Log
	store  *workertest.Faulty
	tables func(t *testing.T) workertest.Tables
	clock  *clock
	member *workertest.Member
	// change adjusts the options of every worker that is started.
	change     func(o *worker.Options)
	generation int32
}

func newWorld(t *testing.T, fresh Fresh, cfg *ledger.Config) *world {
	t.Helper()
	subject := fresh(t, cfg)
	return &world{
		t: t, cfg: cfg, log: workertest.NewLog(), store: &workertest.Faulty{Store: subject.Store}, tables: subject.Tables,
		clock: &clock{now: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)}, member: workertest.NewMember(),
	}
}

// partitions lists all source partitions.
func (w *world) partitions() []int32 {
	all := make([]int32, w.cfg.Namespace().Spec.Source.Partitions)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// start assigns everything to this world's member at the next generation and starts a worker, with an empty cache.
func (w *world) start() *worker.Worker {
	w.generation++
	w.member.Assign(fmt.Sprintf("member-%d", w.generation), w.generation, w.partitions()...)
	return w.startAs(w.member)
}

func (w *world) startAs(member *workertest.Member) *worker.Worker {
	o := worker.Options{
		Config: w.cfg, Store: w.store, Opener: w.log, Membership: member, Now: w.clock.Now,
		Random: rand.New(rand.NewPCG(1, 1)).Int64N, PollWait: time.Millisecond,
	}
	if w.change != nil {
		w.change(&o)
	}
	return worker.New(o)
}

// step does one step, and lets time pass to when the worker wants to be woken.
func (w *world) step(worker *worker.Worker) bool {
	w.t.Helper()
	progress, wake, err := worker.Step(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if !progress && wake.After(w.clock.now) {
		w.clock.now = wake
	}
	return progress
}

// drain steps until every partition but those in except stands at the end of its log.
func (w *world) drain(worker *worker.Worker, except ...int32) {
	w.t.Helper()
	for range maxSteps {
		w.step(worker)
		if w.drained(worker, except) {
			return
		}
	}
	w.t.Fatalf("not drained after %d steps: %+v", maxSteps, worker.Status())
}

func (w *world) drained(worker *worker.Worker, except []int32) bool {
	status := worker.Status()
	if len(status) != len(w.partitions()) {
		return false
	}
	skip := make(map[int32]bool)
	for _, partition := range except {
		skip[partition] = true
	}
	for _, s := range status {
		if !skip[s.Partition] && (s.Epoch == 0 || s.Frontier != w.end(s.Partition)) {
			return false
		}
	}
	return true
}

// end is what a reader can reach: one past the last delivered record or marker.
func (w *world) end(partition int32) int64 { return w.log.Reach(partition) }

// same fails where two dumps differ.
func same(t *testing.T, what string, want, got workertest.Tables) {
	t.Helper()
	if diff := storetest.Diff(want, got); diff != "" {
		t.Errorf("%s: %s", what, diff)
	}
}

// reference is what one undisturbed worker in memory makes of a log.
func (w *world) reference() workertest.Tables {
	w.t.Helper()
	calm := *w
	store := workertest.NewStore(w.cfg.Namespace().Spec.Source.Partitions)
	calm.store = &workertest.Faulty{Store: store}
	calm.clock = &clock{now: w.clock.now}
	calm.member, calm.generation, calm.change = workertest.NewMember(), 0, nil
	worker := calm.start()
	calm.drain(worker)
	worker.Close()
	return store.Tables()
}

// closes returns the balances of a key by day of 2026.
func closes(d workertest.Tables, key int32) map[int]int64 {
	all := make(map[int]int64)
	for _, row := range d.Days {
		if row.KeyID == key && row.Active > 0 {
			all[dayOf2026(row.Day)] = row.Close
		}
	}
	return all
}

// alerts returns the closes of the crossings of a key by day of 2026.
func alerts(d workertest.Tables, key int32) map[int]int64 {
	all := make(map[int]int64)
	for _, row := range d.Days {
		if row.KeyID == key && row.AlertPresent {
			all[dayOf2026(row.Day)] = row.AlertClose
		}
	}
	return all
}

// dayOf2026 numbers days as workertest.On does.
func dayOf2026(day int32) int {
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix() / 86_400
	return int(int64(day)-first) + 1
}
