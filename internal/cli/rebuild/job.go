package rebuild

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"amends.dev/amends/internal/cli/apply"
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
)

// run rebuilds: look, derive, begin, create, fill, finish. Nothing is written to any server before begin.
func (j *job) run(ctx context.Context) (*Result, error) {
	t, err := j.look(ctx)
	if err != nil {
		return nil, err
	}
	pool, err := postgres.Connect(ctx, postgres.Options{URL: j.connections.StateURL(), Schema: t.old.StateSchema, Application: postgres.ApplicationName(pipeline.RebuildName, t.old.Name), MaxConns: 2})
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
	r := &Result{Namespace: j.into, From: j.from, Mode: j.mode, Experiment: t.differs(), Resumed: t.begun, SourceTopicID: t.old.SourceTopicID,
		Through: through, OutputTopic: t.ns.Spec.Output.Topic, BuiltBy: "stream", Timings: map[string]Seconds{}}
	if j.mode == modeBulk {
		r.BuiltBy = rebuilding.BuiltBy(derive.Engine, derive.Decoder, j.code, through)
	}
	if t.live {
		return r, j.finish(ctx, log)
	}
	if j.mode == modeBulk {
		dir, cleanUp, err := j.derive(ctx, t, r)
		if err != nil {
			return nil, err
		}
		defer cleanUp()
		j.dataset = dir
	}
	if err := log.begin(ctx, through); err != nil {
		return nil, err
	}
	applied, err := j.create(ctx, t, log, r)
	if err != nil {
		return nil, err
	}
	if j.mode == modeBulk {
		err = j.load(ctx, applied, log, r)
	} else {
		err = j.stream(ctx, applied, r)
	}
	if err != nil {
		return nil, err
	}
	return r, j.finish(ctx, log)
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

// workers is how many partitions are worked on at a time: more than processors, because each waits for a server half of the
// time.
func (j *job) workers() int {
	if j.parallel > 0 {
		return j.parallel
	}
	return 2 * runtime.GOMAXPROCS(0)
}

// derive writes the dataset, or finds it in the folder where an earlier try kept it. The caller calls the returned function
// when the dataset is not needed any more.
func (j *job) derive(ctx context.Context, t *target, r *Result) (dir string, cleanUp func(), err error) {
	cleanUp = func() {}
	dir = j.dataset
	if dir == "" {
		folder, err := os.MkdirTemp("", "amends-rebuild-")
		if err != nil {
			return "", nil, fmt.Errorf("make a temporary folder: %w", err)
		}
		dir = filepath.Join(folder, "dataset")
		cleanUp = func() { _ = os.RemoveAll(folder) } // temporary
	}
	if set, err := dataset.Open(dir, nil); err == nil && j.derived(t, set.Meta(), r.Through) {
		return dir, cleanUp, nil
	}
	began := time.Now()
	source := rebuilding.FromTopic(j.histories, t.old.SourceTopic, t.old.SourceTopicID, r.Through)
	if t.snapshot != nil {
		source = t.snapshot.PartitionHistory
	}
	j.progress("deriving the state from %v records' offsets", r.Through)
	err = rebuilding.Derive(ctx, rebuilding.Derivation{
		Namespace: t.ns, TopicID: t.old.SourceTopicID, Ends: r.Through, Source: source, Code: j.code, Parallel: j.workers(),
	}, dir)
	if err != nil {
		cleanUp()
		return "", nil, err
	}
	r.Timings[phaseDerive] = Seconds(time.Since(began))
	return dir, cleanUp, nil
}

// derived says whether a dataset that is there is the one that would be derived now.
func (j *job) derived(t *target, have rebuild.Meta, through []int64) bool {
	return have.BusinessDigest == t.ns.BusinessDigest(t.old.SourceTopicID) && have.TopicID == t.old.SourceTopicID && slices.Equal(have.Ends, through) &&
		have.Engine == derive.Engine && have.Decoder == derive.Decoder && have.Code == j.code
}

// create applies the new namespace, unfinished, or completes what an earlier try applied of it.
func (j *job) create(ctx context.Context, t *target, log *journal, r *Result) (*postgres.Applied, error) {
	origin := postgres.Origin{BuiltBy: r.BuiltBy, Unfinished: fmt.Sprintf("amendsctl rebuild -n %s --into %s --mode %s through %v", j.from, j.into, j.mode, r.Through)}
	if t.differs() {
		origin.ExperimentOf = j.from
	}
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

// load loads the dataset.
func (j *job) load(ctx context.Context, applied *postgres.Applied, log *journal, r *Result) error {
	began := time.Now()
	loaded, err := rebuilding.Load(ctx, rebuilding.Loading{
		Applied: applied, StateURL: j.connections.StateURL(), Dir: j.dataset, Ends: r.Through, Member: "rebuild/" + j.into, Parallel: j.workers(), Clock: clock{},
		Loaded: func(partition int32, again bool) error {
			j.progress("partition %d loaded", partition)
			r.Resumed = r.Resumed || again
			return log.step(ctx, fmt.Sprintf("%s/%d", stepFilled, partition), struct {
				Through int64 `json:"through"`
			}{r.Through[partition]})
		},
	})
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
		Ends: r.Through, Timeout: j.timeout, Clock: clock{},
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
