package view_test

import (
	"testing"
	"time"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/view/viewtest"
)

// TestR18OvertakenViewGoesOn: another process moved the position and is gone; the view that it overtook reads the new
// position and applies what comes then, by itself.
func TestR18OvertakenViewGoesOn(t *testing.T) {
	namespace, log := viewtest.Namespace(), viewtest.NewLog()
	harness := viewtest.Memory(t, namespace)
	open := func() *view.View {
		return view.New(view.Options{
			Config: view.NewConfig(namespace), Partition: 0, Store: harness.Store, Opener: log,
			Now: func() time.Time { return time.Unix(0, 0) },
		})
	}
	key := viewtest.KeyOf(namespace, 1) // maps to output partition 0
	steps := func(v *view.View, version int64) {
		t.Helper()
		log.Publish(t.Context(), []broker.Message{key.Balance("2026-01-02", version, 10*version)})
		for range 5 {
			if _, _, err := v.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	position := func() int64 { return harness.Inspect(t).Progress[0].Next }
	overtaken := open()
	steps(overtaken, 1)
	steps(overtaken, 2)
	if position() != 2 {
		t.Fatalf("the undamaged twin: position %d, want 2", position())
	}
	steps(open(), 3)
	steps(overtaken, 4)
	if position() != 4 {
		t.Errorf("position %d, want 4", position())
	}
}
