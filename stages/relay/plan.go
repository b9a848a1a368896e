package relay

import (
	"time"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/broker"
)

// Lease is the namespace's lease as its holder sees it. The zero Lease is none.
type Lease struct {
	// Term is at least 1 where the lease is held.
	Term int64
	// Until is when trust ends, by the local monotonic clock: the time asked for, counted from before the request was
	// sent, and so never later than the store's own expiry.
	Until time.Time
}

// Allows reports whether a delivery that begins now surely ends within the lease (R17).
func (l Lease) Allows(now time.Time, deliveryTimeout time.Duration) bool {
	return l.Term > 0 && l.Until.Sub(now) > deliveryTimeout
}

// Due reports whether the lease should be acquired or renewed before anything else: it is not held, less than half of
// it is left, or no delivery fits any more.
func (l Lease) Due(now time.Time, ttl, deliveryTimeout time.Duration) bool {
	return !l.Allows(now, deliveryTimeout) || l.Until.Sub(now) < ttl/2
}

// Pick chooses the source partition to publish next: the first one with pending envelopes after the last one served,
// in turn, so that no partition starves another. Stopped ones are passed over. positions are ordered by partition.
func Pick(positions []Position, last int32) (Position, bool) {
	var first *Position
	for i := range positions {
		p := &positions[i]
		if p.Sent >= p.End || p.Stopped != "" {
			continue
		}
		if p.Partition > last {
			return *p, true
		}
		if first == nil {
			first = p
		}
	}
	if first == nil {
		return Position{}, false
	}
	return *first, true
}

// Check wants the envelopes to be exactly the sequences that follow the position, without a gap, below its end. A
// missing one may be a message that was never sent: it is a bug, never skipped (B052).
func Check(position Position, envelopes []Envelope) error {
	if len(envelopes) == 0 {
		return invariant.Violated("outbox of source partition %d: sequences %d to %d are committed and not found",
			position.Partition, position.Sent, position.End-1)
	}
	for i, e := range envelopes {
		if want := position.Sent + int64(i); e.Seq != want || e.Seq >= position.End {
			return invariant.Violated("outbox of source partition %d: sequence %d where %d was expected, end %d",
				position.Partition, e.Seq, want, position.End)
		}
	}
	return nil
}

// Prefix returns the receipts of the messages before the first that was not acknowledged, and that one's error: nil
// where all were.
func Prefix(messages []broker.Message, acks []broker.Ack) ([]Receipt, error) {
	if len(acks) != len(messages) {
		return nil, invariant.Violated("publisher answered %d of %d messages", len(acks), len(messages))
	}
	receipts := make([]Receipt, 0, len(messages))
	for i, ack := range acks {
		if ack.Err != nil {
			return receipts, ack.Err
		}
		receipts = append(receipts, Receipt{Partition: messages[i].Partition, Offset: ack.Offset})
	}
	return receipts, nil
}
