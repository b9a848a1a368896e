package sim

import (
	"cmp"
	"context"
	"encoding/hex"
	"iter"
	"slices"
	"time"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker/workertest"
)

// judge shows a world to the production verifier: it implements all of its ports but the engine.
type judge struct {
	w *world
	// tables is the processing state, read once the pipeline is drained.
	tables workertest.Tables
	// forgiven hides persisted stops and what was not decided because of them, so that the rest is compared too.
	forgiven bool
}

var (
	_ verify.State        = (*judge)(nil)
	_ verify.Evidence     = (*judge)(nil)
	_ verify.View         = (*judge)(nil)
	_ verify.ViewSnapshot = (*judge)(nil)
	_ verify.Topics       = topics{}
	_ verify.Clock        = virtualClock{}
)

// Applied implements verify.State.
func (j *judge) Applied(context.Context, string) (*verify.Applied, error) {
	ns := j.w.namespace
	return &verify.Applied{Namespace: ns, Identity: verify.Identity{
		Name: ns.Name, Digest: ns.NamespaceDigest(), BusinessDigest: ns.BusinessDigest(sourceTopicID),
		SourceTopicID: sourceTopicID, OutputTopicID: outputTopicID, BuiltBy: "stream",
	}}, nil
}

// Identity implements verify.State.
func (j *judge) Identity(ctx context.Context, name string) (verify.Identity, error) {
	applied, err := j.Applied(ctx, name)
	return applied.Identity, err
}

// Lease implements verify.State: nobody writes any more.
func (*judge) Lease(context.Context, string) (boundary.Lease, error) { return boundary.Lease{}, nil }

// RequestStop implements verify.State.
func (*judge) RequestStop(context.Context, string, int64) error { return nil }

// Progress implements verify.State.
func (j *judge) Progress(ctx context.Context, _ *verify.Applied) (verify.Progress, error) {
	var p verify.Progress
	for partition := range j.w.truths {
		state, _, _ := j.w.state.Peek(int32(partition))
		p.Worker = append(p.Worker, state.NextOffset)
		if stop := state.Stop; stop != nil && !j.forgiven {
			p.Stops = append(p.Stops, boundary.Stop{
				Phase: boundary.PhaseWorker, Partition: int32(partition), Offset: stop.Offset, Reason: stop.Reason, Detail: stop.Detail,
			})
		}
	}
	positions, err := j.w.outbox.Positions(ctx)
	for _, position := range positions {
		p.OutboxNext, p.SentThrough = append(p.OutboxNext, position.End), append(p.SentThrough, position.Sent)
	}
	return p, err
}

// Ambiguous implements verify.State.
func (j *judge) Ambiguous(context.Context, *verify.Applied) ([]projection.Conflict, error) {
	var all []projection.Conflict
	for _, k := range j.tables.Keys {
		for _, c := range k.Conflicts {
			all = append(all, j.conflict(k.KeyID, c.TxnID, c.Revision))
		}
	}
	slices.SortFunc(all, compare.OrderConflict)
	return all, nil
}

func (j *judge) conflict(keyID int32, txnID string, revision int64) projection.Conflict {
	k := j.w.namespace.Spec.StockKeys[keyID]
	return projection.Conflict{Item: k.Item, Location: k.Location, TxnID: txnID, Revision: revision}
}

// Evidence implements verify.State.
func (j *judge) Evidence(_ context.Context, _ *verify.Applied, read func(verify.Evidence) error) error {
	return read(j)
}

// Quarantine implements verify.Evidence.
func (j *judge) Quarantine(context.Context) iter.Seq2[compare.Rejected, error] {
	rows := make([]compare.Rejected, 0, len(j.tables.Quarantine))
	for _, q := range j.tables.Quarantine {
		rows = append(rows, compare.Rejected{
			Partition: q.Partition, Offset: q.Offset, TopicID: sourceTopicID, Reason: string(q.Reason),
			Key:   compare.Blob{Length: q.KeyLength, SHA256: hex.EncodeToString(q.KeySHA256)},
			Value: compare.Blob{Length: q.ValueLength, SHA256: hex.EncodeToString(q.ValueSHA256)},
		})
	}
	return compare.Slice(rows)
}

// Conflicts implements verify.Evidence.
func (j *judge) Conflicts(context.Context) iter.Seq2[projection.Conflict, error] {
	rows := make([]projection.Conflict, 0, len(j.tables.Conflicts))
	for _, c := range j.tables.Conflicts {
		rows = append(rows, j.conflict(c.KeyID, c.TxnID, c.Revision))
	}
	slices.SortFunc(rows, compare.OrderConflict)
	return compare.Slice(rows)
}

// ViewIdentity implements verify.View.
func (j *judge) ViewIdentity(context.Context, *verify.Applied) (verify.ViewIdentity, error) {
	ns := j.w.namespace
	return verify.ViewIdentity{Name: ns.Name, Digest: ns.NamespaceDigest(), OutputTopic: ns.Spec.Output.Topic, OutputTopicID: outputTopicID}, nil
}

// ViewProgress implements verify.View.
func (j *judge) ViewProgress(ctx context.Context, _ *verify.Applied) ([]int64, []boundary.Stop, error) {
	var stops []boundary.Stop
	persisted := j.w.view.Stops()
	for p := range j.w.records {
		if stop, ok := persisted[int32(p)]; ok {
			stops = append(stops, boundary.Stop{
				Phase: boundary.PhaseView, Partition: int32(p), Offset: stop.Offset,
				Reason: string(stop.Problem.Reason), Detail: stop.Problem.Detail,
			})
		}
	}
	frontiers, err := j.Frontiers(ctx)
	return frontiers, stops, err
}

