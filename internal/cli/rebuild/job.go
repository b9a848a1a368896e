package rebuild

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"amends.dev/amends/internal/cli/apply"
	"amends.dev/amends/internal/machine"
	"amends.dev/amends/internal/pipeline"
	"amends.dev/amends/internal/rebuilding"
	"amends.dev/amends/oracle/derive"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/rebuild"
	"amends.dev/amends/stages/rebuild/dataset"
)

// The phases that are timed.
const (
	phaseDerive = "derive"
	phaseLoad   = "load"
	phaseStream = "stream"
	phaseWhole  = "whole" // of deriving and loading at the same time
)

// run rebuilds: look, derive where that has to be done first, begin, create, fill, finish. Nothing is written to any server
// before begin.
func (j *job) run(ctx context.Context) (*Result, error) {
	t, err := j.look(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := j.connections.State(ctx, t.old, postgres.ApplicationName(pipeline.RebuildName, t.old.Name), 2)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	log, err := j.find(ctx, pipeline.Operations(pool, j.from), t)
	if err != nil {
		return nil, err
	}
	through, err := j.through(t, log)
	if err != nil {
		return nil, err
	}
	r := &Result{Namespace: j.into, From: j.from, Mode: j.mode, Experiment: t.experimentOf() != "", ExperimentOf: t.experimentOf(), Resumed: t.begun, SourceTopicID: t.old.SourceTopicID,
		Through: through, OutputTopic: t.ns.Spec.Output.Topic, BuiltBy: "stream", Timings: map[string]Seconds{}}
	if j.mode == modeBulk {
		r.BuiltBy = rebuilding.BuiltBy(derive.Engine, derive.Decoder, j.code, through)
	}
	if t.live {
		return r, j.finish(ctx, log)
	}
	remove, err := j.prepare(ctx, pool, t, r)
	if err != nil {
		return nil, err
	}
	defer remove()
	if err := log.begin(ctx, through); err != nil {
		return nil, err
	}
	applied, err := j.create(ctx, t, log, r)
	if err != nil {
		return nil, err
	}
	if err := j.fill(ctx, t, applied, log, r); err != nil {
		return nil, j.left(err)
	}
	return r, j.finish(ctx, log)
}

// fill fills the state of the new namespace.
func (j *job) fill(ctx context.Context, t *target, applied *postgres.Applied, log *journal, r *Result) error {
	switch {
	case j.mode == modeStream:
		return j.stream(ctx, applied, r)
	case j.dataset != "":
		return j.load(ctx, applied, log, r)
	}
	return j.pass(ctx, t, applied, log, r)
}

// through is H: as an interrupted rebuild fixed it, or the end of the snapshot, or that of the topic.
func (j *job) through(t *target, log *journal) ([]int64, error) {
	if t.live {
		return log.through, nil
	}
	through := t.stables
	if t.snapshot != nil {
		through = t.snapshot.Meta().Ends
	}
	if log.through == nil {
		return through, nil
	}
	if t.snapshot != nil && !slices.Equal(log.through, through) {
		return nil, fmt.Errorf("%w: the interrupted rebuild has H %v, the snapshot ends at %v; give the same snapshot, or none", errRefused, log.through, through)
	}
	for p, end := range log.through {
		if end > t.stables[p] {
			return nil, fmt.Errorf("%w: the interrupted rebuild has H %v, the topic ends at %v", errRefused, log.through, t.stables)
		}
	}
	return log.through, nil
}

// workers is how many partitions are derived at a time, and how many are loaded.
func (j *job) workers() int {
	if j.parallel > 0 {
		return j.parallel
	}
	return runtime.GOMAXPROCS(0)
}

// derivation says what is derived.
func (j *job) derivation(t *target, r *Result) rebuilding.Derivation {
	source := rebuilding.FromTopic(j.histories, t.old.SourceTopic, t.old.SourceTopicID, r.Through)
	if t.snapshot != nil {
		source = t.snapshot.PartitionHistory
	}
	return rebuilding.Derivation{
		Namespace: t.ns, TopicID: t.old.SourceTopicID, Ends: r.Through, Source: source, Code: j.code, Parallel: j.workers(),
	}
}

// derive writes the dataset, or finds it in its folder, where an earlier try left it.
func (j *job) derive(ctx context.Context, t *target, r *Result) error {
	if set, err := dataset.Open(j.dataset, nil); err == nil && j.derived(t, set.Meta(), r.Through) {
		j.progress("the dataset is in %s already", j.dataset)
		return nil
	}
	began := time.Now()
	j.progress("deriving the state from the records below %v", r.Through)
	if err := rebuilding.Derive(ctx, j.derivation(t, r), j.dataset); err != nil {
		return err
	}
	r.Timings[phaseDerive] = Seconds(time.Since(began))
	return nil
}

// pass derives and loads at the same time.
func (j *job) pass(ctx context.Context, t *target, applied *postgres.Applied, log *journal, r *Result) error {
	folder, err := os.MkdirTemp("", "amends-rebuild-")
	if err != nil {
		return fmt.Errorf("make a temporary folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // temporary
	derived, began := newTally(len(r.Through)), time.Now()
	j.progress("deriving the state from the records below %v, and loading it", r.Through)
	d := j.derivation(t, r)
	d.Derived = func(partition int32, records int64) {
		j.progress("partition %d derived: %s", partition, derived.add(records, "records"))
	}
	loading := j.loading(ctx, applied, folder, log, r)
	loaded, err := rebuilding.Pass(ctx, d, loading)
	r.Accepted, r.Rejected, r.Rows = loaded.Accepted, loaded.Rejected, loaded.Rows
	if first, last := derived.times(); first > 0 {
		r.Timings[phaseDerive], r.Timings[phaseLoad] = Seconds(last), Seconds(time.Since(began)-first)
	}
	r.Timings[phaseWhole] = Seconds(time.Since(began))
	return err
}

// derived says whether a dataset that is there is the one that would be derived now.
func (j *job) derived(t *target, have rebuild.Meta, through []int64) bool {
	return have.BusinessDigest == t.ns.BusinessDigest(t.old.SourceTopicID) && have.TopicID == t.old.SourceTopicID && slices.Equal(have.Ends, through) &&
		have.Engine == derive.Engine && have.Decoder == derive.Decoder && have.Code == j.code
}

// create applies the new namespace, unfinished, or completes what an earlier try applied of it.
func (j *job) create(ctx context.Context, t *target, log *journal, r *Result) (*postgres.Applied, error) {
	origin := postgres.Origin{BuiltBy: r.BuiltBy, ExperimentOf: t.experimentOf(),
		Unfinished: fmt.Sprintf("amendsctl rebuild -n %s --into %s --mode %s through %v", j.from, j.into, j.mode, r.Through)}
	deps := j.apply
	deps.Catalog = fresh{Catalog: j.catalog, origin: origin}
	if _, err := apply.Do(ctx, deps, t.ns); err != nil {
		return nil, err
	}
	applied, err := j.catalog.LoadUnfinished(ctx, j.into)
	if err != nil {
		return nil, err
	}
	if applied.SourceTopicID != t.old.SourceTopicID || applied.BuiltBy != r.BuiltBy {
		return nil, fmt.Errorf("%w: namespace %s was begun by another build (%s, source topic ID %s); delete it and rebuild", errRefused,
			j.into, applied.BuiltBy, applied.SourceTopicID)
	}
	return applied, log.step(ctx, stepCreated, struct {
		OutputTopicID string `json:"outputTopicId"`
	}{applied.OutputTopicID})
}

// loading says what is loaded, shows progress and records it.
func (j *job) loading(ctx context.Context, applied *postgres.Applied, dir string, log *journal, r *Result) rebuilding.Loading {
	all := newTally(len(r.Through))
	return rebuilding.Loading{
		Applied: applied, StateURL: j.connections.StateURL(), Dir: dir, Ends: r.Through, Member: "rebuild/" + j.into, Parallel: j.workers(), Clock: machine.Clock{},
		Loaded: func(p rebuilding.LoadedPartition) error {
			if r.Resumed = r.Resumed || p.Again; p.Again {
				j.progress("partition %d was loaded before", p.Partition)
			} else {
				j.progress("partition %d loaded: %s", p.Partition, all.add(p.Rows, "rows"))
			}
			return log.step(ctx, fmt.Sprintf("%s/%d", stepFilled, p.Partition), struct {
				Through int64 `json:"through"`
			}{r.Through[p.Partition]})
		},
	}
}

// load loads the dataset that is there.
func (j *job) load(ctx context.Context, applied *postgres.Applied, log *journal, r *Result) error {
	began := time.Now()
	loaded, err := rebuilding.Load(ctx, j.loading(ctx, applied, j.dataset, log, r))
	r.Accepted, r.Rejected, r.Rows = loaded.Accepted, loaded.Rejected, loaded.Rows
	r.Timings[phaseLoad] = Seconds(time.Since(began))
	return err
}

// stream runs the worker through H.
func (j *job) stream(ctx context.Context, applied *postgres.Applied, r *Result) error {
	began := time.Now()
	holder, err := pipeline.NewHolder()
	if err != nil {
		return err
	}
	err = rebuilding.Stream(ctx, rebuilding.Streaming{
		Pipeline: pipeline.Options{
			Applied: applied, StateURL: j.connections.StateURL(), ViewURL: j.connections.ViewURL(), Kafka: j.connections.Kafka, Holder: holder,
			TakeOver: r.Resumed,
		},
		Ends: r.Through, Timeout: j.timeout, Clock: machine.Clock{},
	})
	r.Timings[phaseStream] = Seconds(time.Since(began))
	return err
}

// finish lets the new namespace be used, and closes the operation.
func (j *job) finish(ctx context.Context, log *journal) error {
	if err := log.step(ctx, stepFinished, struct{}{}); err != nil {
		return err
	}
	if err := j.catalog.FinishNamespace(ctx, j.into); err != nil {
		return err
	}
	return log.finish(ctx)
}
