package conformance

import (
	"errors"
	"fmt"
	"slices"

	"amends.dev/amends/oracle/projection"
)

// points are the places at which a stage can be hit, by kind of step.
var points = map[string]map[string][]string{
	"crash": {
		stageWorker: {beforeCommit, afterCommit},
		stageRelay:  {beforePublish, beforeMark},
		stageView:   {beforeCommit, afterCommit},
	},
	"lose": {
		stageWorker: {commitDone, commitUndone},
		stageRelay:  {acknowledgement},
		stageView:   {commitDone, commitUndone},
	},
}

// The places of Point.At. A crash before a commit leaves nothing of the unit of work, one after it all. A lost answer is
// one to a write that was done, or not, and whose author cannot know.
const (
	beforeCommit    = "before_commit"
	afterCommit     = "after_commit"
	beforePublish   = "before_publish"
	beforeMark      = "before_mark"
	commitDone      = "commit_done"
	commitUndone    = "commit_undone"
	acknowledgement = "acknowledgement"
)

// The places of Rebalance.At.
const (
	atBegin  = "begin"
	atCommit = "commit"
)

// complete checks a step and fills its defaults in.
func (s *Step) complete(c *Configuration) error {
	if n := s.kinds(); n != 1 {
		return fmt.Errorf("want one thing to happen, got %d", n)
	}
	switch {
	case s.Produce != nil:
		return completeRecords(c, s.Produce)
	case s.Run != nil:
		return checkStages(s.Run...)
	case s.Restart != "":
		return checkStages(s.Restart)
	case s.Refuse != "":
		return checkStages(s.Refuse)
	case s.Crash != nil:
		return s.Crash.check("crash")
	case s.Lose != nil:
		return s.Lose.check("lose")
	case s.Rebalance != nil && s.Rebalance.At != atBegin && s.Rebalance.At != atCommit:
		return fmt.Errorf("rebalance at %q", s.Rebalance.At)
	case s.Deliver != nil:
		return completeDeliveries(s.Deliver)
	case s.Verify != nil:
		return s.Verify.complete(c)
	case s.Check != nil:
		return s.Check.complete(c)
	case s.Recreate != "" && s.Recreate != "source":
		return errors.New("only the source topic is recreated")
	case s.Change != nil:
		return s.Change.complete()
	case s.Replay != nil:
		return s.Replay.check()
	case s.Rebuild != nil:
		return s.Rebuild.check()
	}
	return nil
}

// kinds counts the members that are set.
func (s *Step) kinds() int {
	n := 0
	for _, set := range []bool{
		s.Produce != nil, s.Run != nil, s.Crash != nil, s.Lose != nil, s.Restart != "", s.Rebalance != nil, s.Deliver != nil,
		s.Verify != nil, s.Check != nil, s.Trim != nil, s.Recreate != "", s.Refuse != "", s.Change != nil, s.Replay != nil, s.Rebuild != nil,
	} {
		if set {
			n++
		}
	}
	return n
}

// check finds a place that there is not.
func (p *Point) check(kind string) error {
	if !slices.Contains(points[kind][p.Stage], p.At) {
		return fmt.Errorf("%s of %q at %q: want one of %v", kind, p.Stage, p.At, points[kind])
	}
	return nil
}

// checkStages finds stages that there are not.
func checkStages(names ...string) error {
	for _, name := range names {
		if name != stageWorker && name != stageRelay && name != stageView {
			return fmt.Errorf("there is no stage %q", name)
		}
	}
	return nil
}

// completeRecords names the key of records that leave it out. Raw records need none where they give their own.
func completeRecords(c *Configuration, records []Record) error {
	for i := range records {
		r := &records[i]
		if r.raw() && (r.Key != nil || r.KeyBase64 != "") {
			if r.null() && r.Partition == nil {
				return fmt.Errorf("record %d: a null key has no partition of its own; give one", i+1)
			}
			continue
		}
		if err := c.only(&r.Item, &r.Location); err != nil {
			return fmt.Errorf("record %d: %w", i+1, err)
		}
		if !r.raw() && (r.Txn == "" || r.Kind == "" || r.Time == "") {
			return fmt.Errorf("record %d: want txn, rev, kind, time and qty, or value", i+1)
		}
		if r.SourceTime == "" {
			r.SourceTime = r.Time
		}
	}
	return nil
}

// completeDeliveries wants either form of each delivery.
func completeDeliveries(all []Delivery) error {
	for i, d := range all {
		if (d.Nth > 0) == (d.Envelope != nil) {
			return fmt.Errorf("delivery %d: want nth, from 1 on, or envelope", i+1)
		}
	}
	return nil
}

// complete fills a verification's keys in.
func (v *Verification) complete(c *Configuration) error {
	if err := completeRecords(c, v.During); err != nil {
		return err
	}
	for i := range v.Conflicts {
		if err := c.only(&v.Conflicts[i].Item, &v.Conflicts[i].Location); err != nil {
			return err
		}
	}
	return nil
}

// complete names the key of rows that leave it out, and sorts what has an order of its own.
func (e *Expectation) complete(c *Configuration) error {
	var errs []error
	only := func(item, location *string) { errs = append(errs, c.only(item, location)) }
	facts := []*Facts{{Balances: e.Balances, Alerts: e.Alerts}}
	if e.Retained != nil {
		facts = append(facts, e.Retained)
	}
	for _, f := range facts {
		for i := range f.Balances {
			only(&f.Balances[i].Item, &f.Balances[i].Location)
		}
		for i := range f.Alerts {
			only(&f.Alerts[i].Item, &f.Alerts[i].Location)
		}
	}
	for i := range e.Statuses {
		only(&e.Statuses[i].Item, &e.Statuses[i].Location)
		if e.Statuses[i].Conflicts == nil {
			e.Statuses[i].Conflicts = []projection.ConflictRef{}
		}
	}
	for i := range e.SupersededConflicts {
		only(&e.SupersededConflicts[i].Item, &e.SupersededConflicts[i].Location)
	}
	for i := range e.OutOfDomain {
		only(&e.OutOfDomain[i].Item, &e.OutOfDomain[i].Location)
	}
	return errors.Join(errs...)
}
