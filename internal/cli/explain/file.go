package explain

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"

	"amends.dev/amends/internal/cli/app"
	"amends.dev/amends/internal/cli/load"
	"amends.dev/amends/internal/exit"
	"amends.dev/amends/internal/recordfile"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/explain"
	"amends.dev/amends/vectorized/snapshot"
)

// fromFile explains from a snapshot folder or a record file.
func (f *flags) fromFile(ctx context.Context, a *app.App, name explain.Name) (explain.Document, error) {
	path, err := f.manifest.Path(nil)
	if err != nil {
		return explain.Document{}, err
	}
	if path == "-" && f.records == "-" {
		return explain.Document{}, exit.With(exit.Usage, errors.New("manifest and records cannot both come from stdin"))
	}
	ns, err := load.Manifest(a, path)
	if err != nil {
		return explain.Document{}, err
	}
	source, history, err := open(a, ns.Spec.Source.Topic, f.records)
	if err != nil {
		return explain.Document{}, err
	}
	collector, err := explain.NewCollector(ns, []explain.Name{name})
	if err != nil {
		return explain.Document{}, exit.With(exit.Usage, err)
	}
	if source.Records, err = observe(ctx, collector, history); err != nil {
		return explain.Document{}, err
	}
	return explain.Document{
		SchemaVersion: explain.SchemaVersion, Namespace: ns.Name, Digest: ns.NamespaceDigest(), Source: source, Key: collector.Keys()[0],
	}, nil
}

// observe gives a collector a history and counts its records.
func observe(ctx context.Context, collector *explain.Collector, history engine.History) (int64, error) {
	n := int64(0)
	for record, err := range history(ctx) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return n, err
		}
		n++
		collector.Observe(record.Partition, record.Offset, record.Key, record.Value)
	}
	return n, nil
}

// open opens a snapshot folder or a record file of the topic, - for stdin. Of a snapshot the raw records are read: the typed columns
// are the judgement of a decoder.
func open(a *app.App, topic, path string) (explain.Source, engine.History, error) {
	source := explain.Source{Name: path, From: []int64{}, Through: []int64{}}
	if path == "-" {
		source.Name = "stdin"
		return source, lines(recordfile.OfTopic(recordfile.Read("stdin", a.Stdin), topic)), nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return source, nil, fmt.Errorf("read records: %w", err)
	case !info.IsDir():
		return source, lines(recordfile.OfTopic(recordfile.ReadFile(path), topic)), nil
	}
	s, err := snapshot.Open(path)
	if err != nil {
		return source, nil, err
	}
	meta := s.Meta()
	source.TopicID, source.From, source.Through = meta.TopicID, meta.Starts, meta.Ends
	return source, s.History(), nil
}

// lines is the history of a record file.
func lines(file iter.Seq2[recordfile.Record, error]) engine.History {
	return func(context.Context) iter.Seq2[engine.Record, error] {
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
