package verify_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/report"
	"amends.dev/amends/oracle/verify"
)

// spool keeps a history in memory and notes what became of it.
type spool struct {
	history engine.History
	removed int
	broken  error
}

// Keep implements verify.Spool.
func (s *spool) Keep(ctx context.Context, _ engine.Engine, _ *verify.Applied, r boundary.Range, history engine.History) (*verify.Snapshot, func() error, error) {
	for _, err := range history(ctx) {
		if err != nil {
			return nil, nil, errors.New("the disk's own error")
		}
	}
	if s.broken != nil {
		return nil, nil, s.broken
	}
	read := func(boundary.Range) engine.History { return s.history }
	return &verify.Snapshot{TopicID: r.TopicID, Starts: r.From, Ends: r.To, History: read}, func() error { s.removed++; return nil }, nil
}

// TestLargeHistoryIsKeptOnDisk: where a spool takes a history it is judged from there, still as the topic's, and removed at
// the end; a disk that fails is ERROR, and a topic that fails under it is what it is.
func TestLargeHistoryIsKeptOnDisk(t *testing.T) {
	w := newWorld(t)
	w.demo()
	s := &spool{history: w.exported().History(boundary.Range{From: []int64{0, 0}, To: w.nextOffsets[:]})}
	w.spool = s
	if r := w.verify(report.Pass); r.JudgedFrom != "topic" || s.removed != 1 || r.Counts.Records != 5 {
		t.Errorf("%+v, removed %d times", r, s.removed)
	}
	none := s.history // a spool that has lost a record is not believed
	s.history = func(ctx context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			for r, err := range none(ctx) {
				if r.Offset > 0 && !yield(r, err) {
					return
				}
			}
		}
	}
	w.verify(report.Drift)
	s.broken = errors.New("no space left on device")
	if r := w.verify(report.Error); !strings.Contains(r.Errors[0].Reason, "no space left on device") || r.Errors[0].Phase != boundary.PhaseScan {
		t.Errorf("%+v", r.Errors)
	}
}

// TestRejectionsAreListedUpToABound: counts are full and all are compared, whatever is listed.
func TestRejectionsAreListedUpToABound(t *testing.T) {
	w := newWorld(t)
	w.demo()
	for i := range 5 {
		bad := w.record("bolt", "oslo", "b9", 1, "NEW", "2026-01-01T00:00:00Z", 1)
		bad.Value = fmt.Appendf(nil, "{%d", i)
		w.produce(bad)
		w.quarantine(bad, "invalid_json")
	}
	for bound, listed := range map[int]int{0: 5, -1: 5, 2: 2} {
		w.options.Rejections = bound
		if r := w.verify(report.Exclusions); len(r.Rejections) != listed || r.Counts.Rejections != 5 || r.Counts.Quarantine.Equal != 5 {
			t.Errorf("bound %d: %d listed, %+v", bound, len(r.Rejections), r.Counts)
		}
	}
	w.exec(`UPDATE quarantine SET reason = 'null_value' WHERE value = '{4'`)
	if r := w.verify(report.Drift); r.Counts.Quarantine.Changed != 1 {
		t.Errorf("the last of them: %+v", r.Counts.Quarantine)
	}
}

// TestProgressOfTheScan: how many records a second, and how long the rest takes, by the positions that are left up to H.
func TestProgressOfTheScan(t *testing.T) {
	w := newWorld(t)
	w.demo()
	record := engine.Record{Key: []byte("k"), Value: []byte("{")}
	const n = 250_000
	var told []string
	w.onEvent = func(e verify.Event) {
		if strings.Contains(e.Detail, "records read,") {
			told = append(told, e.Detail)
		}
	}
	w.spool = &spool{broken: errors.New("enough")}
	w.topics = func(topics verify.Topics) verify.Topics { return long{topics, n, record} }
	w.exec(`UPDATE partition_state SET next_offset = $1 WHERE partition = 0`, n)
	w.verify(report.Error)
	if len(told) != 2 || !strings.HasPrefix(told[0], "100000 records read, ") || !strings.HasSuffix(told[0], " s left") {
		t.Errorf("%q", told)
	}
}

// long is a broker whose source topic has n records of one kind in its first partition.
type long struct {
	verify.Topics
	n      int64
	record engine.Record
}

// Describe implements verify.Topics.
func (l long) Describe(ctx context.Context, topic string) (*boundary.Topic, error) {
	t, err := l.Topics.Describe(ctx, topic)
	if err == nil && strings.Contains(topic, "in") && !strings.Contains(topic, "out") {
		t.Stables[0], t.Ends[0] = l.n, l.n
	}
	return t, err
}

// History implements verify.Topics.
func (l long) History(r boundary.Range) engine.History {
	return func(context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			for l.record.Offset = r.From[0]; l.record.Offset < r.To[0]; l.record.Offset++ {
				if l.record.Offset == l.n/2 {
					time.Sleep(10 * time.Millisecond) // so that time passes
				}
				if !yield(l.record, nil) {
					return
				}
			}
		}
	}
}
