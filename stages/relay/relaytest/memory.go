package relaytest

import (
	"time"

	"amends.dev/amends/stages/relay/memory"
)

// Store is an outbox in memory.
type Store = memory.Store

// NewStore returns an empty outbox of the given number of source partitions, whose clock is now.
func NewStore(partitions int32, now func() time.Time) *Store { return memory.NewStore(partitions, now) }
