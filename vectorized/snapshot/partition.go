package snapshot

import (
	"context"
	"fmt"
	"iter"

	"amends.dev/amends/oracle/engine"
)

// PartitionHistory yields the records of one partition as History does.
func (s *Snapshot) PartitionHistory(partition int32) engine.History {
	return func(ctx context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			if !s.index.Raw {
				yield(engine.Record{}, fmt.Errorf("%s: %w", s.dir, ErrNoRaw))
				return
			}
			for _, f := range s.FilesOf(KindRaw) {
				if f.Partition != partition {
					continue
				}
				more, err := s.readRaw(ctx, f, func(r engine.Record) bool { return yield(r, nil) })
				if err != nil {
					yield(engine.Record{}, err)
				}
				if err != nil || !more {
					return
				}
			}
		}
	}
}
