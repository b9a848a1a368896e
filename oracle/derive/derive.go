package derive

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
	"amends.dev/amends/vectorized/derived"
)

// Engine and Decoder are what a namespace's built_by says of state that was built from this package's datasets (R26).
const (
	Engine  = "arrow"
	Decoder = "columnar"
)

// ErrOutOfDomain is wrapped where the close of an activity day does not fit int64: no state can hold it, and the worker
// would stop (R09).
var ErrOutOfDomain = errors.New("a close is out of domain")

// ErrHistory is wrapped where the records given are not a history of one partition in offset order.
var ErrHistory = errors.New("not a history of this partition")

// Source returns the visible records of one partition from offset 0 to H, in offset order.
type Source func(partition int32) engine.History

// Run computes all partitions, as Some does.
func Run(ctx context.Context, w *derived.Writer, ns *manifests.Namespace, source Source, parallel int) error {
	all := make([]int32, ns.Spec.Source.Partitions)
	for partition := range all {
		all[partition] = int32(partition)
	}
	return Some(ctx, w, ns, source, all, parallel)
}

// Some computes some partitions in the order given, parallel of them at a time, and writes their facts; the caller closes the
// writer. Its error wraps ErrOutOfDomain or ErrHistory where these apply, or is that of the source or the disk. Memory is
// that of parallel partitions: about 50 bytes and its transaction ID for each accepted record.
func Some(ctx context.Context, w *derived.Writer, ns *manifests.Namespace, source Source, partitions []int32, parallel int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	decoder := decode.New(ns)
	next := make(chan int32)
	var group sync.WaitGroup
	for range max(1, parallel) {
		group.Go(func() {
			for partition := range next {
				if err := one(ctx, w, ns, decoder, source, partition); err != nil {
					cancel(fmt.Errorf("derive the state of partition %d: %w", partition, err))
				}
			}
		})
	}
	for _, partition := range partitions {
		select {
		case next <- partition:
		case <-ctx.Done():
		}
	}
	close(next)
	group.Wait()
	return context.Cause(ctx)
}

// one computes one partition.
func one(ctx context.Context, w *derived.Writer, ns *manifests.Namespace, decoder *decode.Decoder, source Source, partition int32) error {
	files, err := w.Partition(partition)
	if err != nil {
		return err
	}
	history, err := gather(ctx, decoder, source(partition), partition, w.End(partition), files)
	if err == nil {
		err = (&resolver{ns: ns, history: history, files: files}).run(ctx)
	}
	if err != nil {
		files.Abandon()
		return err
	}
	return files.Finish(int64(len(history.rows)))
}
