package equivalence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/verify"
)

// Deps are the ports of a comparison. Nothing is written through them.
type Deps struct {
	State  verify.State
	View   verify.View
	Topics verify.Topics
	Clock  verify.Clock
}

// Options are the choices of a comparison.
type Options struct {
	// Old and New name applied namespaces.
	Old, New string
	// Timeout bounds the waiting for the boundary, Poll is the time between two looks.
	Timeout, Poll time.Duration
	// Limit bounds the listed differences of each family; 0 lists all.
	Limit int
}

// The exit codes of the statuses (design section 8).
var exitCodes = map[Status]int{Equal: 0, Drift: 12, Incomplete: 13, Error: 1}

// Run compares. An error means that there could be no comparison at all: it wraps verify.ErrRefused, verify.ErrNotApplied
// or a failure of a server, or ctx ended.
func Run(ctx context.Context, deps Deps, o Options) (*Report, error) {
	c := &comparison{deps: deps, options: o}
	for i, name := range []string{o.Old, o.New} {
		applied, err := deps.State.Applied(ctx, name)
		if err != nil {
			return nil, err
		}
		if err := c.accept(ctx, i, applied); err != nil {
			return nil, err
		}
	}
	a, b := c.sides[0], c.sides[1]
	if a.SourceTopicID != b.SourceTopicID {
		mark.Hit("S10 unlike histories are not compared")
		return nil, fmt.Errorf("%w: namespaces %s and %s read different source topics, IDs %s and %s", verify.ErrRefused, a.Name, b.Name, a.SourceTopicID, b.SourceTopicID)
	}
	experiment := a.BusinessDigest != b.BusinessDigest
	if experiment && a.ExperimentOf != b.Name && b.ExperimentOf != a.Name {
		mark.Hit("R02 unlike configurations are not compared")
		return nil, fmt.Errorf("%w: namespaces %s and %s have different business configurations, digests %s and %s, and neither is an experiment of the other",
			verify.ErrRefused, a.Name, b.Name, a.BusinessDigest, b.BusinessDigest)
	}
	c.report = &Report{SchemaVersion: 1, Experiment: experiment, SourceTopicID: a.SourceTopicID, Through: []int64{}, Differences: []Difference{}, Reasons: []string{}}
	if err := c.run(ctx); err != nil {
		return nil, err
	}
	c.report.Old, c.report.New = side(a, c.last[0]), side(b, c.last[1])
	c.report.ExitCode = exitCodes[c.report.Status]
	return c.report, nil
}

// comparison is one run.
type comparison struct {
	deps    Deps
	options Options
	sides   [2]*verify.Applied
	last    [2]progress
	report  *Report
}

// accept checks one namespace and its view.
func (c *comparison) accept(ctx context.Context, i int, a *verify.Applied) error {
	if err := verify.CheckConfiguration(a, nil); err != nil {
		return err
	}
	got, err := c.deps.View.ViewIdentity(ctx, a)
	if err != nil {
		return err
	}
	want := verify.ViewIdentity{Name: a.Name, Digest: a.Digest, OutputTopic: a.Namespace.Spec.Output.Topic, OutputTopicID: a.OutputTopicID}
	if got != want {
		return fmt.Errorf("%w: the view schema %s shows %+v, not %+v", verify.ErrRefused, a.ViewSchema, got, want)
	}
	c.sides[i] = a
	return nil
}

func side(a *verify.Applied, p progress) Side {
	return Side{Namespace: a.Name, Digest: a.Digest, BusinessDigest: a.BusinessDigest, BuiltBy: a.BuiltBy, ExperimentOf: a.ExperimentOf, Worker: p.worker, View: p.view}
}

// run waits for the boundary, compares, and proves that nothing moved meanwhile.
func (c *comparison) run(ctx context.Context) error {
	if reached, err := c.await(ctx); !reached || err != nil {
		return err
	}
	c.report.Through = c.last[0].worker
	at := c.last
	differ, err := c.compare(ctx)
	if errors.Is(err, errMoved) {
		return c.moved()
	}
	if err != nil {
		return err
	}
	reasons, err := c.look(ctx)
	switch {
	case err != nil:
		return err
	case c.report.Status == Error:
		return nil
	case len(reasons) > 0 || !at[0].equal(c.last[0]) || !at[1].equal(c.last[1]):
		return c.moved()
	}
	c.report.Status = Equal
	if differ {
		c.report.Status = Drift
	}
	return nil
}

