package postgres

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/generate"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/relay/relaytest"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/view/viewtest"
	"amends.dev/amends/stages/worker"
	"amends.dev/amends/stages/worker/workertest"
)

// repeated returns two words in a row that an error says twice, empty where there are none. The server's own words do not
// count.
func repeated(text string) string {
	text, _, _ = strings.Cut(text, "ERROR: ")
	words := strings.Fields(strings.ReplaceAll(text, ":", " "))
	seen := map[string]bool{}
	for i := 1; i < len(words); i++ {
		pair := words[i-1] + " " + words[i]
		if seen[pair] {
			return pair
		}
		seen[pair] = true
	}
	return ""
}

// TestRepeated: the check of the next test can fail.
func TestRepeated(t *testing.T) {
	for text, want := range map[string]string{
		"renew the writer lease of source topic X: closed pool":                         "",
		"renew the writer lease: renew the writer lease of source topic X: closed pool": "renew the",
		"begin: ERROR: the row the row (SQLSTATE 1)":                                    "",
	} {
		if got := repeated(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// broken takes a table away, or the connections where it is empty, and returns what puts it back.
func broken(t *testing.T, pool *pgxpool.Pool, table string) func() {
	t.Helper()
	rename := func(from, to string) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
			t.Fatal(err)
		}
	}
	rename(table, table+"_gone")
	return func() { rename(table+"_gone", table) }
}

// says holds an error to what it must name, which it says once.
func says(t *testing.T, err error, pattern string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("no error, want %s", pattern)
	case !regexp.MustCompile(pattern).MatchString(err.Error()):
		t.Errorf("%v\nwant %s", err, pattern)
	case repeated(err.Error()) != "":
		t.Errorf("%v\nsays %q twice", err, repeated(err.Error()))
	}
}

// TestErrorsOfTheWorkerSayOnce: whatever table is gone, the worker says once what it did to which partition. With all of
// them it commits.
func TestErrorsOfTheWorkerSayOnce(t *testing.T) {
	pool := newState(t, 1, nil)
	cfg := ledger.NewConfig(testNamespace("shop", 1), sourceID)
	log, generation := workertest.NewLog(), int32(0)
	run := func() (frontier int64, err error) {
		t.Helper()
		generation++
		log.Append(0, []byte("no key"), []byte("no record"))
		member := workertest.NewMember()
		member.Assign("m", generation, 0)
		w := worker.New(worker.Options{
			Config: cfg, Store: NewWorkerStore(pool, sourceID), Opener: log, Membership: member, Now: time.Now,
			Random: func(int64) int64 { return 0 }, PollWait: time.Millisecond,
		})
		defer w.Close()
		for range 3 {
			if _, _, err := w.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
			if stall := w.Status()[0].Stall; stall != nil {
				return 0, errors.New(stall.Reason)
			}
		}
		return w.Status()[0].Frontier, nil
	}
	if frontier, err := run(); err != nil || frontier != 1 {
		t.Fatalf("with all tables: %d, %v", frontier, err)
	}
	for table, pattern := range map[string]string{
		"partition_state": `^read the state of partition 0: ERROR: `,
		"quarantine":      `^write a unit of work on partition 0: .*: ERROR: `,
	} {
		restore := broken(t, pool, table)
		_, err := run()
		says(t, err, pattern)
		restore()
	}
}

