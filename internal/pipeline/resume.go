package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"amends.dev/amends/stages/kafka"
	"amends.dev/amends/stages/ledger"
	"amends.dev/amends/stages/postgres"
	"amends.dev/amends/stages/relay"
	"amends.dev/amends/stages/replay"
	"amends.dev/amends/stages/view"
	"amends.dev/amends/stages/worker"
)

// ErrCauseStands is wrapped where the cause of a stop was looked into and still stands; nothing was changed (R36).
var ErrCauseStands = errors.New("stays stopped")

// Resuming is one request to try a partition of a stage again.
type Resuming struct {
	Applied *postgres.Applied
	// State and View are pools on the two schemas; View is needed for the view alone.
	State, View *postgres.Pool
	Kafka       kafka.Config
	Stage       string
	Partition   int32
}

// Resumed is what a request did.
type Resumed struct {
	Namespace string `json:"namespace"`
	Stage     string `json:"stage"`
	Partition int32  `json:"partition"`
	// Cleared is the stop that was removed, empty where there was none.
	Cleared string `json:"cleared"`
	// Released says that a replay held the partition, and does so no more.
	Released bool `json:"released"`
}

// Resume looks into a persisted stop and removes it where its cause is gone, takes a partition back that a replay left
// held, and asks whatever process runs the stage to try at once (R36). An error wraps ErrCauseStands where the cause
// stands.
func Resume(ctx context.Context, r Resuming) (Resumed, error) {
	done := Resumed{Namespace: r.Applied.Name, Stage: r.Stage, Partition: r.Partition}
	work, ok := map[string]func(context.Context, *Resumed) error{Worker: r.worker, Relay: r.relay, View: r.view}[r.Stage]
	switch {
	case ok:
	case slices.Contains(IntakeStages(), r.Stage):
		work = r.intake
	default:
		return done, fmt.Errorf("unknown stage %q, want worker, relay, view or one of the intake's", r.Stage)
	}
	if err := work(ctx, &done); err != nil {
		if errors.Is(err, worker.ErrCauseStands) || errors.Is(err, relay.ErrCauseStands) || errors.Is(err, view.ErrCauseStands) {
			err = fmt.Errorf("%s partition %d %w: %w", r.Stage, r.Partition, ErrCauseStands, err)
		}
		return done, err
	}
	return done, postgres.AskResume(ctx, r.State, r.Stage, r.Partition)
}

// worker looks into a partition's stop, and takes the partition back where a replay holds it. While the cause of the stop
// stands nothing is changed: nobody could go on with it.
func (r Resuming) worker(ctx context.Context, done *Resumed) error {
	store := postgres.NewWorkerStore(r.State, r.Applied.SourceTopicID)
	state, err := store.PartitionState(ctx, r.Partition)
	if err != nil {
		return err
	}
	if state.Stop != nil {
		if err := r.recheckWorker(ctx, store, state); err != nil {
			return err
		}
	}
	if in, held := replay.Release(state); held {
		released, err := store.InstallEpoch(ctx, in)
		if err != nil {
			return err
		}
		done.Released, state.Epoch = true, released.Epoch
	}
	if state.Stop == nil {
		return nil
	}
	done.Cleared = fmt.Sprintf("%s at offset %d: %s", state.Stop.Reason, state.Stop.Offset, state.Stop.Detail)
	return postgres.ClearWorkerStop(ctx, r.State, state)
}

// recheckWorker does again what failed, and writes nothing.
func (r Resuming) recheckWorker(ctx context.Context, store *postgres.WorkerStore, state worker.PartitionState) error {
	source := r.Applied.Namespace.Spec.Source
	opener := kafka.NewOpener(r.Kafka, kafka.Topic{Name: source.Topic, ID: r.Applied.SourceTopicID, Partitions: source.Partitions})
	ctx, cancel := context.WithTimeout(ctx, worker.DefaultUnitTimeout)
	defer cancel()
	return worker.Recheck(ctx, ledger.NewConfig(r.Applied.Namespace, r.Applied.SourceTopicID), store, opener, state)
}

// relay looks into the stop of a source partition.
func (r Resuming) relay(ctx context.Context, done *Resumed) error {
	store := postgres.NewRelayStore(r.State)
	positions, err := store.Positions(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(positions, func(p relay.Position) bool { return p.Partition == r.Partition })
	if i < 0 || positions[i].Stopped == "" {
		return nil
	}
	if err := relay.Recheck(ctx, store, positions[i]); err != nil {
		return err
	}
	done.Cleared = fmt.Sprintf("%s at sequence %d", positions[i].Stopped, positions[i].Sent)
	return postgres.ClearRelayStop(ctx, r.State, positions[i])
}

// view looks into the stop of an output partition.
func (r Resuming) view(ctx context.Context, done *Resumed) error {
	ns := r.Applied.Namespace
	store := postgres.NewViewStore(r.View, postgres.ViewIdentity{
		Namespace: ns.Name, Digest: ns.NamespaceDigest(), OutputTopicID: r.Applied.OutputTopicID,
	})
	_, err := store.Position(ctx, r.Partition)
	var stop *view.StoppedError
	if !errors.As(err, &stop) {
		return err
	}
	topic := kafka.Topic{Name: ns.Spec.Output.Topic, ID: r.Applied.OutputTopicID, Partitions: ns.Spec.Output.Partitions}
	ctx, cancel := context.WithTimeout(ctx, worker.DefaultUnitTimeout)
	defer cancel()
	if err := view.Recheck(ctx, view.NewConfig(ns), store, kafka.NewOpener(r.Kafka, topic), stop); err != nil {
		return err
	}
	done.Cleared = fmt.Sprintf("%s at offset %d: %s", stop.Reason, stop.Offset, stop.Detail)
	return postgres.ClearViewStop(ctx, r.View, stop)
}
