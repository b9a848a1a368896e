// Package egress publishes the latest states of owners: the third, deliberately separate protocol beside history and
// snapshot (R28). Values that were replaced before they were published never are, so that a receiver learns the last
// state of an owner and nothing about what led to it.
//
// Publication is at least once: a value whose publication was not noted, because the process died or the store did not
// answer, is published again. Several processes may publish at once; a receiver tells an older value of an owner by its
// position.
package egress

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/owner"
)

// Source is where the values are; every owner.Store is one.
type Source interface {
	// PendingLatest returns values that were not published since they were replaced last, oldest first.
	PendingLatest(ctx context.Context, prefix string, limit int) ([]owner.LatestDurableProjection, error)
	// LatestPublished notes a publication; false where the owner's value is another one by now.
	LatestPublished(ctx context.Context, published owner.LatestDurableProjection) (bool, error)
}

// Publisher hands values to their receiver. It takes nothing but LatestDurableProjections, and nothing that claims complete
// history.
type Publisher interface {
	// Publish returns one outcome for each value, in order: nil only after the receiver has it. It may be called again
	// with the same values.
	Publish(ctx context.Context, values []owner.LatestDurableProjection) []error
}

// Clock is the time.
type Clock interface {
	// Now is the present moment.
	Now() time.Time
}

// Config is how an egress works.
type Config struct {
	// Prefix restricts it to owners whose ID begins so; empty is all.
	Prefix string
	// Batch bounds the values of one step; 100 where it is not positive.
	Batch int
	// Idle is how long to wait where nothing was pending.
	Idle time.Duration
}

// defaultBatch is Config.Batch where it is not given.
const defaultBatch = 100

// Egress publishes pending values. Not safe for concurrent use.
type Egress struct {
	source    Source
	publisher Publisher
	clock     Clock
	config    Config
	published int64
}

// New puts an egress together.
func New(source Source, publisher Publisher, clock Clock, config Config) *Egress {
	if config.Batch <= 0 {
		config.Batch = defaultBatch
	}
	return &Egress{source: source, publisher: publisher, clock: clock, config: config}
}

// Published counts the values that were published and noted.
func (e *Egress) Published() int64 { return e.published }

// Step does one bounded unit of work: it publishes the values that are pending now, each once, and notes it. A value that
// was replaced while it was published stays pending with its successor. progress asks for another Step at once, otherwise
// not before wake. An error is a fault to back off from; a value that cannot be published holds up no other.
func (e *Egress) Step(ctx context.Context) (progress bool, wake time.Time, err error) {
	values, err := e.source.PendingLatest(ctx, e.config.Prefix, e.config.Batch)
	if err != nil {
		return false, time.Time{}, fmt.Errorf("find latest values to publish: %w", err)
	}
	if len(values) == 0 {
		return false, e.clock.Now().Add(e.config.Idle), nil
	}
	outcomes := e.publisher.Publish(ctx, values)
	if len(outcomes) != len(values) {
		return false, time.Time{}, invariant.Violated("publisher answered %d of %d values", len(outcomes), len(values))
	}
	for n, value := range values {
		if outcomes[n] != nil {
			err = cmp.Or(err, fmt.Errorf("publish the latest value of %q: %w", value.OwnerID(), outcomes[n]))
			continue
		}
		noted, err := e.source.LatestPublished(ctx, value)
		if err != nil {
			return false, time.Time{}, fmt.Errorf("note that the latest value of %q was published: %w", value.OwnerID(), err)
		}
		if noted {
			e.published++
		}
	}
	return err == nil, time.Time{}, err
}
