package sim

import (
	"context"
	"fmt"

	"amends.dev/amends/stages/broker"
)

// opener opens readers of a topic for one life.
type opener struct {
	life  *life
	inner broker.Opener
}

// Open implements broker.Opener.
func (o *opener) Open(ctx context.Context, partition int32, from int64) (broker.Reader, error) {
	out := o.life.enter(opOpen)
	switch {
	case out.before != nil:
		return nil, out.before
	case out.fault != nil:
		return nil, errBroker
	}
	inner, err := o.inner.Open(ctx, partition, from)
	if err != nil {
		return nil, err
	}
	return &reader{life: o.life, inner: inner}, nil
}

// reader is an open reader of one life.
type reader struct {
	life  *life
	inner broker.Reader
}

// Poll implements broker.Reader.
func (r *reader) Poll(ctx context.Context, most int) (broker.Fetch, error) {
	out := r.life.enter(opPoll)
	switch {
	case out.before != nil:
		return broker.Fetch{}, out.before
	case out.fault == nil:
	case out.fault.mode == nothing:
		// An empty fetch whose Next is the position polled from: what a poll of nothing returns.
		return r.inner.Poll(ctx, 0)
	case out.fault.mode == broken:
		return broker.Fetch{}, errBroker
	case out.fault.mode == short:
		most = 1
	}
	fetch, err := r.inner.Poll(ctx, most)
	if err != nil {
		return fetch, err
	}
	return fetch, r.life.leave(out)
}

// Close implements broker.Reader.
func (r *reader) Close() { r.inner.Close() }

// publisher is the producer of one life.
type publisher struct{ life *life }

// send is one publication as it began: under which lease, for the checker of R17.
type send struct {
	holder string
	// leased is who held the lease at that moment, and left is for how long still.
	leased string
	left   float64
}

// Publish implements broker.Publisher. An idempotent producer keeps the order within a partition: where the broker does
// not take a message, it takes none of those after it in that partition.
func (p *publisher) Publish(_ context.Context, messages []broker.Message) []broker.Ack {
	w := p.life.world
	holder, _, expires := w.outbox.Lease()
	w.sends = append(w.sends, send{holder: p.life.name, leased: holder, left: expires.Sub(w.clock).Seconds()})
	acks := make([]broker.Ack, len(messages))
	out := p.life.enter(opPublish)
	failAll := func(err error) []broker.Ack {
		for i := range acks {
			acks[i] = broker.Ack{Err: err}
		}
		return acks
	}
	if out.before != nil {
		return failAll(out.before)
	}
	broken := map[int32]bool{}
	for i := range messages {
		acks[i] = p.one(messages[i], i == hit(out.fault, len(messages)), out.fault, broken)
	}
	w.log(p.life.name, "publish %d messages%s", len(messages), describe(acks))
	if err := p.life.leave(out); err != nil {
		return failAll(err)
	}
	return acks
}

// hit is the message that a fault of a publication strikes first, -1 for none.
func hit(f *injection, n int) int {
	if f == nil || n == 0 {
		return -1
	}
	return f.nth % n
}

// one sends one message. broken are the partitions in which an earlier message was not taken or not acknowledged.
func (p *publisher) one(m broker.Message, struck bool, f *injection, broken map[int32]bool) broker.Ack {
	w := p.life.world
	if struck && f.mode != twice {
		broken[m.Partition] = true
	}
	if broken[m.Partition] {
		switch f.mode {
		case unacknowledged:
			w.append(p.life.name, m)
		case late:
			w.late = append(w.late, m)
		default:
		}
		return broker.Ack{Err: errBroker}
	}
	var ack broker.Ack
	ack.Err = p.life.call(opAppend, func() error {
		ack.Offset = w.append(p.life.name, m)
		return nil
	})
	if struck && f.mode == twice {
		w.append(p.life.name, m)
	}
	return ack
}

// describe says which messages of a publication were not acknowledged.
func describe(acks []broker.Ack) string {
	bad := 0
	for _, a := range acks {
		if a.Err != nil {
			bad++
		}
	}
	if bad == 0 {
		return ""
	}
	return fmt.Sprintf(", %d not acknowledged", bad)
}
