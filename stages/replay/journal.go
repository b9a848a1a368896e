package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/operation"
)

// idPrefix begins the IDs of replays in the operation log.
const idPrefix = "replay/"

// checkpoint is a step in the operation log: how far the replay was, and what it had confirmed.
type checkpoint struct {
	Next  int64  `json:"next"`
	Kinds Counts `json:"kinds"`
}

// outcome is how an operation ended.
type outcome struct {
	// Result is confirmed, not_intact or superseded.
	Result string `json:"result"`
	Fault  *Fault `json:"fault,omitempty"`
}

// begin finds the interrupted replay of this very range, or begins a new one. What was confirmed stays so, because
// nothing that a record leaves ever goes away.
func (r *Replay) begin(ctx context.Context) error {
	request, err := json.Marshal(r.options.Range)
	if err != nil {
		return fmt.Errorf("encode the range: %w", err)
	}
	open, err := r.options.Log.Open(ctx)
	if err != nil {
		return fmt.Errorf("look for an interrupted replay: %w", err)
	}
	for _, op := range open {
		if !bytes.HasPrefix([]byte(op.ID), []byte(r.prefix())) {
			continue
		}
		if bytes.Equal(op.Request, request) && r.id == "" {
			r.id = op.ID
			continue
		}
		if err := r.supersede(ctx, op.ID); err != nil {
			return err
		}
	}
	if r.id == "" { // the epoch to come tells it from earlier replays of the range
		r.id = fmt.Sprintf("%s%d-%d/%d", r.prefix(), r.options.Range.From, r.options.Range.To, r.facts.State.Epoch+1)
	}
	op, err := r.options.Log.Begin(ctx, r.id, request)
	if err != nil {
		return fmt.Errorf("record the replay: %w", err)
	}
	if op.Done { // superseded before it held the partition, so that the epoch is still the same
		r.id += "+"
		return nil
	}
	if err := r.goOn(op); err != nil {
		return err
	}
	r.phase = holding
	return nil
}

// prefix is what the IDs of all replays of the partition begin with.
func (r *Replay) prefix() string { return fmt.Sprintf("%s%d/", idPrefix, r.options.Range.Partition) }

// supersede closes an interrupted replay of another range of the partition: this one takes its place.
func (r *Replay) supersede(ctx context.Context, id string) error {
	text, err := json.Marshal(outcome{Result: "superseded"})
	if err != nil {
		return fmt.Errorf("encode an outcome: %w", err)
	}
	if err := r.options.Log.Finish(ctx, id, text); err != nil {
		return fmt.Errorf("close the interrupted replay %s: %w", id, err)
	}
	return nil
}

// goOn takes the cursor of the last step over.
func (r *Replay) goOn(op operation.Operation) error {
	if len(op.Steps) == 0 {
		return nil
	}
	var last checkpoint
	if err := json.Unmarshal(op.Steps[len(op.Steps)-1].Detail, &last); err != nil {
		return fmt.Errorf("read the last step of %s: %w", op.ID, err)
	}
	if last.Next < r.options.Range.From || last.Next > r.options.Range.To {
		return fmt.Errorf("the last step of %s is at %d, outside of %s", op.ID, last.Next, r.options.Range)
	}
	mark.Hit("R25 replay goes on")
	r.cursor, r.recorded = last.Next, last.Next
	r.report.StartedAt, r.report.Kinds, r.report.Reread = last.Next, last.Kinds, last.Kinds.Total()
	return nil
}

// record keeps the cursor where enough was confirmed since the last time, or all of it.
func (r *Replay) record(ctx context.Context) error {
	if r.cursor-r.recorded < int64(r.options.Checkpoint) && r.cursor < r.options.Range.To {
		return nil
	}
	detail, err := json.Marshal(checkpoint{Next: r.cursor, Kinds: r.report.Kinds})
	if err != nil {
		return fmt.Errorf("encode a step: %w", err)
	}
	step := operation.Step{Name: fmt.Sprintf("through %d", r.cursor), Detail: detail}
	if err := r.options.Log.Record(ctx, r.id, step); err != nil {
		return fmt.Errorf("record the cursor: %w", err)
	}
	r.recorded = r.cursor
	return nil
}

// finish closes the operation.
func (r *Replay) finish(ctx context.Context) error {
	end := outcome{Result: "confirmed", Fault: r.report.Fault}
	if end.Fault != nil {
		end.Result = "not_intact"
	}
	text, err := json.Marshal(end)
	if err != nil {
		return fmt.Errorf("encode the outcome: %w", err)
	}
	if err := r.options.Log.Finish(ctx, r.id, text); err != nil {
		return fmt.Errorf("record the end: %w", err)
	}
	r.phase = done
	return nil
}
