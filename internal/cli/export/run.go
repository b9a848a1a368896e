package export

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/oracle/verify"
	"amends.dev/amends/vectorized/snapshot"
)

// progressEvery is the number of records between two lines of progress.
const progressEvery = 100_000

// Result says what a folder holds after an export.
type Result struct {
	Namespace string `json:"namespace"`
	Folder    string `json:"folder"`
	Topic     string `json:"topic"`
	TopicID   string `json:"topicId"`
	// Starts and H are the range of offsets that the folder holds, by partition.
	Starts []int64 `json:"starts"`
	H      []int64 `json:"h"`
	// From is where this export began to read: Starts, or where an earlier one had ended.
	From []int64 `json:"from"`
	// Exported counts the records that this export added, Records all that the folder holds.
	Exported int64 `json:"exported"`
	Records  int64 `json:"records"`
	// Files counts the files of the set, snapshot.json aside.
	Files int `json:"files"`
}

// Run exports the visible source history of a namespace, from its start through the last stable offsets (H), into
// folder dir: a new snapshot, or the continuation of what an earlier or interrupted export left there. Errors wrap
// verify.ErrRefused where the topic cannot supply the whole history of the applied namespace.
func Run(ctx context.Context, state verify.State, topics verify.Topics, name, dir string, progress func(string)) (*Result, error) {
	applied, err := state.Applied(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := verify.CheckConfiguration(applied, nil); err != nil {
		return nil, err
	}
	topic, err := topics.Describe(ctx, applied.Namespace.Spec.Source.Topic)
	if err != nil {
		return nil, err
	}
	if err := checkTopic(applied, topic); err != nil {
		return nil, err
	}
	writer, err := snapshot.Create(dir, applied.Namespace, snapshot.Meta{
		Namespace: applied.Name, NamespaceDigest: applied.Digest, BusinessDigest: applied.BusinessDigest,
		TopicID: topic.ID, Starts: topic.Starts, Ends: topic.Stables, Isolation: snapshot.ReadCommitted,
	})
	if err != nil {
		return nil, err
	}
	result := &Result{
		Namespace: applied.Name, Folder: dir, Topic: applied.Namespace.Spec.Source.Topic, TopicID: topic.ID,
		Starts: topic.Starts, H: topic.Stables, From: writer.Next(),
	}
	history := topics.History(boundary.Range{Topic: result.Topic, TopicID: topic.ID, From: result.From, To: topic.Stables})
	if result.Exported, err = copyRecords(ctx, history, writer, progress); err != nil {
		return nil, errors.Join(err, writer.Abort())
	}
	if err := writer.Close(); err != nil {
		return nil, errors.Join(err, writer.Abort())
	}
	return result, count(result)
}

// checkTopic refuses a topic that is not, or no longer wholly, the one that the namespace was applied with.
func checkTopic(a *verify.Applied, t *boundary.Topic) error {
	name := a.Namespace.Spec.Source.Topic
	switch {
	case t == nil:
		return fmt.Errorf("%w: source topic %s does not exist any more; apply a new namespace", verify.ErrRefused, name)
	case t.ID != a.SourceTopicID:
		return fmt.Errorf("%w: source topic %s was recreated: its topic ID is %s, namespace %s was applied with %s; apply a new namespace",
			verify.ErrRefused, name, t.ID, a.Name, a.SourceTopicID)
	case len(t.Ends) != int(a.Namespace.Spec.Source.Partitions):
		return fmt.Errorf("%w: source topic %s has %d partitions, namespace %s was applied with %d; apply a new namespace",
			verify.ErrRefused, name, len(t.Ends), a.Name, a.Namespace.Spec.Source.Partitions)
	}
	for p, start := range t.Starts {
		if start > 0 {
			return fmt.Errorf("%w: source topic %s, partition %d begins at offset %d: earlier records are lost; apply a new namespace with a topic that has its whole history",
				verify.ErrRefused, name, p, start)
		}
	}
	if limits := t.Limits(); len(limits) > 0 {
		return fmt.Errorf("%w: source topic %s has %s: history may be destroyed", verify.ErrRefused, name, strings.Join(limits, ", "))
	}
	return nil
}

// copyRecords appends a history to a dataset and returns how many records it had. The dataset's writer copies each record
// once, to where it is compressed from.
func copyRecords(ctx context.Context, history engine.History, writer *snapshot.Writer, progress func(string)) (int64, error) {
	var n int64
	var one [1]engine.Record
	for record, err := range history(ctx) {
		if err != nil {
			return n, err
		}
		one[0] = record
		if err := writer.Append(one[:]); err != nil {
			return n, err
		}
		if n++; n%progressEvery == 0 {
			progress(fmt.Sprintf("%d records exported", n))
		}
	}
	return n, nil
}

// count reads the published set once more and counts what it holds.
func count(r *Result) error {
	set, err := snapshot.Open(r.Folder)
	if err != nil {
		return err
	}
	r.Files, r.Records = len(set.Files()), set.Records()
	return nil
}
