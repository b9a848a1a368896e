package viewtest

import (
	"crypto/sha256"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/fault"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/view"
)

// day1 and day2 are the days of most scenarios; their IDs are of stock key 1, in partition 0.
const (
	day1 = "2026-01-01"
	day2 = "2026-01-02"
)

const day1Number = 20454

var (
	balance1 = view.ID{Family: view.FamilyBalance, KeyID: 1, Day: day1Number}
	balance2 = view.ID{Family: view.FamilyBalance, KeyID: 1, Day: day1Number + 1}
	alert1   = view.ID{Family: view.FamilyAlert, KeyID: 1, Day: day1Number}
	status1  = view.ID{Family: view.FamilyStatus, KeyID: 1}
)

// Suite runs the scenarios that every view.Store must pass, through the View shell and on the Store itself. open
// returns a fresh, empty view of the namespace for each.
func Suite(t *testing.T, open func(*testing.T, *manifests.Namespace) Harness) {
	t.Helper()
	scenarios := []struct {
		name string
		run  func(*testing.T, *fixture)
	}{
		{"AppliesEveryFamily", everyFamily},
		{"B044_ManyVersionsOfOneIDInOneFetch", manyVersions},
		{"B062_WithdrawalBetweenStatements", withdrawalBetween},
		{"B063_SC16_LateOutputAfterWithdrawal", lateAfterWithdrawal},
		{"SC17_AcrossFetches", func(t *testing.T, f *fixture) { f.maxRecords = 1; equalVersion(t, f) }},
		{"SC17_InOneFetch", equalVersion},
		{"R18_OvertakenInTheSameFetch", overtaken},
		{"R18_ForeignEnvelopeStopsThePartition", foreign},
		{"S7_DuplicateAdvances", duplicate},
		{"SC21_CrashBeforeCommit", crashBefore},
		{"SC21_CrashAfterCommit", crashAfter},
		{"R08_ControlRecordsAdvance", controlRecords},
		{"R18_TwoViewsOfOnePartition", twoViews},
		{"R36_BugStopsThePartition", bug},
		{"SC28_TopicRecreated", recreated},
		{"S7_Extremes", extremes},
		{"StoreRefusesAnUnexpectedPosition", unexpectedPosition},
		{"StoreRollsBack", rollsBack},
		{"StoreLocksThePartition", locksPartition},
	}
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) { s.run(t, newFixture(t, open)) })
	}
}

func everyFamily(t *testing.T, f *fixture) {
	conflicts := []ledger.ConflictRef{{TxnID: "t1", Revision: 2}, {TxnID: "t1", Revision: 3}, {TxnID: "ü", Revision: 1}}
	other := f.key(2)
	f.publish(
		f.key(1).Balance(day1, 1, 50), f.key(1).Alert(day1, 1, 50, 60), f.key(1).Status(1),
		other.Balance(day2, 1, -7), other.Status(1, conflicts...),
	)
	f.drainAll(t)
	shows(t, f.row(t, balance1), 1, true, 50)
	alert := f.row(t, alert1)
	shows(t, alert, 1, true, 50)
	if alert.Threshold != 60 {
		t.Errorf("threshold %d, want 60", alert.Threshold)
	}
	shows(t, f.row(t, view.ID{Family: view.FamilyBalance, KeyID: 2, Day: day1Number + 1}), 1, true, -7)
	if got := f.row(t, status1); got.Blocked() {
		t.Errorf("key 1 is BLOCKED by %v, want READY", got.Conflicts)
	}
	if diff := cmp.Diff(conflicts, f.row(t, view.ID{Family: view.FamilyStatus, KeyID: 2}).Conflicts); diff != "" {
		t.Errorf("reason set (-want +got):\n%s", diff)
	}
	f.at(t, 0, Progress{Next: 3, Applied: 3})
	f.at(t, 1, Progress{Next: 2, Applied: 2})
	f.publish(other.Status(2))
	f.drainAll(t)
	if got := f.row(t, view.ID{Family: view.FamilyStatus, KeyID: 2}); got.Blocked() || got.Version != 2 {
		t.Errorf("key 2 is %+v, want READY at version 2", got)
	}
}

func manyVersions(t *testing.T, f *fixture) {
	k := f.key(1)
	f.publish(k.Balance(day1, 1, 10), k.Balance(day1, 2, 20), k.Balance(day1, 3, 30), k.Alert(day1, 1, 10, 60), k.Alert(day1, 2, 20, 60))
	f.drainAll(t)
	shows(t, f.row(t, balance1), 3, true, 30)
	shows(t, f.row(t, alert1), 2, true, 20)
	f.at(t, 0, Progress{Next: 5, Applied: 5})
}

