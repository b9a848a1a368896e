package conformance

import (
	"context"
	"fmt"
	"slices"
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/rebuild"
	rebuildmemory "amends.dev/amends/stages/rebuild/memory"
	"amends.dev/amends/stages/relay"
	relaymemory "amends.dev/amends/stages/relay/memory"
	"amends.dev/amends/stages/replay"
	replaymemory "amends.dev/amends/stages/replay/memory"
	"amends.dev/amends/stages/view"
	viewmemory "amends.dev/amends/stages/view/memory"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// handClock is time that passes only where somebody waits.
type handClock struct{ now time.Time }

// Now implements verify.Clock.
func (c *handClock) Now() time.Time { return c.now }

// Sleep implements verify.Clock.
func (c *handClock) Sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return ctx.Err()
}

// runMemory runs the stages over stores in memory, with units of work of at most maxBatch records.
func runMemory(ctx context.Context, name string, v *Variant, maxBatch int) ([]string, error) {
	ns, err := v.Manifest.Namespace(name)
	if err != nil {
		return nil, err
	}
	clock := &handClock{now: time.Unix(1_800_000_000, 0).UTC()}
	source, output := newTopic(ns.Spec.Source.Topic, ns.Spec.Source.Partitions), newTopic(ns.Spec.Output.Topic, ns.Spec.Output.Partitions)
	p := newMemoryParts(ns, clock, source, output)
	b := newShells(ns, clock, source, output, p, maxBatch)
	defer b.close(ctx)
	return play(ctx, b, v)
}

// newMemoryParts are the empty parts of a namespace.
func newMemoryParts(ns *manifests.Namespace, clock verify.Clock, source, output *topic) *memoryParts {
	p := &memoryParts{
		ns: ns, clock: clock, source: source, sourceID: source.id(), output: output,
		worker: workertest.NewStore(ns.Spec.Source.Partitions), view: viewmemory.NewStore(ns.Spec.Output.Partitions),
	}
	p.relay = relaymemory.NewStoreOver(ns.Spec.Source.Partitions, clock.Now, outboxRows{p.worker})
	return p
}

// outboxRows shows the worker's outbox to the relay's store.
type outboxRows struct{ store *workertest.Store }

// End implements memory.Rows.
func (r outboxRows) End(partition int32) int64 { return r.store.OutboxEnd(partition) }

// Window implements memory.Rows.
func (r outboxRows) Window(partition int32, from int64, limit int) []relay.Envelope {
	rows := r.store.OutboxRows(partition, from, limit)
	all := make([]relay.Envelope, 0, len(rows))
	for _, row := range rows {
		all = append(all, relay.Envelope{Seq: row.Seq, Key: row.Key, Value: row.Value})
	}
	return all
}

// memoryParts are durable parts in memory.
type memoryParts struct {
	ns             *manifests.Namespace
	clock          verify.Clock
	source, output *topic
	// sourceID is that of the source topic when the namespace was applied.
	sourceID string
	worker   *workertest.Store
	relay    *relaymemory.Store
	view     *viewmemory.Store
}

func (p *memoryParts) workerStore() worker.Store { return p.worker }

func (p *memoryParts) outbox() relay.Outbox { return p.relay }

func (p *memoryParts) viewStore() view.Store { return p.view }

func (p *memoryParts) replayStore() replay.Store { return replaymemory.Store{Store: p.worker} }

func (p *memoryParts) rebuildStore() rebuild.Store { return rebuildmemory.Store{Worker: p.worker} }

// fresh implements parts.
func (p *memoryParts) fresh(_ context.Context, ns *manifests.Namespace, output *topic) (parts, error) {
	return newMemoryParts(ns, p.clock, p.source, output), nil
}

func (p *memoryParts) close() {}

// committed implements bench.
func (p *memoryParts) committed(context.Context) ([][]broker.Message, error) {
	all := make([][]broker.Message, p.ns.Spec.Source.Partitions)
	for _, row := range p.worker.Tables().Outbox {
		all[row.Partition] = append(all[row.Partition], broker.Message{Key: row.Key, Value: row.Value})
	}
	return all, nil
}

