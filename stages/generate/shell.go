package generate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
)

// Defaults of ShellOptions.
const (
	// DefaultBatch bounds the records of one Step.
	DefaultBatch = 1000
	// DefaultDeliveryTimeout is the publisher's.
	DefaultDeliveryTimeout = 10 * time.Second
	// DefaultLeaseTTL is how long the writer lease is asked for.
	DefaultLeaseTTL = 30 * time.Second
)

// ShellOptions are the parts of a Shell. Stream, Publisher, Lease and Now are required.
type ShellOptions struct {
	Stream    *Stream
	Publisher broker.Publisher
	Lease     Lease
	// Now is the clock; its times carry a monotonic reading.
	Now func() time.Time
	// Rate bounds publication in records per second; 0 is unlimited.
	Rate int64
	// Batch bounds the records of one Step.
	Batch int
	// DeliveryTimeout is the publisher's: the time after which no message of a Publish is still on its way.
	DeliveryTimeout time.Duration
	// LeaseTTL is at least twice DeliveryTimeout.
	LeaseTTL time.Duration
}

// State is how far a Shell has come.
type State int

// The states.
const (
	// Running has records left to publish.
	Running State = iota
	// Finished has published the whole stream and given the lease up.
	Finished
	// Stopped was asked to stop, as verify does, and has given the lease up.
	Stopped
)

// Shell publishes a stream, one bounded batch at a time, while it holds the writer lease. It is used by one goroutine.
type Shell struct {
	options ShellOptions
	state   State
	held    bool
	// until is when trust in the lease ends, by the local clock: counted from before the request that granted it, and
	// so never later than the store's own expiry.
	until time.Time
	// pending are records that were taken from the stream and not acknowledged yet, in order.
	pending []Record
	// unsettled is set while messages of a failed Publish may still be on their way.
	unsettled bool
	published Counts
	// started is when the first batch was due, the origin of the rate.
	started time.Time
	paced   int64
}

// NewShell returns a Shell that holds no lease yet. The error says which option is wrong.
func NewShell(options ShellOptions) (*Shell, error) {
	o := options
	if o.Batch <= 0 {
		o.Batch = DefaultBatch
	}
	if o.DeliveryTimeout <= 0 {
		o.DeliveryTimeout = DefaultDeliveryTimeout
	}
	if o.LeaseTTL <= 0 {
		o.LeaseTTL = DefaultLeaseTTL
	}
	if o.LeaseTTL < 2*o.DeliveryTimeout {
		return nil, fmt.Errorf("writer lease of %v is less than twice the delivery timeout of %v", o.LeaseTTL, o.DeliveryTimeout)
	}
	if o.Rate < 0 || o.Rate > RateMax {
		return nil, fmt.Errorf("rate of %d records per second, want 0 (unlimited) to %d", o.Rate, RateMax)
	}
	return &Shell{options: o}, nil
}

// State reports whether the shell has come to its end.
func (s *Shell) State() State { return s.state }

// Published are the acknowledged records so far, by class.
func (s *Shell) Published() Counts { return s.published }

// Step takes or renews the lease where that is due, and publishes one batch. progress asks for another Step at once,
// otherwise not before wake. Once State is no longer Running it does nothing. Errors that wrap ErrLeaseHeld or
// ErrLeaseLost have fault.Class Fenced, those that no retry can clear Stop; after any other error Step may be repeated,
// and publishes again what was not acknowledged: a copy is an exact duplicate.
func (s *Shell) Step(ctx context.Context) (progress bool, wake time.Time, err error) {
	if s.state != Running {
		return false, time.Time{}, nil
	}
	if err := s.hold(ctx); err != nil {
		return false, time.Time{}, classify(err)
	}
	stop, err := s.options.Lease.StopRequested(ctx)
	if err != nil {
		return false, time.Time{}, classify(err)
	}
	if stop {
		mark.Hit("R22 writer stopped")
		return false, time.Time{}, s.end(ctx, Stopped)
	}
	due, wake := s.due()
	if due == 0 {
		return false, wake, nil
	}
	s.fill(due)
	if len(s.pending) == 0 {
		return false, time.Time{}, s.end(ctx, Finished)
	}
	if err := s.publish(ctx, min(due, len(s.pending))); err != nil {
		return false, time.Time{}, classify(err)
	}
	return true, time.Time{}, nil
}

