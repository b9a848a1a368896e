package memory_test

import (
	"testing"

	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/memory"
	"amends.dev/amends/stages/owner/ownertest"
)

// subject is an empty disk with a store.
func subject(*testing.T) *ownertest.Subject {
	disk := memory.NewDisk()
	return &ownertest.Subject{
		Store:  memory.Open(disk),
		Reopen: func(*testing.T) owner.Store { return memory.Open(disk) },
		Crashing: func(*testing.T) owner.Store {
			store := memory.Open(disk)
			store.CrashBeforeCommit()
			return store
		},
		Place: func(t *testing.T, ownerID string, position uint64) { memory.Place(t, disk, ownerID, position) },
	}
}

func TestStore(t *testing.T) { ownertest.Suite(t, subject) }

func TestB134SameInboxOtherContent(t *testing.T) { ownertest.B134(t, subject(t)) }

func TestB135FiftyAtOnce(t *testing.T) { ownertest.B135(t, subject(t)) }

func TestB139RedeliveryAfterHandOff(t *testing.T) { ownertest.B139(t, subject(t)) }

func TestR28LatestIsPublishedOnce(t *testing.T) { ownertest.R28(t, subject(t)) }
