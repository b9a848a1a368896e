package replay

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"amends.dev/amends/stages/worker"
)

// HoldGeneration is the group generation under which an administrative operation holds a partition: the highest there
// is, so that no assignment is newer (R16).
const HoldGeneration = math.MaxInt32

// holdPrefix marks the member of a partition that a replay holds.
const holdPrefix = "replay/"

// Hold is who owned a partition before a replay took it. It is written as the member of the partition's row, in the same
// statement that takes it, so that whoever finds the row knows what to restore.
type Hold struct {
	// Generation and Member are the former owner's; -1 and empty where there never was one.
	Generation int32
	Member     string
}

// String is the member under which the partition is held.
func (h Hold) String() string { return fmt.Sprintf("%s%d/%s", holdPrefix, h.Generation, h.Member) }

// HeldBy returns what a row's owner holds back, false where it is no replay.
func HeldBy(state worker.PartitionState) (Hold, bool) {
	rest, found := strings.CutPrefix(state.Member, holdPrefix)
	if !found || state.Generation != HoldGeneration {
		return Hold{}, false
	}
	generation, member, found := strings.Cut(rest, "/")
	n, err := strconv.ParseInt(generation, 10, 32)
	if !found || err != nil {
		return Hold{}, false
	}
	return Hold{Generation: int32(n), Member: member}, true
}

// holdOf is the hold of a replay over a row: that of an interrupted replay goes on, it is not nested.
func holdOf(state worker.PartitionState) Hold {
	if h, held := HeldBy(state); held {
		return h
	}
	return Hold{Generation: state.Generation, Member: state.Member}
}

// foreign reports whether an administrative operation other than a replay holds the partition.
func foreign(state worker.PartitionState) bool {
	_, held := HeldBy(state)
	return state.Generation == HoldGeneration && !held
}

// take asks for the partition under the replay's own epoch.
func take(state worker.PartitionState) worker.Installation {
	return worker.Installation{
		Partition: state.Partition, ExpectedEpoch: state.Epoch, Member: holdOf(state).String(), Generation: HoldGeneration,
	}
}

// Release asks for the former owner's row back, under one more epoch; false where no replay holds the partition. The
// owner may then acquire it again.
func Release(state worker.PartitionState) (worker.Installation, bool) {
	h, held := HeldBy(state)
	return worker.Installation{
		Partition: state.Partition, ExpectedEpoch: state.Epoch, Member: h.Member, Generation: h.Generation, TakeOver: true,
	}, held
}
