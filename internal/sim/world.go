package sim

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
	relaymemory "amends.dev/amends/stages/relay/memory"
	"amends.dev/amends/stages/view"
	viewmemory "amends.dev/amends/stages/view/memory"
	"amends.dev/amends/stages/worker/workertest"
)

// The relay's times, as in production.
const (
	deliveryTimeout = 10 * time.Second
	leaseTTL        = 30 * time.Second
)

// truth is a visible record of the source topic as the simulator itself understands it, by the oracle's decoder.
type truth struct {
	offset int64
	key    []byte
	value  []byte
	reason decode.Reason
	tx     decode.Transaction
}

// published is a record of the output topic; data is false for what readers do not see as a record.
type published struct {
	data       bool
	key, value []byte
}

// world is one run.
type world struct {
	*scenario
	wraps wraps
	ctx   context.Context
	clock time.Time

	config     *ledger.Config
	viewConfig *view.Config
	decoder    *decode.Decoder
	source     *workertest.Log
	output     *workertest.Log
	state      *workertest.Store
	outbox     *relaymemory.Store
	view       *viewmemory.Store
	locks      map[lock]held

	workers []*workerProcess
	relays  []*relayProcess
	views   []*viewProcess
	// generation is the group's.
	generation int32

	// cursor and produced count the actions taken and the events appended.
	cursor, produced int
	// late are messages that will arrive when nobody expects them.
	late []broker.Message

	// What really happened, for the checkers.
	truths  [][]truth
	records [][]published
	commits []commit
	sends   []send

	// judged is what the history up to judgedAt events deserves.
	judged   *deserts
	judgedAt int

	checkers []checker
	failure  *Failure
	trace    []string
	// struck counts the faults that struck, by mode.
	struck [broken + 1]int
	steps  int
}

// newWorld sets a run up: everything started, nothing produced, the group settled.
func newWorld(ctx context.Context, s *scenario, damage wraps) *world {
	spec := &s.namespace.Spec
	w := &world{
		scenario: s, wraps: damage, ctx: ctx, clock: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC),
		config: ledger.NewConfig(s.namespace, sourceTopicID), viewConfig: view.NewConfig(s.namespace),
		decoder: decode.New(s.namespace), source: workertest.NewLog(), output: workertest.NewLog(),
		state: workertest.NewStore(spec.Source.Partitions), view: viewmemory.NewStore(spec.Output.Partitions),
		locks:  map[lock]held{},
		truths: make([][]truth, spec.Source.Partitions), records: make([][]published, spec.Output.Partitions),
	}
	w.outbox = relaymemory.NewStoreOver(spec.Source.Partitions, w.now, outboxRows{w.state})
	w.checkers = newCheckers(w)
	for i := range s.shape.workers {
		p := &workerProcess{process: process{stage: "worker", index: i}}
		w.workers = append(w.workers, p)
		w.startWorker(p)
	}
	for i := range s.shape.relays {
		p := &relayProcess{process: process{stage: "relay", index: i}}
		w.relays = append(w.relays, p)
		w.startRelay(p)
	}
	for i := range s.shape.views {
		p := &viewProcess{process: process{stage: "view", index: i}}
		w.views = append(w.views, p)
		w.startView(p)
	}
	w.settleGroup()
	return w
}

func (w *world) now() time.Time { return w.clock }

// log adds a line to the trace.
func (w *world) log(who, format string, args ...any) {
	at := w.clock.Sub(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)).Seconds()
	w.trace = append(w.trace, fmt.Sprintf("%9.3f  %-10s %s", at, who, fmt.Sprintf(format, args...)))
}

// fail notes the first finding; everything after it is of no interest.
func (w *world) fail(checker, format string, args ...any) {
	if w.failure == nil {
		mark.Hit("sim.3 finding of a checker")
		w.failure = &Failure{Checker: checker, Detail: fmt.Sprintf(format, args...)}
		w.log("FOUND", "%s: %s", checker, w.failure.Detail)
	}
}

// check lets every checker look at what is durable.
func (w *world) check() {
	for _, c := range w.checkers {
		if w.failure != nil {
			return
		}
		if err := c.check(w); err != nil {
			w.fail(c.name(), "%v", err)
		}
	}
}

