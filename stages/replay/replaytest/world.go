// Package replaytest is the one suite of the replay's shell over a store: the same histories, damages and interruptions run
// in memory and on Postgres.
package replaytest

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/operation"
	"amends.dev/amends/stages/replay"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/storetest"
	"amends.dev/amends/stages/worker/workertest"
)

// Subject is the durable state of one namespace.
type Subject struct {
	Store  replay.Store
	Worker worker.Store
	Log    operation.Log
	// Tables dumps everything but who owns the partitions.
	Tables func(t *testing.T) workertest.Tables
}

// Fresh makes an empty state for a namespace.
type Fresh func(t *testing.T, cfg *ledger.Config) Subject

// maxSteps bounds every loop: more steps are a livelock.
const maxSteps = 20_000

// world is one namespace with its log, its state, its worker and a broker that tells what the log holds.
type world struct {
	t       *testing.T
	subject Subject
	cfg     *ledger.Config
	log     *workertest.Log
	topics  *topics
	now     time.Time
	member  *workertest.Member
	worker  *worker.Worker
	// change adjusts the options of every replay.
	change func(o *replay.Options)
}

// topics is the broker: the topic as it is, until a test changes it.
type topics struct {
	info  *broker.TopicInfo
	asked int
}

// Describe implements replay.Topics.
func (b *topics) Describe(context.Context, string) (*broker.TopicInfo, error) {
	b.asked++
	return b.info, nil
}

// newWorld has a history of count records, processed by a worker that lives on.
func newWorld(t *testing.T, fresh Fresh, name string, partitions int32, count int) *world {
	t.Helper()
	cfg := workertest.Config(name, partitions, 6)
	w := &world{
		t: t, subject: fresh(t, cfg), cfg: cfg, log: workertest.NewLog(), now: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC),
		member: workertest.NewMember(), topics: &topics{},
	}
	rng := rand.New(rand.NewPCG(7, 7))
	w.log.Mix(cfg, rng, count, workertest.Spread{Keys: 6, Identities: 8, Days: 10})
	var all []int32
	for p := range partitions {
		w.log.Append(p, nil, nil)
		w.log.AppendControl(p) // ends behind every gap
		all = append(all, p)
	}
	w.member.Assign("member-1", 1, all...)
	w.start(false)
	w.drain()
	w.describe()
	return w
}

// start starts a worker in this world's membership.
func (w *world) start(takeOver bool) {
	w.worker = worker.New(worker.Options{
		Config: w.cfg, Store: w.subject.Worker, Opener: w.log, Membership: w.member, Now: func() time.Time { return w.now },
		Random: rand.New(rand.NewPCG(1, 1)).Int64N, PollWait: time.Millisecond, MaxBatch: 50, TakeOver: takeOver,
	})
	w.t.Cleanup(w.worker.Close)
}

// describe makes the broker tell the truth.
func (w *world) describe() {
	source := w.cfg.Namespace().Spec.Source
	info := &broker.TopicInfo{
		Name: source.Topic, ID: w.cfg.SourceTopicID(), Partitions: source.Partitions,
		Configs: map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"},
	}
	for p := range source.Partitions {
		info.Starts = append(info.Starts, 0)
		info.Ends = append(info.Ends, w.log.End(p))
	}
	info.Stables = slices.Clone(info.Ends)
	w.topics.info = info
}

// stepWorker does one step of the normal owner, and lets time pass to when it wants to be woken.
func (w *world) stepWorker() {
	w.t.Helper()
	progress, wake, err := w.worker.Step(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	if !progress && wake.After(w.now) {
		w.now = wake
	}
}

// drain steps the normal owner until it owns every partition and stands at its end.
func (w *world) drain() {
	w.t.Helper()
	for range maxSteps {
		w.stepWorker()
		status := w.worker.Status()
		done := len(status) == int(w.cfg.Namespace().Spec.Source.Partitions)
		for _, s := range status {
			done = done && s.Epoch > 0 && s.Frontier == w.log.Reach(s.Partition)
		}
		if done {
			return
		}
	}
	w.t.Fatalf("not drained: %+v", w.worker.Status())
}

// replay makes a replay of a range.
func (w *world) replay(r replay.Range) *replay.Replay {
	o := replay.Options{
		Config: w.cfg, Range: r, Store: w.subject.Store, Topics: w.topics, Opener: w.log, Log: w.subject.Log,
		Now: func() time.Time { return w.now }, MaxBatch: 40, Checkpoint: 100, PollWait: time.Millisecond,
	}
	if w.change != nil {
		w.change(&o)
	}
	return replay.New(o)
}

// whole is everything that was processed of a partition.
func (w *world) whole(partition int32) replay.Range {
	return replay.Range{Partition: partition, From: 0, To: w.state(partition).NextOffset}
}

// finish steps a replay to its end; each, where not nil, is called after each step.
func (w *world) finish(r *replay.Replay, each func()) replay.Report {
	w.t.Helper()
	for range maxSteps {
		if r.Done() {
			return r.Report()
		}
		if _, _, err := r.Step(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		if each != nil {
			each()
		}
	}
	w.t.Fatalf("no end: %+v", r.Report())
	return replay.Report{}
}

// run replays a range to its end and gives everything back.
func (w *world) run(r replay.Range) replay.Report {
	w.t.Helper()
	one := w.replay(r)
	defer func() {
		if err := one.Close(w.t.Context()); err != nil {
			w.t.Error(err)
		}
	}()
	return w.finish(one, nil)
}

func (w *world) state(partition int32) worker.PartitionState {
	w.t.Helper()
	state, err := w.subject.Worker.PartitionState(w.t.Context(), partition)
	if err != nil {
		w.t.Fatal(err)
	}
	return state
}

// same fails where a table changed.
func (w *world) same(what string, before workertest.Tables) {
	w.t.Helper()
	if diff := storetest.Diff(before, w.subject.Tables(w.t)); diff != "" {
		w.t.Errorf("%s: %s", what, diff)
	}
}

// records counts the data records of a range as a reader sees them.
func (w *world) records(r replay.Range) int64 {
	w.t.Helper()
	reader, err := w.log.Open(w.t.Context(), r.Partition, r.From)
	if err != nil {
		w.t.Fatal(err)
	}
	defer reader.Close()
	count := int64(0)
	for next := r.From; next < r.To; {
		fetch, err := reader.Poll(w.t.Context(), 100)
		if err != nil || fetch.Next == next {
			w.t.Fatalf("at %d: %v", next, err)
		}
		for _, record := range fetch.Records {
			if record.Offset < r.To {
				count++
			}
		}
		next = fetch.Next
	}
	return count
}
