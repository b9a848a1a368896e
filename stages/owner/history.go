package owner

import (
	"errors"
	"fmt"
	"iter"
)

// CompleteHistory is every accepted event of one owner in exact position order, from the first to its frontier. Only
// this package makes one, and only of an event history without a gap: nothing else can be passed where complete history
// is asked for, a LatestDurableProjection least of all. The zero value is the empty history of no owner. Values do not
// change and may be shared.
type CompleteHistory struct {
	ownerID string
	events  []Positioned
}

// ErrIncomplete is wrapped where records are not a complete history: a gap, a repeated position, or a mode that does not
// keep history.
var ErrIncomplete = errors.New("not a complete history")

// NewCompleteHistory takes the records of one owner, which must be at positions 1, 2, 3 and so on. It keeps a copy.
func NewCompleteHistory(ownerID string, events []Positioned) (CompleteHistory, error) {
	if problem := identity("owner ID", ownerID, OwnerIDMax); problem != "" {
		return CompleteHistory{}, fmt.Errorf("%w: %s", ErrIncomplete, problem)
	}
	h := CompleteHistory{ownerID: ownerID, events: make([]Positioned, 0, len(events))}
	for i := range events {
		e := &events[i]
		if e.Position != uint64(i)+1 {
			return CompleteHistory{}, fmt.Errorf("%w: record %d is at position %d", ErrIncomplete, i+1, e.Position)
		}
		if problem := versioned("the record", &e.Payload); problem != "" {
			return CompleteHistory{}, fmt.Errorf("%w: position %d: %s", ErrIncomplete, e.Position, problem)
		}
		h.events = append(h.events, Positioned{Position: e.Position, Payload: e.Payload.clone()})
	}
	return h, nil
}

// CompleteHistory is the history of an owner that keeps it. A snapshot owner has none, and an image whose events do not
// reach its position is none.
func (i *Image) CompleteHistory() (CompleteHistory, error) {
	if i.Mode != EventHistory {
		return CompleteHistory{}, fmt.Errorf("%w: owner %q has mode %s", ErrIncomplete, i.OwnerID, i.Mode)
	}
	if uint64(len(i.History)) != i.Position {
		return CompleteHistory{}, fmt.Errorf("%w: owner %q is at position %d and has %d events", ErrIncomplete, i.OwnerID, i.Position, len(i.History))
	}
	return NewCompleteHistory(i.OwnerID, i.History)
}

// OwnerID is the owner whose history it is.
func (h CompleteHistory) OwnerID() string { return h.ownerID }

// Frontier is the position of the last event.
func (h CompleteHistory) Frontier() Mark { return Mark{uint64(len(h.events))} }

// Capability is always CompleteHistoryCapability.
func (CompleteHistory) Capability() Capability { return CompleteHistoryCapability }

// All yields the events in order, as copies.
func (h CompleteHistory) All() iter.Seq2[Mark, Payload] {
	return func(yield func(Mark, Payload) bool) {
		for i := range h.events {
			if !yield(Mark{h.events[i].Position}, h.events[i].Payload.clone()) {
				return
			}
		}
	}
}

// records encodes the history without a domain.
func (h CompleteHistory) records(e encoding) encoding {
	e = e.text(h.ownerID).number(uint64(len(h.events)))
	for i := range h.events {
		e = e.number(h.events[i].Position).payload(&h.events[i].Payload)
	}
	return e
}

// Bytes is a durable form, which DecodeCompleteHistory reads: capability, owner, records, and a sum over all of it.
func (h CompleteHistory) Bytes() []byte {
	return sealed(h.records(newEncoding(string(CompleteHistoryCapability))))
}

// DecodeCompleteHistory reads the durable form. Bytes of another capability, relabelled or damaged ones wrap ErrNotThis.
func DecodeCompleteHistory(stored []byte) (CompleteHistory, error) {
	d, err := unsealed(stored, CompleteHistoryCapability)
	if err != nil {
		return CompleteHistory{}, err
	}
	ownerID := d.text()
	var events []Positioned
	for range d.number() {
		if d.short {
			break
		}
		events = append(events, Positioned{Position: d.number(), Payload: d.payload()})
	}
	if err := d.end(); err != nil {
		return CompleteHistory{}, err
	}
	h, err := NewCompleteHistory(ownerID, events)
	if err != nil {
		return CompleteHistory{}, fmt.Errorf("%w: %w", ErrNotThis, err)
	}
	return h, nil
}
