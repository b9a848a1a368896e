package equivalence_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/equivalence"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/verify"
)

// side is one namespace as the ports show it.
type side struct {
	applied              *verify.Applied
	progress             verify.Progress
	view, output, inside []int64
	stops                []boundary.Stop
	balances             []projection.Balance
	alerts               []projection.Alert
	statuses             []projection.Status
}

// world is both, by name. compared runs after the views were read.
type world struct {
	verify.State
	verify.Topics
	t        *testing.T
	sides    map[string]*side
	now      time.Time
	sleeps   func()
	compared func()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, sides: map[string]*side{}, now: time.Unix(0, 0)}
	for _, name := range []string{"old", "new"} {
		ns, err := manifests.New(name, manifests.Spec{
			Source: manifests.Source{Topic: "in", Partitions: 1}, Output: manifests.Output{Topic: name + ".out", Partitions: 1},
			StockKeys: []manifests.StockKey{{Item: "a", Location: "x"}, {Item: "b", Location: "x"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.sides[name] = &side{
			applied: &verify.Applied{Namespace: ns, Identity: verify.Identity{
				Name: name, Digest: ns.NamespaceDigest(), BusinessDigest: ns.BusinessDigest("id"), SourceTopicID: "id", OutputTopicID: name + "-id",
			}},
			progress: verify.Progress{Worker: []int64{9}, OutboxNext: []int64{4}, SentThrough: []int64{4}},
			view:     []int64{7}, output: []int64{7}, inside: []int64{7},
			balances: []projection.Balance{{Item: "a", Location: "x", Day: "2026-01-01", Close: 9007199254740993}, {Item: "b", Location: "x", Day: "2026-01-01", Close: 1}},
			alerts:   []projection.Alert{{Item: "a", Location: "x", Day: "2026-01-01", Close: 9007199254740993, Threshold: 5}},
			statuses: []projection.Status{{Item: "a", Location: "x", Status: "READY", Conflicts: []projection.ConflictRef{}}},
		}
	}
	return w
}

func (w *world) Applied(_ context.Context, name string) (*verify.Applied, error) {
	if s, ok := w.sides[name]; ok {
		return s.applied, nil
	}
	return nil, verify.ErrNotApplied
}

func (w *world) Progress(_ context.Context, a *verify.Applied) (verify.Progress, error) {
	return w.sides[a.Name].progress, nil
}

func (w *world) ViewIdentity(_ context.Context, a *verify.Applied) (verify.ViewIdentity, error) {
	return verify.ViewIdentity{Name: a.Name, Digest: a.Digest, OutputTopic: a.Namespace.Spec.Output.Topic, OutputTopicID: a.OutputTopicID}, nil
}

func (w *world) ViewProgress(_ context.Context, a *verify.Applied) ([]int64, []boundary.Stop, error) {
	return w.sides[a.Name].view, w.sides[a.Name].stops, nil
}

func (w *world) Describe(_ context.Context, topic string) (*boundary.Topic, error) {
	for _, s := range w.sides {
		if s.applied.Namespace.Spec.Output.Topic == topic {
			return &boundary.Topic{ID: s.applied.OutputTopicID, Ends: s.output}, nil
		}
	}
	return nil, nil
}

func (w *world) Snapshot(_ context.Context, a *verify.Applied, read func(verify.ViewSnapshot) error) error {
	err := read(shown{w.sides[a.Name]})
	if w.compared != nil {
		w.compared()
	}
	return err
}

func (w *world) Now() time.Time { return w.now }

func (w *world) Sleep(ctx context.Context, d time.Duration) error {
	w.now = w.now.Add(d)
	if w.sleeps != nil {
		w.sleeps()
	}
	return ctx.Err()
}

type shown struct{ *side }

func (s shown) Frontiers(context.Context) ([]int64, error) { return s.inside, nil }

func (s shown) Balances(context.Context) iter.Seq2[projection.Balance, error] {
	return compare.Slice(s.balances)
}

func (s shown) Alerts(context.Context) iter.Seq2[projection.Alert, error] {
	return compare.Slice(s.alerts)
}

func (s shown) Statuses(context.Context) iter.Seq2[projection.Status, error] {
	return compare.Slice(s.statuses)
}

func (w *world) run() (*equivalence.Report, error) {
	return equivalence.Run(w.t.Context(), equivalence.Deps{State: w, View: w, Topics: w, Clock: w},
		equivalence.Options{Old: "old", New: "new", Timeout: time.Second, Poll: 100 * time.Millisecond})
}

func (w *world) expect(status equivalence.Status, code int, text string) *equivalence.Report {
	w.t.Helper()
	r, err := w.run()
	if err != nil {
		w.t.Fatal(err)
	}
	var b bytes.Buffer
	if err := equivalence.Text(&b, r); err != nil {
		w.t.Fatal(err)
	}
	if r.Status != status || r.ExitCode != code || !strings.Contains(b.String(), text) || !strings.HasPrefix(b.String(), string(status)+" old and new") {
		w.t.Fatalf("%s, exit code %d, want %s %d and %q in\n%s", r.Status, r.ExitCode, status, code, text, b.String())
	}
	return r
}

// TestCompareEqual is the undamaged twin.
func TestCompareEqual(t *testing.T) {
	r := newWorld(t).expect(equivalence.Equal, 0, "4 facts compared, all equal")
	if !slices.Equal(r.Through, []int64{9}) || r.Experiment {
		t.Errorf("%+v", r)
	}
}

// TestCompareDrift: one thing differs at a time; each is found, with both values, also beyond what a double holds.
func TestCompareDrift(t *testing.T) {
	for text, damage := range map[string]func(s *side){
		"changed balance a/x 2026-01-01: old close=9007199254740993, new close=9007199254740992": func(s *side) { s.balances[0].Close-- },
		"missing balance b/x 2026-01-01: old close=1, new none":                                  func(s *side) { s.balances = s.balances[:1] },
		"extra balance b/x 2026-01-02: old none, new close=1": func(s *side) {
			s.balances = append(s.balances, projection.Balance{Item: "b", Location: "x", Day: "2026-01-02", Close: 1})
		},
		"changed alert a/x 2026-01-01: old close=9007199254740993 threshold=5, new close=9007199254740993 threshold=6": func(s *side) { s.alerts[0].Threshold++ },
		"missing alert": func(s *side) { s.alerts = nil },
		"changed status a/x: old READY, new BLOCKED t@2": func(s *side) {
			s.statuses[0] = projection.Status{Item: "a", Location: "x", Status: "BLOCKED", Conflicts: []projection.ConflictRef{{TxnID: "t", Revision: 2}}}
		},
		"missing status": func(s *side) { s.statuses = nil },
	} {
		w := newWorld(t)
		damage(w.sides["new"])
		w.expect(equivalence.Drift, 12, text)
	}
}

// TestR26CompareBlocked: of a key that is BLOCKED in either namespace the status alone is compared.
func TestR26CompareBlocked(t *testing.T) {
	mark.Expect(t, "R26 compare: blocked key left out")
	w := newWorld(t)
	for _, s := range w.sides {
		s.statuses[0] = projection.Status{Item: "a", Location: "x", Status: "BLOCKED", Conflicts: []projection.ConflictRef{{TxnID: "t", Revision: 2}}}
	}
	w.sides["old"].balances[0].Close, w.sides["old"].alerts = 5, nil
	if r := w.expect(equivalence.Equal, 0, "1 key is BLOCKED"); r.BlockedKeys != 1 || r.Counts.Balances.Equal != 1 {
		t.Errorf("%+v", r)
	}
	w.sides["old"].balances[1].Close = 5
	w.expect(equivalence.Drift, 12, ": 1 difference\n")
}

// TestSC24CompareIncomplete: without a common boundary there is no comparison, however long it is waited for.
func TestSC24CompareIncomplete(t *testing.T) {
	mark.Expect(t, "SC24 compare: no common boundary")
	for text, damage := range map[string]func(s *side){
		"worker: source partition 0: namespace old stands at 9, new at 8":               func(s *side) { s.progress.Worker = []int64{8} },
		"relay: 1 envelopes of namespace new, source partition 0, are not acknowledged": func(s *side) { s.progress.SentThrough = []int64{3} },
		"view: namespace new, output partition 0, stands at 6 of [7]":                   func(s *side) { s.view = []int64{6} },
		"view: namespace new, output partition 0, stands at 7 of []":                    func(s *side) { s.output = []int64{} },
	} {
		w := newWorld(t)
		damage(w.sides["new"])
		r := w.expect(equivalence.Incomplete, 13, text)
		if len(r.Differences) > 0 || r.Counts.Balances.Old > 0 || w.now.Before(time.Unix(1, 0)) {
			t.Errorf("%s: %+v at %v", text, r, w.now)
		}
	}
	w := newWorld(t) // a boundary that is reached while it is waited for
	w.sides["new"].progress.Worker = []int64{8}
	w.sleeps = func() { w.sides["new"].progress.Worker = []int64{9} }
	w.expect(equivalence.Equal, 0, "all equal")
}

// TestSC25CompareMoved: a namespace that goes on meanwhile makes the comparison INCOMPLETE, and no difference is shown.
func TestSC25CompareMoved(t *testing.T) {
	mark.Expect(t, "SC25 compare: the boundary moved")
	for name, damage := range map[string]func(w *world){
		"worker": func(w *world) {
			w.sides["old"].progress.Worker, w.sides["new"].progress.Worker = []int64{10}, []int64{10}
		},
		"one side": func(w *world) { w.sides["old"].progress.Worker = []int64{10} },
		"old view": func(w *world) {
			w.sides["old"].view, w.sides["old"].output = []int64{8}, []int64{8}
		},
		"view": func(w *world) {
			w.sides["new"].view, w.sides["new"].output = []int64{8}, []int64{8}
		},
	} {
		w := newWorld(t)
		w.sides["new"].balances[0].Close--
		w.compared = func() { damage(w) }
		if r := w.expect(equivalence.Incomplete, 13, "went on while the two were compared"); len(r.Differences) > 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	w := newWorld(t)
	w.sides["old"].inside = []int64{8}
	w.expect(equivalence.Incomplete, 13, "went on")
}

// TestR21CompareStopped: a persisted stop is ERROR at once, before anything is waited for.
func TestR21CompareStopped(t *testing.T) {
	w := newWorld(t)
	w.sides["new"].stops = []boundary.Stop{{Phase: boundary.PhaseView, Partition: 0, Offset: 3, Reason: "foreign", Detail: "of another namespace"}}
	w.sides["new"].view = []int64{3}
	w.expect(equivalence.Error, 1, "namespace new: view stopped: foreign: of another namespace, partition 0, offset 3")
	if !w.now.Equal(time.Unix(0, 0)) {
		t.Errorf("waited until %v", w.now)
	}
}

// TestCompareRefuses: unlike histories and unlike configurations are not compared, unless one is an experiment of the other.
func TestCompareRefuses(t *testing.T) {
	mark.Expect(t, "S10 unlike histories are not compared")
	mark.Expect(t, "R02 unlike configurations are not compared")
	w := newWorld(t)
	w.sides["new"].applied.SourceTopicID = "other"
	w.sides["new"].applied.BusinessDigest = w.sides["new"].applied.Namespace.BusinessDigest("other")
	if _, err := w.run(); !errors.Is(err, verify.ErrRefused) {
		t.Errorf("another topic: %v", err)
	}
	w = newWorld(t)
	other := w.sides["new"].applied
	other.Namespace.Spec.StockKeys[0].ReorderThreshold = 1
	other.Digest, other.BusinessDigest = other.Namespace.NamespaceDigest(), other.Namespace.BusinessDigest("id")
	if _, err := w.run(); !errors.Is(err, verify.ErrRefused) {
		t.Errorf("another configuration: %v", err)
	}
	other.ExperimentOf = "old"
	if r := w.expect(equivalence.Equal, 0, "an experiment: their configurations differ"); !r.Experiment {
		t.Errorf("%+v", r)
	}
	other.Digest = "altered"
	if _, err := w.run(); !errors.Is(err, verify.ErrRefused) {
		t.Errorf("an altered catalog: %v", err)
	}
	delete(w.sides, "new")
	if _, err := w.run(); !errors.Is(err, verify.ErrNotApplied) {
		t.Errorf("an absent namespace: %v", err)
	}
}
