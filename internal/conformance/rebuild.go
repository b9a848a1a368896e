package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/internal/rebuilding"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/rebuild"
	"amends.dev/amends/stages/rebuild/dataset"
)

// What a rebuild may be expected to do.
const (
	rebuildEqual   = "equal"
	rebuildRefused = "refused"
)

// Rebuild fills fresh namespaces from the whole source history (S11).
type Rebuild struct {
	// Into is fresh: the names are the implementation's own.
	Into string `json:"into"`
	// Expect is equal: each shows the same business values; or refused.
	Expect string `json:"expect"`
}

// check finds an expectation that there is not.
func (r *Rebuild) check() error {
	if r.Expect != rebuildEqual && r.Expect != rebuildRefused {
		return fmt.Errorf("rebuild expects %q: want %s or %s", r.Expect, rebuildEqual, rebuildRefused)
	}
	return nil
}

// rebuildStep rebuilds in both modes, and wants what is expected and nothing durable of the old namespace changed.
func rebuildStep(ctx context.Context, b bench, r *Rebuild) ([]string, error) {
	before, err := b.observe(ctx)
	if err != nil {
		return nil, err
	}
	var d differences
	for _, bulk := range []bool{false, true} {
		fresh, err := b.rebuild(ctx, bulk)
		refused := errors.Is(err, rebuilding.ErrHistory)
		if err != nil && !refused {
			return nil, fmt.Errorf("rebuild, bulk %t: %w", bulk, err)
		}
		if refused != (r.Expect == rebuildRefused) {
			d.add("rebuild, bulk %t: want %s, refused is %t", bulk, r.Expect, refused)
		}
		if fresh == nil {
			continue
		}
		faults, err := rebuilt(ctx, b, fresh, before)
		fresh.close(ctx)
		if err != nil {
			return nil, fmt.Errorf("rebuild, bulk %t: %w", bulk, err)
		}
		for _, line := range faults {
			d.add("rebuild, bulk %t: %s", bulk, line)
		}
	}
	after, err := b.observe(ctx)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(before, after) {
		d.add("rebuild changed the old namespace: %+v became %+v", before, after)
	}
	return d, nil
}

// rebuilt runs the stages of a fresh namespace, compares it with the old one, and delivers a late message of that.
func rebuilt(ctx context.Context, old, fresh bench, want *observed) ([]string, error) {
	if err := fresh.run(ctx, []string{stageWorker, stageRelay, stageView}); err != nil {
		return nil, err
	}
	got, err := fresh.observe(ctx)
	if err != nil {
		return nil, err
	}
	certified, _ := want.split(&Expectation{})
	d := differences(got.compare(fresh.namespace(), &Expectation{
		Balances: certified.Balances, Alerts: certified.Alerts, Statuses: want.statuses, SupersededConflicts: want.superseded,
		Rejections: want.rejections, Frontiers: want.frontiers,
	}))
	mark.Hit("SC24 rebuilt")
	committed, err := old.committed(ctx)
	if err != nil || len(committed[0]) == 0 {
		return d, err
	}
	if err := fresh.deliver(ctx, committed[0][:1]); err != nil {
		return d, err
	}
	if err := fresh.run(ctx, []string{stageView}); err != nil {
		return d, err
	}
	if got, err = fresh.observe(ctx); err != nil {
		return d, err
	}
	if len(got.stops) != 1 || got.stops[0].Stage != stageView {
		d.add("a late message of the old namespace: want its partition stopped, got %+v", got.stops)
	} else {
		mark.Hit("SC24 late message refused")
	}
	return d, nil
}

// freshNamespace is a namespace of the same configuration with an output topic of its own.
func freshNamespace(old *manifests.Namespace, bulk bool) (*manifests.Namespace, error) {
	name := old.Name + "-s"
	if bulk {
		name = old.Name + "-b"
	}
	spec := old.Spec
	spec.Output.Topic = name + ".out"
	return manifests.New(name, spec)
}