func withdrawalBetween(t *testing.T, f *fixture) {
	k := f.key(1)
	f.publish(k.Balance(day1, 1, 10), k.NoBalance(day1, 2), k.Balance(day1, 3, 30))
	f.publish(k.Balance(day2, 3, 31), k.NoBalance(day2, 2))
	f.drainAll(t)
	shows(t, f.row(t, balance1), 3, true, 30)
	shows(t, f.row(t, balance2), 3, true, 31)
	f.publish(k.NoBalance(day1, 2)) // the guard of the withdrawal was not lost: it is the duplicate of a lower version
	f.drainAll(t)
	shows(t, f.row(t, balance1), 3, true, 30)
}

func lateAfterWithdrawal(t *testing.T, f *fixture) {
	mark.Expect(t, "SC16 late output ignored")
	k := f.key(1)
	f.publish(k.NoAlert(day1, 4), k.NoBalance(day1, 2))
	f.drainAll(t)
	f.publish(k.Alert(day1, 3, 50, 60), k.Balance(day1, 1, 50))
	f.drainAll(t) // drainAll starts new views: a restart lies between
	shows(t, f.row(t, alert1), 4, false, 0)
	shows(t, f.row(t, balance1), 2, false, 0)
	f.at(t, 0, Progress{Next: 4, Applied: 2, Ignored: 2})
	f.publish(k.Alert(day1, 5, 40, 60), k.Balance(day1, 3, 40))
	f.drainAll(t)
	shows(t, f.row(t, alert1), 5, true, 40)
	shows(t, f.row(t, balance1), 3, true, 40)
}

// equalVersion is SC17 with a good prefix, a higher version behind the conflict and another partition beside it.
func equalVersion(t *testing.T, f *fixture) {
	mark.Expect(t, "SC17 equal version, other content")
	k := f.key(1)
	bad := k.Balance(day1, 1, 51)
	f.publish(k.Balance(day2, 1, 7), k.Balance(day1, 1, 50), bad, k.Balance(day1, 2, 52), f.key(2).Balance(day1, 1, 9))
	stopped := f.stop(t, f.view(0))
	if stopped.Partition != 0 || stopped.Offset != 2 || stopped.Reason != view.ReasonContent {
		t.Errorf("stopped with %v, want %s at offset 2", stopped, view.ReasonContent)
	}
	shows(t, f.row(t, balance2), 1, true, 7)
	shows(t, f.row(t, balance1), 1, true, 50)
	f.at(t, 0, Progress{Next: 2, Applied: 2})
	stored := view.Content(sha256.Sum256(k.Balance(day1, 1, 50).Value))
	want := view.Stop{
		Problem:  view.Problem{Reason: view.ReasonContent, Detail: stopped.Detail, Stored: &stored},
		Offset:   2,
		OutputID: `["demo","balance","A","L","2026-01-01"]`, Version: 1, Key: bad.Key, Value: bad.Value,
	}
	if diff := cmp.Diff(map[int32]view.Stop{0: want}, f.Inspect(t).Stops); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
	if again := f.stop(t, f.view(0)); *again != *stopped {
		t.Errorf("after a restart stopped with %v, want %v", again, stopped)
	}
	if _, err := f.Store.Begin(t.Context(), 0, 2); !errors.As(err, &stopped) {
		t.Errorf("Begin on a stopped partition: %v, want a stop", err)
	}
	f.drain(t, f.view(1))
	shows(t, f.row(t, view.ID{Family: view.FamilyBalance, KeyID: 2, Day: day1Number}), 1, true, 9)
}

// overtaken: folding before judging would keep version 2 alone and miss the conflict at version 1.
func overtaken(t *testing.T, f *fixture) {
	k := f.key(1)
	f.publish(k.Balance(day1, 1, 50), k.Balance(day1, 1, 51), k.Balance(day1, 2, 52))
	_ = f.stop(t, f.view(0))
	shows(t, f.row(t, balance1), 1, true, 50)
	f.at(t, 0, Progress{Next: 1, Applied: 1})
}

