package manifests

import (
	"fmt"
	"slices"
	"strconv"
)

// Topic configurations under which no record is ever removed: what apply creates, and the only ones it accepts
// (S10, S11).
const (
	// CleanupPolicyConfig must be CleanupPolicyDelete: compaction would remove distinct transactions of one key.
	CleanupPolicyConfig = "cleanup.policy"
	CleanupPolicyDelete = "delete"
	// RetentionMillisConfig and RetentionBytesConfig must be RetentionUnlimited.
	RetentionMillisConfig = "retention.ms"
	RetentionBytesConfig  = "retention.bytes"
	RetentionUnlimited    = "-1"
)

// requiredConfigs are the configurations that a topic must have, with why.
var requiredConfigs = []struct{ name, value, reason string }{
	{CleanupPolicyConfig, CleanupPolicyDelete, "compaction removes history that is needed"},
	{RetentionMillisConfig, RetentionUnlimited, "finite retention removes history that is needed"},
	{RetentionBytesConfig, RetentionUnlimited, "finite retention removes history that is needed"},
}

// topicPlan is one topic as the manifest wants it, and what is known of it.
type topicPlan struct {
	kind       ItemKind
	field      string
	name       string
	partitions int32
	found      *Topic
	appliedID  string
}

// topic plans one topic: it is created, or equal to what apply would create, or refused with every reason.
func (p *planner) topic(kind ItemKind) {
	t := topicPlan{kind: kind, field: "spec.source", name: p.desired.Spec.Source.Topic,
		partitions: p.desired.Spec.Source.Partitions, found: p.observed.Source}
	if kind == OutputTopic {
		t = topicPlan{kind: kind, field: "spec.output", name: p.desired.Spec.Output.Topic,
			partitions: p.desired.Spec.Output.Partitions, found: p.observed.Output}
	}
	applied := p.observed.Applied
	if applied != nil {
		t.appliedID = applied.SourceTopicID
		if kind == OutputTopic {
			t.appliedID = applied.OutputTopicID
		}
	}
	const rebuild = "rebuild into a new namespace with topics of its own"
	switch {
	case t.found == nil && applied == nil:
		p.item(kind, t.name, Create, fmt.Sprintf("%d partitions, unlimited retention, cleanup.policy=delete", t.partitions))
		return
	case t.found == nil:
		p.refuse(Refusal{Field: t.field + ".topic", Old: "no topic " + t.name, New: "topic ID " + t.appliedID,
			Reason: "the topic was deleted after the namespace was applied", Remedy: rebuild})
		return
	case applied != nil && t.found.ID != t.appliedID:
		p.refuse(Refusal{Field: t.field + ".topic", Old: "topic ID " + t.found.ID, New: "topic ID " + t.appliedID,
			Reason: "the topic was recreated after the namespace was applied", Remedy: rebuild})
	}
	before := p.plan.Refused
	p.topicShape(t)
	p.topicHistory(t)
	if p.plan.Refused == before && (applied == nil || t.found.ID == t.appliedID) {
		p.item(kind, t.name, Unchanged, "")
	}
}

// topicShape refuses wrong partition counts and configurations.
func (p *planner) topicShape(t topicPlan) {
	if t.found.Partitions != t.partitions {
		p.refuse(Refusal{Field: t.field + ".partitions", Old: strconv.Itoa(int(t.found.Partitions)), New: strconv.Itoa(int(t.partitions)),
			Reason: "topic " + t.name + " exists with another partition count, which fixes where every key is",
			Remedy: "declare the topic's own count in a new namespace, or choose another topic"})
	}
	for _, want := range requiredConfigs {
		got, known := t.found.Configs[want.name]
		if got == want.value {
			continue
		}
		if !known {
			got = "unknown"
		}
		p.refuse(Refusal{Field: t.field + ".topic", Old: want.name + "=" + got, New: want.name + "=" + want.value,
			Reason: "topic " + t.name + ": " + want.reason,
			Remedy: fmt.Sprintf("choose another topic; where nothing was removed yet, set %s=%s on this one", want.name, want.value)})
	}
}

// topicHistory refuses topics whose history does not begin at offset 0, and an output topic that holds records of
// something else.
func (p *planner) topicHistory(t topicPlan) {
	above := func(offset int64) bool { return offset > 0 }
	if i := slices.IndexFunc(t.found.Starts, above); i >= 0 {
		p.refuse(Refusal{Field: t.field + ".topic", Old: fmt.Sprintf("partition %d starts at offset %d", i, t.found.Starts[i]), New: "every partition starts at offset 0",
			Reason: "topic " + t.name + " has lost the beginning of its history", Remedy: "choose a topic with its complete history"})
		return
	}
	if t.kind != OutputTopic || p.observed.Applied != nil {
		return
	}
	if i := slices.IndexFunc(t.found.Ends, above); i >= 0 {
		p.refuse(Refusal{Field: t.field + ".topic", Old: fmt.Sprintf("partition %d ends at offset %d", i, t.found.Ends[i]), New: "an empty topic",
			Reason: "topic " + t.name + " holds records that are not of this namespace", Remedy: "choose another output topic"})
	}
}
