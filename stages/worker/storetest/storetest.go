// Package storetest is the one suite that every worker.Store must pass.
package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// Partitions is how many partitions a Subject's store must have, numbered from 0 and without an owner.
const Partitions = 3

// KeyCount is how many stock keys a Subject's store must have, numbered from 0.
const KeyCount = 4

// Subject is a fresh store under test.
type Subject struct {
	Store worker.Store
	// Tables reads everything that is committed.
	Tables func(t *testing.T) workertest.Tables
}

// Run runs the suite; fresh makes a subject for each test.
func Run(t *testing.T, fresh func(t *testing.T) Subject) {
	for name, test := range map[string]func(t *testing.T, s Subject){
		"InitialState":         testInitialState,
		"R16InstallEpoch":      testInstallEpoch,
		"S8BeginFence":         testBeginFence,
		"S8EveryTable":         testEveryTable,
		"Rollback":             testRollback,
		"B031FencedWritesNone": testFencedWritesNothing,
		"R36Stop":              testStop,
		"SC19LockOrder":        testLockOrder,
		"B033StateAfterLock":   testStateAfterLock,
		"RefusedChanges":       testRefusedChanges,
		"R14PartitionsApart":   testPartitionsApart,
	} {
		t.Run(name, func(t *testing.T) { test(t, fresh(t)) })
	}
}

// Diff compares two dumps; empty and missing lists are the same. It is empty where they are equal.
func Diff(want, got workertest.Tables) string {
	if reflect.DeepEqual(want, got) { // much faster on the thousands of rows of a long run
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty())
}

