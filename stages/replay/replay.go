package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/operation"
	"amends.dev/amends/stages/worker"
)

// The defaults of Options.
const (
	// DefaultMaxBatch is the number of records judged in one step.
	DefaultMaxBatch = 2000
	// DefaultCheckpoint is the number of records after which the cursor is recorded.
	DefaultCheckpoint = 50_000
	// DefaultPollWait is how long one step waits for records.
	DefaultPollWait = time.Second
	// DefaultUnitTimeout bounds one call of the store, as the worker's does: it is above the time after which Postgres
	// frees a frozen owner's lock.
	DefaultUnitTimeout = 45 * time.Second
	// DefaultSilence is how long the source may deliver nothing of the range before that is a fault.
	DefaultSilence = 30 * time.Second
)

// Options are the parts of a Replay. Those up to Now are required.
type Options struct {
	Config *ledger.Config
	Range  Range
	Store  Store
	Topics Topics
	Opener broker.Opener
	// Log keeps the steps, so that an interrupted replay of the same range goes on where it was.
	Log operation.Log
	// Now is the clock.
	Now func() time.Time

	// Unfinished says why the namespace has no state to be compared with yet, empty where it has.
	Unfinished string
	// The rest have defaults, above, where they are 0.
	MaxBatch, Checkpoint           int
	PollWait, UnitTimeout, Silence time.Duration
}

func (o *Options) setDefaults() {
	setDefault(&o.MaxBatch, DefaultMaxBatch)
	setDefault(&o.Checkpoint, DefaultCheckpoint)
	setDefault(&o.PollWait, DefaultPollWait)
	setDefault(&o.UnitTimeout, DefaultUnitTimeout)
	setDefault(&o.Silence, DefaultSilence)
}

func setDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// phase is how far a replay is.
type phase int

const (
	checking phase = iota
	recording
	holding
	reading
	releasing
	finishing
	done
)

// Replay is one replay of one range. It is used by one goroutine.
type Replay struct {
	options Options
	phase   phase
	// facts are those of the check.
	facts Facts
	// id names the operation in the log.
	id string
	// held is the partition's row while this replay holds it.
	held   worker.PartitionState
	reader broker.Reader
	// heard is when the source last delivered something.
	heard time.Time
	// cursor is exclusive: everything of the range before it is confirmed. recorded is the one in the log.
	cursor, recorded int64
	report           Report
}

// New returns a replay that has touched nothing.
func New(options Options) *Replay {
	options.setDefaults()
	r := &Replay{options: options, cursor: options.Range.From, recorded: options.Range.From}
	r.report = Report{Namespace: options.Config.Namespace().Name, Range: options.Range, StartedAt: options.Range.From}
	return r
}

// Done reports whether the replay is over and the partition given back.
func (r *Replay) Done() bool { return r.phase == done }

// Report is what was found so far; it is final once Done.
func (r *Replay) Report() Report {
	report := r.report
	report.Confirmed = report.Kinds.Total()
	report.Cursor = r.cursor
	return report
}

// Look reads the facts that decide about the range, and nothing else.
func (r *Replay) Look(ctx context.Context) (Facts, error) {
	o := &r.options
	source := o.Config.Namespace().Spec.Source
	f := Facts{
		Topic: source.Topic, TopicID: o.Config.SourceTopicID(), Partitions: source.Partitions, Unfinished: o.Unfinished,
	}
	var err error
	if f.State, err = o.Store.Look(ctx, o.Range.Partition); err != nil {
		return Facts{}, err
	}
	if f.Found, err = o.Topics.Describe(ctx, source.Topic); err != nil {
		return Facts{}, fmt.Errorf("describe topic %s: %w", source.Topic, err)
	}
	return f, nil
}

// Step does one bounded unit of work. progress asks for another Step at once, otherwise not before wake. An error that
// wraps ErrRefused ends the replay. One of class Fenced says that somebody else took the partition over. Any other is a
// fault to back off from, and the next Step tries the same again. After the last Step, or instead of going on, Close.
func (r *Replay) Step(ctx context.Context) (progress bool, wake time.Time, err error) {
	unit, cancel := context.WithTimeout(ctx, r.options.UnitTimeout)
	defer cancel()
	switch r.phase {
	case checking:
		err = r.check(unit)
	case recording:
		err = r.begin(unit)
	case holding:
		err = r.hold(unit)
	case reading:
		return r.read(unit)
	case releasing:
		err = r.release(unit)
	case finishing:
		err = r.finish(unit)
	case done:
		return false, time.Time{}, nil
	default:
		err = fault.Mark(fault.Stop, invariant.Violated("replay is in phase %d", r.phase))
	}
	return err == nil, r.options.Now(), err
}

// Close gives the partition back, where it is held, and releases the reader. The operation stays open where the replay
// is not done: the same replay goes on from its cursor.
func (r *Replay) Close(ctx context.Context) error {
	r.closeReader()
	if r.held.Epoch == 0 {
		return nil
	}
	return r.giveBack(ctx)
}

func (r *Replay) closeReader() {
	if r.reader != nil {
		r.reader.Close()
		r.reader = nil
	}
}

func (r *Replay) check(ctx context.Context) error {
	facts, err := r.Look(ctx)
	if err != nil {
		return err
	}
	if err := Check(r.options.Range, facts); err != nil {
		mark.Hit("SC23 replay refused")
		return err
	}
	r.facts = facts
	r.phase = recording
	return nil
}

// hold takes the partition over (R16). A replay that is interrupted here is taken over by the next one.
func (r *Replay) hold(ctx context.Context) error {
	state, err := r.options.Store.PartitionState(ctx, r.options.Range.Partition)
	if err != nil {
		return err
	}
	r.facts.State = state
	if err := Check(r.options.Range, r.facts); err != nil {
		return err
	}
	r.held = worker.PartitionState{Partition: state.Partition, Epoch: state.Epoch + 1} // until it is known, Close gives it back
	held, err := r.options.Store.InstallEpoch(ctx, take(state))
	if errors.Is(err, worker.ErrFenced) {
		r.held = worker.PartitionState{}
	}
	if err != nil {
		return err
	}
	mark.Hit("R25 owner parked")
	r.held, r.heard = held, r.options.Now()
	r.report.Epoch, r.report.Frontier = held.Epoch, held.NextOffset
	r.phase = reading
	return nil
}

// release gives the partition back after the end.
func (r *Replay) release(ctx context.Context) error {
	r.closeReader()
	if err := r.giveBack(ctx); err != nil {
		return err
	}
	r.phase = finishing
	return nil
}

// giveBack restores the former owner's row. One that somebody else has taken over meanwhile is left alone.
func (r *Replay) giveBack(ctx context.Context) error {
	state, err := r.options.Store.PartitionState(ctx, r.options.Range.Partition)
	if err != nil {
		return fmt.Errorf("give back: %w", err)
	}
	if in, held := Release(state); held && state.Epoch == r.held.Epoch {
		if _, err = r.options.Store.InstallEpoch(ctx, in); err != nil && !errors.Is(err, worker.ErrFenced) {
			return fmt.Errorf("give back: %w", err)
		}
	}
	r.held = worker.PartitionState{}
	return nil
}
