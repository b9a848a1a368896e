package view

import (
	"context"
	"errors"
	"fmt"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
)

// ErrCauseStands is wrapped where the cause of a persisted stop was looked into and still stands (R36).
var ErrCauseStands = errors.New("the cause stands")

// Prober opens units of work that can never commit.
type Prober interface {
	// Probe opens a unit of work on a partition, stopped or not, and returns its position. Its Commit writes everything,
	// rolls it back and returns the error of writing.
	Probe(ctx context.Context, partition int32) (Unit, int64, error)
}

// probing is a Store whose units can never commit.
type probing struct {
	unit Unit
	next int64
}

// Position implements Store.
func (p probing) Position(context.Context, int32) (int64, error) { return p.next, nil }

// Begin implements Store.
func (p probing) Begin(context.Context, int32, int64) (Unit, error) { return p.unit, nil }

// Recheck judges again the message at which a partition stopped, and writes nothing. nil says that the cause is gone; an
// error that wraps ErrCauseStands, that it is not; any other, that it could not be found out.
func Recheck(ctx context.Context, config *Config, store Prober, opener broker.Opener, stop *StoppedError) error {
	unit, next, err := store.Probe(ctx, stop.Partition)
	if err != nil {
		return err
	}
	defer unit.Rollback(ctx)
	reader, err := opener.Open(ctx, stop.Partition, next)
	if err != nil {
		return err
	}
	defer reader.Close()
	fetch, err := reader.Poll(ctx, DefaultMaxRecords)
	switch {
	case err != nil:
		return err
	case fetch.Next == next:
		return fmt.Errorf("output partition %d delivers nothing at %d, where it stopped", stop.Partition, next)
	}
	v := New(Options{Config: config, Partition: stop.Partition, Store: probing{unit: unit, next: next}, Opener: opener})
	v.next = next
	changes, err := v.commit(ctx, fetch)
	switch {
	case invariant.Is(err) || fault.ClassOf(err) == fault.Stop:
		return fmt.Errorf("output partition %d: %w: %w", stop.Partition, err, ErrCauseStands)
	case err != nil:
		return fmt.Errorf("judge output partition %d from %d: %w", stop.Partition, next, err)
	case changes.Violation != nil && changes.Violation.Offset == stop.Offset:
		problem := changes.Violation.Problem
		return fmt.Errorf("output partition %d, offset %d: %s: %s: %w", stop.Partition, stop.Offset, problem.Reason, problem.Detail, ErrCauseStands)
	}
	return nil
}
