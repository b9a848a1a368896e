package verify

import (
	"context"
	"errors"
	"iter"
	"os"
	"strings"
	"testing"

	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/oracletest"
	"amends.dev/amends/oracle/reference"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/vectorized"
)

// spooled is a history in place of a topic's, with a temporary folder of its own.
type spooled struct {
	c       oracletest.Case
	applied *verify.Applied
	whole   boundary.Range
	temp    string
	notes   []string
}

// newSpooled makes a history of some records.
func newSpooled(t *testing.T, records int) *spooled {
	t.Helper()
	c := oracletest.Mixed(t, 5, records)
	ns := c.Namespace
	s := &spooled{c: c, temp: t.TempDir()}
	t.Setenv("TMPDIR", s.temp)
	s.applied = &verify.Applied{Namespace: ns, Identity: verify.Identity{Name: ns.Name, Digest: ns.NamespaceDigest(), BusinessDigest: ns.BusinessDigest("id")}}
	s.whole = boundary.Range{TopicID: "id", From: make([]int64, ns.Spec.Source.Partitions), To: make([]int64, ns.Spec.Source.Partitions)}
	for _, r := range c.Records {
		s.whole.To[r.Partition] = r.Offset + 1
	}
	return s
}

// keep spools the history with a bound of memory.
func (s *spooled) keep(ctx context.Context, judge engine.Engine, memory int64, history engine.History) (*verify.Snapshot, func() error, error) {
	return spool{memory, func(text string) { s.notes = append(s.notes, text) }}.Keep(ctx, judge, s.applied, s.whole, history)
}

// left are the names in the temporary folder.
func (s *spooled) left(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(s.temp)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestSpoolKeepsWhatMemoryHasNoRoomFor: a history whose rows do not fit is kept in a temporary folder, which is named, gives the
// same result by its typed columns, and is gone once it is removed. One that fits, one of an unknown bound, and one of an engine
// that takes records only stay where they are.
func TestSpoolKeepsWhatMemoryHasNoRoomFor(t *testing.T) {
	s := newSpooled(t, 400)
	history := oracletest.Of(s.c.Records)
	most := int64(0)
	for _, end := range s.whole.To {
		most += end
	}
	for memory, judge := range map[int64]engine.Engine{most * vectorized.RowBytes: arrow.Engine{}, 0: arrow.Engine{}, 1: reference.Engine{}} {
		kept, remove, err := s.keep(t.Context(), judge, memory, history)
		if kept != nil || remove != nil || err != nil || len(s.left(t)) > 0 || len(s.notes) > 0 {
			t.Errorf("%s, memory %d: kept %v, %v; left %q, notes %q", judge.Name(), memory, kept, err, s.left(t), s.notes)
		}
	}
	kept, remove, err := s.keep(t.Context(), arrow.Engine{}, most*vectorized.RowBytes-1, history)
	if err != nil || kept == nil {
		t.Fatalf("kept %v: %v", kept, err)
	}
	names := s.left(t)
	if len(names) != 1 || len(s.notes) != 1 || !strings.Contains(s.notes[0], names[0]) || !strings.Contains(s.notes[0], "do not fit into --memory") {
		t.Errorf("left %q, notes %q", names, s.notes)
	}
	p, rows, err := kept.Typed.Compute(t.Context(), arrow.Engine{}, s.c.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	oracletest.Equal(t, "kept", p, oracletest.Compute(t, reference.Engine{}, s.c.Namespace, s.c.Records))
	var total int64
	for _, n := range rows {
		total += n
	}
	if total != 400 || kept.TopicID != "id" {
		t.Errorf("%d records of topic %q", total, kept.TopicID)
	}
	if err := remove(); err != nil || len(s.left(t)) > 0 {
		t.Errorf("removed: %v, left %q", err, s.left(t))
	}
}

// TestSpoolLeavesNothingBehind: a history that breaks, or a run that is ended, on the way to the disk is its own error and leaves no
// file.
func TestSpoolLeavesNothingBehind(t *testing.T) {
	s := newSpooled(t, 400)
	broken := errors.New("the broker went away")
	for at := range 3 {
		history := func(context.Context) iter.Seq2[engine.Record, error] {
			return func(yield func(engine.Record, error) bool) {
				for i, r := range s.c.Records {
					if i == at*180 {
						yield(engine.Record{}, broken)
						return
					}
					if !yield(r, nil) {
						return
					}
				}
			}
		}
		kept, _, err := s.keep(t.Context(), arrow.Engine{}, 1, history)
		if kept != nil || !errors.Is(err, broken) || !strings.Contains(err.Error(), "keep the history on disk") || len(s.left(t)) > 0 {
			t.Errorf("broken at %d: kept %v, %v; left %q", at*180, kept, err, s.left(t))
		}
	}
	t.Setenv("TMPDIR", s.temp+"/none")
	if kept, _, err := s.keep(t.Context(), arrow.Engine{}, 1, oracletest.Of(s.c.Records)); kept != nil || err == nil {
		t.Errorf("without a folder: kept %v, %v", kept, err)
	}
}
