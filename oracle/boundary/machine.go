package boundary

import (
	"fmt"
	"slices"
	"time"

	"amends.dev/amends/internal/mark"
)

// Machine is one run towards a complete boundary. It is used by one goroutine. Times are durations since the start
// of the run.
type Machine struct {
	cfg   Config
	phase Phase
	// since is when the phase began; entered is false until its first observation.
	since   time.Duration
	entered bool
	// settling are the source's ends last seen, settledSince when they were first seen.
	settling     []int64
	settledSince time.Duration
	// term is the lease's when the writers were found to be excluded.
	term int64
	// checkTail says that only the output records past O are still to be judged.
	checkTail bool
	ended     bool
	result    Result
}

// New returns a machine at its first phase.
func New(cfg Config) *Machine { return &Machine{cfg: cfg, phase: PhaseWriter} }

// Phase is the current phase, or the one in which the run ended.
func (m *Machine) Phase() Phase { return m.phase }

// Result is what is known so far.
func (m *Machine) Result() Result { return m.result }

// Want says what to observe next.
func (m *Machine) Want() Want {
	if m.ended {
		return WantNothing
	}
	switch m.phase {
	case PhaseWriter:
		return WantLease
	case PhaseSource:
		return WantSource
	case PhaseWorker, PhaseRelay, PhaseView:
		return WantPipeline
	case PhaseOutput:
		return WantOutput
	case PhaseRecheck:
		if m.checkTail {
			return WantTail
		}
		return WantRecheck
	default:
		return WantNothing
	}
}

// Observe judges one observation, made at the given time, and says what to do next.
func (m *Machine) Observe(at time.Duration, o Observation) Move {
	if m.ended {
		return MoveEnd
	}
	if !m.entered {
		m.since, m.entered = at, true
	}
	if o.Pipeline != nil {
		m.result.Worker, m.result.View = slices.Clone(o.Pipeline.Worker), slices.Clone(o.Pipeline.View)
		if len(o.Pipeline.Stops) > 0 {
			return m.stopped(o.Pipeline.Stops)
		}
	}
	switch m.phase {
	case PhaseWriter:
		return m.observeLease(at, o)
	case PhaseSource:
		return m.observeSource(at, o)
	case PhaseWorker:
		return m.observeWorker(at, o.Pipeline)
	case PhaseRelay:
		return m.observeRelay(at, o.Pipeline)
	case PhaseOutput:
		return m.observeOutput(o.Output)
	case PhaseView:
		return m.observeView(at, o.Pipeline)
	case PhaseRecheck:
		return m.observeRecheck(o)
	default:
		return MoveCompare
	}
}

// Compared tells the machine that scan and comparison are done; what follows is the recheck.
func (m *Machine) Compared() Move {
	if m.ended {
		return MoveEnd
	}
	return m.enter(PhaseRecheck, MoveObserve)
}

// observeSource captures H once the ends stand still and no transaction is open below them.
func (m *Machine) observeSource(at time.Duration, o Observation) Move {
	// Both topics at once: what waits for an output topic that is gone would only time out.
	source, output := m.sameSource(o.Source), m.sameOutput(o.Output)
	if !source || !output || !m.wholeHistory(o.Source) {
		return m.end()
	}
	t := o.Source
	m.result.SourceID, m.result.SourceStarts = t.ID, slices.Clone(t.Starts)
	still := slices.Equal(t.Stables, t.Ends) && slices.Equal(t.Ends, m.settling)
	if !still {
		m.settling, m.settledSince = slices.Clone(t.Ends), at
	}
	if still && at-m.settledSince >= m.cfg.Settle {
		m.result.H = slices.Clone(t.Ends)
		m.held("topic %s is the one that was applied, keeps its whole history, and its ends stood still for %s", m.cfg.SourceTopic, m.cfg.Settle)
		return m.enter(PhaseWorker, MoveObserve)
	}
	if !m.expired(at) {
		return MoveWait
	}
	for p := range t.Ends {
		if t.Stables[p] < t.Ends[p] {
			m.incomplete(&p, &t.Stables[p], true,
				"an open transaction holds the last stable offset at %d, below the high watermark %d, after %s",
				t.Stables[p], t.Ends[p], m.cfg.Timeout)
		}
	}
	if len(m.result.Incomplete) == 0 {
		m.incomplete(nil, nil, true, "the source topic still grows after %s: a writer is not stopped", m.cfg.Timeout)
	}
	return m.end()
}

