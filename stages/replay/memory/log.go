package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"amends.dev/amends/stages/operation"
)

// Log is an operation log in memory. It is safe for concurrent use.
type Log struct {
	mu  sync.Mutex
	all []*entry
}

type entry struct {
	operation.Operation
	outcome []byte
}

var _ operation.Log = (*Log)(nil)

// Begin implements operation.Log.
func (l *Log) Begin(_ context.Context, id string, request []byte) (operation.Operation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.find(id)
	if e == nil {
		e = &entry{Operation: operation.Operation{ID: id, Request: bytes.Clone(request)}}
		l.all = append(l.all, e)
	}
	if !bytes.Equal(e.Request, request) {
		return operation.Operation{}, fmt.Errorf("operation %s: %w", id, operation.ErrConflict)
	}
	return e.copied(), nil
}

// Record implements operation.Log.
func (l *Log) Record(_ context.Context, id string, step operation.Step) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.find(id)
	if e == nil || e.Done {
		return fmt.Errorf("operation %s is not open", id)
	}
	for _, s := range e.Steps {
		if s.Name == step.Name {
			if !bytes.Equal(s.Detail, step.Detail) {
				return fmt.Errorf("step %s of operation %s: %w", step.Name, id, operation.ErrConflict)
			}
			return nil
		}
	}
	e.Steps = append(e.Steps, operation.Step{Name: step.Name, Detail: bytes.Clone(step.Detail)})
	return nil
}

// Finish implements operation.Log.
func (l *Log) Finish(_ context.Context, id string, outcome []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.find(id)
	switch {
	case e == nil:
		return fmt.Errorf("operation %s was never begun", id)
	case e.Done && !bytes.Equal(e.outcome, outcome):
		return fmt.Errorf("outcome of operation %s: %w", id, operation.ErrConflict)
	}
	e.Done, e.outcome = true, bytes.Clone(outcome)
	return nil
}

// Find implements operation.Log.
func (l *Log) Find(_ context.Context, id string) (*operation.Operation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.find(id)
	if e == nil {
		return nil, nil
	}
	found := e.copied()
	return &found, nil
}

// Open implements operation.Log.
func (l *Log) Open(context.Context) ([]operation.Operation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var open []operation.Operation
	for _, e := range l.all {
		if !e.Done {
			o := e.copied()
			o.Steps = nil
			open = append(open, o)
		}
	}
	return open, nil
}

// find returns the entry of an ID; the caller holds the lock.
func (l *Log) find(id string) *entry {
	i := slices.IndexFunc(l.all, func(e *entry) bool { return e.ID == id })
	if i < 0 {
		return nil
	}
	return l.all[i]
}

func (e *entry) copied() operation.Operation {
	o := e.Operation
	o.Steps = slices.Clone(o.Steps)
	return o
}
