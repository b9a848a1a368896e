package view

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/run"
)

// DefaultMaxRecords is the size of a unit of work, in records, where Options does not set one.
const DefaultMaxRecords = 4096

// DefaultIdle is how long a view that found nothing waits before it polls again, where Options does not set it.
const DefaultIdle = 10 * time.Millisecond

// Options are the parts of a View. All but MaxRecords and Idle are required.
type Options struct {
	Config *Config
	// Partition is the output partition this View materializes.
	Partition int32
	Store     Store
	// Opener opens readers of the namespace's output topic.
	Opener broker.Opener
	// Now is the clock.
	Now func() time.Time
	// MaxRecords bounds one unit of work.
	MaxRecords int
	// Idle is the wait after a poll that delivered nothing.
	Idle time.Duration
}

// View materializes one output partition. A process runs one View for each output partition, without a consumer
// group: two processes over the same partition are safe (package invariant 1), they only share the work. It is used by
// one goroutine.
type View struct {
	options Options
	// reader is nil until the position is known; next is the exclusive position it stands at, as committed.
	reader broker.Reader
	next   int64

	mu     sync.Mutex
	status run.Status // guarded by mu
}

// Stage is the view's name in status and log.
const Stage = "view"

// New returns a View that has read nothing yet.
func New(options Options) *View {
	if options.MaxRecords <= 0 {
		options.MaxRecords = DefaultMaxRecords
	}
	if options.Idle <= 0 {
		options.Idle = DefaultIdle
	}
	return &View{options: options, status: run.Status{Stage: Stage, Partition: options.Partition}}
}

// Status returns the committed position as this View last saw it. It may be called from any goroutine.
func (v *View) Status() run.Status {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.status
}

// moved notes a committed position, and the broker's time of the record before it, where known.
func (v *View) moved(next, recordMillis int64) {
	v.next = next
	v.mu.Lock()
	defer v.mu.Unlock()
	v.status.Frontier = next
	if recordMillis > 0 {
		v.status.RecordMillis = recordMillis
	}
}

// Step does one bounded unit of work: it polls once and commits what was delivered. progress asks for another Step at
// once, otherwise not before wake. An error is a fault to back off from, unless its fault.Class is Stop: a *StoppedError,
// an output topic or a view that is another one, a broken invariant. After every error, also one whose commit has an
// unknown outcome, the next Step reads the committed position again (SC21).
func (v *View) Step(ctx context.Context) (progress bool, wake time.Time, err error) {
	progress, err = v.step(ctx)
	switch {
	case errors.Is(err, ErrMoved):
		mark.Hit("R18 position moved by another view")
		v.Close()
		return true, time.Time{}, nil
	case err != nil:
		mark.Hit("SC21 unit of work failed")
		v.Close()
		return false, time.Time{}, v.failed(ctx, err)
	case !progress:
		wake = v.options.Now().Add(v.options.Idle)
	}
	return progress, wake, nil
}

// failed sorts an error. What no retry can clear is of class Stop; a bug among it is persisted, so that the partition
// stays stopped and everybody can see why (design section 6).
func (v *View) failed(ctx context.Context, err error) error {
	var stopped *StoppedError
	switch {
	case errors.As(err, &stopped), errors.Is(err, broker.ErrTopicChanged), errors.Is(err, ErrWrongView):
		return fault.Mark(fault.Stop, err)
	case invariant.Is(err) || fault.ClassOf(err) == fault.Stop:
		return fault.Mark(fault.Stop, errors.Join(err, v.recordBug(ctx, err)))
	}
	return err
}

