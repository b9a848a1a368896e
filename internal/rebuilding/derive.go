package rebuilding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/derive"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/vectorized/derived"
)

// Derivation says what is to be derived.
type Derivation struct {
	// Namespace is the one that the dataset is for, with its own configuration.
	Namespace *manifests.Namespace
	// TopicID is the source topic's.
	TopicID string
	// Ends are H, by partition.
	Ends []int64
	// Source gives the history of each partition from offset 0 to H.
	Source derive.Source
	// Code is the version of the program.
	Code string
	// Parallel is how many partitions are derived at a time.
	Parallel int
	// Derived, where not nil, is told of each partition that Pass has derived, and how many records it has, by several
	// goroutines.
	Derived func(partition int32, records int64)
}

// Derive writes a dataset into a folder that does not exist yet, or is empty.
func Derive(ctx context.Context, d Derivation, dir string) error {
	w, err := derived.Create(dir, d.meta())
	if err != nil {
		return err
	}
	if err := derive.Run(ctx, w, d.Namespace, d.Source, d.Parallel); err != nil {
		return errors.Join(err, w.Abort())
	}
	if err := w.Close(); err != nil {
		return errors.Join(err, w.Abort())
	}
	return nil
}

func (d *Derivation) meta() derived.Meta {
	return derived.Meta{
		BusinessDigest: d.Namespace.BusinessDigest(d.TopicID), TopicID: d.TopicID, Ends: slices.Clone(d.Ends),
		Engine: derive.Engine, Decoder: derive.Decoder, Code: d.Code,
	}
}

// BuiltBy is what the catalog says of a namespace that is built from such a dataset (R26): words, the engine first.
func BuiltBy(engine, decoder, code string, ends []int64) string {
	word := strings.ReplaceAll(code, " ", "+")
	through := strings.ReplaceAll(fmt.Sprint(ends), " ", ",")
	return fmt.Sprintf("%s decoder=%s version=%s through=%s", engine, decoder, word, through)
}

// Histories is a topic whose ranges can be read; source.Client is one.
type Histories interface {
	// History reads a range under read_committed.
	History(r boundary.Range) engine.History
}

// FromTopic reads the partitions of a source topic from offset 0 to H.
func FromTopic(topics Histories, topic, topicID string, ends []int64) derive.Source {
	return func(partition int32) engine.History {
		r := boundary.Range{Topic: topic, TopicID: topicID, From: slices.Clone(ends), To: slices.Clone(ends)}
		r.From[partition] = 0
		return topics.History(r)
	}
}
