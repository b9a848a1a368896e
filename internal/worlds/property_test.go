package worlds

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/ledger/simulate"
)

// TestHistories lets the reference engine, the arrow engine and the worker's core judge random hostile histories: equal
// projection, rejections with their coordinates and reasons included (S1); the same for other arrival orders; and where
// the worker stops on an overflow, it stops at the very record with which the judges leave the domain (R09).
func TestHistories(t *testing.T) {
	count := uint64(2000)
	if long() {
		count = 60_000
	}
	run(t, "property", 1, count, judged)
}

// run checks the histories of so many seeds, and shortens the first that fails.
func run(t *testing.T, name string, from, count uint64, check func(*history, *coverage) error) {
	t.Helper()
	var seen coverage
	begin := time.Now()
	for seed := from; seed < from+count; seed++ {
		checkSeed(t, name, seed, &seen, check)
	}
	t.Logf("%d histories in %v: %+v", count, time.Since(begin).Round(time.Millisecond), seen)
	if count >= 200 && !seen.complete() {
		t.Errorf("the histories are too tame: %+v", seen)
	}
}

// checkSeed checks the history of one seed.
func checkSeed(t *testing.T, name string, seed uint64, seen *coverage, check func(*history, *coverage) error) {
	t.Helper()
	h := newHistory(seed)
	if err := check(h, seen); err != nil {
		short := h.shortened(func(h *history) error { return check(h, new(coverage)) })
		t.Fatalf("seed %d (keep it: a line %q in testdata/seeds.txt): %v\nshortened to %d of %d records: %v\n%s",
			seed, fmt.Sprintf("%s %d", name, seed), err, len(short.events), len(h.events), check(short, new(coverage)), short)
	}
}

// coverage counts what histories contained, so that a generator that grew tame is noticed.
type coverage struct{ records, rejected, blocked, superseded, alerts, overflows, envelopes int }

func (c *coverage) complete() bool {
	return c.rejected > 0 && c.blocked > 0 && c.superseded > 0 && c.alerts > 0 && c.overflows > 0 && c.envelopes > c.records/2
}

func (c *coverage) see(p *projection.Projection, envelopes int) {
	c.rejected += len(p.Rejections)
	c.superseded += len(p.SupersededConflicts)
	c.alerts += len(p.Alerts)
	c.envelopes += envelopes
	for _, s := range p.Statuses {
		if s.Status == "BLOCKED" {
			c.blocked++
		}
	}
}

// judged compares the judges with each other and with the worker's core.
func judged(h *history, seen *coverage) error {
	cfg := ledger.NewConfig(h.ns, topicID)
	records := place(cfg, h.events)
	seen.records += len(records)
	want, err := judge(h.ns, records)
	if err != nil {
		return err
	}
	result, err := simulate.Run(cfg, sequence(records))
	if err != nil {
		return err
	}
	if result.Stopped != nil {
		seen.overflows++
		return stoppedRightly(h.ns, records, result)
	}
	seen.see(want, len(result.Envelopes))
	if diff := difference(want, result); diff != "" {
		return fmt.Errorf("worker (-reference +worker): %s", diff)
	}
	if err := newOutcome(h.ns, want).checkPublished(result.Envelopes); err != nil {
		return err
	}
	if h.wild {
		return nil // another order may leave the domain where this one did not
	}
	return orderIndependent(cfg, h, want)
}

// judge is what both engines say of a history.
func judge(ns *manifests.Namespace, records []ledger.Record) (*projection.Projection, error) {
	naive, err := reference.Engine{}.Compute(context.Background(), ns, engineHistory(records))
	if err != nil {
		return nil, err
	}
	columnar, err := arrow.Engine{}.Compute(context.Background(), ns, engineHistory(records))
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(naive, columnar) {
		return nil, fmt.Errorf("judges (-reference +arrow): %s", cmp.Diff(naive, columnar))
	}
	return naive, nil
}

// engineHistory is a history as engines read it.
func engineHistory(records []ledger.Record) engine.History {
	all := make([]engine.Record, len(records))
	for i, r := range records {
		all[i] = engine.Record{Partition: r.Partition, Offset: r.Offset, Key: r.Key, Value: r.Value}
	}
	return oracletest.Of(all)
}