// observeWorker waits until every frontier has reached H.
func (m *Machine) observeWorker(at time.Duration, p *Pipeline) Move {
	behind := false
	for i, h := range m.result.H {
		at := p.Worker[i]
		if at > h {
			m.incomplete(&i, &at, true, "the worker frontier %d lies beyond H %d: the source moved", at, h)
		}
		behind = behind || at < h
	}
	if len(m.result.Incomplete) > 0 {
		return m.end()
	}
	if !behind {
		m.held("every worker frontier stands at H")
		return m.enter(PhaseRelay, MoveObserve)
	}
	if !m.expired(at) {
		return MoveWait
	}
	for i, h := range m.result.H {
		if at := p.Worker[i]; at < h {
			m.incomplete(&i, &at, true, "the worker frontier %d has not reached H %d after %s", at, h, m.cfg.Timeout)
		}
	}
	return m.end()
}

// observeRelay waits until every outbox row was acknowledged.
func (m *Machine) observeRelay(at time.Duration, p *Pipeline) Move {
	if slices.Equal(p.SentThrough, p.OutboxNext) {
		m.held("every outbox envelope is acknowledged")
		return m.enter(PhaseOutput, MoveObserve)
	}
	if !m.expired(at) {
		return MoveWait
	}
	for i, next := range p.OutboxNext {
		if sent := p.SentThrough[i]; sent > next {
			m.incomplete(&i, nil, false, "the relay has sent through %d, beyond the next outbox sequence %d: its state is not this worker's", sent, next)
		} else if sent < next {
			m.incomplete(&i, nil, true, "%d outbox envelopes are not acknowledged after %s (sent through %d, next %d)",
				next-sent, m.cfg.Timeout, sent, next)
		}
	}
	return m.end()
}

// observeOutput captures O.
func (m *Machine) observeOutput(t *Topic) Move {
	if !m.sameOutput(t) {
		return m.end()
	}
	m.held("topic %s is the one that was applied", m.cfg.OutputTopic)
	m.result.OutputID, m.result.OutputStarts, m.result.O = t.ID, slices.Clone(t.Starts), slices.Clone(t.Ends)
	return m.enter(PhaseView, MoveObserve)
}

// observeView waits until every view frontier has reached O.
func (m *Machine) observeView(at time.Duration, p *Pipeline) Move {
	behind := false
	for i, o := range m.result.O {
		behind = behind || p.View[i] < o
	}
	if !behind {
		m.held("every view frontier has reached O")
		return m.enter(PhaseScan, MoveCompare)
	}
	if !m.expired(at) {
		return MoveWait
	}
	mark.Hit("SC25 view behind")
	for i, o := range m.result.O {
		if at := p.View[i]; at < o {
			m.incomplete(&i, &at, true, "the view frontier %d has not reached O %d after %s", at, o, m.cfg.Timeout)
		}
	}
	return m.end()
}

// observeRecheck proves that nothing moved while the comparison ran.
func (m *Machine) observeRecheck(o Observation) Move {
	if m.checkTail {
		mark.Hit("R22 output grew past O")
		if f := o.Tail.Foreign; f != nil {
			p := int(f.Partition)
			m.incomplete(&p, &f.Offset, true,
				"the output topic grew past O during the run by a record that repeats no earlier one")
			return m.end()
		}
		return m.complete("the output topic grew past O by repeats of earlier records alone")
	}
	m.recheckIdentity(o)
	if len(m.result.Incomplete) == 0 {
		m.recheckPositions(o)
	}
	if len(m.result.Incomplete) > 0 {
		return m.end()
	}
	if !slices.Equal(o.Output.Ends, m.result.O) {
		m.checkTail = true
		return MoveObserve
	}
	return m.complete("no record was added to the output topic")
}

// complete ends a run whose boundary stood.
func (m *Machine) complete(output string) Move {
	m.held("configuration, topics, H and the writer lease are as they were; %s", output)
	m.result.Complete = true
	return m.end()
}

// recheckIdentity compares configuration, lease and topic identities with those captured.
func (m *Machine) recheckIdentity(o Observation) {
	if o.Changed != "" {
		m.incomplete(nil, nil, false, "the namespace changed during the run: %s", o.Changed)
	}
	m.recheckLease(o.Lease)
	if m.sameSource(o.Source) {
		m.wholeHistory(o.Source)
	}
	m.sameOutput(o.Output)
}

