package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/rebuild"
	"amends.dev/amends/stages/rebuild/memory"
	"amends.dev/amends/stages/worker"
)

// bytewise compares bytes as a whole: one at a time takes minutes for megabytes. Null is not empty.
var bytewise = cmp.Comparer(func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) })

func sequence[T any](rows ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// bulk is a load with every kind of row and value, and enough envelopes for several packed rows.
func bulk() rebuild.Load {
	long := strings.Repeat("é", 128)
	payload := ledger.Payload{Revision: 9223372036854775807, Kind: ledger.KindAmend, ValidTime: -1, Qty: -9223372036854775808}
	digest := sha256.Sum256(nil)
	var envelopes []ledger.Envelope
	for i := range 5000 {
		envelopes = append(envelopes, ledger.Envelope{Key: []byte(`["a","b"]`), Value: bytes.Repeat([]byte{byte('a' + i%26)}, 2000)})
	}
	return rebuild.Load{
		Partition: 0, Member: "rebuild/test", NextOffset: 12, Accepted: 9, Rejected: 2,
		Authority: sequence(
			ledger.AuthorityRow{KeyID: 0, TxnID: long, Payload: payload, Ambiguous: true, SourceOffset: 3},
			ledger.AuthorityRow{KeyID: 1, TxnID: "t\x01\n\\N", Payload: ledger.Payload{Revision: 1, Kind: ledger.KindCancel}, SourceOffset: 4}),
		Evidence:  sequence(ledger.EvidenceRow{KeyID: 0, TxnID: long, Payload: ledger.Payload{Revision: 2, Kind: ledger.KindNew, ValidTime: 5, Qty: 1}, SourceOffset: 1}),
		Conflicts: sequence(ledger.ConflictRow{KeyID: 0, TxnID: long, Revision: payload.Revision, DetectedOffset: 7}),
		Days: sequence(
			ledger.DayRow{KeyID: 1, Day: -3, Active: 2, Close: -7, BalanceVersion: 1, AlertVersion: 1, AlertPresent: true, AlertClose: -7},
			ledger.DayRow{KeyID: 1, Day: 4, Active: 1, Close: 9223372036854775807, BalanceVersion: 1}),
		Keys: sequence(
			ledger.KeyRow{KeyID: 0, StatusVersion: 1, Conflicts: []ledger.ConflictRef{{TxnID: "a", Revision: 2}, {TxnID: long, Revision: payload.Revision}}},
			ledger.KeyRow{KeyID: 1, StatusVersion: 1}),
		Quarantine: sequence(
			ledger.QuarantineRow{Offset: 5, Reason: ledger.ReasonNullValue, KeyLength: -1, ValueLength: -1},
			ledger.QuarantineRow{Offset: 6, Reason: ledger.ReasonInvalidJSON, Key: []byte{}, Value: []byte{0, 255}, ValueLength: 2,
				KeySHA256: digest[:], ValueSHA256: digest[:]}),
		Envelopes: sequence(envelopes...),
	}
}

// TestRebuildLoadEqualsCommit: what is loaded by binary COPY is, row for row, what a worker's unit of work writes.
func TestRebuildLoadEqualsCommit(t *testing.T) {
	admin := open(t, pg.New(t), "")
	cfg := ledger.NewConfig(testNamespace("x", 2), sourceID)
	loaded, committed := subjectIn(t, admin, cfg, "loaded", nil), subjectIn(t, admin, cfg, "committed", nil)
	store := loaded.Store.(*WorkerStore)
	if err := NewRebuildStore(store.pool, sourceID).Load(t.Context(), bulk()); err != nil {
		t.Fatal(err)
	}
	if err := (memory.Store{Worker: committed.Store}).Load(t.Context(), bulk()); err != nil {
		t.Fatal(err)
	}
	want := committed.Tables(t)
	if len(want.Outbox) != 5000 || len(want.Quarantine) != 2 || len(want.Keys) != 2 {
		t.Fatalf("the twin has %d envelopes, %d rejections, %d keys", len(want.Outbox), len(want.Quarantine), len(want.Keys))
	}
	if diff := cmp.Diff(want, loaded.Tables(t), bytewise); diff != "" {
		t.Fatalf("(-committed +loaded):\n%s", diff)
	}
	var rows int
	if err := store.pool.QueryRow(t.Context(), `SELECT count(*) FROM outbox`).Scan(&rows); err != nil || rows != 3 {
		t.Errorf("10 MB of envelopes are packed into %d rows (%v), want 3", rows, err)
	}
	// R16: the first worker of a consumer group may install its epoch over that of the load, and goes on at H.
	state, err := loaded.Store.InstallEpoch(t.Context(), worker.Installation{Partition: 0, ExpectedEpoch: 1, Member: "m", Generation: 1})
	if err != nil || state.NextOffset != 12 || state.Epoch != 2 {
		t.Errorf("%+v, %v", state, err)
	}
}

// TestRebuildLoadIsAtomic: a load that cannot be completed leaves nothing, and one that meets used state writes nothing.
func TestRebuildLoadIsAtomic(t *testing.T) {
	admin := open(t, pg.New(t), "")
	cfg := ledger.NewConfig(testNamespace("x", 2), sourceID)
	subject := subjectIn(t, admin, cfg, "n", nil)
	store := NewRebuildStore(subject.Store.(*WorkerStore).pool, sourceID)
	empty := subject.Tables(t)
	broken := errors.New("broken")
	for name, damage := range map[string]func(l *rebuild.Load){
		"a sequence that fails": func(l *rebuild.Load) {
			l.Envelopes = func(yield func(ledger.Envelope, error) bool) { yield(ledger.Envelope{}, broken) }
		},
		"a row twice": func(l *rebuild.Load) {
			row := ledger.DayRow{KeyID: 1, Day: 1, Active: 1, BalanceVersion: 1}
			l.Days = sequence(row, row)
		},
		"a text with a null byte": func(l *rebuild.Load) {
			l.Authority = sequence(ledger.AuthorityRow{TxnID: "\x00", Payload: ledger.Payload{Revision: 1}})
		},
		"a row without end": func(l *rebuild.Load) {
			l.Evidence = func(yield func(ledger.EvidenceRow, error) bool) {
				for yield(ledger.EvidenceRow{TxnID: "same"}, nil) {
					continue
				}
			}
		},
	} {
		load := bulk()
		damage(&load)
		err := store.Load(t.Context(), load)
		if err == nil || name == "a sequence that fails" && !errors.Is(err, broken) {
			t.Fatalf("%s: %v", name, err)
		}
		if name == "a row twice" && fault.ClassOf(err) != fault.Stop {
			t.Errorf("%s: %v is of class %v", name, err, fault.ClassOf(err))
		}
		if diff := cmp.Diff(empty, subject.Tables(t), bytewise); diff != "" {
			t.Fatalf("%s left (-want +got):\n%s", name, diff)
		}
	}
	if err := store.Load(t.Context(), bulk()); err != nil {
		t.Fatal(err)
	}
	full := subject.Tables(t)
	if err := store.Load(t.Context(), bulk()); !errors.Is(err, rebuild.ErrNotEmpty) {
		t.Fatalf("a second load: %v", err)
	}
	if diff := cmp.Diff(full, subject.Tables(t), bytewise); diff != "" {
		t.Fatalf("refusing changed (-want +got):\n%s", diff)
	}
}

// TestRebuildLockedFirst: a load holds the partition's row from its first statement on; whoever asks waits (S8).
func TestRebuildLockedFirst(t *testing.T) {
	admin := open(t, pg.New(t), "")
	cfg := ledger.NewConfig(testNamespace("x", 2), sourceID)
	subject := subjectIn(t, admin, cfg, "n", nil)
	store := NewRebuildStore(subject.Store.(*WorkerStore).pool, sourceID)
	load := bulk()
	reached, release := make(chan struct{}), make(chan struct{})
	load.Authority = func(func(ledger.AuthorityRow, error) bool) { close(reached); <-release }
	done := make(chan error, 1)
	go func() { done <- store.Load(context.WithoutCancel(t.Context()), load) }()
	<-reached
	probe := func() error {
		return pgx.BeginFunc(t.Context(), subject.Store.(*WorkerStore).pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `SET LOCAL lock_timeout = '100ms'`); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), `SELECT FROM partition_state WHERE partition = 0 FOR UPDATE`)
			return err
		})
	}
	if err := probe(); sqlState(err) != "55P03" {
		t.Fatalf("the row is not locked while a load runs: %v", err)
	}
	close(release)
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the load does not end")
	}
	if err := probe(); err != nil {
		t.Fatal(fmt.Errorf("the row stays locked: %w", err))
	}
}
