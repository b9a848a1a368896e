package snapshot

import (
	"context"
	"fmt"
	"iter"
	"slices"

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
			files := slices.DeleteFunc(s.FilesOf(KindRaw), func(f File) bool { return f.Partition != partition })
			s.yieldRaw(ctx, files, yield)
		}
	}
}