// recheckPositions compares ends and drain with those captured.
func (m *Machine) recheckPositions(o Observation) {
	for p, h := range m.result.H {
		if end := o.Source.Ends[p]; end != h {
			mark.Hit("SC25 R22 source moved during the run")
			m.incomplete(&p, &end, true, "the source moved during the run: its end is %d, H was %d", end, h)
		}
	}
	for p, end := range m.result.O {
		if now := o.Output.Ends[p]; now < end {
			m.incomplete(&p, &now, true, "the output topic shrank during the run: its end is %d, O was %d", now, end)
		}
	}
	for p, at := range o.Pipeline.View { // observed before the ends, so that no view can honestly be beyond them
		if end := o.Output.Ends[p]; at > end {
			m.incomplete(&p, &at, false,
				"the view frontier %d lies beyond the output topic's end %d: the records up to there would never be applied", at, end)
		}
	}
	if !slices.Equal(o.Pipeline.SentThrough, o.Pipeline.OutboxNext) {
		m.incomplete(nil, nil, true, "the worker wrote new outbox rows during the run")
	}
}

// sameSource says whether the source topic is the one of the namespace.
func (m *Machine) sameSource(t *Topic) bool {
	return m.sameTopic(t, "source", m.cfg.SourceTopic, m.cfg.SourceTopicID, m.cfg.SourcePartitions)
}

// sameOutput says whether the output topic is the one of the namespace; in whatever phase before, it is reported as the
// output's.
func (m *Machine) sameOutput(t *Topic) bool {
	before := len(m.result.Incomplete)
	same := m.sameTopic(t, "output", m.cfg.OutputTopic, m.cfg.OutputTopicID, m.cfg.OutputPartitions)
	if m.phase == PhaseSource {
		for i := range m.result.Incomplete[before:] {
			m.result.Incomplete[before+i].Phase = PhaseOutput
		}
	}
	return same
}

// sameTopic says whether the topic is the one that the namespace was applied with, and reports it if not.
func (m *Machine) sameTopic(t *Topic, role, name, id string, partitions int) bool {
	before := len(m.result.Incomplete)
	switch {
	case t == nil:
		m.incomplete(nil, nil, false, "the %s topic %s does not exist", role, name)
	case t.ID != id:
		m.incomplete(nil, nil, false,
			"the %s topic %s was recreated: its topic ID is %s, the namespace was applied with %s; apply a new namespace",
			role, name, t.ID, id)
	case len(t.Ends) != partitions:
		m.incomplete(nil, nil, false, "the %s topic %s has %d partitions, the namespace %d; apply a new namespace",
			role, name, len(t.Ends), partitions)
	}
	return len(m.result.Incomplete) == before
}

// wholeHistory says whether the source can still hold every record since its creation, and reports it if not.
func (m *Machine) wholeHistory(t *Topic) bool {
	before := len(m.result.Incomplete)
	for p, start := range t.Starts {
		if start > 0 {
			m.incomplete(&p, &start, false, "the retained history begins at offset %d: earlier records are lost", start)
		}
	}
	for _, limit := range t.Limits() {
		m.incomplete(nil, nil, false, "the source topic has %s: history may be destroyed", limit)
	}
	return len(m.result.Incomplete) == before
}

// stopped ends the run with the persisted stops.
func (m *Machine) stopped(stops []Stop) Move {
	mark.Hit("R21 persisted stop ends the run")
	for _, s := range stops {
		reason := Reason{Phase: s.Phase, Partition: &s.Partition, Offset: &s.Offset}
		place := "offset"
		if s.Phase == PhaseRelay {
			reason.Offset, place = nil, "outbox sequence"
		}
		reason.Reason = fmt.Sprintf("the %s stopped partition %d at %s %d: %s: %s",
			s.Phase, s.Partition, place, s.Offset, s.Reason, s.Detail)
		m.result.Failures = append(m.result.Failures, reason)
	}
	return m.end()
}

// incomplete adds a reason of the current phase.
func (m *Machine) incomplete(partition *int, offset *int64, retryable bool, format string, args ...any) {
	r := Reason{Phase: m.phase, Reason: fmt.Sprintf(format, args...), Retryable: retryable}
	if partition != nil {
		p := int32(*partition)
		r.Partition = &p
	}
	if offset != nil {
		o := *offset
		r.Offset = &o
	}
	m.result.Incomplete = append(m.result.Incomplete, r)
}

// held notes a completion check that held.
func (m *Machine) held(format string, args ...any) {
	m.result.Checks = append(m.result.Checks, Check{Phase: m.phase, Text: fmt.Sprintf(format, args...)})
}

// expired says whether the phase has waited for as long as it may.
func (m *Machine) expired(at time.Duration) bool { return at-m.since >= m.cfg.Timeout }

// enter begins a phase.
func (m *Machine) enter(p Phase, move Move) Move {
	m.phase, m.entered = p, false
	return move
}

// end ends the run.
func (m *Machine) end() Move {
	m.ended = true
	return MoveEnd
}
