package rebuild

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/operation"
)

// The steps that an operation records.
const (
	stepPlanned  = "planned"
	stepCreated  = "created"
	stepFilled   = "filled"
	stepFinished = "finished"
)

// request is what an operation was asked for. A resumed one must ask for the same.
type request struct {
	From       string `json:"from"`
	Into       string `json:"into"`
	Mode       string `json:"mode"`
	Digest     string `json:"digest"`
	TopicID    string `json:"topicId"`
	Experiment bool   `json:"experiment"`
}

// planned is the detail of stepPlanned.
type planned struct {
	Through []int64 `json:"through"`
}

// journal is the log of one rebuild.
type journal struct {
	log     operation.Log
	id      string
	request []byte
	// through is H as an earlier try fixed it, nil for a new rebuild.
	through []int64
	// finished says that an earlier try had done everything.
	finished bool
	// stale are operations whose namespace is gone; they are closed when the new one begins.
	stale []string
}

// find looks for the operation that this rebuild is, or goes on with. It writes nothing.
func (j *job) find(ctx context.Context, log operation.Log, t *target) (*journal, error) {
	text, err := json.Marshal(request{
		From: j.from, Into: j.into, Mode: j.mode, Digest: t.ns.NamespaceDigest(), TopicID: t.old.SourceTopicID, Experiment: t.differs(),
	})
	if err != nil {
		return nil, fmt.Errorf("describe the rebuild: %w", err)
	}
	found := &journal{log: log, request: text}
	for n := 1; ; n++ {
		found.id = "rebuild/" + j.into
		if n > 1 {
			found.id += fmt.Sprintf("/%d", n)
		}
		op, err := log.Find(ctx, found.id)
		if err != nil {
			return nil, err
		}
		same := op != nil && bytes.Equal(op.Request, text)
		switch {
		case t.live && (op == nil || !op.Done && !(same && has(op, stepFinished))):
			mark.Hit("S11 live target refused")
			return nil, fmt.Errorf("%w: namespace %s is applied already; a rebuild needs a fresh one: choose another name", errRefused, j.into)
		case op == nil && t.begun:
			return nil, fmt.Errorf("%w: namespace %s is unfinished, but %s has no record of a rebuild into it; delete it and rebuild", errRefused, j.into, j.from)
		case op == nil:
			return found, nil
		case op.Done:
			continue
		case !t.begun && (has(op, stepCreated) || !same):
			found.stale = append(found.stale, found.id) // its namespace was deleted, or never made
			continue
		case !same:
			mark.Hit("S11 another rebuild is open")
			return nil, fmt.Errorf("%w: it was asked for %s", operation.ErrConflict, op.Request)
		}
		found.finished = has(op, stepFinished)
		found.through, err = throughOf(op)
		return found, err
	}
}

func has(op *operation.Operation, step string) bool {
	return slices.ContainsFunc(op.Steps, func(s operation.Step) bool { return s.Name == step })
}

// throughOf is H as the operation has it, nil where the try before ended ahead of that.
func throughOf(op *operation.Operation) ([]int64, error) {
	for _, step := range op.Steps {
		if step.Name != stepPlanned {
			continue
		}
		var p planned
		if err := json.Unmarshal(step.Detail, &p); err != nil {
			return nil, fmt.Errorf("read the steps of the rebuild: %w", err)
		}
		return p.Through, nil
	}
	return nil, nil
}

// begin records the operation and H.
func (l *journal) begin(ctx context.Context, through []int64) error {
	for _, id := range l.stale {
		if err := l.log.Finish(ctx, id, []byte(`{"abandoned":true}`)); err != nil {
			return err
		}
	}
	if _, err := l.log.Begin(ctx, l.id, l.request); err != nil {
		return err
	}
	return l.step(ctx, stepPlanned, planned{Through: through})
}

// step records one thing done.
func (l *journal) step(ctx context.Context, name string, detail any) error {
	text, err := json.Marshal(detail)
	if err != nil {
		return errors.Join(errors.New("describe a step of the rebuild"), err)
	}
	return l.log.Record(ctx, l.id, operation.Step{Name: name, Detail: text})
}

// finish closes the operation.
func (l *journal) finish(ctx context.Context) error {
	return l.log.Finish(ctx, l.id, []byte(`{"done":true}`))
}