// recordBug persists a stop at the committed position.
func (v *View) recordBug(ctx context.Context, cause error) error {
	unit, err := v.options.Store.Begin(ctx, v.options.Partition, v.next)
	if err != nil {
		return fmt.Errorf("record the stop of output partition %d at %d: %w", v.options.Partition, v.next, err)
	}
	defer unit.Rollback(ctx)
	stop := &Stop{Problem: Problem{Reason: ReasonInternal, Detail: cause.Error()}, Offset: v.next}
	if err = unit.Commit(ctx, Changes{Next: v.next, Violation: stop}); err != nil {
		return fmt.Errorf("record the stop of output partition %d at %d: %w", v.options.Partition, v.next, err)
	}
	return nil
}

// Close releases the reader. The View may be stepped again; it then starts from the committed position.
func (v *View) Close() {
	if v.reader != nil {
		v.reader.Close()
		v.reader = nil
	}
}

func (v *View) step(ctx context.Context) (bool, error) {
	partition := v.options.Partition
	if v.reader == nil {
		if err := v.open(ctx); err != nil {
			return false, err
		}
	}
	fetch, err := v.reader.Poll(ctx, v.options.MaxRecords)
	if err != nil {
		return false, err
	}
	if fetch.Next < v.next || len(fetch.Records) > 0 && fetch.Records[0].Offset < v.next {
		return false, invariant.Violated("reader of output partition %d went backwards: from %d to %d", partition, v.next, fetch.Next)
	}
	if fetch.Next == v.next {
		return false, nil
	}
	changes, err := v.commit(ctx, fetch)
	if err != nil {
		return false, fmt.Errorf("materialize output partition %d from %d: %w", partition, v.next, err)
	}
	v.moved(changes.Next, lastMillis(fetch.Records))
	if stop := changes.Violation; stop != nil {
		return false, &StoppedError{
			Partition: partition, Offset: stop.Offset, Reason: stop.Problem.Reason, Detail: stop.Problem.Detail,
		}
	}
	return true, nil
}

// open reads the committed position and starts a reader there.
func (v *View) open(ctx context.Context) error {
	next, err := v.options.Store.Position(ctx, v.options.Partition)
	if err != nil {
		return fmt.Errorf("read the position of output partition %d: %w", v.options.Partition, err)
	}
	reader, err := v.options.Opener.Open(ctx, v.options.Partition, next)
	if err != nil {
		return err
	}
	v.reader = reader
	v.moved(next, 0)
	return nil
}

func lastMillis(records []broker.Record) int64 {
	if len(records) == 0 {
		return 0
	}
	return records[len(records)-1].TimestampMillis
}

// commit judges a fetch and commits what it does, in one transaction. A fetch of control records only advances the
// position.
func (v *View) commit(ctx context.Context, fetch broker.Fetch) (Changes, error) {
	envelopes, trouble := v.parse(fetch.Records)
	unit, err := v.options.Store.Begin(ctx, v.options.Partition, v.next)
	if err != nil {
		return Changes{}, err
	}
	defer unit.Rollback(ctx)
	guards := map[ID]Guard{}
	if len(envelopes) > 0 {
		if guards, err = unit.Guards(ctx, idsOf(envelopes)); err != nil {
			return Changes{}, err
		}
	}
	folded := Fold(guards, envelopes)
	if folded.Problem != nil {
		trouble = folded.Problem
	}
	changes := Changes{Rows: folded.Rows, Next: fetch.Next, Applied: folded.Applied, Ignored: folded.Ignored}
	if trouble != nil {
		bad := fetch.Records[folded.Consumed]
		changes.Next = bad.Offset
		changes.Violation = evidence(bad, trouble)
	}
	return changes, unit.Commit(ctx, changes)
}

// parse reads records up to the first that is no envelope of this partition.
func (v *View) parse(records []broker.Record) ([]Envelope, *Problem) {
	envelopes := make([]Envelope, 0, len(records))
	for _, record := range records {
		envelope, trouble := v.options.Config.Parse(record)
		if trouble != nil {
			mark.Hit("R18 envelope refused")
			return envelopes, trouble
		}
		envelopes = append(envelopes, envelope)
	}
	return envelopes, nil
}
