package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/broker"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/replay"
)

// What a replay may be expected to do.
const (
	replayDone    = "done"
	replayRefused = "refused"
)

// Replay is a second reading of processed source records (S11).
type Replay struct {
	Partition int32 `json:"partition"`
	// From and To are offsets, To exclusive.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Expect is done: state holds what every record must have left; or refused.
	Expect string `json:"expect"`
}

// check finds an expectation that there is not.
func (r *Replay) check() error {
	if r.Expect != replayDone && r.Expect != replayRefused {
		return fmt.Errorf("replay expects %q: want %s or %s", r.Expect, replayDone, replayRefused)
	}
	return nil
}

// replayStep replays, and wants what is expected and nothing durable changed.
func replayStep(ctx context.Context, b bench, r *Replay) ([]string, error) {
	before, err := b.observe(ctx)
	if err != nil {
		return nil, err
	}
	report, err := b.replay(ctx, replay.Range{Partition: r.Partition, From: r.From, To: r.To})
	refused := errors.Is(err, replay.ErrRefused)
	if err != nil && !refused {
		return nil, fmt.Errorf("replay: %w", err)
	}
	after, err := b.observe(ctx)
	if err != nil {
		return nil, err
	}
	var d differences
	switch {
	case refused != (r.Expect == replayRefused):
		d.add("replay: want %s, refused is %t", r.Expect, refused)
	case report.Fault != nil:
		d.add("replay: state is not intact at offset %d: %s", report.Fault.Offset, report.Fault.Detail)
	case !refused && (report.Confirmed == 0 || report.Confirmed != report.Reread):
		d.add("replay: %d records of %d confirmed", report.Confirmed, report.Reread)
	}
	if !reflect.DeepEqual(before, after) {
		d.add("replay changed what is durable: %+v became %+v", before, after)
	}
	if !refused {
		mark.Hit("SC23 replayed")
	}
	return d, nil
}

// replay implements bench.
func (b *shells) replay(ctx context.Context, r replay.Range) (replay.Report, error) {
	one := replay.New(replay.Options{
		Config: ledger.NewConfig(b.ns, b.topicID), Range: r, Store: b.replayStore(), Topics: described{b.source, b.ns.Spec.Source.Partitions},
		Opener: b.opener, Log: &b.operations, Now: b.clock.Now, MaxBatch: b.maxBatch,
	})
	for range stepsMax {
		if one.Done() {
			return one.Report(), nil
		}
		if _, _, err := one.Step(ctx); err != nil {
			return one.Report(), errors.Join(err, one.Close(ctx))
		}
	}
	return one.Report(), fmt.Errorf("replay: not at the end after %d steps", stepsMax)
}

// described is a topic in memory as a stage's broker tells it.
type described struct {
	topic      *topic
	partitions int32
}

// Describe implements replay.Topics.
func (d described) Describe(ctx context.Context, name string) (*broker.TopicInfo, error) {
	found, err := newTopics(d.topic).Describe(ctx, name)
	if err != nil || found == nil {
		return nil, err
	}
	return &broker.TopicInfo{
		Name: name, ID: found.ID, Partitions: d.partitions, Configs: found.Configs, Starts: found.Starts,
		Stables: found.Stables, Ends: found.Ends,
	}, nil
}