// act takes the next action of the schedule; false where there is none, or something was found.
func (w *world) act() bool {
	if w.cursor >= len(w.actions) || w.failure != nil || w.ctx.Err() != nil {
		return false
	}
	a := w.actions[w.cursor]
	w.cursor++
	w.clock = w.clock.Add(w.shape.tick)
	w.do(a)
	w.check()
	return w.failure == nil
}

// do takes one action.
func (w *world) do(a action) {
	switch a.kind {
	case stepWorker:
		if w.supervise(w.workers[a.actor].life, func() { w.joinAgain(w.workers[a.actor]) }) {
			w.stepWorker(w.workers[a.actor], a.arg, a.fault)
		}
	case stepRelay:
		if w.supervise(w.relays[a.actor].life, func() { w.startRelay(w.relays[a.actor]) }) {
			w.stepRelay(w.relays[a.actor], a.fault)
		}
	case stepView:
		if w.supervise(w.views[a.actor].life, func() { w.startView(w.views[a.actor]) }) {
			w.stepView(w.views[a.actor], a.arg, a.fault)
		}
	case produce:
		w.produce(a.arg)
	case pass:
		w.clock = w.clock.Add(a.wait)
	case rebalance:
		w.rebalance(a.arg)
	case deliver, deliverOld, deliverEmpty:
		w.deliver(w.workers[a.actor], a)
	case restartWorker, restartRelay, restartView:
		w.restart(a)
	case flush:
		w.flush(a.arg)
	case marker:
		w.markOutput(int32(a.arg))
	}
}

// supervise starts a dead process instead of stepping it; true where it lives.
func (w *world) supervise(l *life, start func()) bool {
	if l.dead {
		start()
	}
	return !l.dead
}

// joinAgain starts a worker and lets the group know.
func (w *world) joinAgain(p *workerProcess) {
	w.startWorker(p)
	w.rebalance(1<<len(w.workers) - 1)
}

// restart ends a process and starts it again.
func (w *world) restart(a action) {
	orderly := a.arg == 1
	switch a.kind {
	case restartWorker:
		w.workers[a.actor].restart(orderly)
		w.joinAgain(w.workers[a.actor])
	case restartRelay:
		w.relays[a.actor].restart(orderly)
		w.startRelay(w.relays[a.actor])
	default:
		w.views[a.actor].restart(orderly)
		w.startView(w.views[a.actor])
	}
}

// produce appends the next events of the history.
func (w *world) produce(n int) {
	for ; n > 0 && w.produced < len(w.events); n-- {
		e := &w.events[w.produced]
		w.produced++
		p := e.partition
		switch {
		case e.aborted > 0:
			w.source.AppendGap(p, e.aborted)
			w.source.AppendControl(p)
		case e.marker:
			w.source.AppendControl(p)
		default:
			t := truth{offset: w.source.Append(p, e.key, e.value), key: e.key, value: e.value}
			t.tx, t.reason = w.decoder.Decode(p, e.key, e.value)
			w.truths[p] = append(w.truths[p], t)
		}
		w.log("producer", "source partition %d ends at %d: %s", p, w.source.End(p), e)
	}
}

// append puts a message into the output topic.
func (w *world) append(who string, m broker.Message) int64 {
	offset := w.output.Append(m.Partition, m.Key, m.Value)
	w.records[m.Partition] = append(w.records[m.Partition], published{data: true, key: bytes.Clone(m.Key), value: bytes.Clone(m.Value)})
	w.log(who, "output partition %d offset %d: %s", m.Partition, offset, m.Value)
	return offset
}

// flush lets late messages arrive.
func (w *world) flush(n int) {
	for ; n > 0 && len(w.late) > 0; n-- {
		m := w.late[0]
		w.late = w.late[1:]
		w.append("late", m)
	}
}

// markOutput appends what an aborted transaction of somebody else leaves behind.
func (w *world) markOutput(partition int32) {
	w.output.AppendGap(partition, 1)
	w.output.AppendControl(partition)
	w.records[partition] = append(w.records[partition], published{}, published{})
}
