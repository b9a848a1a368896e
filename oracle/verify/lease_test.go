package verify_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kmsg"

	"amends.dev/amends/internal/mark"
	kafkatest "amends.dev/amends/internal/testkit/kafka"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/pgview"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
)

// TestR22TheLeaseIsHeld: while a verification scans and compares nobody else gets the writer lease; afterwards it is free.
func TestR22TheLeaseIsHeld(t *testing.T) {
	w := newWorld(t)
	w.demo()
	var holder string
	var term int64
	var free bool
	w.during(boundary.PhaseScan, func() {
		if err := w.db.QueryRow(context.Background(), `SELECT holder, term, released OR expires_at <= now() FROM amends.writer_lease`).Scan(&holder, &term, &free); err != nil {
			t.Error(err)
		}
	})
	r := w.verify(report.Pass)
	if holder != "verify-test" || term != 1 || free || !strings.Contains(r.Checks[0].Text, "held by this run, verify-test, under term 1") {
		t.Errorf("during the scan: holder %q, term %d, free %v; %+v", holder, term, free, r.Checks)
	}
	if err := w.db.QueryRow(context.Background(), `SELECT released FROM amends.writer_lease`).Scan(&free); err != nil || !free {
		t.Errorf("the lease is not released: %v", err)
	}
	if len(r.Checks) != 7 {
		t.Errorf("checks %+v", r.Checks)
	}
}

// TestR22TwoVerifications: the second waits for the first, and both end with a verdict.
func TestR22TwoVerifications(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.verify(report.Pass)
	w.lease(time.Hour) // as another verification holds it
	freed := make(chan error, 1)
	w.during(boundary.PhaseWriter, func() {
		go func() {
			conn, err := pgx.Connect(context.Background(), w.url)
			if err == nil {
				defer func() { _ = conn.Close(context.Background()) }()
				_, err = conn.Exec(context.Background(), `UPDATE amends.writer_lease SET released = true`)
			}
			freed <- err
		}()
	})
	w.verify(report.Pass)
	if err := <-freed; err != nil {
		t.Fatal(err)
	}
}

// TestR22PendingEffectsOfIntake: what a crashed intake left behind is named, and the lease left to whoever brings it on.
func TestR22PendingEffectsOfIntake(t *testing.T) {
	mark.Expect(t, "R22 effects pending")
	w := newWorld(t)
	w.demo()
	w.verify(report.Pass) // without owner tables
	w.exec(`CREATE TABLE owner_pending (kind text, seq bigint, owner_no bigint, effect_id text)`)
	w.verify(report.Pass)
	w.exec(`INSERT INTO owner_pending VALUES ('intake-deliver', 1, 1, 'intake-deliver/shop/0/x')`) // does not write to the source
	w.verify(report.Pass)
	w.exec(`INSERT INTO owner_pending VALUES ('intake-publish', 3, 1, 'intake-publish/shop/local/b'), ('intake-publish', 2, 1, 'intake-publish/shop/local/a')`)
	w.options.Timeout = 300 * time.Millisecond
	r := w.verify(report.Incomplete)
	if got := r.Incomplete[0]; got.Phase != boundary.PhaseWriter || !got.Retryable || !strings.Contains(got.Reason, "effects pending: 2, the first intake-publish/shop/local/a") {
		t.Errorf("%+v", r.Incomplete)
	}
	w.exec(`DELETE FROM owner_pending`)
	w.options.Timeout = 30 * time.Second
	w.verify(report.Pass)
}