// sequence is a history as the simulation reads it.
func sequence(records []ledger.Record) iter.Seq2[ledger.Record, error] {
	return func(yield func(ledger.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// stoppedRightly: before the record that stopped the worker the judges agree with it, and with that record they find a
// close outside int64.
func stoppedRightly(ns *manifests.Namespace, records []ledger.Record, result *simulate.Result) error {
	at := slices.IndexFunc(records, func(r ledger.Record) bool {
		return r.Partition == result.Stopped.Partition && r.Offset == result.Stopped.Offset
	})
	if at < 0 || result.Stopped.Reason != ledger.StopOverflow {
		return fmt.Errorf("stopped at no record: %+v", *result.Stopped)
	}
	before, err := judge(ns, records[:at])
	if err != nil {
		return err
	}
	if diff := difference(before, result); diff != "" {
		return fmt.Errorf("before the stop %+v (-reference +worker): %s", *result.Stopped, diff)
	}
	with, err := judge(ns, records[:at+1])
	if err != nil {
		return err
	}
	if len(before.OutOfDomain) > 0 || len(with.OutOfDomain) == 0 {
		return fmt.Errorf("stopped at %+v; out of domain before it %v, with it %v", *result.Stopped, before.OutOfDomain, with.OutOfDomain)
	}
	return nil
}

// orderIndependent: backwards and in a random order, the worker ends in the same certified projection and statuses, and
// rejects the same records for the same reasons.
func orderIndependent(cfg *ledger.Config, h *history, want *projection.Projection) error {
	g := newOrder(h.seed)
	backwards := slices.Clone(h.events)
	slices.Reverse(backwards)
	for name, events := range map[string][]event{"backwards": backwards, "shuffled": shuffled(g, h.events)} {
		result, err := simulate.Run(cfg, sequence(place(cfg, events)))
		if err != nil {
			return err
		}
		if result.Stopped != nil {
			return fmt.Errorf("%s: stopped: %+v", name, *result.Stopped)
		}
		if diff := cmp.Diff(withoutCoordinates(want), withoutCoordinates(projectionOf(result))); diff != "" {
			return fmt.Errorf("%s (-reference +worker): %s", name, diff)
		}
		if err := newOutcome(h.ns, want).checkPublished(result.Envelopes); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// difference compares a judge's projection with a simulation's.
func difference(want *projection.Projection, result *simulate.Result) string {
	got := projectionOf(result)
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

// projectionOf is the projection of a simulation in the judges' type.
func projectionOf(result *simulate.Result) *projection.Projection {
	r := &result.Projection
	p := &projection.Projection{
		Balances: make([]projection.Balance, len(r.Balances)), Alerts: make([]projection.Alert, len(r.Alerts)),
		Statuses: make([]projection.Status, len(r.Statuses)), SupersededConflicts: make([]projection.Conflict, len(r.SupersededConflicts)),
		Rejections: make([]projection.Rejection, len(r.Rejections)), OutOfDomain: make([]projection.OutOfDomain, len(r.OutOfDomain)),
	}
	for i, b := range r.Balances {
		p.Balances[i] = projection.Balance(b)
	}
	for i, a := range r.Alerts {
		p.Alerts[i] = projection.Alert(a)
	}
	for i, s := range r.Statuses {
		p.Statuses[i] = projection.Status{Item: s.Item, Location: s.Location, Status: s.Status, Conflicts: make([]projection.ConflictRef, len(s.Conflicts))}
		for j, c := range s.Conflicts {
			p.Statuses[i].Conflicts[j] = projection.ConflictRef(c)
		}
	}
	for i, c := range r.SupersededConflicts {
		p.SupersededConflicts[i] = projection.Conflict(c)
	}
	for i, x := range r.Rejections {
		p.Rejections[i] = projection.Rejection{Partition: x.Partition, Offset: x.Offset, Reason: string(x.Reason)}
	}
	for i, x := range r.OutOfDomain {
		p.OutOfDomain[i] = projection.OutOfDomain(x)
	}
	return p
}

// withoutCoordinates is a projection with its rejections as a sorted list of reasons.
func withoutCoordinates(p *projection.Projection) projection.Projection {
	bare := *p
	bare.Rejections = make([]projection.Rejection, len(p.Rejections))
	for i, r := range p.Rejections {
		bare.Rejections[i].Reason = r.Reason
	}
	slices.SortFunc(bare.Rejections, func(a, b projection.Rejection) int {
		switch {
		case a.Reason < b.Reason:
			return -1
		case a.Reason > b.Reason:
			return 1
		default:
			return 0
		}
	})
	return bare
}

// TestShortening: a failing history is reduced to the records that make it fail.
func TestShortening(t *testing.T) {
	h := newHistory(3)
	guilty := map[*byte]bool{&h.events[2].value[0]: true, &h.events[9].value[0]: true}
	fails := func(h *history) error {
		count := 0
		for i := range h.events {
			if v := h.events[i].value; len(v) > 0 && guilty[&v[0]] {
				count++
			}
		}
		if count == 2 {
			return errors.New("both are there")
		}
		return nil
	}
	if short := h.shortened(fails); len(short.events) != 2 || fails(short) == nil {
		t.Errorf("%d records are left", len(short.events))
	}
}

// TestSeedsAreHistories: a seed gives the same history each time, or kept seeds would mean nothing.
func TestSeedsAreHistories(t *testing.T) {
	for seed := range uint64(50) {
		if a, b := newHistory(seed), newHistory(seed); a.String() != b.String() || a.wild != b.wild {
			t.Fatalf("seed %d gives two histories:\n%s\n%s", seed, a, b)
		}
	}
}
