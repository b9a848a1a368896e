package verify

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"amends.dev/amends/oracle/boundary"
	"amends.dev/amends/oracle/report"
)

// tailMax bounds the output records past O that are compared with earlier ones. The first one beyond it counts as
// foreign: that much is no late repeat of a relay.
const tailMax = 1_000_000

// message identifies the content of one output record within its partition.
type message struct {
	partition int32
	content   string
}

// tail judges the output records past O: each must repeat an earlier one of its partition byte for byte (R22), as the
// buffered sends of a relay that lost its lease do.
func (v *run) tail(ctx context.Context) (*boundary.Tail, error) {
	result := v.machine.Result()
	topic := boundary.Range{Topic: v.applied.Namespace.Spec.Output.Topic, TopicID: result.OutputID}

	late := topic
	late.From, late.To = result.O, v.output.Ends
	pending := map[message]boundary.Coordinates{}
	for record, err := range v.deps.Topics.History(late)(ctx) {
		if err != nil {
			return nil, err
		}
		content := message{record.Partition, report.Fingerprint(record.Key, record.Value)}
		if _, seen := pending[content]; !seen {
			pending[content] = boundary.Coordinates{Partition: record.Partition, Offset: record.Offset}
		}
		if len(pending) > tailMax {
			return &boundary.Tail{Foreign: &boundary.Coordinates{Partition: record.Partition, Offset: record.Offset}}, nil
		}
	}

	early := topic
	early.From, early.To = slices.Clone(result.O), slices.Clone(result.O)
	for content := range pending {
		early.From[content.partition] = result.OutputStarts[content.partition]
	}
	for record, err := range v.deps.Topics.History(early)(ctx) {
		if err != nil {
			return nil, err
		}
		delete(pending, message{record.Partition, report.Fingerprint(record.Key, record.Value)})
	}
	tail := &boundary.Tail{}
	for _, at := range pending {
		if f := tail.Foreign; f == nil || at.Partition < f.Partition || at.Partition == f.Partition && at.Offset < f.Offset {
			tail.Foreign = &at
		}
	}
	return tail, nil
}

// digestHex is the SHA-256 of raw bytes in hex, empty for null.
func digestHex(b []byte) string {
	if b == nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}