// change implements bench: the plan of such an apply must refuse.
func (p *memoryParts) change(_ context.Context, other *manifests.Namespace) error {
	return refusedByPlan(p.ns, other)
}

// refusedByPlan reports an error where an apply of the other configuration over the first would not be refused (S2).
func refusedByPlan(ns, other *manifests.Namespace) error {
	plan := manifests.NewPlan(other, manifests.Observed{Applied: &manifests.Applied{Namespace: ns, NamespaceDigest: ns.NamespaceDigest()}})
	if plan.Refused == 0 {
		return fmt.Errorf("the changed configuration was not refused: digests %s and %s", ns.NamespaceDigest(), other.NamespaceDigest())
	}
	return nil
}

// observe implements bench.
func (p *memoryParts) observe(ctx context.Context) (*observed, error) {
	tables := p.worker.Tables()
	o := &observed{
		rows:     Facts{Balances: []projection.Balance{}, Alerts: []projection.Alert{}},
		statuses: []projection.Status{}, rejections: []projection.Rejection{}, stops: []Stop{},
	}
	for _, row := range tables.Partitions {
		o.frontiers = append(o.frontiers, row.NextOffset)
		if row.StopReason != "" {
			o.stops = append(o.stops, Stop{Stage: stageWorker, Partition: row.Partition, Offset: row.StopOffset, Reason: row.StopReason})
		}
	}
	for _, row := range tables.Quarantine {
		o.rejections = append(o.rejections, projection.Rejection{Partition: row.Partition, Offset: row.Offset, Reason: string(row.Reason)})
	}
	p.observeView(o)
	all := []projection.Conflict{}
	for _, row := range tables.Conflicts {
		all = append(all, p.conflict(row.KeyID, row.TxnID, row.Revision))
	}
	o.superseded = supersededOf(all, p.statuses(tables.Keys))
	committed, err := p.committed(ctx)
	if err != nil {
		return nil, err
	}
	o.envelopes, err = envelopesOf(p.ns, committed)
	return o, err
}

// observeView enters what the view shows.
func (p *memoryParts) observeView(o *observed) {
	for id, row := range p.view.Rows() {
		k := p.ns.Spec.StockKeys[id.KeyID]
		switch {
		case id.Family == view.FamilyStatus:
			o.statuses = append(o.statuses, p.status(id.KeyID, row.Conflicts))
		case !row.Present:
		case id.Family == view.FamilyBalance:
			o.rows.Balances = append(o.rows.Balances, projection.Balance{Item: k.Item, Location: k.Location, Day: view.FormatDay(id.Day), Close: row.Close})
		default:
			o.rows.Alerts = append(o.rows.Alerts, projection.Alert{
				Item: k.Item, Location: k.Location, Day: view.FormatDay(id.Day), Close: row.Close, Threshold: row.Threshold,
			})
		}
	}
	progress, stops := p.view.Progress(), p.view.Stops()
	for partition := range p.ns.Spec.Output.Partitions {
		o.viewFrontiers = append(o.viewFrontiers, progress[partition].Next)
		if stop, ok := stops[partition]; ok {
			o.stops = append(o.stops, Stop{Stage: stageView, Partition: partition, Offset: stop.Offset, Reason: string(stop.Problem.Reason)})
		}
	}
}

func (p *memoryParts) conflict(keyID int32, txn string, revision int64) projection.Conflict {
	k := p.ns.Spec.StockKeys[keyID]
	return projection.Conflict{Item: k.Item, Location: k.Location, TxnID: txn, Revision: revision}
}

