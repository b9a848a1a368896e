package intake

import (
	"context"
	"errors"
	"fmt"
	"time"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/durability"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/owner"
)

// Reply is the answer to a submission.
type Reply struct {
	durability.Answer
	// Error is a machine-readable word for why nothing was performed, and Detail one line for people; empty for 200 and 202.
	Error, Detail string
	// RetryAfter says when to try again; 0 where that is of no use.
	RetryAfter time.Duration
	// Source is where the record is, nil while it is not known.
	Source *Coordinates
	// Decision is what the worker made of it, where the sender waited for it and it came in time.
	Decision *Decision
	// Lost says that it could not be found out whether the request was kept: no answer would be true, so none is to be
	// given. The sender finds out at the handle.
	Lost bool
}

// The words of Reply.Error, beside the rejection reasons of transactions.
const (
	ErrorUnauthenticated = "unauthenticated"
	ErrorTooLarge        = "body_too_large"
	ErrorTooMany         = "rate_exceeded"
	ErrorMalformed       = "malformed_request"
	ErrorUnavailable     = "unavailable"
	ErrorNoHandler       = "deliver_to_no_handler"
)

// retryAfter is what a sender is told to wait where nothing better is known.
const retryAfter = time.Second

// Refuse answers a request for a problem found before it is looked at as a submission.
func (i *Intake) Refuse(marker *durability.Marker, problem durability.Problem, word, detail string) Reply {
	return i.reply(durability.Case{Marker: marker, Offered: i.options.Offered(), Problems: problem}, word, detail)
}

// reply decides and names the reason.
func (i *Intake) reply(c durability.Case, word, detail string) Reply {
	r := Reply{Answer: durability.Decide(c)}
	if r.Performed() {
		return r
	}
	r.Error, r.Detail = word, detail
	switch {
	case r.Status == 412:
		r.Error = string(r.Durability.Reason)
		r.Detail = fmt.Sprintf("the strongest level offered is %s", r.Durability.MaxAvailable)
	case r.Status == 409:
		r.Error, r.Detail = string(durability.DuplicateID), "a request of this ID is kept; it stands as it was"
	case r.Status == 429 || r.Status == 503:
		r.RetryAfter = retryAfter
	}
	return r
}

// Submit performs one request of an authenticated author, or says why not, in the order of R35. The answer is as of its
// return. What was begun is finished also when ctx ends.
func (i *Intake) Submit(ctx context.Context, author string, b Body) Reply {
	c := durability.Case{Marker: b.Marker, Offered: i.options.Offered()}
	if durability.Unmet(c.Marker, c.Offered) {
		mark.Hit("R35 durability required and unmet")
		return i.reply(c, "", "")
	}
	c.Handle = Handle(i.options.Config.Namespace().Name, b.RequestID)
	if !i.gate.enter(i.options.Clock.Now(), i.options.DeliveryTimeout) {
		mark.Hit("R22 intake refuses")
		c.Problems = durability.Unavailable
		_, why := i.Ready()
		return i.reply(c, ErrorUnavailable, why)
	}
	r := i.inside(ctx, author, b, c)
	if r.Performed() && b.Wait > 0 {
		i.wait(ctx, author, b, c, &r)
	}
	return r
}

// inside performs a request that entered the gate, and leaves the gate however that ends: one that stayed inside would keep
// the lease from being given back (R22).
func (i *Intake) inside(ctx context.Context, author string, b Body, c durability.Case) Reply {
	defer i.gate.leave()
	return i.perform(ctx, author, b, c)
}

// perform does it, inside the gate.
func (i *Intake) perform(ctx context.Context, author string, b Body, c durability.Case) Reply {
	record := NewRecord(b.Transaction, i.options.Config.Namespace().Spec.Source.Partitions)
	keep := durability.Provide(c.Marker, c.Offered) != durability.None
	if keep && i.Full() {
		c.Problems = durability.Unavailable
		return i.reply(c, ErrorUnavailable, i.fullDetail())
	}
	problem, word, detail := i.check(b, record)
	event := Event{
		At: i.options.Clock.Now().UTC(), RequestID: b.RequestID, Author: author, DeliverTo: b.DeliverTo,
		Level: durability.Provide(c.Marker, c.Offered), Transaction: b.Transaction, Attempt: i.options.Attempt(),
	}
	if c.Marker != nil {
		event.Requested = c.Marker.Level
	}
	switch {
	case problem != 0 && keep:
		return i.refuse(ctx, author, b, c, problem, word, detail)
	case problem != 0:
		c.Problems = problem
		return i.reply(c, word, detail)
	case keep:
		return i.keep(event, record, c)
	}
	return i.direct(event, record, c)
}

// check looks at what would be refused with 422.
func (i *Intake) check(b Body, record Record) (problem durability.Problem, word, detail string) {
	if _, known := i.options.Targets[b.DeliverTo]; b.DeliverTo != "" && !known {
		return durability.NoHandler, ErrorNoHandler, fmt.Sprintf("topic %q is not configured for results: they would be lost", b.DeliverTo)
	}
	if !b.Validate {
		return 0, "", ""
	}
	source := ledger.Record{Partition: record.Partition, Key: record.Key, Value: record.Value}
	if _, reason := i.options.Config.Decode(source); reason != ledger.ReasonNone {
		return durability.Invalid, string(reason), "the worker would reject this transaction: " + i.options.Config.Fault(source, reason)
	}
	return 0, "", ""
}

