package arrow

import (
	"context"
	"errors"

	"amends.dev/amends/manifests"
	"amends.dev/amends/oracle/decode"
	"amends.dev/amends/oracle/engine"
)

// batchRecords is how many records a worker decodes at a time: enough that handing them over does not count.
const batchRecords = 1 << 12

// expectedRows is the number of rows of a partition that is planned for where nobody knows it.
const expectedRows = 1 << 20

// batch are copies of records.
type batch struct {
	records []engine.Record
	bytes   []byte // keys and values of records
}

// add copies a record.
func (b *batch) add(r engine.Record) {
	b.records = append(b.records, r)
	last := &b.records[len(b.records)-1]
	last.Key, last.Value = b.copied(r.Key), b.copied(r.Value)
}

// copied copies bytes; null stays null.
func (b *batch) copied(from []byte) []byte {
	if from == nil {
		return nil
	}
	at := len(b.bytes)
	b.bytes = append(b.bytes, from...)
	return b.bytes[at:len(b.bytes):len(b.bytes)]
}

// ComputeRecords decodes a history and computes from it. An error is the history's own.
func (e Engine) ComputeRecords(ctx context.Context, ns *manifests.Namespace, history engine.History, o Options) (*Result, error) {
	o = o.withDefaults()
	rows := make([]int64, ns.Spec.Source.Partitions)
	partitions := make([]int32, len(rows))
	for p := range rows {
		rows[p], partitions[p] = expectedRows, int32(p)
	}
	c := e.newComputation(ctx, ns, rows, o)
	defer c.chunks.Release()
	defer c.release(partitions)
	if err := c.decode(ctx, decode.New(ns), history); err != nil {
		return nil, err
	}
	if err := c.resolve(&stage{round: &round{partitions: partitions}, passes: 1}); err != nil {
		return nil, err
	}
	c.result.arrange()
	return c.result, nil
}

// decode hands batches of records to the workers.
func (c *computation) decode(ctx context.Context, decoder *decode.Decoder, history engine.History) error {
	batches := make(chan *batch, len(c.workers))
	free := make(chan *batch, 2*len(c.workers)+1)
	for range cap(free) {
		free <- &batch{bytes: []byte{}} // not nil, so that a copy of nothing is not null
	}
	done := make(chan error, 1)
	go func() {
		done <- parallel(context.WithoutCancel(ctx), len(c.workers), len(c.workers), func(_, n int) error {
			for b := range batches {
				c.workers[n].decode(c, decoder, b)
				free <- b
			}
			return nil
		})
	}()
	err := read(ctx, history, free, batches)
	close(batches)
	return errors.Join(err, <-done)
}

// read copies a history into batches.
func read(ctx context.Context, history engine.History, free <-chan *batch, batches chan<- *batch) error {
	b := <-free
	for r, err := range history(ctx) {
		if err != nil {
			return err
		}
		if b.add(r); len(b.records) == batchRecords {
			batches <- b
			b = <-free
			b.records, b.bytes = b.records[:0], b.bytes[:0]
		}
	}
	if len(b.records) > 0 {
		batches <- b
	}
	return ctx.Err()
}

// decode appends the rows of a batch.
func (w *worker) decode(c *computation, decoder *decode.Decoder, b *batch) {
	for i := range b.records {
		w.judge(c, decoder, &b.records[i], false)
	}
}

// judge decodes one record and appends its row, or notes why it is rejected, unless that was done before.
func (w *worker) judge(c *computation, decoder *decode.Decoder, r *engine.Record, again bool) {
	tx, reason := decoder.Decode(r.Partition, r.Key, r.Value)
	if reason != decode.Accepted {
		if !again {
			w.rejected = append(w.rejected, Rejected{r.Partition, r.Offset, reason})
		}
		return
	}
	w.scatter.Record(c.store(w, r.Partition), r.Partition, tx.Key, tx.TxnID, tx.Revision, uint8(tx.Kind), tx.ValidTime, tx.Qty)
}
