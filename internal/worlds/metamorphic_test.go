package worlds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// TestMetamorphic processes random histories by the production shell in ways that must not matter: other batch sizes,
// caches, output bounds, crashes before a commit and after it, commits of unknown outcome, partition counts and arrival
// orders (R12, R14, R15, SC18, SC19).
func TestMetamorphic(t *testing.T) {
	count := uint64(250)
	if long() {
		count = 10_000
	}
	run(t, "metamorphic", 1, count, processedAlike)
}

// way is one way to process a history.
type way struct {
	name string
	// batch and cache are Options.MaxBatch and Options.CacheRows; outputBytes is MaxOutputBytes where it is set.
	batch, cache, outputBytes int
	// crashes is how many of a hundred commits do not happen, or happen unseen, and how many of these end the worker.
	crashes int
	// swaps is how often of a hundred steps the partitions go to the other of two members, both of which live on: the
	// owner comes back with what it remembers, and the former owner takes a step now and then (A → B → A, SC19).
	swaps int
}

// ways must all give the same tables. The first is the plainest one.
var ways = []way{
	{name: "one by one, no cache", batch: 1, cache: -1},
	{name: "batches of 2, tiny cache", batch: 2, cache: 6},
	{name: "batches of 7, large cache", batch: 7},
	{name: "batches of 2000", batch: 2000},
	{name: "small outputs", batch: 2000, cache: 25, outputBytes: 1500},
	{name: "crashes, no cache", batch: 3, cache: -1, crashes: 50},
	{name: "crashes, large cache", batch: 4, crashes: 50},
	{name: "crashes, tiny cache", batch: 2, cache: 10, crashes: 30},
	{name: "two owners by turns", batch: 2, swaps: 25},
	{name: "two owners by turns, lost answers", batch: 3, crashes: 25, swaps: 15},
}

// processedAlike compares all ways, partition counts and arrival orders.
func processedAlike(h *history, seen *coverage) error {
	cfg := ledger.NewConfig(h.ns, topicID)
	seen.records += len(h.events)
	first, err := h.process(cfg, h.events, ways[0])
	if err != nil {
		return fmt.Errorf("%s: %w", ways[0].name, err)
	}
	for _, w := range ways[1:] {
		tables, err := h.process(cfg, h.events, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if !reflect.DeepEqual(first, tables) {
			return fmt.Errorf("%s (-%s +this): %s", w.name, ways[0].name, cmp.Diff(first, tables))
		}
	}
	if slices.ContainsFunc(first.Partitions, func(p workertest.PartitionRow) bool { return p.StopReason != "" }) {
		seen.overflows++
		return nil // what remains undecided depends on partitions and order
	}
	want, err := judge(h.ns, place(cfg, h.events))
	if err != nil {
		return err
	}
	seen.see(want, len(first.Outbox))
	if err := agrees(cfg, want, &first); err != nil {
		return err
	}
	if h.wild {
		return nil
	}
	return errors.Join(h.repartitioned(&first), h.reordered(cfg, want))
}

// agrees compares a store's tables with a judge's projection: what was published, what is kept, what was rejected.
func agrees(cfg *ledger.Config, want *projection.Projection, tables *workertest.Tables) error {
	o := newOutcome(cfg.Namespace(), want)
	rejections := make([]projection.Rejection, 0, len(tables.Quarantine))
	for _, q := range tables.Quarantine {
		rejections = append(rejections, projection.Rejection{Partition: q.Partition, Offset: q.Offset, Reason: string(q.Reason)})
	}
	if !slices.Equal(rejections, want.Rejections) {
		return fmt.Errorf("rejections %v, must be %v", rejections, want.Rejections)
	}
	return errors.Join(o.checkPublished(envelopesOf(tables)), o.checkRows(tables.Days, tables.Conflicts))
}

// envelopesOf are all published envelopes. An output belongs to one partition, so its versions stand in order.
func envelopesOf(tables *workertest.Tables) []ledger.Envelope {
	all := make([]ledger.Envelope, len(tables.Outbox))
	for i, row := range tables.Outbox {
		all[i] = ledger.Envelope{Key: row.Key, Value: row.Value}
	}
	return all
}

// repartitioned: under other partition counts, where records go elsewhere and meet others, every key publishes the same
// envelopes but for the source coordinates. A misrouted record cannot exist in one partition.
func (h *history) repartitioned(first *workertest.Tables) error {
	for _, partitions := range []int32{1, 2, 3, 7} {
		if partitions == 1 && slices.ContainsFunc(h.events, func(e event) bool { return e.misrouted }) {
			continue
		}
		ns := h.under(partitions)
		cfg := ledger.NewConfig(ns, topicID)
		tables, err := h.process(cfg, h.events, way{batch: 5, cache: 30})
		if err != nil {
			return fmt.Errorf("%d partitions: %w", partitions, err)
		}
		if diff := cmp.Diff(byKey(first), byKey(&tables)); diff != "" {
			return fmt.Errorf("%d partitions: envelopes by key: %s", partitions, diff)
		}
		want, err := judge(ns, place(cfg, h.events))
		if err != nil {
			return err
		}
		if err := agrees(cfg, want, &tables); err != nil {
			return fmt.Errorf("%d partitions: %w", partitions, err)
		}
		if len(first.Quarantine) != len(tables.Quarantine) || !slices.Equal(first.Days, tables.Days) || !reflect.DeepEqual(first.Keys, tables.Keys) {
			return fmt.Errorf("%d partitions: %d rejections, %+v, %+v; must be %d, %+v, %+v", partitions,
				len(tables.Quarantine), tables.Days, tables.Keys, len(first.Quarantine), first.Days, first.Keys)
		}
	}
	return nil
}

// byKey lists the envelopes of each key in publication order, without source coordinates.
func byKey(tables *workertest.Tables) map[string][]string {
	all := make(map[string][]string)
	for _, row := range tables.Outbox {
		before, rest, _ := bytes.Cut(row.Value, []byte(`,"source":{"offset":`))
		_, after, _ := bytes.Cut(rest, []byte(`},"type":`))
		all[string(row.Key)] = append(all[string(row.Key)], string(before)+string(after))
	}
	return all
}

// reordered: in another arrival order the tables differ, the certified projection and the statuses do not.
func (h *history) reordered(cfg *ledger.Config, want *projection.Projection) error {
	events := shuffled(newOrder(h.seed), h.events)
	tables, err := h.process(cfg, events, way{batch: 4, cache: 12, crashes: 20})
	if err != nil {
		return fmt.Errorf("reordered: %w", err)
	}
	bare := *want
	if bare.Rejections = nil; len(tables.Quarantine) != len(want.Rejections) {
		return fmt.Errorf("reordered: %d rejections, must be %d", len(tables.Quarantine), len(want.Rejections))
	}
	tables.Quarantine = nil
	if err := agrees(cfg, &bare, &tables); err != nil {
		return fmt.Errorf("reordered: %w", err)
	}
	return nil
}

// newOrder draws arrival orders and crashes of a history.
func newOrder(seed uint64) *generator { return &generator{Rand: rand.New(rand.NewPCG(seed, 7))} }

// process runs the events through workers over a store in memory, one after the other where they crash, and returns the
// tables at the end.
func (h *history) process(cfg *ledger.Config, events []event, w way) (workertest.Tables, error) {
	partitions := cfg.Namespace().Spec.Source.Partitions
	p := &processing{
		cfg: cfg, way: w, random: newOrder(h.seed).Rand, log: workertest.NewLog(), store: workertest.NewStore(partitions),
		now: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC),
	}
	for i := range partitions {
		p.partitions = append(p.partitions, i)
	}
	for i := range events {
		e := &events[i]
		partition := e.partitionOf(cfg)
		p.log.AppendGap(partition, e.gap)
		if e.control {
			p.log.AppendControl(partition)
		}
		p.log.Append(partition, e.brokerKey, e.value)
	}
	err := p.drain()
	return p.store.Tables(), err
}