// TestS10LateAnswers: a statement that outlives its phase's time is INCOMPLETE and names what was waited for, whatever
// the phase; the same with the lock gone is PASS.
func TestS10LateAnswers(t *testing.T) {
	mark.Expect(t, "S10 a phase timed out")
	w := newWorld(t)
	w.demo()
	w.verify(report.Pass)
	locker, err := pgx.Connect(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = locker.Close(context.Background()) }()
	for _, c := range []struct {
		table, want string
		phase       boundary.Phase
	}{
		{"amends_shop_view.namespace", "what the view shows", boundary.PhaseView},
		{"amends.writer_lease", "the writer lease", boundary.PhaseWriter},
		{"amends_shop.partition_state", "the progress of the stages", boundary.PhaseWriter},
		{"amends_shop_view.balance", "the view's balances", boundary.PhaseCompare},
		{"amends_shop_view.alert", "the view's alerts", boundary.PhaseCompare},
		{"amends_shop_view.key_status", "the view's balances", boundary.PhaseCompare}, // which show it
		{"amends_shop.quarantine", "the quarantine", boundary.PhaseCompare},
		{"amends_shop.conflict", "the conflict evidence", boundary.PhaseCompare},
	} {
		t.Run(c.table, func(t *testing.T) {
			if _, err := locker.Exec(t.Context(), `BEGIN; LOCK TABLE `+c.table+` IN ACCESS EXCLUSIVE MODE`); err != nil {
				t.Fatal(err)
			}
			w.options.Timeout = time.Second
			r := w.verify(report.Incomplete)
			got := r.Incomplete[0]
			if got.Phase != c.phase || !got.Retryable || got.Reason != "timed out: no answer for 1s while waiting for "+c.want {
				t.Errorf("%+v", got)
			}
			if _, err := locker.Exec(t.Context(), `COMMIT`); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, table := range []string{"amends.namespace", "amends_shop.stock_key"} { // what there is to verify is not known
		if _, err := locker.Exec(t.Context(), `BEGIN; LOCK TABLE `+table+` IN ACCESS EXCLUSIVE MODE`); err != nil {
			t.Fatal(err)
		}
		w.options.Timeout = time.Second
		if _, err := w.run(); !errors.Is(err, verify.ErrLate) || err.Error() != "timed out: no answer for 1s while waiting for the catalog" {
			t.Errorf("%s: %v", table, err)
		}
		if _, err := locker.Exec(t.Context(), `COMMIT`); err != nil {
			t.Fatal(err)
		}
	}
	w.options.Timeout = 30 * time.Second
	w.verify(report.Pass)
}

// TestS10SilentBroker: a broker that does not answer is waited for, and named; one that refuses is a failure
// (TestUnreachableIsError).
func TestS10SilentBroker(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.verify(report.Pass)
	silent := make(chan struct{})
	t.Cleanup(func() { close(silent) })
	w.cluster.Fake.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.Fake.KeepControl()
		<-silent
		return nil, nil, false
	})
	w.options.Timeout = time.Second
	r := w.verify(report.Incomplete)
	if got := r.Incomplete[0]; got.Phase != boundary.PhaseSource || !got.Retryable || got.Reason != "timed out: no answer for 1s while waiting for the broker to describe topic "+w.sourceTopic {
		t.Errorf("%+v", got)
	}
}

// TestS10SilentBrokerDuringTheScan: the broker falls silent when H is long captured, and the scan asks it once more which
// topic it reads.
func TestS10SilentBrokerDuringTheScan(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.verify(report.Pass)
	silent := make(chan struct{})
	t.Cleanup(func() { close(silent) })
	w.onEvent = func(e verify.Event) {
		if e.Phase == boundary.PhaseScan {
			w.cluster.Fake.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
				w.cluster.Fake.KeepControl()
				<-silent
				return nil, nil, false
			})
		}
	}
	w.options.Timeout = time.Second
	r := w.verify(report.Incomplete)
	if got := r.Incomplete[0]; got.Phase != boundary.PhaseScan || !got.Retryable || !strings.Contains(got.Reason, "no progress for 1s") {
		t.Errorf("%+v", got)
	}
}

// TestR23RolesOfTheDocs runs the statements of the reference page: the judge's role may judge and nothing else, the
// verifier's also keeps writers out. Neither may read what the worker computed.
func TestR23RolesOfTheDocs(t *testing.T) {
	w := newWorld(t)
	w.demo()
	page, err := os.ReadFile("../../docs/reference/verify.md")
	if err != nil {
		t.Fatal(err)
	}
	suffix := fmt.Sprintf("_%d", time.Now().UnixNano())
	judge, verifier := "amends_judge"+suffix, "amends_verifier"+suffix
	statements := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(statements) != 2 {
		t.Fatalf("%d blocks of statements", len(statements))
	}
	t.Cleanup(func() { w.exec(`DROP OWNED BY ` + verifier + `, ` + judge + `; DROP ROLE ` + verifier + `, ` + judge) })
	for _, block := range statements {
		w.exec(strings.NewReplacer("amends_judge", judge, "amends_verifier", verifier).Replace(block[1]))
	}
	config, err := pgx.ParseConfig(w.url)
	if err != nil {
		t.Fatal(err)
	}
	for role, want := range map[string]string{judge: "this run only looks at it", verifier: "held by this run"} {
		w.stateURL = fmt.Sprintf("host=%s port=%d dbname=%s user=%s", config.Host, config.Port, config.Database, role)
		w.viewURL = w.stateURL
		if r := w.verify(report.Pass); r.WritersExcludedBy != boundary.ByLease || !strings.Contains(r.Checks[0].Text, want) {
			t.Errorf("%s: %+v", role, r.Checks)
		}
		for _, table := range []string{"authority", "day_state"} {
			w.exec(`SET ROLE ` + role)
			if _, err := w.db.Exec(t.Context(), `SELECT FROM amends_shop.`+table); err == nil {
				t.Errorf("%s reads %s", role, table)
			}
			w.exec(`RESET ROLE`)
		}
	}
}

