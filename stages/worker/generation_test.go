package worker_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// TestR16GivenAwayAndBackUnseen: while a worker was busy its partition was given to another member and back. That one's
// delayed installation comes after the worker has seen its newer assignment, and is refused, as it is without the absence.
func TestR16GivenAwayAndBackUnseen(t *testing.T) {
	for name, change := range map[string]func(m *workertest.Member){
		"undisturbed twin": func(*workertest.Member) {},
		"away and back": func(m *workertest.Member) {
			m.Assign("a", 2)
			m.Assign("a", 3, 0)
		},
		"another one gained": func(m *workertest.Member) { m.Assign("a", 3, 0, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			cfg, store, m := workertest.Config("r16", 2, 1), workertest.NewStore(2), workertest.NewMember()
			m.Assign("a", 1, 0)
			w := worker.New(worker.Options{
				Config: cfg, Store: store, Opener: workertest.NewLog(), Membership: m, Now: time.Now,
				Random: rand.New(rand.NewPCG(1, 1)).Int64N, PollWait: time.Millisecond, Idle: time.Nanosecond,
			})
			steps := func() {
				for range 5 {
					if _, _, err := w.Step(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			steps()
			read, err := store.PartitionState(t.Context(), 0) // what the other member goes by
			if err != nil || read.Epoch != 1 || read.Generation != 1 {
				t.Fatalf("%+v, %v", read, err)
			}
			change(m)
			steps()
			late := worker.Installation{Partition: 0, ExpectedEpoch: read.Epoch, Member: "b", Generation: 2}
			now, err := store.InstallEpoch(t.Context(), late)
			if refused := errors.Is(err, worker.ErrFenced); refused != (name != "undisturbed twin") {
				t.Errorf("late installation of generation 2: %+v, %v", now, err)
			}
			if s := w.Status(); s[0].Epoch != read.Epoch+1 && name != "undisturbed twin" {
				t.Errorf("status: %+v", s)
			}
		})
	}
}