// moved ends a comparison whose boundary did not hold: a mismatch count of unlike states would mean nothing.
func (c *comparison) moved() error {
	mark.Hit("SC25 compare: the boundary moved")
	c.report.Status, c.report.Counts, c.report.Differences, c.report.BlockedKeys = Incomplete, Counts{}, []Difference{}, 0
	c.report.Through = []int64{}
	c.report.Reasons = append(c.report.Reasons, "a namespace went on while the two were compared; stop its stages or its writers, and compare again")
	return nil
}

// await looks until both namespaces are drained to the same H, or the timeout has passed, or one has stopped for good.
func (c *comparison) await(ctx context.Context) (bool, error) {
	deadline := c.deps.Clock.Now().Add(c.options.Timeout)
	for {
		reasons, err := c.look(ctx)
		switch {
		case err != nil:
			return false, err
		case c.report.Status == Error:
			return false, nil
		case len(reasons) == 0:
			return true, nil
		case !c.deps.Clock.Now().Before(deadline):
			mark.Hit("SC24 compare: no common boundary")
			c.report.Status, c.report.Reasons = Incomplete, reasons
			return false, nil
		}
		if err := c.deps.Clock.Sleep(ctx, c.options.Poll); err != nil {
			return false, err
		}
	}
}

// progress is where one namespace is.
type progress struct {
	worker, outbox, sent, view, output []int64
}

func (p progress) equal(o progress) bool {
	return slices.Equal(p.worker, o.worker) && slices.Equal(p.view, o.view) && slices.Equal(p.output, o.output)
}

// look reads where both are, and returns why that is no common boundary. A persisted stop ends the run (R21).
func (c *comparison) look(ctx context.Context) ([]string, error) {
	var reasons []string
	for i, a := range c.sides {
		p, stops, err := c.progress(ctx, a)
		if err != nil {
			return nil, err
		}
		c.last[i] = p
		for _, s := range stops {
			c.report.Status = Error
			c.report.Reasons = append(c.report.Reasons, fmt.Sprintf("%s, partition %d, offset %d", stopText(a.Name, s), s.Partition, s.Offset))
		}
		for q := range p.outbox {
			if p.sent[q] < p.outbox[q] {
				reasons = append(reasons, fmt.Sprintf("relay: %d envelopes of namespace %s, source partition %d, are not acknowledged", p.outbox[q]-p.sent[q], a.Name, q))
			}
		}
		for q := range p.view {
			if p.output == nil || p.view[q] < p.output[q] {
				reasons = append(reasons, fmt.Sprintf("view: namespace %s, output partition %d, stands at %d of %v", a.Name, q, p.view[q], p.output))
			}
		}
	}
	for q := range c.last[0].worker {
		if old, now := c.last[0].worker[q], c.last[1].worker[q]; old != now {
			reasons = append(reasons, fmt.Sprintf("worker: source partition %d: namespace %s stands at %d, %s at %d", q, c.sides[0].Name, old, c.sides[1].Name, now))
		}
	}
	return reasons, nil
}

// progress reads where one namespace is. An output topic that is gone has no ends.
func (c *comparison) progress(ctx context.Context, a *verify.Applied) (progress, []boundary.Stop, error) {
	state, err := c.deps.State.Progress(ctx, a)
	if err != nil {
		return progress{}, nil, err
	}
	view, stops, err := c.deps.View.ViewProgress(ctx, a)
	if err != nil {
		return progress{}, nil, err
	}
	topic, err := c.deps.Topics.Describe(ctx, a.Namespace.Spec.Output.Topic)
	if err != nil {
		return progress{}, nil, err
	}
	p := progress{worker: state.Worker, outbox: state.OutboxNext, sent: state.SentThrough, view: view}
	if topic != nil && topic.ID == a.OutputTopicID && len(topic.Ends) == len(view) {
		p.output = topic.Ends
	}
	return p, append(state.Stops, stops...), nil
}