// Install takes over a partition for one member at a generation, whoever owned it.
func Install(t *testing.T, store worker.Store, partition int32, member string, generation int32) worker.PartitionState {
	t.Helper()
	state, err := store.PartitionState(t.Context(), partition)
	if err != nil {
		t.Fatal(err)
	}
	state, err = store.InstallEpoch(t.Context(), worker.Installation{
		Partition: partition, ExpectedEpoch: state.Epoch, Member: member, Generation: generation,
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// commit runs one unit of work.
func commit(t *testing.T, store worker.Store, state worker.PartitionState, changes ledger.Changes) {
	t.Helper()
	unit, err := store.Begin(t.Context(), state.Partition, state.Epoch, state.NextOffset)
	if err != nil {
		t.Fatal(err)
	}
	if err := unit.Commit(t.Context(), changes); err != nil {
		t.Fatal(err)
	}
}

func testInitialState(t *testing.T, s Subject) {
	for partition := range int32(Partitions) {
		state, err := s.Store.PartitionState(t.Context(), partition)
		want := worker.PartitionState{Partition: partition, Generation: -1}
		if diff := cmp.Diff(want, state); err != nil || diff != "" {
			t.Errorf("partition %d: %v %s", partition, err, diff)
		}
	}
	if _, err := s.Store.PartitionState(t.Context(), Partitions); err == nil {
		t.Error("a partition that does not exist has a state")
	}
}

// testInstallEpoch goes through the rules of R16 one by one, on one row.
func testInstallEpoch(t *testing.T, s Subject) {
	steps := []struct {
		name   string
		in     worker.Installation
		fenced bool
	}{
		{"another epoch than read", worker.Installation{ExpectedEpoch: 1, Member: "a", Generation: 5}, true},
		{"first owner", worker.Installation{ExpectedEpoch: 0, Member: "a", Generation: 5}, false},
		{"same epoch again", worker.Installation{ExpectedEpoch: 0, Member: "b", Generation: 6}, true},
		{"equal generation of another member", worker.Installation{ExpectedEpoch: 1, Member: "b", Generation: 5}, true},
		{"lower generation", worker.Installation{ExpectedEpoch: 1, Member: "a", Generation: 4}, true},
		{"equal generation of the same member", worker.Installation{ExpectedEpoch: 1, Member: "a", Generation: 5}, false},
		{"higher generation", worker.Installation{ExpectedEpoch: 2, Member: "b", Generation: 6}, false},
		{"old owner with the new epoch", worker.Installation{ExpectedEpoch: 3, Member: "a", Generation: 5}, true},
		{"recreated group", worker.Installation{ExpectedEpoch: 3, Member: "c", Generation: 1}, true},
		{"recreated group, take-over", worker.Installation{ExpectedEpoch: 3, Member: "c", Generation: 1, TakeOver: true}, false},
		{"take-over of another epoch", worker.Installation{ExpectedEpoch: 3, Member: "d", Generation: 9, TakeOver: true}, true},
	}
	for _, step := range steps {
		before, err := s.Store.PartitionState(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		state, err := s.Store.InstallEpoch(t.Context(), step.in)
		if step.fenced {
			after, readErr := s.Store.PartitionState(t.Context(), 0)
			if !errors.Is(err, worker.ErrFenced) || fault.ClassOf(err) != fault.Fenced || readErr != nil || !cmp.Equal(before, after) {
				t.Errorf("%s: %v, state %+v, then %+v", step.name, err, before, after)
			}
			continue
		}
		want := worker.PartitionState{Epoch: step.in.ExpectedEpoch + 1, Member: step.in.Member, Generation: step.in.Generation}
		if diff := cmp.Diff(want, state); err != nil || diff != "" {
			t.Errorf("%s: %v %s", step.name, err, diff)
		}
	}
}

func testBeginFence(t *testing.T, s Subject) {
	state := Install(t, s.Store, 1, "a", 1)
	for _, c := range [][2]int64{{state.Epoch - 1, 0}, {state.Epoch + 1, 0}, {state.Epoch, 1}} {
		if _, err := s.Store.Begin(t.Context(), 1, c[0], c[1]); !errors.Is(err, worker.ErrFenced) {
			t.Errorf("epoch %d, frontier %d: %v", c[0], c[1], err)
		}
	}
	commit(t, s.Store, state, ledger.Changes{NextOffset: 10})
	if _, err := s.Store.Begin(t.Context(), 1, state.Epoch, 0); !errors.Is(err, worker.ErrFenced) {
		t.Errorf("old frontier: %v", err)
	}
	state.NextOffset = 10
	commit(t, s.Store, state, ledger.Changes{NextOffset: 10})
}

func testRollback(t *testing.T, s Subject) {
	state := Install(t, s.Store, 0, "a", 1)
	before := s.Tables(t)
	unit, err := s.Store.Begin(t.Context(), 0, state.Epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	unit.Rollback(ctx) // an ended context must not keep the lock
	unit.Rollback(t.Context())
	if err := unit.Commit(t.Context(), FirstChanges()); err == nil {
		t.Error("a unit was committed after its rollback")
	}
	if diff := Diff(before, s.Tables(t)); diff != "" {
		t.Errorf("changed: %s", diff)
	}
	commit(t, s.Store, state, FirstChanges())
	unit.Rollback(t.Context())
}

// testFencedWritesNothing: after epoch 2 is installed, no write of epoch 1 to any table goes through (B031).
func testFencedWritesNothing(t *testing.T, s Subject) {
	old := Install(t, s.Store, 0, "a", 1)
	current := Install(t, s.Store, 0, "b", 2)
	before := s.Tables(t)
	all := FirstChanges()
	for name, changes := range map[string]ledger.Changes{
		"authority":  {NewAuthority: all.NewAuthority, NextOffset: 1},
		"evidence":   {Evidence: all.Evidence, NextOffset: 1},
		"day_state":  {NewDays: all.NewDays, NextOffset: 1},
		"outbox":     {Envelopes: all.Envelopes, NextOffset: 1},
		"quarantine": {Quarantine: all.Quarantine, NextOffset: 1},
		"progress":   {NextOffset: 1},
	} {
		unit, err := s.Store.Begin(t.Context(), 0, old.Epoch, old.NextOffset)
		if err == nil {
			err = unit.Commit(t.Context(), changes)
		}
		if !errors.Is(err, worker.ErrFenced) {
			t.Errorf("%s under the old epoch: %v", name, err)
		}
	}
	if err := s.Store.RecordStop(t.Context(), 0, old.Epoch, 0, worker.Stop{Reason: "internal_error"}); !errors.Is(err, worker.ErrFenced) {
		t.Errorf("stop under the old epoch: %v", err)
	}
	if diff := Diff(before, s.Tables(t)); diff != "" {
		t.Errorf("a fenced owner wrote: %s", diff)
	}
	commit(t, s.Store, current, all) // the undamaged twin
}

func testStop(t *testing.T, s Subject) {
	state := Install(t, s.Store, 2, "a", 1)
	stop := worker.Stop{Reason: ledger.StopOverflow, Offset: 7, Detail: "close of day 1 would be 9223372036854775808"}
	if err := s.Store.RecordStop(t.Context(), 2, state.Epoch, 5, stop); !errors.Is(err, worker.ErrFenced) {
		t.Errorf("another frontier: %v", err)
	}
	if err := s.Store.RecordStop(t.Context(), 2, state.Epoch, 0, stop); err != nil {
		t.Fatal(err)
	}
	got, err := s.Store.PartitionState(t.Context(), 2)
	state.Stop = &stop
	if diff := cmp.Diff(state, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := s.Store.Begin(t.Context(), 2, state.Epoch, 0); !errors.Is(err, worker.ErrFenced) {
		t.Errorf("a unit of work on a stopped partition: %v", err)
	}
	commit(t, s.Store, Install(t, s.Store, 1, "a", 1), ledger.Changes{NextOffset: 3}) // others go on
}

// testLockOrder: a unit that holds the lock may finish before the new epoch is installed, and then the new owner sees
// what it wrote (SC19).
func testLockOrder(t *testing.T, s Subject) {
	old := Install(t, s.Store, 0, "a", 1)
	unit, err := s.Store.Begin(t.Context(), 0, old.Epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		state worker.PartitionState
		err   error
	}
	installed := make(chan result, 1)
	go func() {
		state, err := s.Store.InstallEpoch(context.Background(), worker.Installation{ExpectedEpoch: old.Epoch, Member: "b", Generation: 2})
		installed <- result{state, err}
	}()
	select {
	case r := <-installed:
		t.Fatalf("installed while a unit of work held the lock: %+v", r)
	case <-time.After(200 * time.Millisecond):
	}
	if err := unit.Commit(t.Context(), FirstChanges()); err != nil {
		t.Fatal(err)
	}
	r := <-installed
	want := worker.PartitionState{Epoch: old.Epoch + 1, Member: "b", Generation: 2, NextOffset: FirstChanges().NextOffset}
	if diff := cmp.Diff(want, r.state); r.err != nil || diff != "" {
		t.Errorf("%v %s", r.err, diff)
	}
}

// testStateAfterLock: an old owner whose Begin waited for the lock while its epoch was replaced, or while its frontier
// moved, sees the new row and not the one it had found before the wait (B033).
func testStateAfterLock(t *testing.T, s Subject) {
	owner := Install(t, s.Store, 0, "a", 1)
	holder, err := s.Store.Begin(t.Context(), 0, owner.Epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan error, 1)
	go func() {
		unit, err := s.Store.Begin(context.Background(), 0, owner.Epoch, 0)
		if err == nil {
			unit.Rollback(context.Background())
		}
		begun <- err
	}()
	select {
	case err := <-begun:
		t.Fatalf("begun while another unit of work held the lock: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	if err := holder.Commit(t.Context(), FirstChanges()); err != nil {
		t.Fatal(err)
	}
	// Under stricter isolation the server refuses the stale snapshot first; the next try then meets the fence.
	if err := <-begun; err == nil {
		t.Error("a unit of work began on a frontier that had moved")
	}
	if _, err := s.Store.Begin(t.Context(), 0, owner.Epoch, 0); !errors.Is(err, worker.ErrFenced) {
		t.Errorf("tried again: %v", err)
	}
}

// testRefusedChanges: changes that were decided on another state than the stored one are refused as a whole.
func testRefusedChanges(t *testing.T, s Subject) {
	state := Install(t, s.Store, 0, "a", 1)
	commit(t, s.Store, state, FirstChanges())
	state.NextOffset = FirstChanges().NextOffset
	before := s.Tables(t)
	first, fine := FirstChanges(), ledger.Changes{NextOffset: state.NextOffset + 1}
	with := func(change func(c *ledger.Changes)) ledger.Changes {
		c := fine
		change(&c)
		return c
	}
	for name, changes := range map[string]ledger.Changes{
		"frontier back":       {NextOffset: state.NextOffset - 1},
		"authority twice":     with(func(c *ledger.Changes) { c.NewAuthority = first.NewAuthority }),
		"evidence twice":      with(func(c *ledger.Changes) { c.Evidence = first.Evidence }),
		"day twice":           with(func(c *ledger.Changes) { c.NewDays = first.NewDays }),
		"conflict twice":      with(func(c *ledger.Changes) { c.Conflicts = first.Conflicts }),
		"quarantine twice":    with(func(c *ledger.Changes) { c.Quarantine = first.Quarantine }),
		"authority not there": with(func(c *ledger.Changes) { c.ChangedAuthority = []ledger.AuthorityRow{{KeyID: 3, TxnID: "no"}} }),
		"one of two days gone": with(func(c *ledger.Changes) {
			c.ChangedDays = append(slices.Clone(first.NewDays[:1]), ledger.DayRow{KeyID: 3})
		}),
	} {
		unit, err := s.Store.Begin(t.Context(), 0, state.Epoch, state.NextOffset)
		if err != nil {
			t.Fatal(err)
		}
		if err := unit.Commit(t.Context(), changes); fault.ClassOf(err) != fault.Stop {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := Diff(before, s.Tables(t)); diff != "" {
		t.Errorf("changed: %s", diff)
	}
	commit(t, s.Store, state, fine)
}

// testPartitionsApart: units of work on two partitions are open at once and number their outboxes apart.
func testPartitionsApart(t *testing.T, s Subject) {
	a, b := Install(t, s.Store, 0, "a", 1), Install(t, s.Store, 1, "a", 1)
	first, err := s.Store.Begin(t.Context(), 0, a.Epoch, 0)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s.Store, b, ledger.Changes{Envelopes: envelopes("b1", "b2"), NextOffset: 4, Rejected: 2})
	if err := first.Commit(t.Context(), ledger.Changes{Envelopes: envelopes("a1"), NextOffset: 9, Accepted: 3}); err != nil {
		t.Fatal(err)
	}
	want := workertest.Tables{
		Partitions: []workertest.PartitionRow{
			{Partition: 0, NextOffset: 9, OutboxNext: 2, Accepted: 3},
			{Partition: 1, NextOffset: 4, OutboxNext: 3, Rejected: 2},
			{Partition: 2, OutboxNext: 1},
		},
		Outbox: []workertest.OutboxRow{
			{Partition: 0, Seq: 1, Key: []byte("k"), Value: []byte("a1")},
			{Partition: 1, Seq: 1, Key: []byte("k"), Value: []byte("b1")},
			{Partition: 1, Seq: 2, Key: []byte("k"), Value: []byte("b2")},
		},
	}
	if diff := Diff(want, s.Tables(t)); diff != "" {
		t.Error(diff)
	}
}

func envelopes(texts ...string) []ledger.Envelope {
	all := make([]ledger.Envelope, len(texts))
	for i, text := range texts {
		all[i] = ledger.Envelope{Key: []byte("k"), Value: []byte(text)}
	}
	return all
}
