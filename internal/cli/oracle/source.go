package oracle

import (
	"context"
	"fmt"
	"iter"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/recordfile"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/vectorized/snapshot"
)

// lines is the history of a record file, - for stdin.
func lines(a *app.App, path string) engine.History {
	return func(context.Context) iter.Seq2[engine.Record, error] {
		file := recordfile.ReadFile(path)
		if path == "-" {
			file = recordfile.Read("stdin", a.Stdin)
		}
		return func(yield func(engine.Record, error) bool) {
			for r, err := range file {
				record := engine.Record{Partition: r.Partition, Offset: r.Offset, BrokerTime: r.Timestamp, Key: r.Key, Value: r.Value}
				if !yield(record, err) {
					return
				}
			}
		}
	}
}

// computeSnapshot computes the history of a snapshot. The arrow engine takes the typed columns where they were decoded
// under the given manifest, and decodes the raw records where they were not.
func computeSnapshot(ctx context.Context, a *app.App, e engine.Engine, ns *manifests.Namespace, dir string) (*projection.Projection, error) {
	s, err := snapshot.Open(dir)
	if err != nil {
		return nil, err
	}
	meta := s.Meta()
	columnar, typed := e.(arrow.Engine)
	switch {
	case !typed:
		err = note(a, "typed: not read")
	case meta.BusinessDigest != ns.BusinessDigest(meta.TopicID):
		typed = false
		err = note(a, "typed: not read, they were decoded under another configuration; raw records are decoded under this one")
	default:
		err = note(a, "raw: not read")
	}
	if err != nil {
		return nil, err
	}
	if typed {
		result, err := columnar.ComputeColumns(ctx, ns, s.Typed(), arrow.Options{})
		if err != nil {
			return nil, err
		}
		return result.Projection(), nil
	}
	return e.Compute(ctx, ns, s.History())
}

// note says on stderr what the result does not rest on.
func note(a *app.App, text string) error {
	_, err := fmt.Fprintln(a.Stderr, text)
	return err
}
