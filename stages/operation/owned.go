package operation

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"amends.dev/amends/internal/invariant"
	"amends.dev/amends/internal/mark"
	"amends.dev/amends/stages/owner"
)

// The versions of every payload here: JSON as the caller gave it.
const (
	schemaVersion = 1
	codecVersion  = 1
)

// The identities inside one operation's owner. Every event is that of one input, and so has its name.
const (
	beginInbox  = "begin"
	stepInbox   = "step/"
	finishInbox = "finish"
)

// fence is that of every operation: whoever runs one holds a lease of its own.
const fence = 1

// openAtFirst is how many open operations are looked for before more are.
const openAtFirst = 100

// Owned returns a Log on the durable owner. The operations of different namespaces in one store do not see each other. It
// is safe for concurrent use: of two callers that record at once each step is kept, once.
func Owned(store owner.Store, namespace string) Log {
	return &owned{store: store, prefix: "operation/" + namespace + "/"}
}

type owned struct {
	store owner.Store
	// prefix begins the identities of owners and effects.
	prefix string
}

func (o *owned) effect(id string) string { return o.prefix + id + "/done" }

// Begin implements Log.
func (o *owned) Begin(ctx context.Context, id string, request []byte) (Operation, error) {
	if id == "" {
		return Operation{}, errors.New("begin an operation: it has no ID")
	}
	begun, err := payload(request)
	if err != nil {
		return Operation{}, fmt.Errorf("begin operation %s: %w", id, err)
	}
	c := owner.Commit{
		OwnerID: o.prefix + id, Create: &owner.Config{Mode: owner.EventHistory, Fence: fence}, Fence: fence,
		Inbox: input(beginInbox, request), Append: []owner.Payload{begun},
		Effects: []owner.Effect{{ID: o.effect(id), Payload: begun}},
	}
	if _, err := o.commit(ctx, c); err != nil {
		return Operation{}, fmt.Errorf("begin operation %s: %w", id, err)
	}
	operation, err := o.Find(ctx, id)
	if err == nil && operation == nil {
		err = invariant.Violated("operation %s is not there after it began", id)
	}
	if err != nil {
		return Operation{}, err
	}
	return *operation, nil
}

