package verify_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/compare"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/source"
	"amends.dev/amends/oracle/verify"
)

// exported is a snapshot of the demo's history, kept in memory.
func (w *world) exported() *verify.Snapshot {
	w.t.Helper()
	topics, err := source.Open(source.Config{Brokers: w.cluster.Seeds})
	if err != nil {
		w.t.Fatal(err)
	}
	defer topics.Close()
	topic, err := topics.Describe(w.t.Context(), w.sourceTopic)
	if err != nil {
		w.t.Fatal(err)
	}
	whole := boundary.Range{Topic: w.sourceTopic, TopicID: topic.ID, From: topic.Starts, To: topic.Stables}
	var records []engine.Record
	for r, err := range topics.History(whole)(w.t.Context()) {
		if err != nil {
			w.t.Fatal(err)
		}
		r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
		records = append(records, r)
	}
	return &verify.Snapshot{
		Name: "./snapshot", TopicID: topic.ID, Starts: topic.Starts, Ends: topic.Stables,
		History: func(r boundary.Range) engine.History {
			return func(context.Context) iter.Seq2[engine.Record, error] {
				return func(yield func(engine.Record, error) bool) {
					for _, record := range records {
						if p := record.Partition; record.Offset >= r.From[p] && record.Offset < r.To[p] && !yield(record, nil) {
							return
						}
					}
				}
			}
		},
	}
}

// TestR22FromSnapshot: a snapshot of exactly the boundary's history is judged in the topic's place; one of another history
// is INCOMPLETE and says in what it differs; a damaged one is ERROR and names the file.
func TestR22FromSnapshot(t *testing.T) {
	mark.Expect(t, "R22 snapshot of another history")
	w := newWorld(t)
	w.demo()
	bad := w.record("bolt", "oslo", "b9", 1, "NEW", "2026-01-01T00:00:00Z", 1)
	bad.Value = []byte("{")
	w.produce(bad)
	w.quarantine(bad, "invalid_json")
	topic := w.verify(report.Exclusions)
	s := w.exported()
	w.snapshot = s
	r := w.verify(report.Exclusions)
	if r.JudgedFrom != "./snapshot" || topic.JudgedFrom != "topic" || r.Counts != topic.Counts || r.Rejections[0] != topic.Rejections[0] {
		t.Errorf("%+v\n%+v", r, topic)
	}
	w.exec(`UPDATE amends_shop_view.balance SET close = close + 1 WHERE key_id = 0`)
	w.verify(report.Drift)
	for _, c := range []struct {
		name, want string
		damage     func(s *verify.Snapshot)
	}{
		{"topic ID", "its topic ID: other, the boundary's: " + w.sourceID, func(s *verify.Snapshot) { s.TopicID = "other" }},
		{"starts", "its starts: [0 1], the boundary's: [0 0]", func(s *verify.Snapshot) { s.Starts = []int64{0, 1} }},
		{"ends", "its ends: [0 0], the boundary's: ", func(s *verify.Snapshot) { s.Ends = []int64{0, 0} }},
	} {
		damaged := *s
		c.damage(&damaged)
		w.snapshot = &damaged
		r := w.verify(report.Incomplete)
		if got := r.Incomplete[0]; got.Phase != boundary.PhaseScan || r.Retryable || !strings.Contains(got.Reason, "snapshot ./snapshot does not hold the history of the boundary: "+c.want) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	damaged := *s
	damaged.History = func(boundary.Range) engine.History {
		return func(context.Context) iter.Seq2[engine.Record, error] {
			return func(yield func(engine.Record, error) bool) {
				yield(engine.Record{}, errors.New("snapshot/raw-00000-00000.parquet: the file was changed"))
			}
		}
	}
	w.snapshot = &damaged
	if r := w.verify(report.Error); r.Errors[0].Phase != boundary.PhaseScan || !strings.Contains(r.Errors[0].Reason, "raw-00000-00000.parquet") {
		t.Errorf("%+v", r.Errors)
	}
}

// TestS10Scope: a key in scope is shown apart; the verdict is on all keys.
func TestS10Scope(t *testing.T) {
	w := newWorld(t)
	w.demo()
	w.options.Scope = []string{"bolt,oslo", "bolt,oslo", "nut,oslo"}
	r := w.verify(report.Pass)
	want := report.ScopedKey{Item: "bolt", Location: "oslo", Compared: true, Tally: compare.Tally{Oracle: 3, View: 3, Equal: 3}} // balance, status, key
	if len(r.Scope) != 2 || r.Scope[0] != want {
		t.Errorf("%+v", r.Scope)
	}
	if first, _, _ := strings.Cut(text(t, r), "\n"); !strings.HasSuffix(first, "; scope bolt/oslo: no difference in 3 facts; scope nut/oslo: no difference in 1 fact") {
		t.Error(first)
	}
	other := w.record("widget", "berlin", "t1", 2, "AMEND", "2026-01-01T10:00:00Z", -31)
	w.produce(other)
	w.exec(`UPDATE amends_shop_view.key_status SET status = 'BLOCKED', conflict_txns = '{t1}', conflict_revisions = '{2}' WHERE key_id = 2`)
	w.conflict(2, "t1", 2, 2, 10, map[*kgo.Record]int64{other: -31})
	w.options.Scope = []string{"bolt,oslo", "widget,berlin"}
	r = w.verify(report.Blocked)
	if first, _, _ := strings.Cut(text(t, r), "\n"); !strings.HasSuffix(first, "; scope bolt/oslo: no difference in 3 facts; scope widget/berlin: BLOCKED, 4 rows uncertified") {
		t.Error(first)
	}
	if c := r.Conflicts[0]; len(c.Payloads) != 2 || !strings.Contains(c.Payloads[0].Canonical, `"2","AMEND","2026-01-01T10:00:00Z","-30"]`) || !strings.Contains(c.Payloads[1].Canonical, `"-31"]`) {
		t.Errorf("%+v", c)
	}
	w.exec(`UPDATE amends_shop_view.balance SET close = 1 WHERE key_id = 0`)
	if r = w.verify(report.Blocked); r.Scope[0].Tally.Changed != 1 {
		t.Errorf("%+v", r.Scope)
	}
	for _, asked := range []string{"bolt", "bolt,bergen", "", ","} {
		w.options.Scope = []string{asked}
		if _, err := w.run(); !errors.Is(err, verify.ErrScope) {
			t.Errorf("%q: %v", asked, err)
		}
	}
}
