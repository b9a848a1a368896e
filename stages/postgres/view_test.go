package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"amends.dev/amends/internal/testkit/pg"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/view/viewtest"
)

// TestViewStore runs the scenarios of every view over Postgres.
func TestViewStore(t *testing.T) {
	viewtest.Suite(t, func(t *testing.T, ns *manifests.Namespace) viewtest.Harness {
		pool, identity := createView(t, ns)
		return viewtest.Harness{
			Store:   NewViewStore(pool, identity),
			Inspect: func(t *testing.T) viewtest.State { t.Helper(); return inspectView(t, pool) },
		}
	})
}

func createView(t *testing.T, ns *manifests.Namespace) (*pgxpool.Pool, ViewIdentity) {
	t.Helper()
	url := pg.New(t)
	identity := ViewIdentity{Namespace: ns.Name, Digest: "digest", OutputTopicID: "AAAAAAAAAAAAAAAAAAAAAA"}
	err := inTx(t, open(t, url, ""), func(tx pgx.Tx) error {
		return CreateView(t.Context(), tx, ns, identity.Digest, identity.OutputTopicID)
	})
	if err != nil {
		t.Fatal(err)
	}
	return open(t, url, ViewSchema(ns.Name)), identity
}

// inspectView reads everything durable by statements of its own.
func inspectView(t *testing.T, pool *pgxpool.Pool) viewtest.State {
	t.Helper()
	state := viewtest.State{
		Rows: map[view.ID]view.Envelope{}, Progress: map[int32]viewtest.Progress{}, Stops: map[int32]view.Stop{},
	}
	each := func(sql string, scan func(pgx.Rows) error) {
		t.Helper()
		rows, err := pool.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			if err := scan(rows); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	const business = `SELECT key_id, (day - date '1970-01-01'), version, present, close, %s, content FROM %s`
	for family, sql := range map[view.Family]string{
		view.FamilyBalance: fmt.Sprintf(business, "0::bigint", "balance"),
		view.FamilyAlert:   fmt.Sprintf(business, "threshold", "alert"),
	} {
		each(sql, func(rows pgx.Rows) error {
			e := view.Envelope{ID: view.ID{Family: family}}
			var content []byte
			err := rows.Scan(&e.ID.KeyID, &e.ID.Day, &e.Version, &e.Present, &e.Close, &e.Threshold, &content)
			copy(e.Content[:], content)
			state.Rows[e.ID] = e
			return err
		})
	}
	each(`SELECT key_id, version, status, conflict_txns, conflict_revisions, content FROM key_status`, func(rows pgx.Rows) error {
		e := view.Envelope{ID: view.ID{Family: view.FamilyStatus}, Present: true}
		var status string
		var txns []string
		var revisions []int64
		var content []byte
		err := rows.Scan(&e.ID.KeyID, &e.Version, &status, &txns, &revisions, &content)
		for i, txn := range txns {
			e.Conflicts = append(e.Conflicts, ledger.ConflictRef{TxnID: txn, Revision: revisions[i]})
		}
		if e.Blocked() != (status == view.StatusBlocked) {
			t.Errorf("key %d is %s with %d conflicts", e.ID.KeyID, status, len(txns))
		}
		copy(e.Content[:], content)
		state.Rows[e.ID] = e
		return err
	})
	each(`SELECT partition, next_offset, applied, ignored FROM view_progress`, func(rows pgx.Rows) error {
		var partition int32
		var p viewtest.Progress
		err := rows.Scan(&partition, &p.Next, &p.Applied, &p.Ignored)
		state.Progress[partition] = p
		return err
	})
	each(`SELECT partition, output_offset, reason, coalesce(output_id, ''), coalesce(version, 0), stored_content, incoming_key,
		incoming_value, detail FROM protocol_violation`, func(rows pgx.Rows) error {
		var partition int32
		var stop view.Stop
		var stored []byte
		p := &stop.Problem
		err := rows.Scan(&partition, &stop.Offset, &p.Reason, &stop.OutputID, &stop.Version, &stored, &stop.Key, &stop.Value, &p.Detail)
		if stored != nil {
			p.Stored = new(view.Content)
			copy(p.Stored[:], stored)
		}
		state.Stops[partition] = stop
		return err
	})
	return state
}

// materialize runs a view of one partition over the whole log.
func materialize(t *testing.T, store view.Store, ns *manifests.Namespace, log *viewtest.Log, partition int32) error {
	t.Helper()
	v := view.New(view.Options{Config: view.NewConfig(ns), Partition: partition, Store: store, Opener: log, Now: time.Now})
	for {
		if progress, _, err := v.Step(t.Context()); err != nil || !progress {
			return err
		}
	}
}

// TestR13CertifiedReads: users see READY and BLOCKED keys qualified in the rows themselves, the certified views leave a
// BLOCKED key out, and both come back with READY. A key without a status is READY; a withdrawn row is not shown.
func TestR13CertifiedReads(t *testing.T) {
	ns := viewtest.Namespace()
	pool, identity := createView(t, ns)
	log, store := viewtest.NewLog(), NewViewStore(pool, identity)
	publish := func(messages ...broker.Message) {
		t.Helper()
		log.Publish(t.Context(), messages)
		for partition := range ns.Spec.Output.Partitions {
			if err := materialize(t, store, ns, log, partition); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func(sql string) (lines []string) {
		t.Helper()
		rows, err := pool.Query(t.Context(), `SELECT x::text FROM (`+sql+`) AS x`)
		if err == nil {
			lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
		}
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(lines)
		return lines
	}
	wants := func(step, sql string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, read(sql), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", step, sql, diff)
		}
	}
	a, b := viewtest.KeyOf(ns, 1), viewtest.KeyOf(ns, 2)
	const balances = `SELECT day, close, key_status, certified FROM balances`
	const alerts = `SELECT day, close, threshold, key_status, certified FROM alerts`
	publish(
		a.Balance("2026-01-01", 1, 50), a.Alert("2026-01-01", 1, 50, 60), a.Balance("2026-01-02", 1, 1), a.NoBalance("2026-01-02", 2),
		a.Status(1), b.Balance("2026-01-03", 1, 7),
	)
	wants("READY", balances, "(2026-01-01,50,READY,t)", "(2026-01-03,7,READY,t)")
	wants("READY", alerts, "(2026-01-01,50,60,READY,t)")
	publish(a.Status(2, ledger.ConflictRef{TxnID: "t1", Revision: 2}))
	wants("BLOCKED", balances, "(2026-01-01,50,BLOCKED,f)", "(2026-01-03,7,READY,t)")
	wants("BLOCKED", alerts, "(2026-01-01,50,60,BLOCKED,f)")
	wants("BLOCKED", `SELECT day, close FROM balances_certified`, "(2026-01-03,7)")
	wants("BLOCKED", `SELECT day FROM alerts_certified`)
	publish(a.Balance("2026-01-01", 2, 70), a.NoAlert("2026-01-01", 2), a.Status(3))
	wants("READY again", balances, "(2026-01-01,70,READY,t)", "(2026-01-03,7,READY,t)")
	wants("READY again", `SELECT item, location, day, close FROM balances_certified`,
		`("b""\\`+"\x01"+`",L,2026-01-03,7)`, `(A,L,2026-01-01,70)`)
}

// TestR18WrongView: a view of another namespace, digest or output topic is refused before anything is read, and stops.
func TestR18WrongView(t *testing.T) {
	ns := viewtest.Namespace()
	pool, identity := createView(t, ns)
	log := viewtest.NewLog()
	log.Publish(t.Context(), []broker.Message{viewtest.KeyOf(ns, 1).Balance("2026-01-01", 1, 5)})
	for name, damage := range map[string]func(*ViewIdentity){
		"namespace": func(id *ViewIdentity) { id.Namespace = "other" },
		"digest":    func(id *ViewIdentity) { id.Digest = "other" },
		"topic":     func(id *ViewIdentity) { id.OutputTopicID = "BBBBBBBBBBBBBBBBBBBBBB" },
	} {
		other := identity
		damage(&other)
		err := materialize(t, NewViewStore(pool, other), ns, log, 0)
		if !errors.Is(err, view.ErrWrongView) || fault.ClassOf(err) != fault.Stop {
			t.Errorf("%s: %v (%v), want %v", name, err, fault.ClassOf(err), view.ErrWrongView)
		}
	}
	if got := inspectView(t, pool).Progress[0]; got != (viewtest.Progress{}) {
		t.Errorf("a refused view advanced to %+v", got)
	}
	if err := materialize(t, NewViewStore(pool, identity), ns, log, 0); err != nil {
		t.Errorf("the twin with the right identity: %v", err)
	}
	if found, err := ViewIdentityOf(t.Context(), pool); err != nil || found != identity {
		t.Errorf("ViewIdentityOf: %+v, %v", found, err)
	}
}

// TestR18LowerVersionIsNeverWritten: even a unit of work that was given a lower version writes nothing.
func TestR18LowerVersionIsNeverWritten(t *testing.T) {
	ns := viewtest.Namespace()
	pool, identity := createView(t, ns)
	store := NewViewStore(pool, identity)
	commit := func(expected, version int64) error {
		unit, err := store.Begin(t.Context(), 0, expected)
		if err != nil {
			t.Fatal(err)
		}
		row := view.Envelope{ID: view.ID{Family: view.FamilyBalance, KeyID: 1, Day: 20454}, Version: version, Present: true}
		return unit.Commit(t.Context(), view.Changes{Rows: []view.Envelope{row}, Next: expected + 1, Applied: 1})
	}
	if err := commit(0, 2); err != nil {
		t.Fatal(err)
	}
	before := inspectView(t, pool)
	if err := commit(1, 1); err == nil {
		t.Error("a lower version was committed")
	}
	if diff := cmp.Diff(before, inspectView(t, pool)); diff != "" {
		t.Errorf("the refused unit of work left (-before +after):\n%s", diff)
	}
}

// TestSC21SessionKilledInAUnitOfWork: the server loses the session between the last statement and the commit, and the
// view converges by itself.
func TestSC21SessionKilledInAUnitOfWork(t *testing.T) {
	ns := viewtest.Namespace()
	pool, identity := createView(t, ns)
	store := NewViewStore(pool, identity)
	unit, err := store.Begin(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	killer := open(t, pool.Config().ConnString(), ViewSchema(ns.Name))
	const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`
	if _, err = killer.Exec(context.WithoutCancel(t.Context()), kill); err != nil {
		t.Fatal(err)
	}
	if err = unit.Commit(t.Context(), view.Changes{Next: 1}); err == nil || fault.ClassOf(err) != fault.Transient {
		t.Errorf("Commit on a killed session: %v, want a fault", err)
	}
	log := viewtest.NewLog()
	log.Publish(t.Context(), []broker.Message{viewtest.KeyOf(ns, 1).Balance("2026-01-01", 1, 5)})
	if err = materialize(t, store, ns, log, 0); err != nil {
		t.Fatal(err)
	}
	if got, want := inspectView(t, pool).Progress[0], (viewtest.Progress{Next: 1, Applied: 1}); got != want {
		t.Errorf("progress %+v, want %+v", got, want)
	}
}
