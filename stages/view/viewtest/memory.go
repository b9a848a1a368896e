package viewtest

import "amends.dev/amends/stages/view/memory"

// Store is a view in memory.
type Store = memory.Store

// Progress is a partition's position with its counters.
type Progress = memory.Progress

// NewStore returns an empty view of the given number of output partitions.
func NewStore(partitions int32) *Store { return memory.NewStore(partitions) }