// refuse answers an unacceptable request that asks to be kept: where its ID is taken, that comes first (R35).
func (i *Intake) refuse(ctx context.Context, author string, b Body, c durability.Case, problem durability.Problem, word, detail string) Reply {
	c.Problems = problem
	kept, err := i.options.Store.Image(ctx, OwnerID(i.options.Config.Namespace().Name, author, b.RequestID))
	switch {
	case err != nil:
		c.Problems |= durability.Unavailable
		return i.reply(c, ErrorUnavailable, "the owner store does not answer")
	case kept != nil:
		mark.Hit("R35 duplicate before schema")
		c.Problems |= durability.Duplicate
	}
	return i.reply(c, word, detail)
}

// keep makes a request durable; its answer follows the commit.
func (i *Intake) keep(event Event, record Record, c durability.Case) Reply {
	term, _ := i.gate.holding(i.options.Clock.Now())
	unit, err := acceptance(i.options.Config.Namespace().Name, uint64(max(term, 0)), event, record)
	if err == nil {
		err = i.notify(&unit, durability.Stored, nil, false)
	}
	if err != nil {
		c.Problems = durability.Unavailable
		return i.reply(c, ErrorUnavailable, err.Error())
	}
	result, err := i.commits.put(unit)
	switch {
	case errors.Is(err, errUntouched):
		c.Problems = durability.Unavailable
		return i.reply(c, ErrorUnavailable, "too many requests wait, or the owner store does not answer")
	case err != nil:
		mark.Hit("R32 answer lost")
		return Reply{Lost: true}
	}
	switch {
	case result.Outcome.SafeToAcknowledge(): // a duplicate is this attempt itself, tried again
		i.counts.Kept.Add(1)
		c.InPlace = durability.Stored
		return i.reply(c, "", "")
	case result.Outcome == owner.InboxConflict:
		mark.Hit("R32 duplicate request")
		c.Problems = durability.Duplicate
		return i.reply(c, "", "")
	}
	c.Problems = durability.Unavailable
	return i.reply(c, ErrorUnavailable, fmt.Sprintf("the owner store answered %s: %s", result.Outcome, result.Detail))
}

// direct publishes a request that is not kept (R31), and keeps the obligation to deliver its decision, if there is one.
func (i *Intake) direct(event Event, record Record, c durability.Case) Reply {
	unavailable := func(detail string) Reply {
		c.Problems = durability.Unavailable
		return i.reply(c, ErrorUnavailable, detail)
	}
	if event.DeliverTo != "" && i.commits.failing.Load() {
		return unavailable("the owner store does not answer: the delivery of the decision could not be kept")
	}
	ack, err := i.directs.put(record)
	if err == nil {
		err = ack.Err
	}
	if err != nil {
		return unavailable("the source topic did not acknowledge the record")
	}
	event.Source = &Coordinates{Partition: record.Partition, Offset: ack.Offset}
	if event.DeliverTo != "" {
		unit, err := obligation(i.options.Config.Namespace().Name, i.options.Config.SourceTopicID(), event, record)
		if err != nil {
			return unavailable(err.Error())
		}
		if result, err := i.commits.put(unit); err != nil || !result.Outcome.SafeToAcknowledge() {
			return unavailable("the delivery of the decision could not be kept")
		}
	}
	i.counts.Direct.Add(1)
	r := i.reply(c, "", "")
	r.Source = event.Source
	return r
}

// Waits between two looks at what became of a request.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 500 * time.Millisecond
)

// wait delays an answer until the worker has decided, or the time is up (R33). It changes neither status nor what a
// stored request claims; a published one claims what is in place by then.
func (i *Intake) wait(ctx context.Context, author string, b Body, c durability.Case, r *Reply) {
	kept := durability.Provide(c.Marker, c.Offered) != durability.None
	look := func(ctx context.Context) (done bool, err error) {
		if !kept {
			r.Decision, err = i.options.Decisions.Decision(ctx, *r.Source, b.Transaction)
			return r.Decision != nil, err
		}
		entry, err := i.find(ctx, author, b.RequestID)
		if err != nil || entry == nil {
			return false, errors.Join(err, orMissing(entry))
		}
		c.InPlace, r.Source, r.Decision = entry.Level, entry.Source, entry.Decision
		r.Answer = durability.Decide(c)
		return r.Decision != nil, nil
	}
	i.until(ctx, b.Wait, look)
}

// orMissing is the fault of an entry that was kept and is not there.
func orMissing(entry *Entry) error {
	if entry == nil {
		return invariant.Violated("a kept request is not in the owner store")
	}
	return nil
}

// until looks again and again, first often and then less, until it is done or the time is up. A look that fails is as good
// as one that finds nothing: the caller has an answer either way.
func (i *Intake) until(ctx context.Context, wait time.Duration, look func(context.Context) (bool, error)) {
	end := i.options.Clock.Now().Add(wait)
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		done, err := look(ctx)
		if err != nil {
			i.options.Log.Debug("look at a request", "error", err) // of each held answer, twice a second
		}
		left := end.Sub(i.options.Clock.Now())
		if done || left <= 0 || i.ending.Load() || i.options.Clock.Sleep(ctx, min(pause, left)) != nil {
			return
		}
	}
}
