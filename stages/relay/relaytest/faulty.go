package relaytest

import (
	"context"
	"errors"

	"amends.dev/amends/stages/relay"
)

// ErrMark is the error of a mark that Faulty broke.
var ErrMark = errors.New("injected mark failure")

// Fault is what happens to a mark.
type Fault int

// The two places a process or connection can die around a mark (SC20).
const (
	// BeforeMark loses the mark: the messages are acknowledged and not marked.
	BeforeMark Fault = iota + 1
	// AfterMark loses only the answer.
	AfterMark
)

// Faulty is an Outbox whose marks fail as told. It is used by one goroutine.
type Faulty struct {
	relay.Outbox
	// Next breaks the next mark and is then cleared.
	Next Fault
}

// Mark implements relay.Outbox.
func (f *Faulty) Mark(ctx context.Context, mark relay.Mark) error {
	fault := f.Next
	f.Next = 0
	if fault == BeforeMark {
		return ErrMark
	}
	if err := f.Outbox.Mark(ctx, mark); err != nil {
		return err
	}
	if fault == AfterMark {
		return ErrMark
	}
	return nil
}
