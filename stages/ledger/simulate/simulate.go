// Package simulate runs the ledger core over a source history in memory, without a broker or a database, and gives what
// the worker would publish and end up with (design section 7). It is pure.
package simulate

import (
	"errors"
	"fmt"
	"iter"

	"amends.dev/amends/stages/ledger"
)

// TopicID is the source topic ID that simulated envelopes carry: no broker has given one.
const TopicID = "AAAAAAAAAAAAAAAAAAAAAA"

// Run decides the records in the order given; offsets must rise within each partition. Every partition is one unit of
// work without end, so nothing is coalesced (R12) and nothing is ever read back.
//
// Where the worker would stop a partition (R09, B088), Run ends and the result holds what was decided before, in all
// partitions, and says where it stopped. An error means that the history itself could not be read.
func Run(cfg *ledger.Config, history iter.Seq2[ledger.Record, error]) (*Result, error) {
	r := &run{cfg: cfg, batches: make(map[int32]*ledger.Batch)}
	for record, err := range history {
		if err != nil {
			return nil, fmt.Errorf("read history: %w", err)
		}
		err = r.decide(record)
		var overflow *ledger.OverflowError
		if errors.As(err, &overflow) {
			result := r.result()
			result.Stopped = &Stopped{
				Partition: overflow.Partition, Offset: overflow.Offset, Reason: overflow.Reason, Detail: overflow.Detail,
			}
			return result, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decide partition %d, offset %d: %w", record.Partition, record.Offset, err)
		}
	}
	return r.result(), nil
}

// run is one simulation in progress.
type run struct {
	cfg       *ledger.Config
	batches   map[int32]*ledger.Batch
	envelopes []ledger.Envelope
}

// decide decides one record in its partition's batch. A key is always new to an empty state, so its identities and
// evidence are complete from the start and nothing else needs to be added.
func (r *run) decide(record ledger.Record) error {
	batch, ok := r.batches[record.Partition]
	if !ok {
		batch = ledger.NewBatch(r.cfg, 0)
		r.batches[record.Partition] = batch
	}
	tx, reason := r.cfg.Decode(record)
	if reason == ledger.ReasonNone {
		batch.AddKeys(batch.KeysNeeded([]ledger.Transaction{tx}), nil, nil)
	}
	before := len(batch.Envelopes())
	if err := batch.Decide(record, tx, reason); err != nil {
		return err
	}
	r.envelopes = append(r.envelopes, batch.Envelopes()[before:]...)
	return nil
}
