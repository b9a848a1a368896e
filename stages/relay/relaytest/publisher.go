package relaytest

import (
	"context"
	"errors"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/view/viewtest"
)

// ErrPublish is the error of a publication that a script broke.
var ErrPublish = errors.New("injected publish failure")

// Fate is what becomes of one message.
type Fate int

// The fates.
const (
	// Deliver appends and acknowledges.
	Deliver Fate = iota
	// LoseAck appends, but the acknowledgement never arrives (SC20).
	LoseAck
	// Reject appends nothing.
	Reject
)

// Publisher appends to an in-memory topic, with outcomes from a script. It is used by one goroutine.
type Publisher struct {
	Log *viewtest.Log
	// Fate decides message n, counted from 0 over the publisher's life; nil delivers all.
	Fate func(n int, m broker.Message) Fate
	// Before runs at the start of each Publish: time may pass there.
	Before func()
	// Sent counts messages.
	Sent int
}

// Publish implements broker.Publisher.
func (p *Publisher) Publish(ctx context.Context, messages []broker.Message) []broker.Ack {
	if p.Before != nil {
		p.Before()
	}
	acks := make([]broker.Ack, 0, len(messages))
	for _, m := range messages {
		fate := Deliver
		if p.Fate != nil {
			fate = p.Fate(p.Sent, m)
		}
		p.Sent++
		ack := broker.Ack{Err: ErrPublish}
		if fate != Reject {
			ack = p.Log.Publish(ctx, []broker.Message{m})[0]
		}
		if fate == LoseAck {
			ack = broker.Ack{Err: ErrPublish}
		}
		acks = append(acks, ack)
	}
	return acks
}