// TestR22LeaseStatements: the judge's own SQL takes a lease that is free, expired or its own, each time under a new term,
// leaves another's alone, and renews and releases what is its own alone.
func TestR22LeaseStatements(t *testing.T) {
	w := newWorld(t)
	db, err := pgview.Open(t.Context(), w.url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	step := func(err error, held bool, holder string, term int64) {
		t.Helper()
		lease, readErr := db.Lease(t.Context(), "topic")
		if err != nil || readErr != nil || lease != (boundary.Lease{Held: held, Holder: holder, Term: term}) {
			t.Fatalf("%+v, %v, %v; want held %v by %s, term %d", lease, err, readErr, held, holder, term)
		}
	}
	ctx := t.Context()
	step(db.Acquire(ctx, "topic", "a", time.Hour), true, "a", 1)
	step(db.Acquire(ctx, "topic", "b", time.Hour), true, "a", 1)
	step(db.Renew(ctx, "topic", "b", time.Hour), true, "a", 1)
	step(db.Release(ctx, "topic", "b"), true, "a", 1)
	step(db.Acquire(ctx, "topic", "a", time.Hour), true, "a", 2)
	step(db.Release(ctx, "topic", "a"), false, "a", 2)
	step(db.Renew(ctx, "topic", "a", time.Hour), false, "a", 2)
	step(db.Acquire(ctx, "topic", "b", -time.Second), false, "b", 3) // expires at once
	step(db.Renew(ctx, "topic", "b", time.Hour), true, "b", 3)       // nobody took it
	step(db.Renew(ctx, "topic", "b", -time.Second), false, "b", 3)
	step(db.Acquire(ctx, "topic", "a", time.Hour), true, "a", 4)
}

// hasty is a clock on which the pauses of the lease's keeper pass at once.
type hasty struct{ wallClock }

func (hasty) Sleep(ctx context.Context, d time.Duration) error {
	if d == verify.LeaseTTL/3 {
		d = time.Millisecond
	}
	return wallClock{}.Sleep(ctx, d)
}

// TestR22TheLeaseIsRenewed: it is kept alive for as long as the comparison takes.
func TestR22TheLeaseIsRenewed(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.clock = hasty{}
	w.during(boundary.PhaseCompare, func() {
		w.exec(`UPDATE amends.writer_lease SET expires_at = now() - interval '1 hour'`)
		kafkatest.Eventually(t, "the lease to be renewed", func() bool {
			var running bool
			err := w.db.QueryRow(context.Background(), `SELECT expires_at > now() FROM amends.writer_lease`).Scan(&running)
			return err == nil && running
		})
	})
	w.verify(report.Pass)
}

// unsure is Writers whose first answer to Acquire is lost.
type unsure struct {
	verify.Writers
	lost bool
}

func (u *unsure) Acquire(ctx context.Context, topic, holder string, ttl time.Duration) error {
	err := u.Writers.Acquire(ctx, topic, holder, ttl)
	if !u.lost {
		u.lost = true
		return errors.New("the answer was lost")
	}
	return err
}

// TestR22LostAnswerOfTheLease: a lease that was taken although nobody said so is kept and released like any other.
func TestR22LostAnswerOfTheLease(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.writers = func(real verify.Writers) verify.Writers { return &unsure{Writers: real} }
	r := w.verify(report.Pass)
	var released bool
	err := w.db.QueryRow(context.Background(), `SELECT released FROM amends.writer_lease`).Scan(&released)
	if err != nil || !released || !strings.Contains(r.Checks[0].Text, "held by this run") {
		t.Errorf("released %v, %v: %+v", released, err, r.Checks)
	}
}
