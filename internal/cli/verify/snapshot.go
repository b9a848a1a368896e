package verify

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"amends.dev/amends/internal/exit"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/vectorized"
	"amends.dev/amends/vectorized/snapshot"
)

// openSnapshot opens an exported history to be judged in place of the topic: by its typed columns, where the engine takes
// them, unless fromRaw says that its raw records are to be decoded anew. The raw records of rejections are read in any case.
func openSnapshot(dir string, fromRaw bool, memory int64) (*verify.Snapshot, error) {
	s, err := snapshot.Open(dir)
	if errors.Is(err, snapshot.ErrNone) {
		return nil, exit.With(exit.Usage, fmt.Errorf("--from %w; amendsctl export writes one", err))
	}
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	raw, err := s.Raw()
	if errors.Is(err, snapshot.ErrNoRaw) {
		return nil, exit.With(exit.Usage, fmt.Errorf("--from %w, and rejected records are compared by their raw bytes; amendsctl export writes raw ones too", err))
	}
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	judged := asSnapshot(dir, s, raw, memory)
	if fromRaw {
		judged.Typed = nil
	}
	return judged, nil
}

// asSnapshot is a snapshot as a verification takes it.
func asSnapshot(name string, s *snapshot.Snapshot, raw vectorized.RawSource, memory int64) *verify.Snapshot {
	meta := s.Meta()
	return &verify.Snapshot{
		Name: name, TopicID: meta.TopicID, Starts: meta.Starts, Ends: meta.Ends,
		History: func(r boundary.Range) engine.History { return part(s, raw, r) },
		Records: records(raw, len(meta.Ends), memory),
		Typed:   typed{s, memory},
	}
}

// records has the columnar engine decode all raw records, on all processors.
func records(raw vectorized.RawSource, partitions int, memory int64) func(context.Context, engine.Engine, *manifests.Namespace) (*projection.Projection, []int64, error) {
	return func(ctx context.Context, judge engine.Engine, ns *manifests.Namespace) (*projection.Projection, []int64, error) {
		columnar, ok := judge.(arrow.Engine)
		if !ok {
			return nil, nil, nil
		}
		result, err := columnar.ComputeRaw(ctx, ns, raw, arrow.Options{Memory: memory})
		if err != nil {
			return nil, nil, err
		}
		return result.Projection(), rowsOf(raw.Parts(), partitions), nil
	}
}

// part is the part of a history in a range, of which the files that hold none of it are not read.
func part(s *snapshot.Snapshot, raw vectorized.RawSource, r boundary.Range) engine.History {
	return func(ctx context.Context) iter.Seq2[engine.Record, error] {
		return func(yield func(engine.Record, error) bool) {
			decoder := raw.NewDecoder()
			var buffer []byte
			for i, f := range s.FilesOf(snapshot.KindRaw) {
				p := int(f.Partition)
				if p >= len(r.From) || f.LastOffset < r.From[p] || f.FirstOffset >= r.To[p] {
					continue
				}
				loaded, grown, err := raw.Load(ctx, i, buffer)
				buffer = grown
				if err != nil {
					yield(engine.Record{}, err)
					return
				}
				if !within(ctx, loaded, decoder, f.Partition, r, yield) {
					return
				}
			}
		}
	}
}

// within yields the records of one file that are in a range, and reports whether more are wanted.
func within(ctx context.Context, loaded vectorized.Loaded, decoder vectorized.RawDecoder, partition int32, r boundary.Range, yield func(engine.Record, error) bool) bool {
	for group := range loaded.Groups() {
		columns, err := decoder.Columns(loaded, group)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			yield(engine.Record{}, err)
			return false
		}
		wanted := true
		columns.Each(func(offset int64, key, value []byte) {
			if wanted && offset >= r.From[partition] && offset < r.To[partition] {
				wanted = yield(engine.Record{Partition: partition, Offset: offset, Key: key, Value: value}, nil)
			}
		})
		if !wanted {
			return false
		}
	}
	return true
}
