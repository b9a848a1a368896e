package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/stages/generate"
)

func acquire(t *testing.T, pool *Pool, holder string, ttl time.Duration) *WriterLease {
	t.Helper()
	l := NewWriterLease(pool, sourceID, holder)
	if err := l.Acquire(t.Context(), ttl); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestR22OneWriterAtATime(t *testing.T) {
	_, pool := catalog(t)
	first := acquire(t, pool, "first", time.Minute)
	second := NewWriterLease(pool, sourceID, "second")
	err := second.Acquire(t.Context(), time.Minute)
	if !errors.Is(err, generate.ErrLeaseHeld) || !strings.Contains(err.Error(), "first") {
		t.Fatalf("second writer: %v, want ErrLeaseHeld naming the first", err)
	}
	if err := NewWriterLease(pool, outputID, "second").Acquire(t.Context(), time.Minute); err != nil {
		t.Fatalf("writer of another topic: %v", err)
	}
	if err := first.Renew(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := first.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := first.Renew(t.Context(), time.Minute); !errors.Is(err, generate.ErrLeaseLost) {
		t.Fatalf("renew after release: %v, want ErrLeaseLost", err)
	}
	if err := second.Acquire(t.Context(), time.Minute); err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if err := first.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := second.Renew(t.Context(), time.Minute); err != nil {
		t.Fatalf("a late release of the first took the lease of the second: %v", err)
	}
}

func TestR22ExpiredLeaseIsTakenUnderANewTerm(t *testing.T) {
	_, pool := catalog(t)
	first := acquire(t, pool, "first", time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	if err := first.Renew(t.Context(), time.Millisecond); err != nil {
		t.Fatalf("an expired lease that nobody took: %v", err)
	}
	time.Sleep(20 * time.Millisecond)
	acquire(t, pool, "second", time.Minute)
	if err := first.Renew(t.Context(), time.Minute); !errors.Is(err, generate.ErrLeaseLost) {
		t.Fatalf("renew of a taken lease: %v, want ErrLeaseLost", err)
	}
	if _, err := first.StopRequested(t.Context()); !errors.Is(err, generate.ErrLeaseLost) {
		t.Fatalf("look at a taken lease: %v, want ErrLeaseLost", err)
	}
	rows, err := WriterLeases(t.Context(), pool, "")
	if err != nil || len(rows) != 1 || rows[0].Term != 2 || rows[0].Holder != "second" || !rows[0].Held {
		t.Fatalf("leases = %+v, %v", rows, err)
	}
}

func TestR22StopWriterWaitsForTheRelease(t *testing.T) {
	_, pool := catalog(t)
	if err := StopWriter(t.Context(), pool, sourceID); err != nil {
		t.Fatalf("without a writer: %v", err)
	}
	l := acquire(t, pool, "first", time.Minute)
	if stop, err := l.StopRequested(t.Context()); stop || err != nil {
		t.Fatalf("stop requested at the start: %t, %v", stop, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := StopWriter(short, pool, sourceID); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "first") {
		t.Fatalf("a writer that does not stop: %v", err)
	}
	stopped := make(chan error)
	go func() { stopped <- StopWriter(context.WithoutCancel(t.Context()), pool, sourceID) }()
	if stop, err := l.StopRequested(t.Context()); !stop || err != nil {
		t.Fatalf("stop requested: %t, %v", stop, err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	again := acquire(t, pool, "first", time.Minute)
	if stop, err := again.StopRequested(t.Context()); stop || err != nil {
		t.Fatalf("a stop of the former term reached the next: %t, %v", stop, err)
	}
}
