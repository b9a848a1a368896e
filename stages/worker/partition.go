package worker

import (
	"context"
	"fmt"
	"time"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
)

// StopInternal is the reason of a stop for a bug: an invariant broken, a constraint of the database violated, a panic.
const StopInternal = "internal_error"

// errNotNewer is an assignment that the partition's row will not let through (R16).
var errNotNewer = fmt.Errorf("the assignment is not newer than the one that holds the partition: %w", ErrFenced)

// phase is where a partition is in its life cycle.
type phase int

const (
	// acquiring: assigned, but no epoch of ours is installed.
	acquiring phase = iota
	// owning: polling and committing under p.epoch.
	owning
	// rereading: the outcome of a commit is unknown.
	rereading
	// stopping: p.stop is decided and not yet persisted.
	stopping
	// stopped: p.stop is persisted.
	stopped
)

// partition is one assigned partition.
type partition struct {
	id    int32
	phase phase
	// epoch is the one installed under assignment generation installedUnder of member; 0 while none is.
	epoch          int64
	member         string
	installedUnder int32
	// frontier is as last known from the database.
	frontier int64
	reader   broker.Reader
	// rest is what was polled and is not yet committed; it starts at frontier. hasRest tells an empty one from none.
	rest    broker.Fetch
	hasRest bool
	cache   *ledger.Cache
	stall   *fault.Stall
	stop    *Stop
	stopAt  time.Time
	// idleUntil is set after a poll that found nothing.
	idleUntil    time.Time
	recordMillis int64
	// told is the size of the largest envelope that the log was told of.
	told int
}

// reset drops everything that was decided, cached or polled ahead of the database (R15). Epoch and frontier stay.
func (p *partition) reset() {
	if p.reader != nil {
		p.reader.Close()
		p.reader = nil
	}
	p.rest, p.hasRest = broker.Fetch{}, false
	p.cache.Drop()
	p.idleUntil = time.Time{}
}

// tryNow ends the wait of a stall, which stays visible until the try succeeds. What was shown of it does not change.
func (p *partition) tryNow(now time.Time) {
	if p.stall != nil {
		stall := *p.stall
		stall.NextTry = now
		p.stall = &stall
	}
}

// recovered ends a stall.
func (w *Worker) recovered(p *partition) {
	if p.stall != nil {
		w.options.Log.Info("partition succeeded again", "partition", p.id, "attempts", p.stall.Attempts, "since", p.stall.Since,
			"frontier", p.frontier)
		p.stall = nil
	}
}

// readyAt is when the partition may be worked on next.
func (p *partition) readyAt() time.Time {
	at := p.idleUntil
	if p.stall != nil && p.stall.NextTry.After(at) {
		at = p.stall.NextTry
	}
	return at
}

// visibleStall is the stall as status shows it.
func (p *partition) visibleStall() *fault.Stall {
	if p.stop != nil {
		return &fault.Stall{Reason: fmt.Sprintf("%s at offset %d: %s", p.stop.Reason, p.stop.Offset, p.stop.Detail), Since: p.stopAt, Attempts: 1}
	}
	return p.stall
}

// work does one step of one partition.
func (w *Worker) work(ctx context.Context, p *partition) (progress bool, err error) {
	switch p.phase {
	case acquiring:
		return w.acquire(ctx, p)
	case owning:
		if p.installedUnder != w.assignment.Generation {
			// The partition may have been another's in between, unseen: under an epoch of the old generation that one's
			// delayed installation would still be let through, although its assignment is void (R16).
			p.reset()
			return w.acquire(ctx, p)
		}
		return w.consume(ctx, p)
	case rereading:
		return w.reread(ctx, p)
	case stopping:
		return w.persistStop(ctx, p)
	case stopped:
		return w.lookAgain(ctx, p)
	default:
		return false, fault.Mark(fault.Stop, invariant.Violated("partition %d is in phase %d", p.id, p.phase))
	}
}

// acquire installs the next epoch (R16). Between the assignment, captured when it was adopted, and the installation, any
// time may pass; the assignment is checked last thing before, and the database compares its generation.
func (w *Worker) acquire(ctx context.Context, p *partition) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, w.options.UnitTimeout)
	defer cancel()
	assignment := w.assignment
	state, err := w.options.Store.PartitionState(ctx, p.id)
	if err != nil {
		return false, err
	}
	p.frontier = state.NextOffset
	if state.Stop != nil {
		w.stoppedBy(p, *state.Stop)
		return false, nil
	}
	_, used := w.takenOver[p.id]
	in := Installation{
		Partition: p.id, ExpectedEpoch: state.Epoch, Member: assignment.Member, Generation: assignment.Generation,
		TakeOver: w.options.TakeOver && !used,
	}
	if !in.newer(state) {
		mark.Hit("R16 assignment not newer")
		return false, fmt.Errorf("partition %d is held by member %s, generation %d; this is member %s, generation %d: %w",
			p.id, state.Member, state.Generation, in.Member, in.Generation, errNotNewer)
	}
	select {
	case <-w.superseded:
		mark.Hit("R16 superseded before installation")
		return true, nil
	default:
	}
	state, err = w.options.Store.InstallEpoch(ctx, in)
	if err != nil {
		return false, err
	}
	w.takenOver[p.id] = struct{}{}
	p.phase, p.epoch, p.frontier = owning, state.Epoch, state.NextOffset
	p.member, p.installedUnder = assignment.Member, assignment.Generation
	p.cache.Open(p.epoch, p.frontier)
	w.options.Log.Info("partition acquired", "partition", p.id, "epoch", p.epoch, "frontier", p.frontier,
		"member", p.member, "generation", p.installedUnder)
	return true, nil
}