// Record implements Log. A step of an operation that is finished is an ErrConflict, unless it is one of its steps.
func (o *owned) Record(ctx context.Context, id string, step Step) error {
	err := o.append(ctx, id, stepInbox+step.Name, step.Detail, func(c *owner.Commit, image *owner.Image) error {
		if len(image.PendingEffectIDs) == 0 && !completed(image, c.Inbox.ID) {
			return fmt.Errorf("%w: the operation is finished", ErrConflict)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record step %s of operation %s: %w", step.Name, id, err)
	}
	return nil
}

// Finish implements Log.
func (o *owned) Finish(ctx context.Context, id string, outcome []byte) error {
	err := o.append(ctx, id, finishInbox, outcome, func(c *owner.Commit, _ *owner.Image) error {
		c.Receipts = []owner.Receipt{{ID: finishInbox, EffectID: o.effect(id), Outcome: "finished", Payload: c.Append[0]}}
		return nil
	})
	if err != nil {
		return fmt.Errorf("finish operation %s: %w", id, err)
	}
	return nil
}

// append commits one event at the end of an operation, wherever that is by then.
func (o *owned) append(ctx context.Context, id, inbox string, detail []byte, complete func(*owner.Commit, *owner.Image) error) error {
	event, err := payload(detail)
	if err != nil {
		return err
	}
	for {
		image, err := o.store.Image(ctx, o.prefix+id)
		if err != nil {
			return err
		}
		if image == nil {
			return errors.New("it was never begun")
		}
		c := owner.Commit{
			OwnerID: image.OwnerID, ExpectedPosition: image.Position, Fence: image.Fence,
			Inbox: input(inbox, detail), Append: []owner.Payload{event},
		}
		if err := complete(&c, image); err != nil {
			return err
		}
		if moved, err := o.commit(ctx, c); err != nil || !moved {
			return err
		}
		mark.Hit("R29 operation moved under a step")
	}
}

// commit commits one unit of work. moved says that the operation is no longer where it was, so that the caller looks
// again: somebody else's step was kept, so that this ends.
func (o *owned) commit(ctx context.Context, c owner.Commit) (moved bool, err error) {
	results, err := o.store.Commit(ctx, c)
	if err != nil {
		return false, err
	}
	switch result := results[0]; result.Outcome {
	case owner.Committed, owner.Duplicate:
		return false, nil
	case owner.PositionConflict:
		return true, nil
	case owner.InboxConflict, owner.ReceiptConflict, owner.EffectAlreadyReceipt, owner.EffectConflict:
		return false, fmt.Errorf("%w: %s", ErrConflict, result.Detail)
	default:
		return false, fmt.Errorf("%s: %s", result.Outcome, result.Detail)
	}
}

// Find implements Log.
func (o *owned) Find(ctx context.Context, id string) (*Operation, error) {
	image, err := o.store.Image(ctx, o.prefix+id)
	if err != nil || image == nil {
		return nil, err
	}
	if len(image.Inbox) == 0 || len(image.History) != len(image.Inbox) || image.Inbox[0].ID != beginInbox {
		return nil, invariant.Violated("owner %s holds no operation", image.OwnerID)
	}
	operation := &Operation{ID: id, Request: image.History[0].Payload.Bytes, Done: len(image.PendingEffectIDs) == 0}
	for i, at := range image.History {
		if err := known(at.Payload); err != nil {
			return nil, fmt.Errorf("operation %s: event %d: %w", id, at.Position, err)
		}
		if name, step := strings.CutPrefix(image.Inbox[i].ID, stepInbox); step {
			operation.Steps = append(operation.Steps, Step{Name: name, Detail: at.Payload.Bytes})
		}
	}
	return operation, nil
}

// Open implements Log.
func (o *owned) Open(ctx context.Context) ([]Operation, error) {
	for limit := openAtFirst; ; limit *= 10 {
		pending, err := o.store.Pending(ctx, o.prefix, limit)
		if err != nil {
			return nil, fmt.Errorf("look for open operations: %w", err)
		}
		if len(pending) == limit {
			continue // there may be more
		}
		var open []Operation
		for _, p := range pending {
			if err := known(p.Payload); err != nil {
				return nil, fmt.Errorf("effect %s: %w", p.ID, err)
			}
			id := strings.TrimSuffix(strings.TrimPrefix(p.ID, o.prefix), "/done")
			open = append(open, Operation{ID: id, Request: p.Payload.Bytes})
		}
		return open, nil
	}
}

// completed reports whether an input is among those of an image.
func completed(image *owner.Image, inbox string) bool {
	for _, c := range image.Inbox {
		if c.ID == inbox {
			return true
		}
	}
	return false
}

// payload keeps JSON as it is. No text at all stands for nothing to say.
func payload(text []byte) (owner.Payload, error) {
	if len(text) > 0 && !json.Valid(text) {
		return owner.Payload{}, errors.New("not JSON")
	}
	return owner.Payload{SchemaVersion: schemaVersion, CodecVersion: codecVersion, Bytes: text}, nil
}

// known checks the versions of a payload before it is read.
func known(p owner.Payload) error {
	if p.SchemaVersion != schemaVersion || p.CodecVersion != codecVersion {
		return fmt.Errorf("schema version %d and codec version %d; this build knows %d and %d",
			p.SchemaVersion, p.CodecVersion, schemaVersion, codecVersion)
	}
	return nil
}

// input names an input by its identity and a fingerprint of its content.
func input(id string, content []byte) owner.Inbox {
	sum := sha256.Sum256(content)
	return owner.Inbox{ID: id, Fingerprint: sum[:]}
}
