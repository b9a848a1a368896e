package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/stages/owner"
	ownerpg "amends.dev/amends/stages/owner/postgres"
)

// pendingIDs are the identities of pending effects, in order.
func pendingIDs(t *testing.T, store owner.Store, prefix string, limit int) []string {
	t.Helper()
	pending, err := store.Pending(t.Context(), prefix, limit)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, p := range pending {
		ids = append(ids, p.ID)
	}
	return ids
}

// TestB052EarlierNumberCommitsLater: an effect whose transaction drew its number first and committed last is found, also
// after everything else was found and settled.
func TestB052EarlierNumberCommitsLater(t *testing.T) {
	url := newSchema(t)
	var hold cutter
	slow, store := ownerpg.New(connect(t, url, hold.configure)), ownerpg.New(connect(t, url, nil))
	reached, release := hold.hold()
	done := make(chan error)
	go func() {
		_, err := slow.Commit(context.Background(), group("first", 3)...)
		done <- err
	}()
	<-reached // everything is written, and not committed
	second := group("second", 2)
	fresh(t, store, second)
	want := []string{"publish/second/000", "publish/second/001"}
	if diff := cmp.Diff(want, pendingIDs(t, store, "publish/", 10)); diff != "" {
		t.Fatalf("before the first commits (-want +got):\n%s", diff)
	}
	for _, c := range second {
		receipt := owner.Receipt{ID: "sent", EffectID: c.Effects[1].ID, Outcome: "published", Payload: text("")}
		if result, err := store.RecordReceipt(t.Context(), c.OwnerID, 3, receipt); err != nil || result.Outcome != owner.ReceiptRecorded {
			t.Fatal(result, err)
		}
	}
	if left := pendingIDs(t, store, "publish/", 10); len(left) > 0 {
		t.Errorf("pending after the receipts: %s", left)
	}
	close(release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	want = []string{"publish/first/000", "publish/first/001", "publish/first/002"}
	if diff := cmp.Diff(want, pendingIDs(t, store, "publish/", 10)); diff != "" {
		t.Errorf("after the first commits (-want +got):\n%s", diff)
	}
}

// TestR29ByIndex: nothing is ever found by reading a table, also before anybody has analyzed one: what is pending neither
// visits owners and effects that are done with, nor pending effects of another kind.
func TestR29ByIndex(t *testing.T) {
	url := newSchema(t)
	pool := connect(t, url, nil)
	for _, table := range []string{"owner", "owner_effect", "owner_pending"} {
		if _, err := pool.Exec(t.Context(), `ALTER TABLE `+table+` SET (autovacuum_enabled = off)`); err != nil {
			t.Fatal(err)
		}
	}
	store := ownerpg.New(pool)
	for i := range 10 { // 5,000 owners: 5,000 settled effects, and 5,000 pending ones of kind publish
		if _, err := store.Commit(t.Context(), group(fmt.Sprint("lane/", i), 500)...); err != nil {
			t.Fatal(err)
		}
	}
	few := group("few", 3)
	for i := range few {
		few[i].Effects[1].ID = fmt.Sprintf("rare/%d", i)
	}
	fresh(t, store, few)
	if got := pendingIDs(t, store, "rare/", 2); len(got) != 2 || got[0] != "rare/0" {
		t.Errorf("pending %s", got)
	}
	if got := pendingIDs(t, store, "publish/lane/3/", 1000); len(got) != 500 || got[499] != "publish/lane/3/499" {
		t.Errorf("%d pending", len(got))
	}
	results, err := store.AdvanceFences(t.Context(), 4, few[0].OwnerID, few[1].OwnerID)
	if err != nil || results[1].Outcome != owner.FenceAdvanced {
		t.Fatal(results, err)
	}
	receipt := owner.Receipt{ID: "sent", EffectID: "rare/0", Outcome: "published", Payload: text("")}
	if result, err := store.RecordReceipt(t.Context(), few[0].OwnerID, 4, receipt); err != nil || result.Outcome != owner.ReceiptRecorded {
		t.Fatal(result, err)
	}
	pool.Close() // whose sessions then report what they did
	var scanned, visited int64
	err = connect(t, url, nil).QueryRow(t.Context(), `SELECT sum(seq_tup_read),
		(SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'owner_pending')
		FROM pg_stat_user_tables WHERE relname LIKE 'owner%'`).Scan(&scanned, &visited)
	if err != nil || scanned > 0 || visited > 600 {
		t.Errorf("%d rows were read without an index, %d of the pending effects with theirs: %v", scanned, visited, err)
	}
	store = ownerpg.New(connect(t, url, nil))
	if got := pendingIDs(t, store, "", 2); len(got) != 2 || got[0] != "publish/lane/0/000" { // no kind
		t.Errorf("pending %s", got)
	}
}

// TestPendingIsBoundedInBytes: five payloads of 12 MiB take two readings.
func TestPendingIsBoundedInBytes(t *testing.T) {
	store := ownerpg.New(connect(t, newSchema(t), nil))
	large := group("large", 5)
	for i := range large {
		large[i].Effects[1].Payload.Bytes = make([]byte, 12<<20)
		if _, err := store.Commit(t.Context(), large[i]); err != nil {
			t.Fatal(err)
		}
	}
	var readings []int
	for seen := 0; seen < len(large); {
		got := pendingIDs(t, store, "publish/", 100)
		for i, id := range got {
			c := large[seen+i]
			receipt := owner.Receipt{ID: "sent", EffectID: id, Outcome: "published", Payload: text("")}
			if result, err := store.RecordReceipt(t.Context(), c.OwnerID, 3, receipt); err != nil || result.Outcome != owner.ReceiptRecorded {
				t.Fatal(result, err)
			}
		}
		if seen += len(got); len(got) == 0 {
			t.Fatal("nothing is pending")
		}
		readings = append(readings, len(got))
	}
	if diff := cmp.Diff([]int{3, 2}, readings); diff != "" {
		t.Errorf("readings (-want +got):\n%s", diff)
	}
}

// tracer counts round trips and statements.
type tracer struct {
	mu                  sync.Mutex
	batches, statements int
}

// TraceBatchStart implements pgx.BatchTracer.
func (tr *tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.batches++
	tr.statements += data.Batch.Len()
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (*tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (*tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// TraceQueryStart implements pgx.QueryTracer.
func (tr *tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.batches++
	tr.statements++
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (*tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestR29RoundTrips: a group commit is two round trips and as many statements for 500 owners as for one.
func TestR29RoundTrips(t *testing.T) {
	var trace tracer
	store := ownerpg.New(connect(t, newSchema(t), func(c *pgxpool.Config) { c.ConnConfig.Tracer = &trace }))
	var counts [][2]int
	for _, n := range []int{1, 500} {
		trace.batches, trace.statements = 0, 0
		fresh(t, store, group(fmt.Sprint("n", n), n)[:n:n])
		reads := n // of again, which looks at every owner
		counts = append(counts, [2]int{trace.batches - reads, trace.statements - reads*9})
	}
	if counts[0] != counts[1] || counts[0][0] != 2 || counts[0][1] > 15 {
		t.Errorf("round trips and statements: %v", counts)
	}
}

// TestNoDeadlocks: two stores commit groups that hold the same owners in any order, some of which do not exist yet; nobody
// waits for ever, and no error of the database is seen.
func TestNoDeadlocks(t *testing.T) {
	url := newSchema(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wait sync.WaitGroup
	for worker := range 8 {
		store := ownerpg.New(connect(t, url, nil))
		random := rand.New(rand.NewPCG(1, uint64(worker)))
		wait.Go(func() {
			for round := range 30 {
				var units []owner.Commit
				for _, i := range random.Perm(20)[:8] {
					id := fmt.Sprintf("%02d/%02d", round, i)
					c := owner.Commit{
						OwnerID: id, Create: &owner.Config{Mode: owner.EventHistory}, Inbox: owner.Inbox{ID: fmt.Sprint(worker, round, i)},
						Append: []owner.Payload{text("x")}, Effects: []owner.Effect{{ID: "e/" + id, Payload: text("e")}},
					}
					if random.IntN(3) == 0 {
						c.Create = nil
					}
					units = append(units, c)
				}
				if _, err := store.Commit(ctx, units...); err != nil {
					t.Errorf("worker %d: %v", worker, err)
					return
				}
			}
		})
	}
	wait.Wait()
}

// TestUint64Exactly: fences and versions of all 64 bits are numbers in SQL too.
func TestUint64Exactly(t *testing.T) {
	pool := connect(t, newSchema(t), nil)
	const most = ^uint64(0)
	c := group("max", 1)[0]
	c.Create.Fence, c.Fence = most, most
	c.Append[0].SchemaVersion, c.Append[0].CodecVersion = most, most-1
	results, err := ownerpg.New(pool).Commit(t.Context(), c)
	if err != nil || results[0].Outcome != owner.Committed {
		t.Fatal(results, err)
	}
	var exact bool
	err = pool.QueryRow(t.Context(), `SELECT o.fence = 18446744073709551615 AND e.schema_version = 18446744073709551615
		AND e.codec_version = 18446744073709551614 AND o.fence + 1 > 18446744073709551615
		FROM owner o JOIN owner_event e USING (owner_no)`).Scan(&exact)
	if err != nil || !exact {
		t.Errorf("not exact: %v", err)
	}
	if _, err := pool.Exec(t.Context(), `UPDATE owner SET fence = fence + 1`); err == nil {
		t.Error("a fence of more than 64 bits is stored")
	}
}
