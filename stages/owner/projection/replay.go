package projection

import (
	"encoding/json"
	"fmt"
	"maps"

	"amends.dev/amends/stages/owner"
)

// Recorded is one fact at its position.
type Recorded struct {
	Position owner.Mark
	Fact     Fact
}

// OrderError says that a fact is not at the position that follows: a gap, or a repetition.
type OrderError struct {
	// Want is the position that follows; Got is the fact's.
	Want, Got owner.Mark
}

// Error implements error.
func (e *OrderError) Error() string {
	if e.Got.Compare(e.Want) > 0 {
		return fmt.Sprintf("position %s follows, got %s: a gap", e.Want, e.Got)
	}
	return fmt.Sprintf("position %s follows, got %s: consumed already", e.Want, e.Got)
}

// FactError says that a fact does not fit the state: an entity created twice, or amended or retracted without being there.
type FactError struct {
	Position owner.Mark
	Fact     Fact
	Reason   string
}

// Error implements error.
func (e *FactError) Error() string {
	return fmt.Sprintf("position %s: %s of entity %q: %s", e.Position, e.Fact.Kind, e.Fact.EntityID, e.Reason)
}

// Replay consumes the facts that follow a checkpoint, in exact position order. Replaying a whole history from the zero
// Checkpoint and resuming from any checkpoint on the way end in the same state. A gap or a repeated position is an
// *OrderError, a fact that does not fit a *FactError; from is never changed.
func Replay(from Checkpoint, facts ...Recorded) (Checkpoint, error) {
	if err := from.begun(); err != nil {
		return Checkpoint{}, err
	}
	c := Checkpoint{through: from.through, version: from.version, entries: maps.Clone(from.entries)}
	if c.entries == nil {
		c.entries = map[string]string{}
	}
	for _, f := range facts {
		next, ok := c.through.Next()
		if !ok || f.Position != next {
			return Checkpoint{}, &OrderError{Want: next, Got: f.Position}
		}
		version, ok := c.version.Next()
		if !ok {
			return Checkpoint{}, fmt.Errorf("position %s: the projection version %s is the last", f.Position, c.version)
		}
		if reason := c.consume(f.Fact); reason != "" {
			return Checkpoint{}, &FactError{Position: f.Position, Fact: f.Fact, Reason: reason}
		}
		c.through, c.version = next, version
	}
	return c, nil
}

// consume changes one entity, or says why it cannot.
func (c *Checkpoint) consume(f Fact) string {
	if err := named(f.EntityID, f.Value); err != nil {
		return err.Error()
	}
	_, there := c.entries[f.EntityID]
	switch f.Kind {
	case Create:
		if there {
			return "it is there already"
		}
	case Amend, Retract:
		if !there {
			return "it is not there"
		}
	default:
		return "there is no such kind"
	}
	if f.Kind == Retract {
		delete(c.entries, f.EntityID)
		return ""
	}
	c.entries[f.EntityID] = f.Value
	return ""
}

// Decoder reads a fact from an event. It refuses versions that it does not know before it looks at the bytes.
type Decoder func(owner.Payload) (Fact, error)

// Resume consumes what a history has beyond a checkpoint. A checkpoint beyond the history is an error: it is not one of
// this history. The zero Checkpoint consumes all.
func Resume(from Checkpoint, history owner.CompleteHistory, decode Decoder) (Checkpoint, error) {
	if from.through.Compare(history.Frontier()) > 0 {
		return Checkpoint{}, fmt.Errorf("the checkpoint is at position %s, the history of %q ends at %s", from.through, history.OwnerID(), history.Frontier())
	}
	var facts []Recorded
	for position, payload := range history.All() {
		if position.Compare(from.through) <= 0 {
			continue
		}
		fact, err := decode(payload)
		if err != nil {
			return Checkpoint{}, fmt.Errorf("position %s of %q: %w", position, history.OwnerID(), err)
		}
		facts = append(facts, Recorded{position, fact})
	}
	c, err := Replay(from, facts...)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("history of %q: %w", history.OwnerID(), err)
	}
	return c, nil
}

// factDocument is a fact as JSON.
type factDocument struct {
	Type     Kind    `json:"type"`
	EntityID string  `json:"entity_id"`
	Value    *string `json:"value,omitempty"`
}

// FactPayload is a fact as an event, which DecodeFact reads. Names and values that are not UTF-8 are refused: JSON has no
// form for them but that of others.
func FactPayload(f Fact) (owner.Payload, error) {
	if err := named(f.EntityID, f.Value); err != nil {
		return owner.Payload{}, fmt.Errorf("write a fact: %w", err)
	}
	d := factDocument{Type: f.Kind, EntityID: f.EntityID}
	if f.Kind != Retract {
		d.Value = &f.Value
	}
	text, err := json.Marshal(d)
	if err != nil {
		return owner.Payload{}, fmt.Errorf("write a fact: %w", err)
	}
	return owner.Payload{SchemaVersion: SchemaVersion, CodecVersion: CodecVersion, Bytes: text}, nil
}

// DecodeFact is the Decoder of FactPayload.
func DecodeFact(p owner.Payload) (Fact, error) {
	if err := known("fact", p); err != nil {
		return Fact{}, err
	}
	var d factDocument
	if err := strictly(p.Bytes, &d); err != nil {
		return Fact{}, fmt.Errorf("read a fact: %w", err)
	}
	if (d.Value == nil) != (d.Type == Retract) {
		return Fact{}, fmt.Errorf("read a fact: %s with or without a value", d.Type)
	}
	f := Fact{Kind: d.Type, EntityID: d.EntityID}
	if d.Value != nil {
		f.Value = *d.Value
	}
	return f, nil
}
