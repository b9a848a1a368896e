package oracle

import (
	"context"
	"fmt"
	"iter"
	"os"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/progress"
	"amends.dev/amends/internal/recordfile"
	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/arrow"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/projection"
	"amends.dev/amends/vectorized/snapshot"
)

// lines is the history of a record file, - for stdin, which must be of the manifest's source topic.
func lines(a *app.App, ns *manifests.Namespace, path string) engine.History {
	return func(context.Context) iter.Seq2[engine.Record, error] {
		file := recordfile.ReadFile(path)
		if path == "-" {
			file = recordfile.Read("stdin", a.Stdin)
		}
		return func(yield func(engine.Record, error) bool) {
			for r, err := range recordfile.OfTopic(file, ns.Spec.Source.Topic) {
				record := engine.Record{Partition: r.Partition, Offset: r.Offset, BrokerTime: r.Timestamp, Key: r.Key, Value: r.Value}
				if !yield(record, err) {
					return
				}
			}
		}
	}
}

// columnar computes the history at a path with the columnar engine.
func columnar(ctx context.Context, a *app.App, ns *manifests.Namespace, path string, fromRaw bool, o arrow.Options) (*arrow.Result, error) {
	e := arrow.Engine{}
	s, err := openSnapshot(ns, path)
	if err != nil {
		return nil, err
	}
	if s == nil {
		line := progress.Start(a)
		defer line.Stop()
		return e.ComputeRecords(ctx, ns, progress.History(line, lines(a, ns, path), 0), o)
	}
	meta := s.Meta()
	text := "raw: not read"
	switch {
	case fromRaw:
		text = "typed: not read"
	case meta.BusinessDigest != ns.BusinessDigest(meta.TopicID):
		fromRaw = true
		text = "typed: not read, they were decoded under another configuration; raw records are decoded under this one"
	}
	if err := note(a, text); err != nil {
		return nil, err
	}
	line := progress.Start(a)
	defer line.Stop()
	if !fromRaw {
		source, _ := progress.Typed(line, s.Typed(), o.Memory)
		return e.ComputeColumns(ctx, ns, source, o)
	}
	raw, err := s.Raw()
	if err != nil {
		return nil, err
	}
	source, _ := progress.Raw(line, raw, o.Memory)
	return e.ComputeRaw(ctx, ns, source, o)
}

// openSnapshot opens a folder; nil where the path is a file or stdin. It is of a topic with the manifest's partitions.
func openSnapshot(ns *manifests.Namespace, path string) (*snapshot.Snapshot, error) {
	if path == "-" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read records: %w", err)
	}
	if !info.IsDir() {
		return nil, nil
	}
	s, err := snapshot.Open(path)
	if err != nil {
		return nil, err
	}
	if have, want := len(s.Meta().Ends), int(ns.Spec.Source.Partitions); have != want {
		return nil, fmt.Errorf("%s: it is the history of %d partitions, spec.source.partitions of the manifest is %d", path, have, want)
	}
	return s, nil
}

// rowByRow computes the history at a path with an engine that reads records.
func rowByRow(ctx context.Context, a *app.App, e engine.Engine, ns *manifests.Namespace, path string) (*projection.Projection, error) {
	s, err := openSnapshot(ns, path)
	if err != nil {
		return nil, err
	}
	if s != nil {
		if err := note(a, "typed: not read"); err != nil {
			return nil, err
		}
	}
	line := progress.Start(a)
	defer line.Stop()
	if s == nil {
		return e.Compute(ctx, ns, progress.History(line, lines(a, ns, path), 0))
	}
	return e.Compute(ctx, ns, progress.History(line, s.History(), s.Records()))
}

// note says on stderr what the result does not rest on.
func note(a *app.App, text string) error {
	_, err := fmt.Fprintln(a.Stderr, text)
	return err
}