// Close gives the lease up, whatever the state. Where messages may still be on their way it is left to expire, so that
// verify waits for them.
func (s *Shell) Close(ctx context.Context) error {
	if !s.held || s.unsettled {
		return nil
	}
	if err := s.options.Lease.Release(ctx); err != nil {
		return err
	}
	s.held = false
	return nil
}

// end closes the shell and, once that is done, sets the state.
func (s *Shell) end(ctx context.Context, state State) error {
	if err := s.Close(ctx); err != nil {
		return err
	}
	s.state = state
	return nil
}

// hold takes the lease, or renews it once less than half of it is left or no delivery fits into what remains.
func (s *Shell) hold(ctx context.Context) error {
	now := s.options.Now()
	if s.held && s.until.Sub(now) > max(s.options.LeaseTTL/2, s.options.DeliveryTimeout) {
		return nil
	}
	request := s.options.Lease.Acquire
	if s.held {
		request = s.options.Lease.Renew
	}
	if err := request(ctx, s.options.LeaseTTL); err != nil {
		s.held = s.held && !errors.Is(err, ErrLeaseLost)
		return err
	}
	s.held, s.until = true, now.Add(s.options.LeaseTTL)
	return nil
}

// due returns how many records may be published now, at most a batch, or when the next one may be.
func (s *Shell) due() (int, time.Time) {
	if s.options.Rate == 0 {
		return s.options.Batch, time.Time{}
	}
	now := s.options.Now()
	if s.started.IsZero() {
		s.started = now
	}
	elapsed := now.Sub(s.started)
	whole, rest := int64(elapsed/time.Second), int64(elapsed%time.Second)
	allowed := 1 + whole*s.options.Rate + rest*s.options.Rate/int64(time.Second) - s.paced
	if allowed <= 0 {
		return 0, s.started.Add(at(s.paced, s.options.Rate))
	}
	return int(min(allowed, int64(s.options.Batch))), time.Time{}
}

// at is when, from the start on, record n (counted from 0) is due at the rate, rounded up.
func at(n, rate int64) time.Duration {
	whole, rest := n/rate, n%rate
	return time.Duration(whole)*time.Second + time.Duration((rest*int64(time.Second)+rate-1)/rate)
}

// fill takes records from the stream until due ones are pending or it ends.
func (s *Shell) fill(due int) {
	for len(s.pending) < due {
		record, ok := s.options.Stream.Next()
		if !ok {
			return
		}
		s.pending = append(s.pending, record)
	}
}

// publish sends the first n pending records and keeps those that were not acknowledged.
func (s *Shell) publish(ctx context.Context, n int) error {
	if s.until.Sub(s.options.Now()) <= s.options.DeliveryTimeout {
		mark.Hit("R22 lease too short to write")
		return nil // the next step renews first
	}
	messages := make([]broker.Message, n)
	for i, r := range s.pending[:n] {
		messages[i] = broker.Message{Partition: r.Partition, Key: r.Key, Value: r.Value}
	}
	acks := s.options.Publisher.Publish(ctx, messages)
	if len(acks) != n {
		return invariant.Violated("publisher answered %d of %d messages", len(acks), n)
	}
	var failure error
	kept := make([]Record, 0, len(s.pending))
	for i, r := range s.pending {
		switch {
		case i >= n:
			kept = append(kept, r)
		case acks[i].Err != nil:
			kept = append(kept, r)
			if failure == nil {
				failure = acks[i].Err
			}
		default:
			s.published[r.Class]++
			s.paced++
		}
	}
	s.pending, s.unsettled = kept, failure != nil
	return failure
}

// classify marks the errors that a retry does not clear.
func classify(err error) error {
	switch {
	case errors.Is(err, ErrLeaseHeld), errors.Is(err, ErrLeaseLost):
		return fault.Mark(fault.Fenced, err)
	case errors.Is(err, broker.ErrTopicChanged), invariant.Is(err):
		return fault.Mark(fault.Stop, err)
	}
	return err
}