// processing is one run of a history in some way.
type processing struct {
	cfg        *ledger.Config
	way        way
	random     *rand.Rand
	log        *workertest.Log
	store      *workertest.Store
	now        time.Time
	partitions []int32
	// owner is who holds the newest assignment, other the former owner where it lives on.
	owner, other *owner
	generation   int32
	crashed      bool
}

// owner is a member of the group with its worker.
type owner struct {
	name   string
	member *workertest.Member
	worker *worker.Worker
}

// fate decides over commits: some fail, some succeed or fail without an answer.
func (p *processing) fate(op workertest.Op, _ int32) workertest.Fate {
	if op != workertest.OpCommit || p.random.IntN(100) >= p.way.crashes {
		return workertest.Proceed
	}
	p.crashed = p.random.IntN(2) == 0
	return []workertest.Fate{workertest.Fail, workertest.LostUndone, workertest.LostDone}[p.random.IntN(3)]
}

// start makes an owner that holds nothing and remembers nothing.
func (p *processing) start() *owner {
	o := &owner{name: fmt.Sprintf("member-%d", p.generation), member: workertest.NewMember()}
	o.worker = worker.New(worker.Options{
		Config: p.cfg, Store: &workertest.Faulty{Store: p.store, Fate: p.fate}, Opener: p.log, Membership: o.member,
		Now: func() time.Time { return p.now }, Random: p.random.Int64N, PollWait: time.Millisecond,
		MaxBatch: p.way.batch, CacheRows: p.way.cache, MaxOutputBytes: p.way.outputBytes,
	})
	return o
}

// assign gives an owner all partitions at the next generation. The former owner, if it lives, does not hear of it.
func (p *processing) assign(to *owner) {
	p.generation++
	p.owner = to
	to.member.Assign(to.name, p.generation, p.partitions...)
}

// drain steps until every partition is at its end or stopped.
func (p *processing) drain() error {
	p.assign(p.start())
	for range 20_000 {
		stepping := p.owner
		if p.other != nil && p.random.IntN(4) == 0 {
			stepping = p.other
		}
		progress, wake, err := stepping.worker.Step(context.Background())
		if err != nil {
			return err
		}
		switch {
		case p.crashed: // the process is gone with everything that it had in memory
			p.crashed, p.other = false, nil
			p.assign(p.start())
		case p.random.IntN(100) < p.way.swaps:
			if p.other == nil {
				p.other = p.start()
			}
			former := p.owner
			p.assign(p.other)
			p.other = former
		case !progress && wake.After(p.now):
			p.now = wake
		}
		if p.drained() {
			p.owner.worker.Close()
			return nil
		}
	}
	return fmt.Errorf("not drained: %+v", p.owner.worker.Status())
}

func (p *processing) drained() bool {
	for _, i := range p.partitions {
		if state, _, _ := p.store.Peek(i); state.Stop == nil && state.NextOffset != p.log.Reach(i) {
			return false
		}
	}
	return true
}
