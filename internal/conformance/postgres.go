package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/pgview"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/rebuild"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/replay"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
)

const (
	// patience bounds the waiting of a verification that must reach its boundary, and of a run that must end.
	patience = 60 * time.Second
	// haste bounds that of a verification that must end incomplete.
	haste = 300 * time.Millisecond
	// pollInterval and settle are a verification's.
	pollInterval = 5 * time.Millisecond
	settle       = 20 * time.Millisecond
	// committedMax is more envelopes than any scenario has.
	committedMax = 10_000
)

// runStore runs the stages over Postgres, with topics in memory, and the verifier over both.
func runStore(ctx context.Context, servers *Servers, name string, v *Variant) ([]string, error) {
	ns, err := v.Manifest.Namespace(name)
	if err != nil {
		return nil, err
	}
	source, output := newTopic(ns.Spec.Source.Topic, ns.Spec.Source.Partitions), newTopic(ns.Spec.Output.Topic, ns.Spec.Output.Partitions)
	p, err := newDatabase(ctx, servers, ns, source.id(), output.id())
	if err != nil {
		return nil, err
	}
	b := newShells(ns, servers.Clock, source, output, p, batchSizes[0])
	defer b.close(ctx)
	return play(ctx, b, v)
}

// database is the durable state of one namespace in Postgres, as the stages write it and as the judge reads it.
type database struct {
	ns      *manifests.Namespace
	clock   verify.Clock
	servers *Servers
	applied *verify.Applied
	judge   *pgview.DB
	pools   []*postgres.Pool
	worker  *postgres.WorkerStore
	relay   *postgres.RelayStore
	view    *postgres.ViewStore
	reread  *postgres.ReplayStore
	// state is the pool on the state schema, one of pools.
	state *postgres.Pool
}

// newDatabase applies a namespace whose topics have the given IDs.
func newDatabase(ctx context.Context, servers *Servers, ns *manifests.Namespace, sourceID, outputID string) (*database, error) {
	d := &database{ns: ns, clock: servers.Clock, servers: servers}
	if err := d.open(ctx, servers.DatabaseURL, sourceID, outputID); err != nil {
		d.close()
		return nil, fmt.Errorf("apply namespace %s: %w", ns.Name, err)
	}
	return d, nil
}

func (d *database) open(ctx context.Context, url, sourceID, outputID string) error {
	catalogPool, err := d.pool(ctx, url, postgres.CatalogSchema)
	if err != nil {
		return err
	}
	catalog := postgres.NewCatalog(catalogPool)
	if err := catalog.Migrate(ctx); err != nil {
		return err
	}
	if err := postgres.NewViews(catalogPool).Create(ctx, d.ns, outputID); err != nil {
		return err
	}
	if err := catalog.Record(ctx, d.ns, sourceID, outputID); err != nil {
		return err
	}
	state, err := d.pool(ctx, url, d.ns.StateSchema())
	if err != nil {
		return err
	}
	shown, err := d.pool(ctx, url, d.ns.ViewSchema())
	if err != nil {
		return err
	}
	d.state, d.reread = state, postgres.NewReplayStore(state, sourceID)
	d.worker, d.relay = postgres.NewWorkerStore(state, sourceID), postgres.NewRelayStore(state)
	d.view = postgres.NewViewStore(shown, postgres.ViewIdentity{Namespace: d.ns.Name, Digest: d.ns.NamespaceDigest(), OutputTopicID: outputID})
	if d.judge, err = pgview.Open(ctx, url); err != nil {
		return err
	}
	d.applied, err = d.judge.Applied(ctx, d.ns.Name)
	return err
}

func (d *database) pool(ctx context.Context, url, schema string) (*postgres.Pool, error) {
	pool, err := postgres.Connect(ctx, postgres.Options{URL: url, Schema: schema, Application: "amends conformance", MaxConns: 4})
	if err != nil {
		return nil, err
	}
	d.pools = append(d.pools, pool)
	return pool, nil
}

func (d *database) close() {
	if d.judge != nil {
		d.judge.Close()
	}
	for _, pool := range d.pools {
		pool.Close()
	}
}

func (d *database) workerStore() worker.Store { return d.worker }

func (d *database) outbox() relay.Outbox { return d.relay }

func (d *database) viewStore() view.Store { return d.view }

func (d *database) rebuildStore() rebuild.Store {
	return postgres.NewRebuildStore(d.state, d.applied.SourceTopicID)
}

// fresh implements parts.
func (d *database) fresh(ctx context.Context, ns *manifests.Namespace, output *topic) (parts, error) {
	return newDatabase(ctx, d.servers, ns, d.applied.SourceTopicID, output.id())
}

func (d *database) replayStore() replay.Store { return d.reread }

// committed implements bench.
func (d *database) committed(ctx context.Context) ([][]broker.Message, error) {
	all := make([][]broker.Message, d.ns.Spec.Source.Partitions)
	for p := range all {
		listed, err := d.relay.List(ctx, int32(p), 1, committedMax)
		if err != nil {
			return nil, err
		}
		for _, e := range listed {
			all[p] = append(all[p], broker.Message{Key: e.Key, Value: e.Value})
		}
	}
	return all, nil
}