// TestErrorsOfTheRelaySayOnce: the same of the relay, which names its lease, or partition and sequence.
func TestErrorsOfTheRelaySayOnce(t *testing.T) {
	h := openOutbox(t)
	store, ok := h.Outbox.(*RelayStore)
	if !ok {
		t.Fatalf("%T", h.Outbox)
	}
	ns := viewtest.Namespace()
	publisher := &relaytest.Publisher{Log: viewtest.NewLog()}
	r, err := relay.New(relay.Options{Outbox: store, Publisher: publisher, Holder: "r", Partitions: ns.Spec.Output.Partitions, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	step := func() error { _, _, err := r.Step(t.Context()); return err }
	h.Prepare(t, 1, []broker.Message{{Key: []byte("k"), Value: []byte("v")}})()
	if err := step(); err != nil || publisher.Sent != 1 {
		t.Fatalf("with all tables: %d sent, %v", publisher.Sent, err)
	}
	h.Prepare(t, 1, []broker.Message{{Key: []byte("k"), Value: []byte("w")}})()
	publisher.Fate = func(int, broker.Message) relaytest.Fate { return relaytest.Reject }
	says(t, step(), `^relay source partition 1: sequence 2: `)
	publisher.Fate = nil
	r.Resume(1)
	restore := broken(t, store.pool, "relay_state")
	says(t, step(), `^read relay positions: ERROR: `)
	restore()
	restore = broken(t, store.pool, "relay_lease")
	says(t, step(), `^relay source partition 1: mark 1 envelopes from sequence 2 on as sent: ERROR: `)
	says(t, r.Close(t.Context()), `^release the relay lease: ERROR: |<nil>`)
	r, err = relay.New(relay.Options{Outbox: store, Publisher: publisher, Holder: "s", Partitions: ns.Spec.Output.Partitions, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	says(t, step(), `^acquire the relay lease: ERROR: `)
	restore()
}

// TestErrorsOfTheViewSayOnce: the same of the view.
func TestErrorsOfTheViewSayOnce(t *testing.T) {
	ns := viewtest.Namespace()
	pool, identity := createView(t, ns)
	log, store := viewtest.NewLog(), NewViewStore(pool, identity)
	key := viewtest.KeyOf(ns, 0)
	partition := key.Balance("2026-01-02", 1, 10).Partition
	v := view.New(view.Options{Config: view.NewConfig(ns), Partition: partition, Store: store, Opener: log, Now: time.Now})
	step := func() error { _, _, err := v.Step(t.Context()); return err }
	send := func(version int64) {
		log.Publish(t.Context(), []broker.Message{key.Balance("2026-01-02", version, 10)})
	}
	send(1)
	if err := step(); err != nil || v.Status().Frontier != 1 {
		t.Fatalf("with all tables: %+v, %v", v.Status(), err)
	}
	send(2)
	restore := broken(t, pool, "balance")
	says(t, step(), `^materialize output partition \d from 1: read balance guards: ERROR: `)
	restore()
	restore = broken(t, pool, "view_progress")
	says(t, step(), `^read the position of output partition \d: begin: ERROR: `)
	restore()
	if err := step(); err != nil || v.Status().Frontier != 2 {
		t.Errorf("with all tables again: %+v, %v", v.Status(), err)
	}
}

// TestErrorsOfAWriterSayOnce: the same of the writer lease, as `generate` shows it.
func TestErrorsOfAWriterSayOnce(t *testing.T) {
	_, pool := catalog(t)
	stream, err := generate.NewStream(testNamespace("shop", 1), generate.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	shell, err := generate.NewShell(generate.ShellOptions{
		Stream: stream, Publisher: viewtest.NewLog(), Lease: NewWriterLease(pool, sourceID, "me"), Now: func() time.Time { return now }, Rate: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	step := func() error { _, _, err := shell.Step(t.Context()); return err }
	restore := broken(t, pool, "writer_lease")
	says(t, step(), `^acquire the writer lease of source topic `+sourceID+`: ERROR: `)
	restore()
	if err := step(); err != nil {
		t.Fatalf("with the table: %v", err)
	}
	restore = broken(t, pool, "writer_lease")
	says(t, step(), `^look at the writer lease of source topic `+sourceID+`: ERROR: `)
	now = now.Add(generate.DefaultLeaseTTL - time.Second)
	says(t, step(), `^renew the writer lease of source topic `+sourceID+`: ERROR: `)
	says(t, shell.Close(t.Context()), `^release the writer lease of source topic `+sourceID+`: ERROR: `)
	restore()
	acquire(t, pool, "me", 0)
	thief := NewWriterLease(pool, sourceID, "thief")
	if err := thief.Acquire(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	says(t, step(), `^source topic `+sourceID+`: writer lease lost$`)
	says(t, step(), `^source topic `+sourceID+`: another writer holds the writer lease: thief, for another 1m0s$`)
}
