// Package projection consumes the complete history of a durable owner in exact position order (create, amend, retract),
// and compares what a projection shows with what the history says. Everything here is advisory: checkpoints and findings
// hold marks, which authorize nothing, and a repair joins the owner's own outbox through a commit whose position and
// fence are read from the owner's row.
package projection

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"amends.dev/amends/stages/owner"
)

// Kind is what a fact does to its entity.
type Kind string

// The kinds.
const (
	// Create begins an entity that is not there.
	Create Kind = "create"
	// Amend replaces the value of one that is.
	Amend Kind = "amend"
	// Retract removes one that is. The last one retracted leaves an empty state, not a missing one.
	Retract Kind = "retract"
)

// Fact is one event of a history as a projection understands it. Value is unused by Retract.
type Fact struct {
	Kind     Kind
	EntityID string
	Value    string
}

// Entry is one entity with its value.
type Entry struct {
	EntityID string `json:"entity_id"`
	Value    string `json:"value"`
}

// Checkpoint is a projection's full state, the last position that it consumed, and its version, which rises by one with
// each consumed fact. The zero value is the projection before the first fact. Values do not change and may be shared.
type Checkpoint struct {
	through, version owner.Mark
	entries          map[string]string
}

// Through is the last consumed position.
func (c Checkpoint) Through() owner.Mark { return c.through }

// Version is the projection version.
func (c Checkpoint) Version() owner.Mark { return c.version }

// Entries are sorted by the bytes of the entity ID; never nil.
func (c Checkpoint) Entries() []Entry {
	entries := make([]Entry, 0, len(c.entries))
	for _, id := range slices.SortedFunc(maps.Keys(c.entries), strings.Compare) {
		entries = append(entries, Entry{id, c.entries[id]})
	}
	return entries
}

// sameContent reports whether the entities and their values are the same.
func (c Checkpoint) sameContent(other Checkpoint) bool { return maps.Equal(c.entries, other.entries) }

// Equal reports whether position, version and content are the same.
func (c Checkpoint) Equal(other Checkpoint) bool {
	return c.through == other.through && c.version == other.version && c.sameContent(other)
}

// NewCheckpoint is a checkpoint that was kept, or is shown, somewhere. Entities must be there once, with a name; names and
// values are UTF-8. One at position zero with entities can be compared, which finds it drifted, and not be replayed from.
func NewCheckpoint(through, version owner.Mark, entries []Entry) (Checkpoint, error) {
	c := Checkpoint{through: through, version: version, entries: make(map[string]string, len(entries))}
	for _, e := range entries {
		if err := named(e.EntityID, e.Value); err != nil {
			return Checkpoint{}, err
		}
		if _, repeated := c.entries[e.EntityID]; repeated {
			return Checkpoint{}, fmt.Errorf("entity %q is there twice", e.EntityID)
		}
		c.entries[e.EntityID] = e.Value
	}
	return c, nil
}

// begun checks that a checkpoint is one that replays lead to.
func (c Checkpoint) begun() error {
	if c.through == (owner.Mark{}) && len(c.entries) > 0 {
		return errors.New("a projection that consumed nothing has no entities")
	}
	return nil
}

// named checks that an entity has a name and that both are text.
func named(entityID, value string) error {
	if entityID == "" {
		return errors.New("an entity has no name")
	}
	if !utf8.ValidString(entityID) || !utf8.ValidString(value) {
		return fmt.Errorf("entity %q or its value is not UTF-8", entityID)
	}
	return nil
}

// The versions of Checkpoint.Payload and of facts in FactPayload.
const (
	SchemaVersion = 1
	CodecVersion  = 1
)

// document is a checkpoint as JSON. Members are pointers, so that none that is missing stands for its zero.
type document struct {
	Through *uint64 `json:"through"`
	Version *uint64 `json:"projection_version"`
	Entries []struct {
		EntityID *string `json:"entity_id"`
		Value    *string `json:"value"`
	} `json:"entries"`
}

// Payload is the durable form, JSON with the entries in order, which DecodeCheckpoint reads; a snapshot owner can keep it.
func (c Checkpoint) Payload() (owner.Payload, error) {
	text, err := json.Marshal(struct {
		Through owner.Mark `json:"through"`
		Version owner.Mark `json:"projection_version"`
		Entries []Entry    `json:"entries"`
	}{c.through, c.version, c.Entries()})
	if err != nil {
		return owner.Payload{}, fmt.Errorf("write a checkpoint: %w", err)
	}
	return owner.Payload{SchemaVersion: SchemaVersion, CodecVersion: CodecVersion, Bytes: text}, nil
}

// Content is what FingerprintProjection is taken of: the entries, without position and version.
func (c Checkpoint) Content() (owner.Payload, error) {
	text, err := json.Marshal(c.Entries())
	if err != nil {
		return owner.Payload{}, fmt.Errorf("write a projection's content: %w", err)
	}
	return owner.Payload{SchemaVersion: SchemaVersion, CodecVersion: CodecVersion, Bytes: text}, nil
}

// DecodeCheckpoint reads the durable form. Other versions are refused before anything is decoded.
func DecodeCheckpoint(p owner.Payload) (Checkpoint, error) {
	if err := known("checkpoint", p); err != nil {
		return Checkpoint{}, err
	}
	var d document
	if err := strictly(p.Bytes, &d); err != nil {
		return Checkpoint{}, fmt.Errorf("read a checkpoint: %w", err)
	}
	if d.Through == nil || d.Version == nil || d.Entries == nil {
		return Checkpoint{}, errors.New("read a checkpoint: a member is missing")
	}
	entries := make([]Entry, 0, len(d.Entries))
	for i, e := range d.Entries {
		if e.EntityID == nil || e.Value == nil {
			return Checkpoint{}, fmt.Errorf("read a checkpoint: entry %d: a member is missing", i+1)
		}
		entries = append(entries, Entry{EntityID: *e.EntityID, Value: *e.Value})
	}
	c, err := NewCheckpoint(owner.MarkAt(*d.Through), owner.MarkAt(*d.Version), entries)
	if err == nil {
		err = c.begun()
	}
	if err != nil {
		return Checkpoint{}, fmt.Errorf("read a checkpoint: %w", err)
	}
	return c, nil
}

// ErrVersion is wrapped where a payload has versions that this package does not read.
var ErrVersion = errors.New("unsupported version")

// known checks versions before decoding.
func known(what string, p owner.Payload) error {
	if p.SchemaVersion != SchemaVersion || p.CodecVersion != CodecVersion {
		return fmt.Errorf("%w: %s has schema_version %d and codec_version %d", ErrVersion, what, p.SchemaVersion, p.CodecVersion)
	}
	return nil
}

// strictly decodes one JSON value with nothing behind it, in which no member is unknown, repeated or in another case, and
// every text is UTF-8: what another reader could take for something else is no fact of a history.
func strictly(text []byte, into any) error {
	return jsonv2.Unmarshal(text, into, jsonv2.RejectUnknownMembers(true))
}