// Snapshot implements verify.View.
func (j *judge) Snapshot(_ context.Context, _ *verify.Applied, read func(verify.ViewSnapshot) error) error {
	return read(j)
}

// Frontiers implements verify.ViewSnapshot.
func (j *judge) Frontiers(context.Context) ([]int64, error) {
	progress, frontiers := j.w.view.Progress(), make([]int64, len(j.w.records))
	for p := range frontiers {
		frontiers[p] = progress[int32(p)].Next
	}
	return frontiers, nil
}

// Balances implements verify.ViewSnapshot.
func (j *judge) Balances(context.Context) iter.Seq2[projection.Balance, error] {
	var rows []projection.Balance
	for _, e := range j.present(view.FamilyBalance) {
		k := j.w.namespace.Spec.StockKeys[e.ID.KeyID]
		rows = append(rows, projection.Balance{Item: k.Item, Location: k.Location, Day: view.FormatDay(e.ID.Day), Close: e.Close})
	}
	return compare.Slice(rows)
}

// Alerts implements verify.ViewSnapshot.
func (j *judge) Alerts(context.Context) iter.Seq2[projection.Alert, error] {
	var rows []projection.Alert
	for _, e := range j.present(view.FamilyAlert) {
		k := j.w.namespace.Spec.StockKeys[e.ID.KeyID]
		rows = append(rows, projection.Alert{
			Item: k.Item, Location: k.Location, Day: view.FormatDay(e.ID.Day), Close: e.Close, Threshold: e.Threshold,
		})
	}
	return compare.Slice(rows)
}

// Statuses implements verify.ViewSnapshot.
func (j *judge) Statuses(context.Context) iter.Seq2[projection.Status, error] {
	var rows []projection.Status
	for _, e := range j.present(view.FamilyStatus) {
		k := j.w.namespace.Spec.StockKeys[e.ID.KeyID]
		s := projection.Status{Item: k.Item, Location: k.Location, Status: view.StatusReady}
		for _, c := range e.Conflicts {
			s.Status = view.StatusBlocked
			s.Conflicts = append(s.Conflicts, projection.ConflictRef{TxnID: c.TxnID, Revision: c.Revision})
		}
		rows = append(rows, s)
	}
	return compare.Slice(rows)
}

// present lists the rows of a family that are not withdrawn, by stock key and day. Stock keys are sorted as the verifier
// wants them, and days after 1970 sort as their texts.
func (j *judge) present(family view.Family) []view.Envelope {
	var rows []view.Envelope
	for id, e := range j.w.view.Rows() {
		if id.Family == family && e.Present {
			rows = append(rows, e)
		}
	}
	slices.SortFunc(rows, func(a, b view.Envelope) int {
		return cmp.Or(cmp.Compare(a.ID.KeyID, b.ID.KeyID), cmp.Compare(a.ID.Day, b.ID.Day))
	})
	return rows
}

// topics shows both topics to the verifier.
type topics struct{ *judge }

// Describe implements verify.Topics.
func (t topics) Describe(_ context.Context, topic string) (*boundary.Topic, error) {
	id, n, log := sourceTopicID, len(t.w.truths), t.w.source
	if topic == t.w.namespace.Spec.Output.Topic {
		id, n, log = outputTopicID, len(t.w.records), t.w.output
	}
	out := &boundary.Topic{
		ID: id, Starts: make([]int64, n), Ends: make([]int64, n),
		Configs: map[string]string{"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"},
	}
	for p := range out.Ends {
		out.Ends[p] = log.End(int32(p))
		if at, stopped := t.w.deserved().stops[int32(p)]; stopped && t.forgiven && id == sourceTopicID {
			out.Ends[p] = at
		}
	}
	out.Stables = slices.Clone(out.Ends)
	return out, nil
}

// History implements verify.Topics. The first time it is called with late messages left, which is after O was captured,
// they arrive: the verifier must see that they are repeats (R22).
func (t topics) History(r boundary.Range) engine.History {
	log := t.w.source
	if r.Topic == t.w.namespace.Spec.Output.Topic {
		log = t.w.output
	}
	return func(ctx context.Context) iter.Seq2[engine.Record, error] {
		t.w.flush(len(t.w.late))
		return func(yield func(engine.Record, error) bool) {
			for p := range r.From {
				if !history(ctx, log, int32(p), r.From[p], r.To[p], yield) {
					return
				}
			}
		}
	}
}

// history yields the records of one partition in [from, to); false ends everything.
func history(ctx context.Context, log broker.Opener, partition int32, from, to int64, yield func(engine.Record, error) bool) bool {
	if from >= to {
		return true
	}
	reader, err := log.Open(ctx, partition, from)
	if err != nil {
		return yield(engine.Record{}, err) && false
	}
	defer reader.Close()
	fetch, err := reader.Poll(ctx, 1<<30)
	if err != nil {
		return yield(engine.Record{}, err) && false
	}
	for _, rec := range fetch.Records {
		if rec.Offset < to && !yield(engine.Record{Partition: partition, Offset: rec.Offset, Key: rec.Key, Value: rec.Value}, nil) {
			return false
		}
	}
	return true
}

// virtualClock is the world's.
type virtualClock struct{ w *world }

// Now implements verify.Clock.
func (c virtualClock) Now() time.Time { return c.w.clock }

// Sleep implements verify.Clock.
func (c virtualClock) Sleep(ctx context.Context, d time.Duration) error {
	c.w.clock = c.w.clock.Add(d)
	return ctx.Err()
}
