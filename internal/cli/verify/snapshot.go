package verify

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"amends.dev/amends/internal/exit"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/vectorized/snapshot"
)

// openSnapshot opens an exported history to be judged in place of the topic. Its raw records are read and decoded anew:
// the typed columns are the judgement of a decoder.
func openSnapshot(dir string) (*verify.Snapshot, error) {
	s, err := snapshot.Open(dir)
	if errors.Is(err, snapshot.ErrNone) {
		return nil, exit.With(exit.Usage, fmt.Errorf("--from %w; amendsctl export writes one", err))
	}
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	if _, err := s.Raw(); errors.Is(err, snapshot.ErrNoRaw) {
		return nil, exit.With(exit.Usage, fmt.Errorf("--from %w, which hold what a decoder made of the records; amendsctl export writes raw ones too", err))
	}
	meta := s.Meta()
	return &verify.Snapshot{
		Name: dir, TopicID: meta.TopicID, Starts: meta.Starts, Ends: meta.Ends,
		History: func(r boundary.Range) engine.History { return part(s.History(), r) },
	}, nil
}

// part is the part of a history in a range. A damaged file is an error also where the range needs none of it.
func part(whole engine.History, r boundary.Range) engine.History {
	return func(ctx context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			for record, err := range whole(ctx) {
				p := int(record.Partition)
				if err == nil && (p >= len(r.From) || record.Offset < r.From[p] || record.Offset >= r.To[p]) {
					continue
				}
				if !yield(record, err) {
					return
				}
			}
		}
	}
}
