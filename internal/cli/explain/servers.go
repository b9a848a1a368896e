package explain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/load"
	judge "amends.dev/amends/internal/cli/verify"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/explain"
	"amends.dev/amends/oracle/pgview"
	"amends.dev/amends/oracle/verify"
)

// view is what this verb reads of a view.
type view interface {
	KeyFacts(ctx context.Context, a *verify.Applied, name explain.Name) ([]explain.Fact, []int64, error)
}

// fromServers explains from the topics and the view of an applied namespace, by the judge's connections.
func (f *flags) fromServers(ctx context.Context, a *app.App, name explain.Name) (explain.Document, error) {
	var given *manifests.Namespace
	namespace := f.namespace
	if f.manifest.Given(nil) {
		path, err := f.manifest.Path(nil)
		if err != nil {
			return explain.Document{}, err
		}
		if given, err = load.Manifest(a, path); err != nil {
			return explain.Document{}, err
		}
		namespace = given.Name
	}
	connections, err := f.servers.Resolve(a)
	if err != nil {
		return explain.Document{}, err
	}
	deps, done, err := judge.Connect(ctx, connections)
	if err != nil {
		return explain.Document{}, err
	}
	defer done()
	applied, err := deps.State.Applied(ctx, namespace)
	if err == nil {
		err = verify.CheckConfiguration(applied, given)
	}
	if err != nil {
		return explain.Document{}, judge.Coded(err)
	}
	d, err := explainSource(ctx, deps.Topics, applied, name)
	if err != nil {
		return d, err
	}
	if len(d.Source.From) > 0 && slices.Max(d.Source.From) > 0 {
		_, _ = fmt.Fprintf(a.Stderr, "the source topic is retained from %v only: what was before is not in this explanation\n", d.Source.From)
	}
	err = explainOutput(ctx, deps, applied, name, &d)
	return d, err
}

// explainSource derives the key from the source topic, through what is committed now.
func explainSource(ctx context.Context, topics verify.Topics, a *verify.Applied, name explain.Name) (explain.Document, error) {
	collector, err := explain.NewCollector(a.Namespace, []explain.Name{name})
	if err != nil {
		return explain.Document{}, exit.With(exit.Usage, err)
	}
	r, err := committed(ctx, topics, a.Namespace.Spec.Source.Topic, a.SourceTopicID)
	if err != nil {
		return explain.Document{}, err
	}
	d := explain.Document{
		SchemaVersion: explain.SchemaVersion, Namespace: a.Name, Digest: a.Digest,
		Source: explain.Source{Name: r.Topic, TopicID: r.TopicID, From: slices.Clone(r.From), Through: slices.Clone(r.To)},
	}
	wanted := collector.Partitions()
	for p := range r.To {
		if !wanted[int32(p)] {
			r.From[p] = r.To[p]
		}
	}
	d.Source.Records, err = observe(ctx, collector, topics.History(r))
	if err != nil {
		return d, err
	}
	d.Key = collector.Keys()[0]
	return d, nil
}

// committed is the retained part of a topic below its last stable offsets. A topic other than the applied one is refused.
func committed(ctx context.Context, topics verify.Topics, name, id string) (boundary.Range, error) {
	found, err := topics.Describe(ctx, name)
	switch {
	case err != nil:
		return boundary.Range{}, fmt.Errorf("describe topic %s: %w", name, err)
	case found == nil || found.ID != id:
		return boundary.Range{}, exit.With(exit.Refused, fmt.Errorf("topic %s is not the one that the namespace was applied with, ID %s", name, id))
	}
	return boundary.Range{Topic: name, TopicID: id, From: slices.Clone(found.Starts), To: slices.Clone(found.Stables)}, nil
}

// explainOutput adds the key's output versions and what the view holds of it. The view is read last: it may then
// be ahead of the versions.
func explainOutput(ctx context.Context, deps verify.Deps, a *verify.Applied, name explain.Name, d *explain.Document) error {
	r, err := committed(ctx, deps.Topics, a.Namespace.Spec.Output.Topic, a.OutputTopicID)
	if err != nil {
		return err
	}
	envelopes := explain.NewEnvelopes(a.Name, name)
	partition := envelopes.Partition(a.Namespace.Spec.Output.Partitions)
	for p := range r.To {
		if int32(p) != partition {
			r.From[p] = r.To[p]
		}
	}
	d.OutputEnd = &r.To[partition]
	if err := gather(ctx, envelopes, deps.Topics.History(r)); err != nil {
		return err
	}
	if err := checkView(ctx, deps.View, a); err != nil {
		return err
	}
	var facts []explain.Fact
	frontier := int64(0)
	if v, ok := deps.View.(view); ok {
		var frontiers []int64
		if facts, frontiers, err = v.KeyFacts(ctx, a, name); err != nil {
			return err
		}
		d.ViewFrontier, frontier = &frontiers[partition], frontiers[partition]
	}
	d.View, d.Versions = facts, envelopes.Versions(facts, frontier)
	return nil
}

// checkView refuses what is not the namespace's view: lost, of another build, or another namespace's.
func checkView(ctx context.Context, v verify.View, a *verify.Applied) error {
	found, err := v.ViewIdentity(ctx, a)
	switch {
	case errors.Is(err, pgview.ErrNoView):
		return exit.With(exit.Refused, fmt.Errorf("%w: the view is lost; rebuild into a new namespace", err))
	case err != nil:
		return judge.Coded(err)
	case found.Name != a.Name || found.OutputTopicID != a.OutputTopicID:
		return exit.With(exit.Refused, fmt.Errorf("schema %s holds the view of namespace %s over topic ID %s, not that of %s",
			a.ViewSchema, found.Name, found.OutputTopicID, a.Name))
	}
	return nil
}

// gather gives the output records to the collection of versions.
func gather(ctx context.Context, envelopes *explain.Envelopes, history engine.History) error {
	for record, err := range history(ctx) {
		if err != nil {
			return err
		}
		if err := envelopes.Observe(record.Partition, record.Offset, record.Key, record.Value); err != nil {
			return err
		}
	}
	return nil
}
