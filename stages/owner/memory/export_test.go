package memory

import (
	"testing"

	"amends.dev/amends/stages/owner"
)

// Place moves an owner to a position.
func Place(t *testing.T, disk *Disk, ownerID string, position uint64) {
	t.Helper()
	s := Open(disk)
	disk.mu.Lock()
	defer disk.mu.Unlock()
	s.catchUp()
	row := s.owners[ownerID].row
	row.Position = position
	disk.log = append(disk.log, []*owner.Changes{{Owner: row}})
}