func foreign(t *testing.T, f *fixture) {
	mark.Expect(t, "R18 envelope refused")
	other := f.key(1)
	other.Namespace = "other"
	f.publish(f.key(1).Balance(day1, 1, 50), other.Balance(day1, 2, 99))
	stopped := f.stop(t, f.view(0))
	if stopped.Offset != 1 || stopped.Reason != view.ReasonForeign {
		t.Errorf("stopped with %v, want %s at offset 1", stopped, view.ReasonForeign)
	}
	shows(t, f.row(t, balance1), 1, true, 50)
	f.at(t, 0, Progress{Next: 1, Applied: 1})
	f.log.Publish(t.Context(), []broker.Message{{Partition: 1, Key: nil, Value: nil}})
	if stopped = f.stop(t, f.view(1)); stopped.Reason != view.ReasonUnreadable {
		t.Errorf("stopped with %v, want %s", stopped, view.ReasonUnreadable)
	}
	stop := f.Inspect(t).Stops[1]
	if stop.Key != nil || stop.Value != nil || stop.OutputID != "" || stop.Version != 0 || stop.Problem.Stored != nil {
		t.Errorf("violation of a null record holds %+v, want nulls", stop)
	}
}

func duplicate(t *testing.T, f *fixture) {
	mark.Expect(t, "S7.25 duplicate output ignored")
	m := f.key(1).Balance(day1, 1, 50)
	f.publish(m)
	f.drainAll(t)
	before := f.row(t, balance1)
	f.publish(m, m)
	f.drainAll(t)
	if diff := cmp.Diff(before, f.row(t, balance1)); diff != "" {
		t.Errorf("a duplicate changed the row (-before +after):\n%s", diff)
	}
	f.at(t, 0, Progress{Next: 3, Applied: 1, Ignored: 2})
}

func crashBefore(t *testing.T, f *fixture) {
	mark.Expect(t, "SC21 unit of work failed")
	k := f.key(1)
	f.publish(k.Balance(day1, 1, 50))
	f.drainAll(t)
	before := f.Inspect(t)
	f.publish(k.NoBalance(day1, 2))
	f.faulty.Next = BeforeCommit
	crashed := f.view(0)
	f.fails(t, crashed)
	if diff := cmp.Diff(before, f.Inspect(t)); diff != "" {
		t.Errorf("a crash before the commit left (-before +after):\n%s", diff)
	}
	f.drain(t, crashed) // the same process recovers as a new one does
	shows(t, f.row(t, balance1), 2, false, 0)
	f.at(t, 0, Progress{Next: 2, Applied: 2})
}

func crashAfter(t *testing.T, f *fixture) {
	k := f.key(1)
	f.publish(k.Balance(day1, 1, 50), k.NoBalance(day1, 2))
	f.faulty.Next = AfterCommit
	crashed := f.view(0)
	f.fails(t, crashed)
	shows(t, f.row(t, balance1), 2, false, 0)
	f.at(t, 0, Progress{Next: 2, Applied: 2})
	f.drain(t, crashed)
	f.drain(t, f.view(0))
	f.at(t, 0, Progress{Next: 2, Applied: 2})
	f.publish(k.Balance(day1, 1, 50))
	f.drainAll(t)
	shows(t, f.row(t, balance1), 2, false, 0)
}

func controlRecords(t *testing.T, f *fixture) {
	f.log.Control(0, 2)
	f.drainAll(t)
	f.at(t, 0, Progress{Next: 2})
	f.publish(f.key(1).Balance(day1, 1, 50))
	f.log.Control(0, 1)
	f.drainAll(t)
	f.at(t, 0, Progress{Next: 4, Applied: 1})
}

// twoViews interleaves two processes over one partition: whoever is behind reads the position again.
func twoViews(t *testing.T, f *fixture) {
	mark.Expect(t, "R18 position moved by another view")
	f.maxRecords = 1
	k := f.key(1)
	first, second := f.view(0), f.view(0)
	f.drain(t, first)
	f.drain(t, second)
	f.publish(k.Balance(day1, 1, 10), k.Balance(day1, 2, 20), k.Balance(day1, 3, 30))
	for range 6 {
		for _, v := range []*view.View{first, second, second} {
			if _, _, err := v.Step(t.Context()); err != nil {
				t.Fatalf("Step: %v", err)
			}
		}
	}
	shows(t, f.row(t, balance1), 3, true, 30)
	f.at(t, 0, Progress{Next: 3, Applied: 3})
}

// bug: a broken invariant is persisted at the committed position, and holds after a restart.
func bug(t *testing.T, f *fixture) {
	f.publish(f.key(1).Balance(day1, 1, 50), f.key(2).Balance(day1, 1, 60))
	f.faulty.Next = Bug
	v := f.view(0)
	if _, _, err := v.Step(t.Context()); !invariant.Is(err) || fault.ClassOf(err) != fault.Stop {
		t.Errorf("Step: %v (%v), want the broken invariant", err, fault.ClassOf(err))
	}
	if stopped := f.stop(t, f.view(0)); stopped.Reason != view.ReasonInternal || stopped.Offset != 0 {
		t.Errorf("after a restart stopped with %v", stopped)
	}
	f.at(t, 0, Progress{})
	f.drain(t, f.view(1))
}

