package ownerconformance

import (
	"context"
	"errors"
	"fmt"

	"amends.dev/amends/stages/owner"
	"amends.dev/amends/stages/owner/memory"
)

// Subject is one store under test, empty at first. It is used by one goroutine.
type Subject interface {
	// Store is the store as the present process has it.
	Store() owner.Store
	// CrashBeforeCommit runs a unit of work in a process that is lost after everything was written and before COMMIT takes
	// effect. Afterwards Store is that of a new process. It returns what the lost process was told, nil where it was not
	// lost.
	CrashBeforeCommit(ctx context.Context, c owner.Commit) (lost bool, err error)
	// Recover ends the present process without any farewell; Store is then that of a new one.
	Recover(ctx context.Context) error
	// Close removes everything.
	Close(ctx context.Context) error
}

// Open makes an empty subject; name is one that no other subject of the run has.
type Open func(ctx context.Context, name string) (Subject, error)

// Memory opens stores in memory.
func Memory(context.Context, string) (Subject, error) {
	disk := memory.NewDisk()
	return &inMemory{disk: disk, store: memory.Open(disk)}, nil
}

type inMemory struct {
	disk  *memory.Disk
	store *memory.Store
}

// Store implements Subject.
func (m *inMemory) Store() owner.Store { return m.store }

// CrashBeforeCommit implements Subject.
func (m *inMemory) CrashBeforeCommit(ctx context.Context, c owner.Commit) (bool, error) {
	m.store.CrashBeforeCommit()
	_, err := m.store.Commit(ctx, c)
	m.store = memory.Open(m.disk)
	if err != nil && !errors.Is(err, memory.ErrCrashed) {
		return false, fmt.Errorf("crash before commit: %w", err)
	}
	return err != nil, nil
}

// Recover implements Subject.
func (m *inMemory) Recover(context.Context) error {
	m.store = memory.Open(m.disk)
	return nil
}

// Close implements Subject.
func (m *inMemory) Close(context.Context) error { return nil }
