package rebuild

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"amends.dev/amends/internal/cli/apply"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/internal/rebuilding"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/vectorized/snapshot"
)

// target is the new namespace as it is to be, found free of everything that forbids it.
type target struct {
	old *postgres.Applied
	ns  *manifests.Namespace
	// begun says that it is in the catalog, live that it is there for everybody to use.
	begun, live bool
	// stables are the source's last stable offsets, snapshot the exported history, nil where there is none.
	stables  []int64
	snapshot *snapshot.Snapshot
}

// look finds out what the rebuild would do, and refuses what cannot be. It writes nothing.
func (j *job) look(ctx context.Context) (*target, error) {
	old, err := j.catalog.Load(ctx, j.from)
	if errors.Is(err, postgres.ErrNotApplied) {
		return nil, fmt.Errorf("%w; begin with amendsctl apply", err)
	}
	if err != nil {
		return nil, err
	}
	t := &target{old: old}
	if t.ns, err = j.namespace(old); err != nil {
		return nil, err
	}
	entries, err := j.catalog.List(ctx)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(entries, func(e postgres.Entry) bool { return e.Name == j.into }); i >= 0 {
		t.begun, t.live = true, entries[i].Unfinished == ""
	}
	if t.live { // refused, or all that is left is to close its operation
		return t, nil
	}
	if err := j.plan(ctx, t); err != nil {
		return nil, err
	}
	if err := j.history(ctx, t); err != nil {
		return nil, err
	}
	return t, nil
}

// namespace is the new namespace: the old configuration under another name, or a manifest's (R02).
func (j *job) namespace(old *postgres.Applied) (*manifests.Namespace, error) {
	if j.manifest == "" {
		spec := old.Namespace.Spec
		if spec.Output.Topic = j.outputTopic; spec.Output.Topic == "" {
			spec.Output.Topic = j.into + ".outputs"
		}
		ns, err := manifests.New(j.into, spec)
		if err != nil {
			return nil, exit.With(exit.Usage, fmt.Errorf("--into %s, output topic %s: %w", j.into, spec.Output.Topic, err))
		}
		return ns, nil
	}
	ns, err := load.Manifest(j.app, j.manifest)
	if err != nil {
		return nil, err
	}
	if ns.Name != j.into {
		return nil, exit.With(exit.Usage, fmt.Errorf("--into %s, and the manifest is of %s", j.into, ns.Name))
	}
	if ns.Spec.Source.Topic != old.SourceTopic {
		return nil, fmt.Errorf("%w: the manifest reads topic %s, namespace %s reads %s: a rebuild reads the same history", errRefused, ns.Spec.Source.Topic, j.from, old.SourceTopic)
	}
	if digest := ns.BusinessDigest(old.SourceTopicID); digest != old.BusinessDigest && !j.experiment {
		mark.Hit("R02 rebuild under another configuration refused")
		return nil, fmt.Errorf("%w: the manifest has business digest %s, namespace %s has %s; give --experiment to compute another configuration over its history",
			errRefused, digest, j.from, old.BusinessDigest)
	}
	return ns, nil
}

// differs says that the two business configurations are not the same.
func (t *target) differs() bool {
	return t.ns.BusinessDigest(t.old.SourceTopicID) != t.old.BusinessDigest
}

// experimentOf is the namespace of which the new one is an experiment (R02): the old one, where the configuration is
// another; where it is the same, what the old one is an experiment of, which is mostly nothing.
func (t *target) experimentOf() string {
	if t.differs() {
		return t.old.Namespace.Name
	}
	return t.old.ExperimentOf
}

// plan refuses whatever apply would refuse: history that is lost, compacted or about to go, names that are taken (R04).
func (j *job) plan(ctx context.Context, t *target) error {
	deps := j.apply
	deps.Catalog = fresh{Catalog: j.catalog}
	plan, err := apply.Plan(ctx, deps, t.ns)
	if err != nil {
		return err
	}
	if plan.Refused > 0 {
		mark.Hit("B006 rebuild refused by the plan")
		r := plan.Refusals[0]
		return fmt.Errorf("%w: %s: %s: %s, want %s: %s; nothing was touched", errRefused, r.Field, r.Reason, r.Old, r.New, r.Remedy)
	}
	return nil
}

// history checks that the source topic is the one of the old namespace and, with a snapshot, that it is of the same
// history.
func (j *job) history(ctx context.Context, t *target) error {
	topic, err := j.histories.Describe(ctx, t.old.SourceTopic)
	if err != nil {
		return err
	}
	if err := rebuilding.CheckHistory(topic, t.old.SourceTopic, t.old.SourceTopicID, t.ns.Spec.Source.Partitions); err != nil {
		return err
	}
	t.stables = topic.Stables
	if j.snapshot == "" {
		return nil
	}
	return j.openSnapshot(t)
}

// openSnapshot checks that a snapshot holds the beginning of the topic's history.
func (j *job) openSnapshot(t *target) error {
	set, err := snapshot.Open(j.snapshot)
	if err != nil {
		return err
	}
	meta := set.Meta()
	whole := meta.TopicID == t.old.SourceTopicID && len(meta.Ends) == len(t.stables) && slices.Max(meta.Starts) == 0
	for p := range t.stables {
		whole = whole && meta.Ends[p] <= t.stables[p]
	}
	if !whole {
		return fmt.Errorf("%w: %s holds %v to %v of topic ID %s, not the beginning of topic ID %s, which ends at %v", errRefused,
			j.snapshot, meta.Starts, meta.Ends, meta.TopicID, t.old.SourceTopicID, t.stables)
	}
	t.snapshot = set
	return nil
}

// fresh is the catalog as apply sees it here: a namespace whose rebuild was begun is found as it is, and a new one is
// recorded as unfinished.
type fresh struct {
	*postgres.Catalog
	origin postgres.Origin
}

// Load implements apply.Catalog.
func (f fresh) Load(ctx context.Context, name string) (*postgres.Applied, error) {
	return f.LoadUnfinished(ctx, name)
}

// Record implements apply.Catalog.
func (f fresh) Record(ctx context.Context, ns *manifests.Namespace, sourceTopicID, outputTopicID string) error {
	return f.RecordAs(ctx, ns, sourceTopicID, outputTopicID, f.origin)
}