// change implements bench: neither an apply nor a verification accepts the namespace under another configuration.
func (d *database) change(_ context.Context, other *manifests.Namespace) error {
	if err := refusedByPlan(d.ns, other); err != nil {
		return err
	}
	if err := verify.CheckConfiguration(d.applied, other); !errors.Is(err, verify.ErrRefused) {
		return fmt.Errorf("the verifier did not refuse the changed configuration: %w", err)
	}
	return nil
}

// verify implements parts.
func (d *database) verify(ctx context.Context, topics topics, hurried bool, during func() error) (verdict, error) {
	return d.verifyWith(ctx, topics, hurried, during)
}

// verifyWith runs the verifier over this database and the given topics.
func (d *database) verifyWith(ctx context.Context, topics verify.Topics, hurried bool, during func() error) (verdict, error) {
	var duringErr error
	deps := verify.Deps{State: d.judge, View: d.judge, Topics: topics, Engines: engines(), Clock: d.clock}
	deps.Progress = func(e verify.Event) {
		if e.Phase == boundary.PhaseCompare && during != nil {
			duringErr = during()
			during = nil
		}
	}
	options := verify.Options{Namespace: d.ns.Name, Timeout: patience, Poll: pollInterval, Settle: settle, Code: "conformance"}
	if hurried {
		options.Timeout = haste
	}
	r, err := verify.Run(ctx, deps, options)
	for err == nil && hurried && r.Retryable && (r.Status == report.Error || late(r)) && options.Timeout < patience {
		options.Timeout *= 4 // a server was slower than that
		r, err = verify.Run(ctx, deps, options)
	}
	if err = errors.Join(err, duringErr); err != nil {
		return verdict{}, err
	}
	out := verdict{status: r.Status, conflicts: []projection.Conflict{}, report: r}
	out.detail = fmt.Sprintf("%+v %+v %+v", r.Errors, r.Incomplete, r.Differences)
	for _, c := range r.Conflicts {
		if c.State == report.Ambiguous {
			out.conflicts = append(out.conflicts, projection.Conflict{Item: c.Item, Location: c.Location, TxnID: c.TxnID, Revision: c.Revision})
		}
	}
	return out, nil
}

// late reports whether an answer of a server came too late, and not a stage.
func late(r *report.Report) bool {
	return slices.ContainsFunc(r.Incomplete, func(reason boundary.Reason) bool { return strings.HasPrefix(reason.Reason, "timed out") })
}

// observe implements bench, by what the judge reads: the worker's own tables of results are no part of it (R23).
func (d *database) observe(ctx context.Context) (*observed, error) {
	o := &observed{
		rows:     Facts{Balances: []projection.Balance{}, Alerts: []projection.Alert{}},
		statuses: []projection.Status{}, rejections: []projection.Rejection{}, stops: []Stop{},
	}
	progress, err := d.judge.Progress(ctx, d.applied)
	if err != nil {
		return nil, err
	}
	o.frontiers = progress.Worker
	o.addStops(progress.Stops)
	viewFrontiers, stops, err := d.judge.ViewProgress(ctx, d.applied)
	if err != nil {
		return nil, err
	}
	o.viewFrontiers = viewFrontiers
	o.addStops(stops)
	if err := d.judge.Snapshot(ctx, d.applied, func(s verify.ViewSnapshot) error { return o.readView(ctx, s) }); err != nil {
		return nil, err
	}
	if err := d.judge.Evidence(ctx, d.applied, func(e verify.Evidence) error { return d.readEvidence(ctx, o, e) }); err != nil {
		return nil, err
	}
	committed, err := d.committed(ctx)
	if err != nil {
		return nil, err
	}
	o.envelopes, err = envelopesOf(d.ns, committed)
	return o, err
}

func (o *observed) addStops(stops []boundary.Stop) {
	for _, s := range stops {
		o.stops = append(o.stops, Stop{Stage: string(s.Phase), Partition: s.Partition, Offset: s.Offset, Reason: s.Reason})
	}
}

func (o *observed) readView(ctx context.Context, s verify.ViewSnapshot) error {
	for row, err := range s.Balances(ctx) {
		if err != nil {
			return err
		}
		o.rows.Balances = append(o.rows.Balances, row)
	}
	for row, err := range s.Alerts(ctx) {
		if err != nil {
			return err
		}
		o.rows.Alerts = append(o.rows.Alerts, row)
	}
	for row, err := range s.Statuses(ctx) {
		if err != nil {
			return err
		}
		if row.Conflicts == nil {
			row.Conflicts = []projection.ConflictRef{}
		}
		o.statuses = append(o.statuses, row)
	}
	return nil
}

func (d *database) readEvidence(ctx context.Context, o *observed, e verify.Evidence) error {
	for row, err := range e.Quarantine(ctx) {
		if err != nil {
			return err
		}
		o.rejections = append(o.rejections, projection.Rejection{Partition: row.Partition, Offset: row.Offset, Reason: row.Reason})
	}
	all := []projection.Conflict{}
	for row, err := range e.Conflicts(ctx) {
		if err != nil {
			return err
		}
		all = append(all, row)
	}
	blocking, err := d.judge.Ambiguous(ctx, d.applied)
	if err != nil {
		return err
	}
	o.superseded = without(all, blocking)
	return nil
}