// derived derives a dataset in a temporary folder and hands it to load.
func derived(ctx context.Context, ns *manifests.Namespace, topics rebuilding.Histories, topicID string, ends []int64, load func(dir string) error) error {
	folder, err := os.MkdirTemp("", "amends-conformance-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // temporary
	dir := filepath.Join(folder, "dataset")
	err = rebuilding.Derive(ctx, rebuilding.Derivation{
		Namespace: ns, TopicID: topicID, Ends: ends, Source: rebuilding.FromTopic(topics, ns.Spec.Source.Topic, topicID, ends),
		Code: "conformance", Parallel: 1,
	}, dir)
	if err != nil {
		return err
	}
	return load(dir)
}

// rebuild implements bench.
func (b *shells) rebuild(ctx context.Context, bulk bool) (bench, error) {
	ns, err := freshNamespace(b.ns, bulk)
	if err != nil {
		return nil, err
	}
	all := newTopics(b.source)
	found, err := all.Describe(ctx, ns.Spec.Source.Topic)
	if err == nil {
		err = rebuilding.CheckHistory(found, ns.Spec.Source.Topic, b.topicID, ns.Spec.Source.Partitions)
	}
	if err != nil {
		return nil, err
	}
	output := newTopic(ns.Spec.Output.Topic, ns.Spec.Output.Partitions)
	p, err := b.fresh(ctx, ns, output)
	if err != nil {
		return nil, err
	}
	fresh := newShells(ns, b.clock, b.source, output, p, b.maxBatch)
	if !bulk {
		return fresh, nil
	}
	err = derived(ctx, ns, all, b.topicID, found.Stables, func(dir string) error { return loaded(ctx, ns, b.topicID, found, p.rebuildStore(), dir) })
	if err != nil {
		fresh.close(ctx)
		return nil, err
	}
	return fresh, nil
}

// loaded loads a dataset, twice: the second time there is nothing left to do.
func loaded(ctx context.Context, ns *manifests.Namespace, topicID string, source *boundary.Topic, store rebuild.Store, dir string) error {
	config := ledger.NewConfig(ns, topicID)
	set, err := dataset.Open(dir, config)
	if err != nil {
		return err
	}
	loader, err := rebuild.NewLoader(config, set, store, "rebuild/"+ns.Name, source.Stables)
	if err != nil {
		return err
	}
	for p := range ns.Spec.Source.Partitions {
		for _, want := range []bool{true, false} {
			if now, err := loader.Partition(ctx, p); err != nil || now != want {
				return errors.Join(err, fmt.Errorf("partition %d: loaded is %t, want %t", p, now, want))
			}
		}
	}
	return nil
}

// rebuild implements bench.
func (b *piped) rebuild(ctx context.Context, bulk bool) (bench, error) {
	ns, err := freshNamespace(b.ns, bulk)
	if err != nil {
		return nil, err
	}
	found, err := b.judgeTopics.Describe(ctx, b.source.Name)
	if err == nil {
		err = rebuilding.CheckHistory(found, b.source.Name, b.applied.SourceTopicID, ns.Spec.Source.Partitions)
	}
	if err != nil {
		return nil, err
	}
	fresh := &piped{ns: ns, servers: b.servers, faults: newFaults(), source: b.source}
	if err = fresh.open(ctx); err == nil && bulk {
		err = derived(ctx, ns, b.judgeTopics, b.source.ID, found.Stables, func(dir string) error {
			_, err := rebuilding.Load(ctx, rebuilding.Loading{
				Applied: fresh.applied, StateURL: b.servers.DatabaseURL, Dir: dir, Ends: found.Stables, Member: "rebuild/" + ns.Name,
				Clock: b.servers.Clock,
			})
			return err
		})
	} else if err == nil {
		err = rebuilding.Stream(ctx, rebuilding.Streaming{
			Pipeline: pipeline.Options{
				Applied: fresh.applied, StateURL: b.servers.DatabaseURL, ViewURL: b.servers.DatabaseURL, Kafka: b.servers.Brokers,
				Holder: ns.Name, Group: kafka.GroupOptions{SessionTimeout: sessionTimeout},
			},
			Ends: found.Stables, Timeout: patience, Clock: b.servers.Clock,
		})
	}
	if err != nil {
		fresh.close(ctx)
		return nil, err
	}
	return fresh, nil
}