// newer tells whether the row's comparison of generations lets the installation through. A row of this very member and
// generation is its own: an installation whose answer was lost, or one that an administrative holder gave back.
func (in *Installation) newer(state PartitionState) bool {
	return in.TakeOver || state.Generation < in.Generation ||
		state.Generation == in.Generation && state.Member == in.Member
}

// lookAgain sees, at the slow interval of a stall, whether a person had the stop removed.
func (w *Worker) lookAgain(ctx context.Context, p *partition) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, w.options.UnitTimeout)
	defer cancel()
	state, err := w.options.Store.PartitionState(ctx, p.id)
	if err != nil {
		return false, err
	}
	if state.Stop != nil {
		p.idleUntil = w.options.Now().Add(w.options.Backoff.Probe)
		return false, nil
	}
	p.phase, p.stop = acquiring, nil
	return true, nil
}

// reread finds out what became of a commit: reading the row takes its lock, and so waits for a COMMIT in flight (R15).
func (w *Worker) reread(ctx context.Context, p *partition) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, w.options.UnitTimeout)
	defer cancel()
	state, err := w.options.Store.PartitionState(ctx, p.id)
	if err != nil {
		return false, err
	}
	if state.Epoch != p.epoch {
		return false, fmt.Errorf("partition %d has epoch %d, not %d: %w", p.id, state.Epoch, p.epoch, ErrFenced)
	}
	w.options.Log.Info("commit outcome found", "partition", p.id, "committed", state.NextOffset != p.frontier,
		"frontier", state.NextOffset)
	if state.NextOffset != p.frontier {
		mark.Hit("SC18 unknown commit was done")
	} else {
		mark.Hit("SC18 unknown commit was not done")
	}
	p.phase, p.frontier = owning, state.NextOffset
	p.cache.Open(p.epoch, p.frontier)
	if state.Stop != nil {
		w.stoppedBy(p, *state.Stop)
	}
	return true, nil
}

// persistStop makes a stop durable. Until it is, the partition decides nothing more.
func (w *Worker) persistStop(ctx context.Context, p *partition) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, w.options.UnitTimeout)
	defer cancel()
	if err := w.options.Store.RecordStop(ctx, p.id, p.epoch, p.frontier, *p.stop); err != nil {
		return false, err
	}
	w.stoppedBy(p, *p.stop)
	return false, nil
}

func (w *Worker) stoppedBy(p *partition, stop Stop) {
	p.reset()
	p.phase, p.stop, p.stopAt, p.stall = stopped, &stop, w.options.Now(), nil
	p.idleUntil = p.stopAt.Add(w.options.Backoff.Probe)
	w.options.Log.Error("partition stopped", "partition", p.id, "reason", stop.Reason, "offset", stop.Offset,
		"detail", stop.Detail)
}

// consume polls, unless something polled is left, and commits.
func (w *Worker) consume(ctx context.Context, p *partition) (bool, error) {
	if !p.hasRest {
		if err := w.poll(ctx, p); err != nil {
			return false, err
		}
		if p.rest.Next == p.frontier {
			p.hasRest = false
			p.idleUntil = w.options.Now().Add(w.options.Idle)
			return false, w.proveIdle(ctx, p)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, w.options.UnitTimeout)
	defer cancel()
	return true, w.process(ctx, p)
}

// proveIdle ends a stall of a partition that has nothing to do, once the database answers that the epoch is still its own:
// that the broker delivers nothing says nothing of the database.
func (w *Worker) proveIdle(ctx context.Context, p *partition) error {
	if p.stall == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.options.UnitTimeout)
	defer cancel()
	state, err := w.options.Store.PartitionState(ctx, p.id)
	switch {
	case err != nil:
		return err
	case state.Epoch != p.epoch:
		return fmt.Errorf("partition %d has epoch %d, not %d: %w", p.id, state.Epoch, p.epoch, ErrFenced)
	case state.Stop != nil:
		w.stoppedBy(p, *state.Stop)
		return nil
	}
	w.recovered(p)
	return nil
}

// poll fetches the records after the frontier.
func (w *Worker) poll(ctx context.Context, p *partition) error {
	if p.reader == nil {
		reader, err := w.options.Opener.Open(ctx, p.id, p.frontier)
		if err != nil {
			return err
		}
		p.reader = reader
	}
	ctx, cancel := context.WithTimeout(ctx, w.pollWait())
	defer cancel()
	fetch, err := p.reader.Poll(ctx, w.options.MaxBatch)
	if err != nil {
		return err
	}
	if err := checkFetch(p, fetch); err != nil {
		return err
	}
	p.rest, p.hasRest = fetch, true
	return nil
}

// pollWait shares the wait among the partitions of the lane, and makes it short while any of them is busy.
func (w *Worker) pollWait() time.Duration {
	if n := len(w.partitions); n > 1 {
		if w.quiet < n {
			return time.Millisecond
		}
		return w.options.PollWait / time.Duration(n)
	}
	return w.options.PollWait
}

// checkFetch guards the frontier against a reader that goes backwards or mixes partitions up.
func checkFetch(p *partition, fetch broker.Fetch) error {
	next := p.frontier
	for i := range fetch.Records {
		r := &fetch.Records[i]
		if r.Partition != p.id || r.Offset < next {
			return fault.Mark(fault.Stop, invariant.Violated("reader of partition %d at %d delivered partition %d, offset %d",
				p.id, next, r.Partition, r.Offset))
		}
		next = r.Offset + 1
	}
	if fetch.Next < next {
		return fault.Mark(fault.Stop, invariant.Violated("reader of partition %d stands at %d after offset %d", p.id, fetch.Next, next-1))
	}
	return nil
}