func recreated(t *testing.T, f *fixture) {
	f.publish(f.key(1).Balance(day1, 1, 50))
	v := f.view(0)
	f.drain(t, v)
	f.log.Recreate()
	if got := v.Status(); got.Frontier != 1 || got.Partition != 0 {
		t.Errorf("status %+v, want frontier 1", got)
	}
	for range 2 {
		if _, _, err := v.Step(t.Context()); !errors.Is(err, broker.ErrTopicChanged) || fault.ClassOf(err) != fault.Stop {
			t.Fatalf("Step: %v (%v), want %v", err, fault.ClassOf(err), broker.ErrTopicChanged)
		}
	}
	f.at(t, 0, Progress{Next: 1, Applied: 1})
}

func extremes(t *testing.T, f *fixture) {
	k := f.key(0)
	f.publish(
		k.Balance("1677-09-21", math.MaxInt64, math.MinInt64),
		k.Alert("2262-04-11", math.MaxInt64, math.MaxInt64-1, math.MaxInt64),
	)
	f.drainAll(t)
	shows(t, f.row(t, view.ID{Family: view.FamilyBalance, KeyID: 0, Day: -106752}), math.MaxInt64, true, math.MinInt64)
	alert := f.row(t, view.ID{Family: view.FamilyAlert, KeyID: 0, Day: 106751})
	shows(t, alert, math.MaxInt64, true, math.MaxInt64-1)
	if alert.Threshold != math.MaxInt64 {
		t.Errorf("threshold %d, want the largest", alert.Threshold)
	}
}

func unexpectedPosition(t *testing.T, f *fixture) {
	if _, err := f.Store.Begin(t.Context(), 0, 1); !errors.Is(err, view.ErrMoved) {
		t.Errorf("Begin at 1 of a partition at 0: %v, want %v", err, view.ErrMoved)
	}
	unit, err := f.Store.Begin(t.Context(), 0, 0)
	if err != nil {
		t.Fatalf("Begin at 0: %v", err)
	}
	if err = unit.Commit(t.Context(), view.Changes{Next: 5}); err != nil {
		t.Fatalf("Commit: %v", err)
	}
	unit.Rollback(t.Context()) // safe after Commit
	if _, err = f.Store.Begin(t.Context(), 0, 0); !errors.Is(err, view.ErrMoved) {
		t.Errorf("Begin at 0 of a partition at 5: %v, want %v", err, view.ErrMoved)
	}
	if _, err = f.Store.Position(t.Context(), 99); err == nil {
		t.Error("Position of a partition that does not exist: no error")
	}
}

func rollsBack(t *testing.T, f *fixture) {
	before := f.Inspect(t)
	unit, err := f.Store.Begin(t.Context(), 0, 0)
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	guards, err := unit.Guards(t.Context(), []view.ID{balance1, alert1, status1})
	if err != nil || len(guards) != 0 {
		t.Errorf("Guards of an empty view: %v, %v", guards, err)
	}
	unit.Rollback(t.Context())
	if diff := cmp.Diff(before, f.Inspect(t)); diff != "" {
		t.Errorf("a rollback left (-before +after):\n%s", diff)
	}
}

// locksPartition: a second unit of work and a reader of the position wait for the first, and then see what it did.
func locksPartition(t *testing.T, f *fixture) {
	unit, err := f.Store.Begin(t.Context(), 0, 0)
	if err != nil {
		t.Fatalf("Begin: %v", err)
	}
	position := make(chan int64, 1)
	go func() {
		next, err := f.Store.Position(t.Context(), 0)
		if err != nil {
			next = -1
		}
		position <- next
	}()
	second := make(chan error, 1)
	go func() {
		_, err := f.Store.Begin(t.Context(), 0, 0)
		second <- err
	}()
	select {
	case next := <-position:
		t.Errorf("Position returned %d while a unit of work was open", next)
	case err = <-second:
		t.Errorf("a second Begin returned %v while a unit of work was open", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err = unit.Commit(t.Context(), view.Changes{Next: 7}); err != nil {
		t.Fatalf("Commit: %v", err)
	}
	if next := <-position; next != 7 {
		t.Errorf("Position after the commit: %d, want 7", next)
	}
	if err = <-second; !errors.Is(err, view.ErrMoved) {
		t.Errorf("the second Begin: %v, want %v", err, view.ErrMoved)
	}
}