func (p *memoryParts) status(keyID int32, conflicts []ledger.ConflictRef) projection.Status {
	k := p.ns.Spec.StockKeys[keyID]
	s := projection.Status{Item: k.Item, Location: k.Location, Status: "READY", Conflicts: []projection.ConflictRef{}}
	for _, c := range conflicts {
		s.Status = "BLOCKED"
		s.Conflicts = append(s.Conflicts, projection.ConflictRef(c))
	}
	return s
}

// statuses are the worker's own.
func (p *memoryParts) statuses(rows []ledger.KeyRow) []projection.Status {
	var all []projection.Status
	for _, row := range rows {
		all = append(all, p.status(row.KeyID, row.Conflicts))
	}
	return all
}

// verify implements bench by the facts of S10 alone: is everything drained and unmoved, and does the view agree with the
// naive engine? The verifier itself needs a database; it runs at the other levels.
func (p *memoryParts) verify(ctx context.Context, topics topics, _ bool, during func() error) (verdict, error) {
	h := p.source.ends()
	o, err := p.observe(ctx)
	if err != nil {
		return verdict{}, err
	}
	whole, err := p.wholeHistory(ctx, topics)
	if err != nil {
		return verdict{}, err
	}
	if during != nil {
		if err := during(); err != nil {
			return verdict{}, err
		}
	}
	r := report.New()
	facts := report.Facts{Complete: whole != nil && p.drained(ctx, o, h) && slices.Equal(h, p.source.ends()) && p.source.id() == p.sourceID, Failed: len(o.stops) > 0}
	var conflicts []projection.Conflict
	if whole != nil && facts.Complete {
		deserved := deserves(whole)
		facts.Ambiguous, facts.Excluded, facts.Failed = deserved.Ambiguous, deserved.Excluded, facts.Failed || deserved.Failed
		facts.Different = len(p.differs(o, whole)) > 0
		conflicts = ambiguous(whole.Statuses)
		diagnose(r, p.ns, p.records(), whole)
	} else {
		conflicts = ambiguous(p.statuses(p.worker.Tables().Keys))
	}
	r.Complete = facts.Complete
	r.Judge()
	return verdict{status: report.Decide(facts), conflicts: conflicts, report: r, detail: fmt.Sprintf("%+v", facts)}, nil
}

// records are all of the source, partition after partition.
func (p *memoryParts) records() history {
	var s history
	for _, records := range p.source.partitions {
		s = append(s, records...)
	}
	return s
}

// wholeHistory is the naive engine's result, nil where the history is not whole.
func (p *memoryParts) wholeHistory(ctx context.Context, topics topics) (*projection.Projection, error) {
	found, err := topics.Describe(ctx, p.ns.Spec.Source.Topic)
	if err != nil || slices.Max(found.Starts) > 0 {
		return nil, err
	}
	return reference.Engine{}.Compute(ctx, p.ns, p.records().engine())
}

// differs compares the view with the engine's result.
func (p *memoryParts) differs(o *observed, whole *projection.Projection) []string {
	return o.compare(p.ns, &Expectation{
		Balances: whole.Balances, Alerts: whole.Alerts, Statuses: whole.Statuses, Rejections: whole.Rejections,
		SupersededConflicts: whole.SupersededConflicts, OutOfDomain: whole.OutOfDomain,
	})
}

// drained reports whether worker, relay and view have reached the ends of their inputs.
func (p *memoryParts) drained(ctx context.Context, o *observed, h []int64) bool {
	positions, err := p.relay.Positions(ctx)
	if err != nil || slices.ContainsFunc(positions, func(r relay.Position) bool { return r.Sent < r.End }) {
		return false
	}
	return slices.Equal(o.frontiers, h) && slices.Equal(o.viewFrontiers, p.output.ends())
}

// ambiguous are the conflicts that block keys.
func ambiguous(statuses []projection.Status) []projection.Conflict {
	all := []projection.Conflict{}
	for _, s := range statuses {
		for _, c := range s.Conflicts {
			all = append(all, projection.Conflict{Item: s.Item, Location: s.Location, TxnID: c.TxnID, Revision: c.Revision})
		}
	}
	return all
}
